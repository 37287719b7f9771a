//! The seed of a session.

use std::time::{SystemTime, UNIX_EPOCH};

/// A different order for each session. The report contains the seed, so that the analysis can be repeated.
pub fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_nanos() as u64)
}
