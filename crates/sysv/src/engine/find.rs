//! Finding the object of an id, and checking the caller's permission.

use super::Inner;
use crate::creds;
use crate::ipc::{self, Access, Id, Object, Perm};
use crate::known::{Known, Sems};
use crate::sem::{Set, space};
use crate::thread::Thread;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::Errno;

impl Inner {
    /// Looks the set of `id` up in the thread's cache. The chain of dependent loads through the table would take half
    /// the time of an uncontended operation. The caller is in a read-side section. `None` if the cache does not show
    /// that the thread may do `want` with the set: then the caller takes the slow path.
    #[inline(always)]
    pub fn recall(
        &'static self,
        thread: &'static Thread,
        id: i32,
        want: Access,
    ) -> Option<&'static Known<Sems>> {
        let known = thread.remembered(id).or_else(|| self.learn(thread, id))?;
        known.may(want).then_some(known)
    }

    #[cold]
    fn learn(&'static self, thread: &'static Thread, id: i32) -> Option<&'static Known<Sems>> {
        // Acquire: as in `Thread::remembered`. Both numbers are read before the state that they are to vouch for.
        let when = (thread.changes().load(Acquire), creds::epoch());
        self.check().ok()?;
        let (at, set) = self.find::<Set>(id).ok()?;
        let creds = thread.creds.read();
        let may = [Access::Read, Access::Alter].into_iter().filter(|&want| set.perm.allows(&creds, want));
        let known = thread.memory(id);
        known.learn(id, when, may.map(Access::bit).sum(), (set, space(self, at, set).sems, 0));
        Some(known)
    }

    /// The object of `id`. The caller is in a read-side section or holds the lock of all objects. `EINVAL` if there is
    /// none.
    pub fn find<O: Object>(&'static self, id: i32) -> Result<(u64, &'static O), Errno> {
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        let at = ipc::find_index(&self.arena, O::CLASS, Id(id).index());
        let object = O::at(&self.arena, at).ok_or(Errno::EINVAL)?;
        // Relaxed: immutable once published.
        match object.perm().id.load(Relaxed) == id && !object.perm().is_deleted() {
            true => Ok((at, object)),
            false => Err(Errno::EINVAL),
        }
    }

    /// Fails with `EACCES` unless the caller may do `want` with the object.
    #[inline]
    pub fn permit(&self, thread: &Thread, perm: &Perm, want: Access) -> Result<(), Errno> {
        if perm.allows_quickly(&thread.creds, want) || perm.allows(&thread.creds.read(), want) {
            Ok(())
        } else {
            Err(Errno::EACCES)
        }
    }
}
