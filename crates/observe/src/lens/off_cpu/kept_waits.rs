//! The longest times that threads were blocked.

use super::states::{Blocked, Interval, SchedState};
use crate::lens::spaces::SpaceId;
use crate::lens::timeline::longest::LongestWaits;
use crate::lens::timeline::track::Track;
use std::collections::HashMap;

/// Keeps the longest times that threads were blocked.
#[derive(Debug, Default)]
pub struct KeptWaits {
    pub waits: LongestWaits<(SpaceId, Blocked), BlockedWait>,
    /// CPU time of each thread, by its number.
    cpu_ns: HashMap<u32, u64>,
}

/// What is known of a time that a thread was blocked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockedWait {
    /// The thread that ran on the CPU that woke it; none if it was not woken, or by an idle CPU.
    pub waker: Option<Track>,
    /// CPU time that the thread had used before.
    pub cpu_ns: u64,
}

impl KeptWaits {
    /// Takes in a state that ended at this time.
    pub fn note(&mut self, track: Track, space: SpaceId, interval: Interval, end: u64, waker: Option<Track>) {
        let Interval { state, ns } = interval;
        match state {
            SchedState::OnCpu => *self.cpu_ns.entry(track.tid()).or_default() += ns,
            SchedState::Runnable => {}
            SchedState::Blocked(blocked) => {
                let cpu_ns = self.cpu_ns.get(&track.tid()).copied().unwrap_or(0);
                let times = [end.saturating_sub(ns), end];
                self.waits.note(track, times, &(space, blocked), BlockedWait { waker, cpu_ns });
            }
        }
    }

    /// Forgets a thread that has ended: another one may get its number.
    pub fn forget(&mut self, tid: u32) {
        self.cpu_ns.remove(&tid);
    }
}
