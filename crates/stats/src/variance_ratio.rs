//! The F test of two variances, for published figures of which only the standard deviations are known.
//!
//! [`crate::spread`] judges runs, and is robust where values are not normally distributed. It needs the runs. The F test (R.
//! A. Fisher 1924; Snedecor 1934) needs only the standard deviations, and assumes normally distributed values: with skewed ones
//! it finds differences too often (G. E. P. Box, *Non-normality and tests on variances*, Biometrika 40, 1953).

use crate::moments::Moments;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The test's figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VarianceRatio {
    /// The variance of the first side over that of the second.
    pub f: f64,
    /// Degrees of freedom of both sides.
    pub freedom: [f64; 2],
    /// Probability of a quotient at least that far from 1, in either direction, if the variances are equal.
    pub p: f64,
}

/// Tests whether two variances differ. `None` if a side has fewer than two runs or does not vary.
///
/// ```
/// use unspin_stats::{Moments, variance_ratio};
/// // DBT1 in McKenney 2003, table 4: five runs each.
/// let stock = Moments { count: 5, mean: 85.0, standard_deviation: 7.5 };
/// let rcu = Moments { count: 5, mean: 89.8, standard_deviation: 1.0 };
/// assert!(variance_ratio(&stock, &rcu).unwrap().p < 0.01);
/// ```
pub fn variance_ratio(before: &Moments, after: &Moments) -> Option<VarianceRatio> {
    let varies = |side: &Moments| side.count >= 2 && side.standard_deviation > 0.0;
    if !varies(before) || !varies(after) {
        return None;
    }
    let f = (before.standard_deviation / after.standard_deviation).powi(2);
    let freedom = [before.freedom(), after.freedom()];
    let distribution = FisherSnedecor::new(freedom[0], freedom[1]).ok()?;
    let p = 2.0 * distribution.cdf(f).min(distribution.sf(f));
    Some(VarianceRatio { f, freedom, p: p.min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64, tolerance: f64) {
        assert!((left - right).abs() <= tolerance, "{left} is not {right} within {tolerance}");
    }

    /// `var.test(extra ~ group, data = sleep)` in R prints F = 0.79834, num df = 9, denom df = 9, p-value = 0.7427.
    #[test]
    fn sleep_data_give_the_figures_of_r() {
        let first = Moments::of(&[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]).unwrap();
        let second = Moments::of(&[1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]).unwrap();
        let test = variance_ratio(&first, &second).unwrap();
        close(test.f, 0.79834, 5e-6);
        close(test.p, 0.7427, 5e-5);
        assert_eq!(test.freedom, [9.0, 9.0]);
    }

    /// The 5 % point of F with 4 and 4 degrees of freedom is 6.39, the 2.5 % point 9.60 (any textbook's table).
    #[test]
    fn points_of_the_tables_have_their_probabilities() {
        let with = |f: f64| {
            let before = Moments { count: 5, mean: 1.0, standard_deviation: f.sqrt() };
            variance_ratio(&before, &Moments { standard_deviation: 1.0, ..before }).unwrap().p
        };
        close(with(6.388), 0.10, 1e-4);
        close(with(9.605), 0.05, 1e-4);
        close(with(1.0 / 9.605), 0.05, 1e-4);
    }

    #[test]
    fn side_without_spread_cannot_be_tested() {
        let exact = Moments { count: 2, mean: 46.7, standard_deviation: 0.0 };
        let varies = Moments { standard_deviation: 0.2, ..exact };
        assert_eq!(variance_ratio(&varies, &exact), None);
        assert_eq!(variance_ratio(&exact, &varies), None);
    }
}
