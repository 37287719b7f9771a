//! All measurements of one session.

use crate::metric::Metric;
use crate::sample::SampleSet;
use serde::{Deserialize, Serialize};

/// All runs of a session, before any statistics. The control comes first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The metric of the runs.
    pub metric: Metric,
    /// Seed of every random decision.
    pub seed: u64,
    /// The runs of each candidate.
    pub samples: Vec<SampleSet>,
}

impl Experiment {
    /// The wall time of the control's slowest run that has a value, in seconds; 0 without one.
    pub(crate) fn control_worst_s(&self) -> f64 {
        self.samples[0].worst_s()
    }
}
