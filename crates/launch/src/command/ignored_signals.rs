//! Signals that unspin was started to ignore, as by nohup(1) or by a shell in the background.

use std::fs;

/// The signals of this list that are not ignored. A handler for an ignored signal would end the program's run although
/// the user asked for the opposite, and the program would not inherit that the signal is ignored.
pub fn without_ignored(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored_mask();
    signals.iter().copied().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}

/// Bit n - 1 for signal n: proc_pid_status(5).
fn ignored_mask() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
