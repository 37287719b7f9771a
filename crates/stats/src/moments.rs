//! Count, mean and standard deviation of runs, as a published table states them without the single runs.

use crate::sample::{mean, standard_deviation};
use serde::{Deserialize, Serialize};

/// The moments of some runs, in the unit of their metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of runs.
    pub count: u32,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor n − 1).
    pub standard_deviation: f64,
}

impl Moments {
    /// Of these values; `None` below two values, which have no standard deviation.
    pub fn of(values: &[f64]) -> Option<Moments> {
        let standard_deviation = standard_deviation(values)?;
        Some(Moments { count: values.len() as u32, mean: mean(values), standard_deviation })
    }

    /// The variance of the mean.
    pub(crate) fn variance_of_mean(&self) -> f64 {
        self.standard_deviation.powi(2) / f64::from(self.count)
    }

    /// Standard deviation over mean.
    pub fn coefficient_of_variation(&self) -> f64 {
        self.standard_deviation / self.mean
    }

    /// Degrees of freedom of the standard deviation.
    pub(crate) fn freedom(&self) -> f64 {
        f64::from(self.count.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_has_no_moments() {
        assert_eq!(Moments::of(&[1.0]), None);
        let moments = Moments::of(&[1.0, 3.0]).unwrap();
        assert_eq!((moments.count, moments.mean), (2, 2.0));
        assert!((moments.standard_deviation - 2f64.sqrt()).abs() < 1e-12);
    }
}
