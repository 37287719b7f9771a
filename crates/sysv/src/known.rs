//! What a thread remembers of a set, so that it need not look it up again.

use crate::creds;
use crate::ipc::Access;
use crate::sem::{Sem, Set};
use core::cell::Cell;

/// A set as it was when so many objects had been removed or changed. Zeroed: nothing.
///
/// A cache line: found by a shift. Read and written in read-side sections, which keep handlers out.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Known {
    /// The set's id.
    id: Cell<i32>,
    /// What the thread may do, by the bits of [`Access`].
    may: Cell<u32>,
    /// `Header::changes`.
    changes: Cell<u64>,
    /// `creds::epoch`.
    epoch: Cell<u32>,
    set: Cell<Option<&'static Set>>,
    sems: Cell<Option<&'static [Sem]>>,
}

impl Known {
    /// Whether this is the set of `id`, and nothing has changed since.
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

    /// The set. Only of one that may do something.
    #[inline(always)]
    pub fn set(&self) -> &'static Set {
        debug_assert!(self.may.get() != 0);
        // SAFETY: `learn` writes it before any bit of `may`.
        unsafe { self.set.get().unwrap_unchecked() }
    }

    /// Its semaphores. Only of one that may do something.
    #[inline(always)]
    pub fn sems(&self) -> &'static [Sem] {
        debug_assert!(self.may.get() != 0);
        // SAFETY: `learn` writes it before any bit of `may`.
        unsafe { self.sems.get().unwrap_unchecked() }
    }

    /// Takes note of a set, as it was when `changes` and `epoch` were read.
    pub fn learn(
        &self,
        id: i32,
        (changes, epoch): (u64, u32),
        may: u32,
        set: &'static Set,
        sems: &'static [Sem],
    ) {
        self.may.set(0);
        self.set.set(Some(set));
        self.sems.set(Some(sems));
        self.id.set(id);
        self.changes.set(changes);
        self.epoch.set(epoch);
        self.may.set(may);
    }
}
