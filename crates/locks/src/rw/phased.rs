//! The read-write lock behind all kinds: a state word, a queue, and a [`Policy`].
//!
//! **Holds.** A writer sets `WRITER`; readers are counted in the state, or published in [`slots`] while the lock is `BIASED`.
//!
//! **The queue.** A thread that has to wait enters the queue in a [`Section`] in which it has seen that it has to wait. So each
//! release that could let it in comes later, and finds it. What a release does is [`Phased::serve`]:
//!
//! - [`Order::Phases`]: it hands the lock over. Waiters sleep until they have it.
//! - [`Order::WritersFirst`]: it frees the lock and wakes waiters, which then compete with the threads that come. (A thread that
//!   gets the lock while it sleeps holds it until it runs: with more threads than CPUs that is long.) When no writer waits, all
//!   readers are woken. A queued writer that is awake takes the lock when it finds it free, as does a writer that comes.
//!   `AWAKE` says that a queued one exists: it looks at the lock in a section before it sleeps, and clears the bit there.
//!   A release that finds `AWAKE` wakes no thread. Otherwise it sets the bit for the first writer, and wakes that.
//!
//! A writer that leaves without the lock serves the others as a release does.
//!
//! **The end of a release.** No release touches the lock after the instruction that can let another thread in. What follows are
//! wake-ups by address, and slots, which are static.

mod draining;
mod reading;
mod serving;
mod waiting;
mod writing;

pub use reading::FirstRead;

use super::node::Node;
use super::order::Policy;
use super::revocation::BiasedSince;
use super::section::Section;
use super::slots::{self, Retired};
use super::word::{BIASED, BUSY, DRAINING, IN_TABLE, READERS, WRITER, counted, is_served};
use super::{RawRwLock, Recursion, Refused};
use crate::raw::free;
use crate::{Until, Waited};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use unspin_sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};

/// A read-write lock with this policy.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Phased<P> {
    biased_since: BiasedSince,
    /// What waits have learnt ([`SpinPolicy`]), in units of 64 ticks.
    memo: AtomicU16,
    /// Belongs to the program that embeds the lock ([`RawRwLock`]).
    _embedder: UnsafeCell<MaybeUninit<[u16; 5]>>,
    state: AtomicU64,
    /// See [`Section`].
    tail: AtomicPtr<Node>,
    policy: PhantomData<P>,
}

// SAFETY: no function of this crate accesses `_embedder`; all else is atomic.
unsafe impl<P> Sync for Phased<P> {}
// SAFETY: as above; the nodes in the queue belong to threads that wait, and a lock that is moved has none.
unsafe impl<P> Send for Phased<P> {}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    assert!(size_of::<Phased<()>>() == 32 && align_of::<Phased<()>>() == 8);
    assert!(
        core::mem::offset_of!(Phased<()>, _embedder) == 6 && core::mem::offset_of!(Phased<()>, state) == 16
    );
};

// SAFETY: 1. a thread takes the lock for writing by setting WRITER where there is no WRITER, no counted reader, no BIASED and
// no DRAINING: then no reader is published either, since DRAINING is cleared only after all slots were seen empty, and a
// reader that publishes itself later sees BIASED cleared and takes it back. Readers are counted only where there is no WRITER.
// 2. A free lock is all zeroes.
unsafe impl<P: Policy> RawRwLock for Phased<P> {
    free!(Phased {
        biased_since: BiasedSince::never(),
        memo: AtomicU16::new(0),
        _embedder: UnsafeCell::new(MaybeUninit::zeroed()),
        state: AtomicU64::new(0),
        tail: AtomicPtr::new(null_mut()),
        policy: PhantomData,
    });

    #[inline(always)]
    fn try_read(&self, recursion: Recursion) -> Result<(), Refused> {
        if self.read_alone(recursion) { Ok(()) } else { self.try_read_in_section(recursion) }
    }

    #[inline(always)]
    fn read_now(&self, recursion: Recursion) -> Result<(), Refused> {
        if self.read_alone(recursion) { Ok(()) } else { self.read_now_in_section(recursion) }
    }

    #[inline(always)]
    fn read(&self, recursion: Recursion, until: Option<Until>) -> Result<Waited, Refused> {
        if self.read_alone(recursion) { Ok(Waited::No) } else { self.wait_to_read(recursion, until) }
    }

    #[inline(always)]
    fn try_write(&self) -> bool {
        self.write_alone() || self.try_write_in_section()
    }

    #[inline(always)]
    fn write(&self, until: Option<Until>) -> Option<Waited> {
        if self.write_alone() { Some(Waited::No) } else { self.wait_to_write(until) }
    }

    #[inline(always)]
    unsafe fn unlock_read(&self) {
        // SAFETY: the caller's promise.
        match unsafe { self.unlock_read_first() } {
            Retired::Wholly => {}
            Retired::WithoutWakes => slots::tell_writers(),
            Retired::Not if P::IS_BIASED && self.retire() => {}
            Retired::Not => self.count_out(),
        }
    }

    #[inline(always)]
    unsafe fn unlock_write(&self) {
        // Relaxed: the compare-exchange provides the ordering.
        let state = self.state.load(Ordering::Relaxed);
        // Release: partner of the Acquire in the acquisitions. Relaxed on failure: the section reads the state again.
        let alone = state & (BUSY | READERS) == 0
            && is_served(state)
            && self
                .state
                .compare_exchange(state, state & !WRITER, Ordering::Release, Ordering::Relaxed)
                .is_ok();
        if !alone {
            self.release_write();
        }
    }

    #[inline(always)]
    fn is_write_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.state.load(Ordering::Relaxed) & WRITER != 0
    }

    fn readers(&self) -> u32 {
        // Relaxed: as above.
        let state = self.state.load(Ordering::Relaxed);
        let published = if state & (BIASED | DRAINING) != 0 { slots::count(self.address()) } else { 0 };
        counted(state) + published
    }
}

impl<P: Policy> Phased<P> {
    #[inline(always)]
    fn address(&self) -> u64 {
        &raw const *self as u64
    }

    fn enter(&self) -> Section<'_> {
        Section::enter(&self.state, &self.tail)
    }

    /// As [`enter`](Self::enter), and makes sure that the table has nothing about a lock that was at this address before: the
    /// program may have used the memory anew although a thread held the lock.
    fn enter_to_acquire(&self) -> Section<'_> {
        let mut section = self.enter();
        // In the section: no thread sets a bias, so what the table has is old.
        if P::IS_BIASED && section.state & IN_TABLE == 0 {
            slots::forget(self.address());
            section.state |= IN_TABLE;
        }
        section
    }
}
