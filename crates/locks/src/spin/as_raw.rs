//! The spin lock behind the contract of the other locks, for the models and schedules. It is not all zeroes when it is free,
//! which they do not need.

use super::{Attempted, FREE, SpinLock};
use crate::raw::free;
use crate::waiting::SpinPolicy;
use crate::{RawLock, Until, Waited};
use core::marker::PhantomData;
use unspin_sync::atomic::AtomicU32;

/// A spin lock that is never libc's.
pub(crate) struct AsRaw<W>(pub(crate) SpinLock<W>);

// SAFETY: the lock excludes, which the models check. No model reads its bytes.
unsafe impl<W: SpinPolicy> RawLock for AsRaw<W> {
    type Node = ();

    free!(AsRaw(SpinLock { word: AtomicU32::new(FREE), waiting: PhantomData }));

    fn try_lock(&self) -> bool {
        self.0.try_lock() == Attempted::Acquired
    }

    fn lock(&self, _: &mut ()) -> Waited {
        self.0.lock().expect("no release leaves it to libc")
    }

    /// The time is always over.
    fn lock_until(&self, _: &mut (), _: Until) -> Option<Waited> {
        self.try_lock().then_some(Waited::No)
    }

    unsafe fn unlock(&self) {
        // SAFETY: the caller's promise.
        assert!(unsafe { self.0.unlock() }, "no release leaves it to libc");
    }

    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}
