//! One run of one candidate, and its outcome.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use std::time::Duration;

/// How a run ended. A run without a value is a result like any other and is never dropped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum RunOutcome {
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
    /// It was stopped at a time limit, and no thread of it ran in the second half of that time.
    Hung {
        /// The limit in seconds.
        limit_s: f64,
    },
    /// It was stopped because the time budget cannot pay for runs of this length, see [`crate::much_slower`]. Its value
    /// is unknown.
    Stopped {
        /// The limit in seconds.
        limit_s: f64,
    },
}

impl RunOutcome {
    /// A value; a failure if no ratio can be formed with it, see [`comparable`].
    ///
    /// ```
    /// use unspin_stats::RunOutcome;
    /// assert_eq!(RunOutcome::measured(2.5), RunOutcome::Ok { value: 2.5 });
    /// assert!(matches!(RunOutcome::measured(0.0), RunOutcome::Failed { .. }));
    /// ```
    pub fn measured(value: f64) -> RunOutcome {
        match comparable(value) {
            Ok(value) => RunOutcome::Ok { value },
            Err(reason) => RunOutcome::Failed { reason },
        }
    }

    /// The time limit in seconds of a run that was cut off: it took many times as long as the control, or hung.
    pub fn cut_off_at(&self) -> Option<f64> {
        match *self {
            RunOutcome::Collapsed { limit_s } | RunOutcome::Hung { limit_s } => Some(limit_s),
            RunOutcome::Ok { .. } | RunOutcome::Failed { .. } | RunOutcome::Stopped { .. } => None,
        }
    }
}

/// Squares of ratios of larger and smaller figures would be beyond the range of numbers.
const COMPARABLE: RangeInclusive<f64> = 1e-50..=1e50;

/// A value with which a ratio can be formed, or the reason why none can.
///
/// ```
/// use unspin_stats::comparable;
/// assert_eq!(comparable(2.5), Ok(2.5));
/// assert!(comparable(1e300).unwrap_err().contains("from 1e-50 to 1e50"));
/// ```
pub fn comparable(value: f64) -> Result<f64, String> {
    if !(value.is_finite() && value > 0.0) {
        Err(format!("the metric is {value}; a ratio needs a positive finite figure"))
    } else if !COMPARABLE.contains(&value) {
        Err(format!("the metric is {value:e}; only figures from 1e-50 to 1e50 are compared"))
    } else {
        Ok(value)
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
    /// The distance between neighbouring values that could have been printed, in the metric's unit: 0.001 for "1 ms". Absent if
    /// the value was not printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// Number of requests that the run served; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// How it ended.
    #[serde(flatten)]
    pub outcome: RunOutcome,
}

impl Run {
    /// A run with this wall time and outcome. All else is unknown.
    pub fn new(elapsed: Duration, outcome: RunOutcome) -> Run {
        Run { elapsed_s: elapsed.as_secs_f64(), cpu_s: None, step: None, samples: None, outcome }
    }

    /// This run with its CPU time.
    pub fn with_cpu_s(self, cpu_s: f64) -> Run {
        Run { cpu_s: Some(cpu_s), ..self }
    }

    /// This run with the step of its value.
    pub fn with_step(self, step: Option<f64>) -> Run {
        Run { step, ..self }
    }

    /// This run with the number of requests that it served.
    pub fn with_samples(self, samples: Option<u64>) -> Run {
        Run { samples, ..self }
    }

    /// The value of the metric, if the run ended successfully.
    pub fn value(&self) -> Option<f64> {
        match self.outcome {
            RunOutcome::Ok { value } => Some(value),
            RunOutcome::Failed { .. }
            | RunOutcome::Collapsed { .. }
            | RunOutcome::Hung { .. }
            | RunOutcome::Stopped { .. } => None,
        }
    }
}
