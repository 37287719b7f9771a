//! A segment between its creation by the kernel and its naming in the arena.
//!
//! Before a creator makes a segment it writes down what the segment will be like, and afterwards the segment's id. If
//! it dies in between, the thread that takes over the registry lock finds the segment and removes it. Otherwise the
//! segment would have no name, and would exist until the next boot. The id is missing only if the creator died within a
//! few instructions. Then all of the kernel's segments are searched for one that is like it and was never used. If
//! there are several, none is removed.

use super::find_id;
use super::segment::SegmentOrigin;
use crate::registry::Registry;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};
use unspin_sys::ipc::{ShmidDs, shm_limits, shm_remove, shm_stat_any};

/// Values of `SegmentInCreation::state`.
mod state {
    /// No segment is being made. Zero, so that a new arena has it.
    pub const IDLE: u32 = 0;
    /// The kernel is being asked, or has just answered.
    pub const ASKED: u32 = 1;
    /// The segment is made, and its id is known.
    pub const MADE: u32 = 2;
}

/// The creator's note. Protected by the registry lock.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct SegmentInCreation {
    state: AtomicU32,
    id: AtomicI32,
    creator: AtomicI32,
    uid: AtomicU32,
    gid: AtomicU32,
    mode: AtomicU32,
    pids: AtomicU64,
    users: AtomicU64,
    size: AtomicU64,
    since: AtomicI64,
}

// Relaxed: everything is read and written under the registry lock, also by a thread that takes it over. Release: a dead
// holder's stores are in memory in program order up to some point. A Release store keeps the compiler from moving
// earlier stores behind it; its partner is the Acquire in `orphan`.
impl SegmentInCreation {
    /// To be called before the kernel is asked. `birth` says what the segment will be like; `birth.made` must not be
    /// later than its creation.
    pub(super) fn begin(&self, birth: &SegmentOrigin, mode: u32) {
        self.creator.store(birth.creator, Relaxed);
        self.uid.store(birth.uid, Relaxed);
        self.gid.store(birth.gid, Relaxed);
        self.pids.store(birth.pids, Relaxed);
        self.users.store(birth.users, Relaxed);
        self.mode.store(mode & 0o777, Relaxed);
        self.size.store(birth.size, Relaxed);
        self.since.store(birth.made, Relaxed);
        self.state.store(state::ASKED, Release);
    }

    /// Stores the id that the kernel has returned.
    pub(super) fn note_id(&self, id: i32) {
        self.id.store(id, Relaxed);
        self.state.store(state::MADE, Release);
    }

    /// The segment has a name, or is removed, or was not made.
    pub(super) fn end(&self) {
        self.state.store(state::IDLE, Release);
    }

    /// The segment that a dead creator made and that has no name. `is_named` says whether an id has a name. The caller
    /// holds the registry lock.
    pub(super) fn orphan(&self, is_named: &dyn Fn(i32) -> bool) -> Option<i32> {
        // Acquire: partner of the Release stores above.
        match self.state.load(Acquire) {
            state::ASKED => self.search(is_named),
            state::MADE => {
                let id = self.id.load(Relaxed);
                let (found, status) = shm_stat_any(id).ok()?;
                (found == id && self.birth().is_of(&status) && !is_named(id)).then_some(id)
            }
            _ => None,
        }
    }

    fn birth(&self) -> SegmentOrigin {
        SegmentOrigin {
            size: self.size.load(Relaxed),
            made: self.since.load(Relaxed),
            creator: self.creator.load(Relaxed),
            uid: self.uid.load(Relaxed),
            gid: self.gid.load(Relaxed),
            pids: self.pids.load(Relaxed),
            users: self.users.load(Relaxed),
        }
    }

    fn search(&self, is_named: &dyn Fn(i32) -> bool) -> Option<i32> {
        let (highest, _) = shm_limits().ok()?;
        let mut candidates = (0..=highest)
            .filter_map(|index| shm_stat_any(index).ok())
            .filter(|(id, status)| self.is_like(status) && !is_named(*id));
        let (id, _) = candidates.next()?;
        candidates.next().is_none().then_some(id)
    }

    fn is_like(&self, status: &ShmidDs) -> bool {
        let unused = (status.shm_nattch, status.shm_lpid, status.shm_atime, status.shm_dtime) == (0, 0, 0, 0);
        let perm = &status.shm_perm;
        let as_made = perm.key == 0
            && (perm.uid, perm.gid) == (perm.cuid, perm.cgid)
            && perm.mode & 0o777 == self.mode.load(Relaxed);
        unused && as_made && self.birth().is_of(status)
    }
}

/// Removes the segment that a dead creator left without a name. The caller has taken over the registry lock.
#[cold]
pub(crate) fn recover(registry: &Registry<'_>) {
    let making = &registry.arena.header().making.0;
    if let Some(orphan) = making.orphan(&|id| find_id(registry.arena, id).is_some()) {
        // The kernel refuses only if the caller is another user than the creator and not privileged; then the segment
        // stays.
        let _ = shm_remove(orphan);
    }
    making.end();
}
