//! A segment between its creation by the kernel and its name here.
//!
//! Whoever makes a segment writes down beforehand what it will be like, and afterwards its id. If he dies in between,
//! whoever inherits the registry lock finds the segment and removes it: it would be nobody's, and stay until the next
//! boot. The id is missing only if the creator died within a few instructions; then all of the kernel's segments are
//! looked through for one that is like it and was never used. Should there be several, none is touched.

use super::find_id;
use super::segment::Birth;
use crate::ipc::Registry;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};
use unspin_sys::ipc::{ShmidDs, shm_limits, shm_remove, shm_stat_any};

/// Values of `Making::state`.
mod state {
    /// Nobody makes a segment. Zero: a new arena.
    pub const IDLE: u32 = 0;
    /// The kernel is asked, or has answered just now.
    pub const ASKED: u32 = 1;
    /// The id is known.
    pub const MADE: u32 = 2;
}

/// The note. Protected by the registry lock.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Making {
    state: AtomicU32,
    id: AtomicI32,
    maker: AtomicI32,
    uid: AtomicU32,
    gid: AtomicU32,
    mode: AtomicU32,
    pids: AtomicU64,
    users: AtomicU64,
    size: AtomicU64,
    since: AtomicI64,
}

// Relaxed: all is read and written under the registry lock, by its holder's heir too. Release: a dead holder's stores are
// in memory in program order up to some point, and a Release store, whose partner is the Acquire in `orphan`, keeps the
// compiler from moving earlier ones behind it.
impl Making {
    /// Before the kernel is asked: what the segment will be like, `birth.made` not later than it is.
    pub(super) fn begin(&self, birth: &Birth, mode: u32) {
        self.maker.store(birth.maker, Relaxed);
        self.uid.store(birth.uid, Relaxed);
        self.gid.store(birth.gid, Relaxed);
        self.pids.store(birth.pids, Relaxed);
        self.users.store(birth.users, Relaxed);
        self.mode.store(mode & 0o777, Relaxed);
        self.size.store(birth.size, Relaxed);
        self.since.store(birth.made, Relaxed);
        self.state.store(state::ASKED, Release);
    }

    /// The kernel's answer.
    pub(super) fn made(&self, id: i32) {
        self.id.store(id, Relaxed);
        self.state.store(state::MADE, Release);
    }

    /// The segment has a name, or is no more, or never was.
    pub(super) fn end(&self) {
        self.state.store(state::IDLE, Release);
    }

    /// The segment that was made and has no name, if `is_named` says of others whether they have one. Under the registry
    /// lock, of a dead maker.
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

    fn birth(&self) -> Birth {
        Birth {
            size: self.size.load(Relaxed),
            made: self.since.load(Relaxed),
            maker: self.maker.load(Relaxed),
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

/// Removes the segment that a dead maker left without a name. Under the registry lock, by whoever inherited it.
#[cold]
pub(crate) fn recover(registry: &Registry<'_>) {
    let making = &registry.arena.header().making.0;
    if let Some(orphan) = making.orphan(&|id| find_id(registry.arena, id).is_some()) {
        // Refused only if the heir is another user, without rights of the maker's: then it stays.
        let _ = shm_remove(orphan);
    }
    making.end();
}
