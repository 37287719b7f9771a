//! Detects that a running candidate has collapsed and need not be waited for.

use std::time::Duration;

/// A candidate that runs longer than this many times the control's slowest run has collapsed. The factor is above the
/// eleven that RCU gained in semopbench (McKenney 2003, table 5: 515.3 s to 46.7 s), because the largest difference that
/// this tool was built to show must be measured, not cut off.
pub const LIMIT_FACTOR: u32 = 20;

/// No run counts as collapsed before this time: start-up and scheduling can slow a short program by any factor.
pub const LIMIT_AT_LEAST: Duration = Duration::from_secs(5);

/// The time limit of a run, given the durations of the control's runs; `None` before the control has run.
pub fn limit(control_runs: &[Duration]) -> Option<Duration> {
    let worst = control_runs.iter().max()?;
    Some(worst.saturating_mul(LIMIT_FACTOR).max(LIMIT_AT_LEAST))
}

/// Whether a run that has lasted `elapsed` so far should be stopped.
///
/// ```
/// use std::time::Duration;
/// use unspin_stats::collapse::is_collapsed;
/// let control = [Duration::from_secs(1), Duration::from_secs(2)];
/// assert!(!is_collapsed(Duration::from_secs(40), &control));
/// assert!(is_collapsed(Duration::from_secs(41), &control));
/// assert!(!is_collapsed(Duration::from_secs(4), &[Duration::from_millis(1)]));
/// assert!(!is_collapsed(Duration::from_secs(1000), &[])); // nothing to compare with
/// ```
pub fn is_collapsed(elapsed: Duration, control_runs: &[Duration]) -> bool {
    limit(control_runs).is_some_and(|limit| elapsed > limit)
}
