//! A thread's cache of sets.

use super::object::space;
use crate::engine::Inner;
use crate::registry::{Access, creds};
use crate::sem::Set;
use crate::thread::Thread;
use crate::thread::cache::{CachedObject, CachedSet};
use unspin_sync::atomic::Ordering::Acquire;

impl Inner {
    /// Looks the set of `id` up in the thread's cache. The chain of dependent loads through the table would take half
    /// the time of an uncontended operation. The caller is in a read-side section. `None` if the cache does not show
    /// that the thread may do `want` with the set: then the caller takes the slow path.
    #[inline(always)]
    pub fn cached_set_for(
        &'static self,
        thread: &'static Thread,
        id: i32,
        want: Access,
    ) -> Option<&'static CachedObject<CachedSet>> {
        let cached = thread.cached_set(id).or_else(|| self.cache_set(thread, id))?;
        cached.allows(want).then_some(cached)
    }

    #[cold]
    fn cache_set(
        &'static self,
        thread: &'static Thread,
        id: i32,
    ) -> Option<&'static CachedObject<CachedSet>> {
        // Acquire: as in `Thread::cached_set`. Both numbers are read before the state that they are to vouch for.
        let when = (thread.changes().load(Acquire), creds::epoch());
        self.check().ok()?;
        let (at, set) = self.find::<Set>(id).ok()?;
        let creds = thread.creds.read();
        let may = [Access::Read, Access::Alter].into_iter().filter(|&want| set.perm.allows(&creds, want));
        let cached = thread.set_entry(id);
        cached.store(id, when, may.map(Access::bit).sum(), (set, space(self, at, set).sems, 0));
        Some(cached)
    }
}
