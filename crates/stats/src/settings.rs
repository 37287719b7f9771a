//! The levels at which a difference counts as proven.

use serde::{Deserialize, Serialize};

/// Levels and numbers of random draws. The defaults are the conventions of the field.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Confidence of every interval: 0.95.
    pub confidence: f64,
    /// Significance level of a proof, after Holm's correction: 0.05.
    pub alpha: f64,
    /// Power for which the minimum detectable effect is stated: 0.8.
    pub power: f64,
    /// Bootstrap resamples per interval. The ends lie far out in the tails, see [`crate::bootstrap`]; with fewer than
    /// about 5000 resamples they vary visibly from seed to seed.
    pub resamples: u32,
    /// Number of random permutations, where not all are tried.
    pub draws: u32,
    /// By which share a candidate's CPU time may exceed the control's if the candidate is to be recommended (0.5: half
    /// as much again); absent: no limit. See [`crate::CpuCost`].
    #[serde(default)]
    pub cpu_limit: Option<f64>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            confidence: 0.95,
            alpha: 0.05,
            power: 0.8,
            resamples: 9_999,
            draws: 9_999,
            cpu_limit: None,
        }
    }
}
