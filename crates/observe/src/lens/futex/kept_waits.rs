//! The longest waits at futexes.

use super::call::FutexWaitOutcome;
use super::futex_use::FutexUse;
use super::recent_wakes::RecentWakes;
use crate::lens::timeline::longest::LongestWaits;
use crate::lens::timeline::track::Track;

/// Keeps the longest waits at futexes, each with the thread that ended it if that is known.
#[derive(Debug, Default)]
pub struct KeptWaits {
    pub waits: LongestWaits<FutexUse, FutexWaitEnd>,
    pub wakes: RecentWakes,
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FutexWaitEnd {
    /// None if it has not ended.
    pub outcome: Option<FutexWaitOutcome>,
    pub waker: Option<Track>,
}

impl KeptWaits {
    /// Takes in a wait.
    pub fn note(
        &mut self,
        track: Track,
        times: [u64; 2],
        what: &FutexUse,
        outcome: Option<FutexWaitOutcome>,
    ) {
        let waker = match outcome {
            Some(FutexWaitOutcome::Woken) => self.wakes.waker(&what.futex, times),
            _ => None,
        };
        self.waits.note(track, times, what, FutexWaitEnd { outcome, waker });
    }
}
