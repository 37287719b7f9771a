//! What a thread remembers of an object, so that it need not look it up again.

use crate::creds;
use crate::ipc::Access;
use crate::sem::{Sem, Set};
use core::cell::Cell;

/// An object as it was when so many objects had been removed or changed. Zeroed: nothing.
///
/// A cache line: found by a shift. Read and written in read-side sections, which keep handlers out.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Known<T: Copy> {
    /// The object's id.
    id: Cell<i32>,
    /// What the thread may do, by the bits of [`Access`].
    may: Cell<u32>,
    /// `Header::changes`.
    changes: Cell<u64>,
    /// `creds::epoch`.
    epoch: Cell<u32>,
    what: Cell<Option<T>>,
}

/// A set, its semaphores, and the offset of the process's record of adjustments; 0: not asked for yet.
pub(crate) type Sems = (&'static Set, &'static [Sem], u64);

const _: () = assert!(size_of::<Known<Sems>>() == 64);

impl<T: Copy> Known<T> {
    /// Whether this is the object of `id`, and nothing has changed since.
    #[inline(always)]
    pub fn is(&self, id: i32, changes: u64) -> bool {
        self.id.get() == id && self.changes.get() == changes && self.epoch.get() == creds::epoch()
    }

    /// Whether the thread may do it. Never in a zeroed one.
    #[inline(always)]
    pub fn may(&self, want: Access) -> bool {
        self.may.get() & want.bit() != 0
    }

    /// Whether the thread may do everything.
    #[inline(always)]
    pub fn may_all(&self) -> bool {
        self.may.get() == Access::Read.bit() | Access::Alter.bit()
    }

    /// The object. Only of one that may do something.
    #[inline(always)]
    pub fn what(&self) -> T {
        debug_assert!(self.may.get() != 0);
        // SAFETY: `learn` writes it before any bit of `may`.
        unsafe { self.what.get().unwrap_unchecked() }
    }

    /// Remembers nothing: the thread goes to another engine, which may have the same ids, and as many changes.
    pub fn forget(&self) {
        self.may.set(0);
        self.changes.set(u64::MAX - 1);
    }

    /// Takes note of an object, as it was when `changes` and `epoch` were read.
    pub fn learn(&self, id: i32, (changes, epoch): (u64, u32), may: u32, what: T) {
        self.may.set(0);
        self.what.set(Some(what));
        self.id.set(id);
        self.changes.set(changes);
        self.epoch.set(epoch);
        self.may.set(may);
    }
}

impl Known<Sems> {
    /// The set. Only of one that may do something.
    #[inline(always)]
    pub fn set(&self) -> &'static Set {
        self.what().0
    }

    /// Its semaphores. Only of one that may do something.
    #[inline(always)]
    pub fn sems(&self) -> &'static [Sem] {
        self.what().1
    }

    /// Offset of the process's record of adjustments for the set; 0 if that is not remembered. Only of one that may do
    /// something.
    pub fn undo(&self) -> u64 {
        self.what().2
    }

    /// Takes note of it. It is the process's for as long as both the process and the set exist. Only of one that may do
    /// something.
    pub fn learn_undo(&self, at: u64) {
        let (set, sems, _) = self.what();
        self.what.set(Some((set, sems, at)));
    }
}
