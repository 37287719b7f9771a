//! The safe interface: a registered thread and its read-side sections.

use crate::fork::ProcessMark;
use crate::registry::{Recovery, RegistryFull};
use crate::slot::{FenceMode, SectionToken, Slot};
use crate::{Host, Linux, ParticipantId, Rcu};
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomData;
use unspin_sys::process::Identity;
use unspin_sys::{Errno, membarrier};

/// Why a thread could not become a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JoinError {
    /// No slot is free.
    RegistryFull(RegistryFull),
    /// The kernel refused memory that is wiped on fork (`MADV_WIPEONFORK`, Linux 4.14).
    NoMemory(Errno),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::RegistryFull(full) => full.fmt(f),
            JoinError::NoMemory(e) => write!(f, "no memory that a forked child finds wiped: {e}"),
        }
    }
}

impl core::error::Error for JoinError {}

/// The calling thread as a reader of a domain; unregistered when dropped.
///
/// It stays in its thread and in its process. A child made by `fork` has a copy that belongs to the parent: there
/// [`read`](Reader::read) panics, and the child must join by itself.
pub struct Reader<'a, H: Host = Linux> {
    rcu: Rcu<'a, H>,
    slot: &'a Slot,
    participant: ParticipantId,
    fences: FenceMode,
    birth: ProcessMark,
    /// Number of live guards. They may be dropped in any order; the last one leaves the section.
    depth: Cell<usize>,
    /// Makes the type neither `Send` nor `Sync`: only the owning thread writes its slot.
    here: PhantomData<*mut ()>,
}

impl<'a> Rcu<'a> {
    /// Registers the calling thread as a reader. Reads `/proc` once.
    ///
    /// If every slot is taken, the slots of dead threads are freed. So this is for domains whose participants hold
    /// nothing but read-side sections. Others use
    /// [`ParticipantRegistry::register`](crate::registry::ParticipantRegistry::register) and
    /// [`Slot::enter`](crate::Slot::enter).
    ///
    /// # Errors
    /// See [`JoinError`].
    pub fn join(&self) -> Result<Reader<'a>, JoinError> {
        let birth = ProcessMark::here().map_err(JoinError::NoMemory)?;
        let fences =
            if membarrier::register_global_expedited() { FenceMode::Expedited } else { FenceMode::Full };
        let participant = self
            .registry()
            .register(&Identity::current(), fences, &mut |_, _| Recovery::Done)
            .map_err(JoinError::RegistryFull)?;
        let slot = &self.registry().slots()[participant.index()];
        Ok(Reader { rcu: *self, slot, participant, fences, birth, depth: Cell::new(0), here: PhantomData })
    }
}

impl<'a, H: Host> Reader<'a, H> {
    /// Enters a read-side section that ends when the guard is dropped. Sections nest.
    ///
    /// # Panics
    /// In a child made by `fork` after [`Rcu::join`].
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, 'a, H> {
        if self.depth.get() == 0 {
            assert!(self.birth.is_here(), "this reader is the parent process's: call join() in the child");
            // SAFETY: `join` registered the slot for this thread under its own identity and with these fences; a
            // `Reader` does not leave its thread; the assertion above excludes a forked child.
            let section = unsafe { self.slot.enter(self.rcu.domain(), self.fences) };
            debug_assert_eq!(section, SectionToken::OUTERMOST);
        }
        self.depth.set(self.depth.get() + 1);
        ReadGuard { reader: self }
    }

    /// The reader's id in shared memory.
    pub fn participant(&self) -> ParticipantId {
        self.participant
    }

    /// The domain that it reads.
    pub fn rcu(&self) -> Rcu<'a, H> {
        self.rcu
    }

    #[inline]
    fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
        if self.depth.get() == 0 && self.birth.is_here() {
            // SAFETY: `read` entered this section on this slot in this process. The last guard is being dropped, and
            // what was found under the guards was borrowed from them.
            unsafe { self.slot.leave(SectionToken::OUTERMOST) };
        }
    }
}

impl<H: Host> Drop for Reader<'_, H> {
    fn drop(&mut self) {
        if !self.birth.is_here() {
            return;
        }
        // A guard that was forgotten instead of dropped has left its section open.
        self.depth.set(1);
        self.leave();
        // SAFETY: `join` registered the participant for this thread, and its only owner is being dropped. No guard is
        // left, because guards borrow from the reader.
        unsafe { self.rcu.registry().unregister(self.participant) };
    }
}

impl<H: Host> fmt::Debug for Reader<'_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("participant", &self.participant)
            .field("fences", &self.fences)
            .finish()
    }
}

/// A read-side section. Objects found under it stay valid for as long as the guard is borrowed.
#[must_use = "the section ends when the guard is dropped"]
pub struct ReadGuard<'r, 'a, H: Host = Linux> {
    reader: &'r Reader<'a, H>,
}

impl<H: Host> Drop for ReadGuard<'_, '_, H> {
    #[inline]
    fn drop(&mut self) {
        self.reader.leave();
    }
}

impl<H: Host> fmt::Debug for ReadGuard<'_, '_, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReadGuard").field(&self.reader.participant).finish()
    }
}
