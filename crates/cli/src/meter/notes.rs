//! Notes for the user beside the table.

use super::recorded_program::RecordedProgram;
use std::fs;
use unspin_meter::Snapshot;
use unspin_sys::child::End;

/// Maximum number of processes that are named.
const NAMED_MAX: usize = 4;

/// How the program ended, if it did not exit by itself.
pub fn ending(end: End) -> Option<String> {
    let End::Killed(signal) = end else { return None };
    let name = signal_hook::low_level::signal_name(signal).map_or(String::new(), |name| format!(" ({name})"));
    Some(format!("Signal {signal}{name} killed the program; these are the records until then."))
}

/// The processes that outlive the program: they go on, and their records are lost.
pub fn survivors(recorded: &RecordedProgram) -> Option<String> {
    let mut left: Vec<String> = recorded
        .recorded_processes()
        .into_iter()
        .map(|pid| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            format!("{} ({pid})", name.trim_end())
        })
        .collect();
    let them = if left.len() == 1 { "it" } else { "them" };
    let more = left.len().saturating_sub(NAMED_MAX);
    left.truncate(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!left.is_empty()).then(|| {
        let left = left.join(", ");
        format!(
            "Still running, not recorded further: {left}{more}; run {them} in the foreground to meter {them}."
        )
    })
}

/// What to do about a recording that was too small.
pub fn room(recorded: &RecordedProgram, snapshot: &Snapshot, size: u64) -> Option<String> {
    let missing = snapshot.unrecorded;
    if missing.is_nothing() {
        return None;
    }
    // The last request that did not fit was for a piece of up to some megabytes.
    let full = recorded.recording.bytes() >= size / 8 * 7;
    Some(match full {
        true => format!(
            "The recording of {} MiB is full: enlarge it with --size, or record less with --level counts.",
            size >> 20
        ),
        false => format!(
            "There was no memory for more than {} MiB of the recording: free some in {}, or record less with --level counts.",
            recorded.recording.bytes() >> 20,
            recorded.path().parent().unwrap_or(&recorded.path()).display()
        ),
    })
}
