//! The counts of a queue.

use core::time::Duration;

/// What happened to a queue so far. The counts are read without locks, so they are not of one instant.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct QueueStatistics {
    /// Tasks in it now.
    pub len: usize,
    /// Times that its worker took tasks from another queue.
    pub steals: u64,
    /// Tasks that its worker took there.
    pub stolen: u64,
    /// Locks of other queues that its worker did not get, because another thread held them.
    pub missed_trylocks: u64,
    /// Times that its worker found no task, but had missed a lock, and looked again.
    pub premature_idles: u64,
    /// The uses of its lock; none without a recording.
    pub lock: Option<LockTimes>,
}

/// The uses of a lock.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LockTimes {
    /// Times that it was acquired.
    pub acquisitions: u64,
    /// Of these, the times that a thread waited for it.
    pub waits: u64,
    /// Trylocks that found it taken.
    pub missed: u64,
    /// Sum of the times that it was held.
    pub held: Duration,
    /// Sum of the times that threads waited for it.
    pub waited: Duration,
}

#[cfg(not(any(loom, shuttle)))]
impl LockTimes {
    /// What a recording has of a queue's lock.
    pub(crate) fn from_recording(recorder: crate::lock::Recorder, queue: usize) -> LockTimes {
        let key = recorder.lock_key(queue);
        let snapshot = recorder.recording().snapshot();
        let mut sum = unspin_wire::Counts::default();
        for (known, record) in snapshot.images.iter().flat_map(|image| &image.rows) {
            if known.lock == key {
                sum.merge(&record.counts);
            }
        }
        let time = |ticks| Duration::from_secs_f64(snapshot.window.to_seconds(ticks));
        LockTimes {
            acquisitions: sum.acquisitions(),
            waits: sum.waiters(),
            missed: sum.rejected,
            held: time(sum.hold),
            waited: time(sum.wait()),
        }
    }
}

#[cfg(any(loom, shuttle))]
impl LockTimes {
    pub(crate) fn from_recording(recorder: crate::lock::Recorder, _: usize) -> LockTimes {
        match recorder {}
    }
}
