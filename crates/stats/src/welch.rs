//! Welch's t test of two means, for published figures.
//!
//! A session of `unspin prove` pairs its runs and relabels them ([`crate::permutation`]). A published table has no
//! pairs, and often only moments. Welch's test needs no more: B. L. Welch, *The generalization of "Student's" problem when
//! several different population variances are involved*, Biometrika 34, 1947. It assumes values that are normally
//! distributed, and does not assume that both sides vary equally.

use crate::interval::Ratio;
use crate::metric::Direction;
use crate::moments::Moments;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The test's figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WelchTest {
    /// Difference of the means over its standard error; positive if the second mean is larger.
    pub t: f64,
    /// Degrees of freedom by Welch and Satterthwaite; no whole number in general.
    pub freedom: f64,
    /// Probability of a difference at least that large, in either direction, if the means are equal.
    pub p: f64,
}

/// Tests whether two means differ. `None` if a side has fewer than two runs, or if neither side varies: then the test has
/// no scale by which to judge the difference.
///
/// ```
/// use unspin_stats::{Moments, welch};
/// // DBT1 in McKenney 2003, table 4: five runs each.
/// let stock = Moments { count: 5, mean: 85.0, standard_deviation: 7.5 };
/// let rcu = Moments { count: 5, mean: 89.8, standard_deviation: 1.0 };
/// assert!(welch(&stock, &rcu).unwrap().p > 0.2);
/// ```
pub fn welch(before: &Moments, after: &Moments) -> Option<WelchTest> {
    let (t, freedom) = studentise(
        after.mean - before.mean,
        [before.variance_of_mean(), after.variance_of_mean()],
        [before.freedom(), after.freedom()],
    )?;
    Some(WelchTest { t, freedom, p: (2.0 * student(freedom)?.sf(t.abs())).min(1.0) })
}

/// How many times as good the second mean is, with its interval at this confidence: Welch's interval of the difference of
/// the logarithms, whose variances follow from the coefficients of variation (delta method). `None` as for [`welch`], or if
/// a mean is not positive.
pub fn welch_ratio(
    before: &Moments,
    after: &Moments,
    direction: Direction,
    confidence: f64,
) -> Option<Ratio> {
    if before.mean <= 0.0 || after.mean <= 0.0 {
        return None;
    }
    let variance = |side: &Moments| side.variance_of_mean() / side.mean.powi(2);
    let value = direction.times_as_good(after.mean, before.mean);
    let variances = [variance(before), variance(after)];
    let (_, freedom) = studentise(value.ln(), variances, [before.freedom(), after.freedom()])?;
    let half = student(freedom)?.inverse_cdf(0.5 + 0.5 * confidence) * variances.iter().sum::<f64>().sqrt();
    Some(Ratio { value, lower: value * (-half).exp(), upper: value * half.exp() })
}

/// A difference over its standard error, and the degrees of freedom of that by Welch and Satterthwaite. `variances` are those of
/// the two means, `freedoms` their degrees of freedom.
pub(crate) fn studentise(difference: f64, variances: [f64; 2], freedoms: [f64; 2]) -> Option<(f64, f64)> {
    let sum: f64 = variances.iter().sum();
    if freedoms.iter().any(|&freedom| freedom < 1.0) || !(sum > 0.0 && sum.is_finite()) {
        return None;
    }
    // Shares of the sum: a variance may be so small that its square is 0.
    let parts = variances.iter().zip(freedoms).map(|(variance, freedom)| (variance / sum).powi(2) / freedom);
    Some((difference / sum.sqrt(), 1.0 / parts.sum::<f64>()))
}

pub(crate) fn student(freedom: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, freedom).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(left: f64, right: f64, tolerance: f64) {
        assert!((left - right).abs() <= tolerance, "{left} is not {right} within {tolerance}");
    }

    /// `t.test(extra ~ group, data = sleep)` in R prints t = -1.8608, df = 17.776, p-value = 0.07939 (the data of Student
    /// 1908).
    #[test]
    fn sleep_data_give_the_figures_of_r() {
        let first = Moments::of(&[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]).unwrap();
        let second = Moments::of(&[1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]).unwrap();
        let test = welch(&first, &second).unwrap();
        close(test.t, 1.8608, 5e-5);
        close(test.freedom, 17.776, 5e-4);
        close(test.p, 0.07939, 5e-6);
    }

    /// By hand: the standard error is √(7.5²/5 + 1²/5) = 3.3838, t = 4.8 / 3.3838 = 1.4185; 11.45² / (11.25²/4 + 0.2²/4) =
    /// 4.1421 degrees of freedom.
    #[test]
    fn dbt1_of_mckenney_2003_proves_no_difference_of_the_means() {
        let stock = Moments { count: 5, mean: 85.0, standard_deviation: 7.5 };
        let rcu = Moments { count: 5, mean: 89.8, standard_deviation: 1.0 };
        let test = welch(&stock, &rcu).unwrap();
        close(test.t, 1.4185, 5e-5);
        close(test.freedom, 4.1421, 5e-4);
        assert!((0.22..0.24).contains(&test.p), "{test:?}");
        let ratio = welch_ratio(&stock, &rcu, Direction::HigherIsBetter, 0.95).unwrap();
        close(ratio.value, 89.8 / 85.0, 1e-12);
        assert!(ratio.includes_one(), "{ratio:?}");
    }

    #[test]
    fn sides_that_do_not_vary_or_have_one_run_cannot_be_tested() {
        let exact = Moments { count: 5, mean: 1.0, standard_deviation: 0.0 };
        assert_eq!(welch(&exact, &Moments { mean: 2.0, ..exact }), None);
        let one = Moments { count: 1, mean: 1.0, standard_deviation: 1.0 };
        assert_eq!(welch(&exact, &one), None);
        assert_eq!(welch_ratio(&exact, &Moments { mean: 0.0, ..one }, Direction::LowerIsBetter, 0.95), None);
    }
}
