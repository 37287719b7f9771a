//! How many more rounds would be needed.

use serde::{Deserialize, Serialize};

/// What is needed to make every interval narrow enough, if the noise stays the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The comparison with the widest interval.
    pub widest: String,
    /// The current relative half width, from the t interval of the mean log ratio.
    pub half_width: f64,
    /// The target of the relative half width.
    pub half_width_target: f64,
    /// Rounds still needed; 0 if all intervals are narrow enough. At most [`crate::precision::ROUNDS_MAX`].
    pub rounds_more: u32,
    /// Estimated time for those rounds, in seconds.
    pub time_more_s: f64,
}
