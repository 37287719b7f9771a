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
