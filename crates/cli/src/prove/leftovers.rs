//! Processes that a program leaves behind.
//!
//! A run that overlaps with what is left of the one before measures both. While `prove` runs, orphans become
//! its own children, so it sees all of them, those that left the process group or the session too.

use std::fs;
use std::time::{Duration, Instant};
use unspin_sys::child::{self, Signal, Usage};

/// What was left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leftovers {
    /// Processes that did not end by themselves in time.
    pub processes: u32,
    /// What all of them used.
    pub usage: Usage,
}

/// How long what is left may take to end by itself after a program that returned: no time to speak of.
pub const AFTER_RETURN: Duration = Duration::from_millis(200);
/// The same after a program that was killed: a thousand children need some time to die, and what they leave
/// in the kernel is cleared by whoever they have for it.
pub const AFTER_DEATH: Duration = Duration::from_secs(5);
/// How long processes may take to end when asked to.
const TERMINATE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long killed processes may take: one in an uninterruptible wait is given up on.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until nothing is left of the program that led the process group `group`, and ends what is still there
/// after `timeout`.
pub fn clear(group: u32, timeout: Duration) -> Leftovers {
    let mut leftovers = Leftovers::default();
    if reap(&mut leftovers, timeout) {
        return leftovers;
    }
    leftovers.processes = children().len() as u32;
    let _ = child::signal_group(group, Signal::Terminate);
    signal_all(Signal::Terminate);
    if reap(&mut leftovers, TERMINATE_TIMEOUT) {
        return leftovers;
    }
    let began = Instant::now();
    while began.elapsed() < KILL_TIMEOUT {
        // Each that is killed may hand us its own children.
        signal_all(Signal::Kill);
        if reap(&mut leftovers, PAUSE) {
            break;
        }
    }
    leftovers
}

/// Collects children that have ended. Answers whether all have.
fn reap(leftovers: &mut Leftovers, timeout: Duration) -> bool {
    let began = Instant::now();
    loop {
        match child::try_wait_any() {
            Ok(Some(ended)) => leftovers.usage += ended.usage,
            Ok(None) if began.elapsed() >= timeout => return false,
            Ok(None) => std::thread::sleep(PAUSE),
            Err(_) => return true, // ECHILD
        }
    }
}

fn signal_all(signal: Signal) {
    for pid in children() {
        // Ours and not waited for, so the pid cannot have gone to another.
        let _ = child::signal(pid, signal);
    }
}

/// The children of all our threads: `/proc/self/task/TID/children`.
fn children() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|w| w.parse().ok()).collect::<Vec<u32>>())
        .collect()
}
