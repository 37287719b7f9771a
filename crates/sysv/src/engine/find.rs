//! Finding the object of an id, and checking the caller's permission.

use super::Inner;
use crate::engine::Object;
use crate::registry::{self, Access, Id, Perm};
use crate::thread::Thread;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::Errno;

impl Inner {
    /// The object of `id`. The caller is in a read-side section or holds the lock of all objects. `EINVAL` if there is
    /// none.
    pub fn find<O: Object>(&'static self, id: i32) -> Result<(u64, &'static O), Errno> {
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        let at = registry::find_index(&self.arena, O::CLASS, Id(id).index());
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
