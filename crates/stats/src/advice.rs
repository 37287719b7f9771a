//! How many more rounds it would take.

use serde::{Deserialize, Serialize};

/// What would be needed for every interval to become narrow enough, if the noise stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The comparison with the widest interval.
    pub widest: String,
    /// Its relative half width now, from the t interval of the mean log ratio.
    pub half_width: f64,
    /// The relative half width aimed at.
    pub half_width_target: f64,
    /// Rounds still needed; 0 if all intervals are narrow enough. [`crate::precision::ROUNDS_MAX`] at most.
    pub rounds_more: u32,
    /// About how long those rounds would take, in seconds.
    pub time_more_s: f64,
}
