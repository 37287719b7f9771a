//! A lock and what it protects. Every use of it has an operation, which is the caller in the meter's table.

use crate::lock::cell::UnsafeCell;
use crate::lock::{Operation, Recorder};
use unspin_locks::RawLock;

/// A lock and the value that it protects.
#[derive(Debug)]
pub(crate) struct QueueLock<L, T> {
    lock: L,
    /// Immutable. Without a recording a use of the lock costs one branch more than the lock.
    recorder: Option<Recorder>,
    /// Immutable: the number of the queue in the meter's keys.
    number: usize,
    /// Protected by `lock`.
    value: UnsafeCell<T>,
}

// SAFETY: `value` is reached under `lock` only, by one thread at a time, which may drop it or replace it: `T: Send`.
unsafe impl<L: RawLock, T: Send> Sync for QueueLock<L, T> {}

/// Releases the lock, also if the operation panics.
struct Held<'a, L: RawLock>(&'a L);

impl<L: RawLock> Drop for Held<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the value is made by a thread that has acquired the lock, and is dropped by that thread.
        unsafe { self.0.unlock() };
    }
}

impl<L: RawLock, T> QueueLock<L, T> {
    /// A free lock.
    pub fn new(number: usize, value: T, recorder: Option<Recorder>) -> QueueLock<L, T> {
        QueueLock { lock: L::new(), recorder, number, value: UnsafeCell::new(value) }
    }

    /// The recorder, if the lock is recorded.
    pub fn recorder(&self) -> Option<Recorder> {
        self.recorder
    }

    /// The number of the queue.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Waits for the lock and runs `f` under it.
    #[inline(always)]
    pub fn with<R>(&self, operation: Operation, f: impl FnOnce(&mut T) -> R) -> R {
        match self.recorder {
            None => {
                self.lock.lock(&mut L::Node::default());
                let _held = Held(&self.lock);
                // SAFETY: the lock is held, until after the reference is gone.
                self.value.with_mut(|value| f(unsafe { &mut *value }))
            }
            Some(recorder) => self.with_recorder(recorder, operation, f),
        }
    }

    /// Runs `f` under the lock if it is free. The argument comes back if it is not.
    #[inline(always)]
    pub fn try_with<A, R>(
        &self,
        operation: Operation,
        argument: A,
        f: impl FnOnce(&mut T, A) -> R,
    ) -> Result<R, A> {
        match self.recorder {
            None if !self.lock.try_lock() => Err(argument),
            None => {
                let _held = Held(&self.lock);
                // SAFETY: as in `with`.
                Ok(self.value.with_mut(|value| f(unsafe { &mut *value }, argument)))
            }
            Some(recorder) => self.try_with_recorder(recorder, operation, argument, f),
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
mod recording {
    use super::*;
    use unspin_locks::Waited;
    use unspin_wire::{AttemptOutcome, Sample};

    impl<L: RawLock, T> QueueLock<L, T> {
        #[cold]
        pub(super) fn with_recorder<R>(
            &self,
            recorder: Recorder,
            operation: Operation,
            f: impl FnOnce(&mut T) -> R,
        ) -> R {
            let arrived = recorder.now();
            let waited = self.lock.lock(&mut L::Node::default());
            self.hold(recorder, operation, (waited, arrived), f)
        }

        #[cold]
        pub(super) fn try_with_recorder<A, R>(
            &self,
            recorder: Recorder,
            operation: Operation,
            argument: A,
            f: impl FnOnce(&mut T, A) -> R,
        ) -> Result<R, A> {
            if !self.lock.try_lock() {
                recorder.record_missed_trylock(self.number, operation);
                return Err(argument);
            }
            Ok(self.hold(recorder, operation, (Waited::No, 0), |value| f(value, argument)))
        }

        /// Runs `f` under the lock, which the thread has just acquired, and records the use after the release.
        fn hold<R>(
            &self,
            recorder: Recorder,
            operation: Operation,
            (waited, arrived): (Waited, u64),
            f: impl FnOnce(&mut T) -> R,
        ) -> R {
            let since = recorder.now();
            let held = Held(&self.lock);
            // SAFETY: the lock is held, until after the reference is gone.
            let result = self.value.with_mut(|value| f(unsafe { &mut *value }));
            let until = recorder.now();
            drop(held);
            let wait = since.saturating_sub(arrived);
            // A lock that slept may have spun before. It does not tell for how long: all of it counts as sleep.
            let (outcome, spun, slept) = match waited {
                Waited::No => (AttemptOutcome::NoWait, 0, 0),
                Waited::Spun => (AttemptOutcome::Spun, wait, 0),
                Waited::Slept => (AttemptOutcome::Slept, 0, wait),
            };
            let sample = Sample { outcome, hold: until.saturating_sub(since), spun, slept };
            recorder.record(self.number, operation, &sample);
            result
        }
    }
}

/// In models there is no recording, so there is no recorder.
#[cfg(any(loom, shuttle))]
impl<L: RawLock, T> QueueLock<L, T> {
    fn with_recorder<R>(&self, recorder: Recorder, _: Operation, _: impl FnOnce(&mut T) -> R) -> R {
        match recorder {}
    }

    fn try_with_recorder<A, R>(
        &self,
        recorder: Recorder,
        _: Operation,
        _: A,
        _: impl FnOnce(&mut T, A) -> R,
    ) -> Result<R, A> {
        match recorder {}
    }
}
