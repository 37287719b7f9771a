//! A thread's cache of objects, so that it need not look them up again.

use crate::registry::Access;
use crate::registry::creds;
use crate::sem::{Sem, Set};
use core::cell::Cell;

/// One cached object, valid for one count of changes and one credentials epoch. All-zero bytes are an empty entry.
///
/// It fills one cache line, so that its address is computed by a shift. It is read and written in read-side sections,
/// which keep signal handlers out.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct CachedObject<T: Copy> {
    /// The object's id.
    id: Cell<i32>,
    /// What the thread may do with the object, as bits of [`Access`].
    allowed: Cell<u32>,
    /// The value of `Header::changes` for which this is valid.
    changes: Cell<u64>,
    /// The value of `creds::epoch` for which this is valid.
    epoch: Cell<u32>,
    object: Cell<Option<T>>,
}

/// A set, its semaphores, and the offset of the process's record of adjustments (0: not looked up yet).
pub(crate) type CachedSet = (&'static Set, &'static [Sem], u64);

const _: () = assert!(size_of::<CachedObject<CachedSet>>() == 64);

impl<T: Copy> CachedObject<T> {
    /// Whether this entry has the object of `id`, and nothing has changed since.
    #[inline(always)]
    pub fn is(&self, id: i32, changes: u64) -> bool {
        self.id.get() == id && self.changes.get() == changes && self.epoch.get() == creds::epoch()
    }

    /// Whether the thread may do `want`. Never true for an empty entry.
    #[inline(always)]
    pub fn allows(&self, want: Access) -> bool {
        self.allowed.get() & want.bit() != 0
    }

    /// Whether the thread may both read and alter.
    #[inline(always)]
    pub fn allows_all(&self) -> bool {
        self.allowed.get() == Access::Read.bit() | Access::Alter.bit()
    }

    /// The object. The caller has checked that a bit of `allowed` is set.
    #[inline(always)]
    pub fn object(&self) -> T {
        debug_assert!(self.allowed.get() != 0);
        // SAFETY: `store` writes it before it sets any bit of `allowed`.
        unsafe { self.object.get().unwrap_unchecked() }
    }

    /// Empties the entry: the thread goes to another engine, which may have the same ids and the same count of changes.
    pub fn clear(&self) {
        self.allowed.set(0);
        self.changes.set(u64::MAX - 1);
    }

    /// Stores an object, as it was when `changes` and `epoch` were read.
    pub fn store(&self, id: i32, (changes, epoch): (u64, u32), allowed: u32, object: T) {
        self.allowed.set(0);
        self.object.set(Some(object));
        self.id.set(id);
        self.changes.set(changes);
        self.epoch.set(epoch);
        self.allowed.set(allowed);
    }
}

impl CachedObject<CachedSet> {
    /// The set. The caller has checked that a bit of `allowed` is set.
    #[inline(always)]
    pub fn set(&self) -> &'static Set {
        self.object().0
    }

    /// The set's semaphores. The caller has checked that a bit of `allowed` is set.
    #[inline(always)]
    pub fn sems(&self) -> &'static [Sem] {
        self.object().1
    }

    /// Offset of the process's record of adjustments for the set; 0 if it is not cached. The caller has checked that a
    /// bit of `allowed` is set.
    pub fn undo(&self) -> u64 {
        self.object().2
    }

    /// Stores that offset. The record belongs to the process for as long as both the process and the set exist. The
    /// caller has checked that a bit of `allowed` is set.
    pub fn store_undo(&self, at: u64) {
        let (set, sems, _) = self.object();
        self.object.set(Some((set, sems, at)));
    }
}
