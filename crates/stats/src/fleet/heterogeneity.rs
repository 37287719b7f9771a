//! Does the effect differ between hosts?

use super::Stratum;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Welch's test of equal means with unequal variances, applied to the hosts' mean log ratios. With twenty hosts it finds a
/// difference in 7 % of equal fleets at the level 5 % (`tests/suite/fleet.rs`), so that no verdict rests on it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heterogeneity {
    /// Cochran's Q.
    pub q: f64,
    /// Q's degrees of freedom: hosts − 1.
    pub freedom: u32,
    /// Welch's F, that is Q over its degrees of freedom, corrected for variances that are estimated from few rounds.
    pub f: f64,
    /// The p value of F.
    pub p: f64,
    /// I²: the share of the scatter between hosts that their noise does not explain.
    pub i_squared: f64,
}

impl Heterogeneity {
    /// `None` below two hosts.
    pub fn of(strata: &[Stratum]) -> Option<Heterogeneity> {
        let hosts = strata.len() as f64;
        if strata.len() < 2 {
            return None;
        }
        let sum: f64 = strata.iter().map(|stratum| 1.0 / stratum.variance).sum();
        let mean = strata.iter().map(|stratum| stratum.mean / stratum.variance).sum::<f64>() / sum;
        let q: f64 = strata.iter().map(|stratum| (stratum.mean - mean).powi(2) / stratum.variance).sum();
        let uncertainty =
            |stratum: &Stratum| (1.0 - 1.0 / (stratum.variance * sum)).powi(2) / stratum.freedom();
        let uncertainty: f64 = strata.iter().map(uncertainty).sum();
        let factor = 1.0 + 2.0 * (hosts - 2.0) / (hosts * hosts - 1.0) * uncertainty;
        let f = q / (hosts - 1.0) / factor;
        let freedom = (hosts * hosts - 1.0) / (3.0 * uncertainty);
        let p = FisherSnedecor::new(hosts - 1.0, freedom).map_or(1.0, |fisher| fisher.sf(f));
        let i_squared = if f > 1.0 { 1.0 - 1.0 / f } else { 0.0 };
        Some(Heterogeneity { q, freedom: strata.len() as u32 - 1, f, p, i_squared })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strata(hosts: &[&[f64]]) -> Vec<Stratum> {
        hosts.iter().map(|rounds| Stratum::of(rounds, None).unwrap()).collect()
    }

    /// With two groups Welch's F is the square of Welch's t: `t.test(extra ~ group, data = sleep)` in R prints t = -1.8608,
    /// df = 17.776, p-value = 0.07939.
    #[test]
    fn two_hosts_give_welchs_t_test() {
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let found = Heterogeneity::of(&strata(&[&first, &second])).unwrap();
        assert!((found.f - 1.8608f64.powi(2)).abs() < 1e-3, "{found:?}");
        assert!((found.p - 0.07939).abs() < 5e-6, "{found:?}");
        assert_eq!(found.freedom, 1);
    }

    #[test]
    fn equal_hosts_do_not_differ() {
        let rounds = [0.1, 0.2, 0.15, 0.12, 0.18];
        let found = Heterogeneity::of(&strata(&[&rounds, &rounds, &rounds])).unwrap();
        assert_eq!((found.i_squared, found.p), (0.0, 1.0));
        assert_eq!(Heterogeneity::of(&strata(&[&rounds])), None);
    }
}
