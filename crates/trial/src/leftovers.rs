//! Processes that a program leaves behind.
//!
//! A run that overlaps with leftover processes of the previous run measures both. While `prove` runs, orphans become
//! its own children. So it sees all of them, including those that have left the process group or the session.

use std::fs;
use std::time::{Duration, Instant};
use unspin_sys::Errno;
use unspin_sys::child::{self, Signal, Usage};

/// The leftover processes of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Leftovers {
    /// Number of processes that did not end by themselves in time.
    pub processes: u32,
    /// What all of them used.
    pub usage: Usage,
}

/// Time for processes to end by themselves after the program has exited.
pub const AFTER_RETURN: Duration = Duration::from_millis(200);
/// The same after the program was killed: a thousand children need some time to die, and other processes may have to
/// clean up what they leave in the kernel.
pub const AFTER_DEATH: Duration = Duration::from_secs(5);
/// Time for processes to end after SIGTERM.
const TERMINATE_TIMEOUT: Duration = Duration::from_millis(500);
/// Time for processes to end after SIGKILL. A process in an uninterruptible wait takes longer and is left.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until all processes have ended that a run has left, and ends those that still exist after `timeout`. `group` is the
/// process group of its program; none if it was not started.
pub fn clear(group: Option<u32>, timeout: Duration) -> Leftovers {
    let mut leftovers = Leftovers::default();
    if reap(&mut leftovers, timeout) {
        return leftovers;
    }
    leftovers.processes = children().len() as u32;
    if let Some(group) = group {
        let _ = child::signal_group(group, Signal::Terminate);
    }
    signal_all(Signal::Terminate);
    if reap(&mut leftovers, TERMINATE_TIMEOUT) {
        return leftovers;
    }
    let began = Instant::now();
    while began.elapsed() < KILL_TIMEOUT {
        // The children of a killed process become children of this one.
        signal_all(Signal::Kill);
        if reap(&mut leftovers, PAUSE) {
            break;
        }
    }
    leftovers
}

/// Waits until no process of a group is left, at most so long, and no longer than `is_over` is false. Adds the usage of children
/// that have ended. Returns whether none is left.
pub fn group_ends(group: u32, timeout: Duration, is_over: impl Fn() -> bool, usage: &mut Usage) -> bool {
    let began = Instant::now();
    loop {
        // If the parent of a member has ended, the member is our child. It stays a member until it is collected.
        let mut ended = Leftovers::default();
        reap(&mut ended, Duration::ZERO);
        *usage += ended.usage;
        // Signal 0 asks whether there is a process: kill(2).
        if child::signal_group(group, Signal::PassedOn(0)) == Err(Errno::ESRCH) {
            return true;
        }
        if began.elapsed() >= timeout || is_over() {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Collects children that have ended. Returns whether all have.
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
        // A child that has not been waited for, so its pid cannot have been reused.
        let _ = child::signal(pid, signal);
    }
}

/// The children of all threads of this process: `/proc/self/task/TID/children`.
fn children() -> Vec<u32> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|w| w.parse().ok()).collect::<Vec<u32>>())
        .collect()
}
