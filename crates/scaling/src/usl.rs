//! Gunther's universal scalability law: X(P) = X(1) · P / (1 + α(P − 1) + βP(P − 1)).
//!
//! A curve with two parameters, *contention* α and *coherence* β. It knows no lock and no machine, so it serves as a
//! cross-check of the queueing model.

use serde::{Deserialize, Serialize};

/// A fitted law.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct ScalabilityLaw {
    /// Throughput on one CPU.
    pub one: f64,
    /// Contention: the share that is serial.
    pub alpha: f64,
    /// Coherence: the cost of each pair of CPUs. 0 where it could not be fitted.
    pub beta: f64,
}

impl ScalabilityLaw {
    /// Fits the law by least squares of P·X(1)/X(P) − 1, to points (CPUs, throughput). One of them must be of one CPU.
    /// With one other point, β is 0; with none there is no law. Negative parameters become 0: the law has no gain beyond
    /// P times.
    ///
    /// ```
    /// use unspin_scaling::usl::ScalabilityLaw;
    /// let law = ScalabilityLaw::fit(&[(1, 100.0), (2, 160.0)]).unwrap();
    /// assert!((law.alpha - 0.25).abs() < 1e-12 && law.beta == 0.0);
    /// assert!((law.throughput(4) - 100.0 * 4.0 / 1.75).abs() < 1e-9);
    /// ```
    pub fn fit(points: &[(u32, f64)]) -> Option<ScalabilityLaw> {
        let one = points.iter().find(|(cpus, _)| *cpus == 1)?.1;
        let rows: Vec<(f64, f64, f64)> = points
            .iter()
            .filter(|(cpus, _)| *cpus > 1)
            .map(|&(cpus, throughput)| {
                let p = f64::from(cpus);
                (p - 1.0, p * (p - 1.0), p * one / throughput - 1.0)
            })
            .collect();
        let sum = |f: &dyn Fn(&(f64, f64, f64)) -> f64| rows.iter().map(f).sum::<f64>();
        let (aa, ab, bb) = (sum(&|r| r.0 * r.0), sum(&|r| r.0 * r.1), sum(&|r| r.1 * r.1));
        let (ay, by) = (sum(&|r| r.0 * r.2), sum(&|r| r.1 * r.2));
        let alone = (ay / aa).max(0.0);
        let (alpha, beta) = match rows.len() {
            0 => return None,
            1 => (alone, 0.0),
            _ => {
                let determinant = aa * bb - ab * ab;
                let (alpha, beta) = ((ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant);
                match (alpha >= 0.0, beta >= 0.0) {
                    (true, true) => (alpha, beta),
                    (true, false) => (alone, 0.0),
                    (false, _) => (0.0, (by / bb).max(0.0)),
                }
            }
        };
        Some(ScalabilityLaw { one, alpha, beta })
    }

    /// The throughput on `cpus` CPUs.
    pub fn throughput(&self, cpus: u32) -> f64 {
        let p = f64::from(cpus);
        self.one * p / (1.0 + self.alpha * (p - 1.0) + self.beta * p * (p - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_recovered() {
        let law = ScalabilityLaw { one: 7.0, alpha: 0.08, beta: 0.004 };
        let points: Vec<(u32, f64)> = [1, 2, 4, 8].map(|cpus| (cpus, law.throughput(cpus))).to_vec();
        let fitted = ScalabilityLaw::fit(&points).unwrap();
        assert!((fitted.alpha - 0.08).abs() < 1e-9 && (fitted.beta - 0.004).abs() < 1e-9, "{fitted:?}");
    }

    #[test]
    fn gain_beyond_the_cpus_becomes_the_cpus() {
        let law = ScalabilityLaw::fit(&[(1, 10.0), (2, 25.0)]).unwrap();
        assert_eq!((law.alpha, law.beta), (0.0, 0.0));
        assert_eq!(ScalabilityLaw::fit(&[(1, 10.0)]), None);
        assert_eq!(ScalabilityLaw::fit(&[(2, 10.0), (4, 15.0)]), None);
    }
}
