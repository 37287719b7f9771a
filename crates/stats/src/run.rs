//! One run of one candidate, and its outcome.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a run ended. A run without a value is a result like any other and is never dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// It ended successfully with this value of the metric (in the metric's unit, positive and finite).
    Ok {
        /// The value of the metric.
        value: f64,
    },
    /// It crashed, returned an error, or printed no usable figure.
    Failed {
        /// What happened, in one line.
        reason: String,
    },
    /// It was stopped at its time limit, see [`crate::collapse`].
    Collapsed {
        /// The limit in seconds.
        limit_s: f64,
    },
}

impl Outcome {
    /// A value; a failure if the value is not positive and finite, because then no ratio can be formed with it.
    ///
    /// ```
    /// use unspin_stats::Outcome;
    /// assert_eq!(Outcome::measured(2.5), Outcome::Ok { value: 2.5 });
    /// assert!(matches!(Outcome::measured(0.0), Outcome::Failed { .. }));
    /// ```
    pub fn measured(value: f64) -> Outcome {
        if value.is_finite() && value > 0.0 {
            Outcome::Ok { value }
        } else {
            let reason = format!("the metric is {value}; a ratio needs a positive finite figure");
            Outcome::Failed { reason }
        }
    }
}

/// One run: its duration and outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Wall time of the run in seconds, for any metric.
    pub elapsed_s: f64,
    /// CPU time of the run in seconds, user and system, including its children; absent if unknown.
    #[serde(default)]
    pub cpu_s: Option<f64>,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Run {
    /// A run with this wall time and outcome. Its CPU time is unknown.
    pub fn new(elapsed: Duration, outcome: Outcome) -> Run {
        Run { elapsed_s: elapsed.as_secs_f64(), cpu_s: None, outcome }
    }

    /// The same run with its CPU time.
    pub fn with_cpu_s(self, cpu_s: f64) -> Run {
        Run { cpu_s: Some(cpu_s), ..self }
    }

    /// The value of the metric, if the run ended successfully.
    pub fn value(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Ok { value } => Some(value),
            Outcome::Failed { .. } | Outcome::Collapsed { .. } => None,
        }
    }
}
