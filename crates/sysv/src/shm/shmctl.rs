//! shmctl(2).
//!
//! The kernel performs the commands on a segment, with its checks and their order. In the status that it returns, the
//! key is replaced by the one that the segment has here. Listings show only the segments of the arena.

use super::segment::{SegmentEntry, SegmentName};
use super::{find_id, find_index, find_segment, listing, refresh};
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::{self, Id};
use crate::store::PAGE;
use crate::thread::Thread;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::ipc::{ShmInfo, ShmidDs, flag, shm_limits};
use unspin_sys::{Errno, fault};

impl Engine {
    /// shmctl(2); `arg` is the address of the command's data.
    ///
    /// # Safety
    /// If `arg` is a valid address, the program must mean it to be read or written by the command. For an invalid
    /// address the call fails with `EFAULT`.
    pub unsafe fn shmctl(&self, id: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
        // SAFETY: the caller's promise is the kernel's.
        let kernel = || unsafe { unspin_sys::ipc::shmctl(id, cmd, arg) };
        let Some(inner) = self.inner else { return kernel() };
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        let ctl = |inner| Ok::<_, Errno>(ShmctlCall { inner, thread: Thread::of(inner)?, id });
        match cmd {
            flag::IPC_INFO => ctl(inner)?.limits(arg),
            flag::SHM_INFO => ctl(inner)?.info(arg),
            flag::IPC_STAT => ctl(inner)?.stat(arg),
            flag::SHM_STAT | flag::SHM_STAT_ANY => ctl(inner)?.stat_index(cmd, arg),
            flag::IPC_RMID => {
                let done = kernel()?;
                ctl(inner)?.refresh();
                Ok(done)
            }
            // IPC_SET, SHM_LOCK, SHM_UNLOCK, and unknown commands.
            _ => kernel(),
        }
    }
}

struct ShmctlCall {
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
}

/// Totals over all segments of the arena.
struct Census {
    segments: u32,
    pages: u64,
    /// The highest index in use; 0 if there is none.
    highest: i32,
    ids: Vec<i32>,
}

impl ShmctlCall {
    /// `shmctl_ipc_info`: the limits are those of the IPC namespace.
    fn limits(&self, arg: usize) -> Result<i32, Errno> {
        let (_, limits) = shm_limits()?;
        // SAFETY: `shmctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(limits.as_bytes(), arg) }?;
        Ok(self.census().highest)
    }

    /// `shmctl_shm_info`.
    fn info(&self, arg: usize) -> Result<i32, Errno> {
        let census = self.census();
        let usage = listing::usage(&census.ids);
        let info = ShmInfo {
            used_ids: census.segments as i32,
            shm_tot: census.pages,
            shm_rss: usage.resident / PAGE,
            shm_swp: usage.swapped / PAGE,
            ..ShmInfo::default()
        };
        // SAFETY: `shmctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(info.as_bytes(), arg) }?;
        Ok(census.highest)
    }

    /// Counts the segments that the kernel still has.
    fn census(&self) -> Census {
        self.inner.with_registry(self.thread, Class::Shm, Call::Shmctl, |registry| {
            for at in registry.objects() {
                // A segment that the kernel refuses to describe is counted.
                let _ = refresh(registry, at);
            }
            let root = registry.arena.header().root(Class::Shm);
            let names =
                registry.objects().filter_map(|at| find_segment(registry.arena, at)).map(SegmentEntry::name);
            let ids: Vec<i32> = names.map(|name| name.id).collect();
            // Relaxed: under the registry lock.
            let (segments, pages) = (root.in_use.load(Relaxed), root.units.load(Relaxed));
            Census { segments, pages, highest: ids.last().map_or(0, |&id| Id(id).index() as i32), ids }
        })
    }

    /// `shmctl_stat` with IPC_STAT. The status of a segment that is not in the arena is returned as it is.
    fn stat(&self, arg: usize) -> Result<i32, Errno> {
        let name = self.find(|inner| find_id(&inner.arena, self.id));
        let (_, status) = ask(self.id, flag::IPC_STAT)?;
        let status = match name {
            Some(name) if name.is(self.id, &status) => name.translate(status),
            _ => status,
        };
        // SAFETY: `shmctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(status.as_bytes(), arg) }?;
        Ok(0)
    }

    /// `shmctl_stat` with SHM_STAT and SHM_STAT_ANY: the argument is used as an index into the table, and the result is
    /// the id.
    fn stat_index(&self, cmd: i32, arg: usize) -> Result<i32, Errno> {
        let name = self.find(|inner| find_index(&inner.arena, Id(self.id).index())).ok_or(Errno::EINVAL)?;
        let (id, status) = ask(name.id, cmd)?;
        if !name.is(id, &status) {
            return Err(Errno::EINVAL);
        }
        // SAFETY: `shmctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(name.translate(status).as_bytes(), arg) }?;
        Ok(id)
    }

    fn find(&self, find: impl FnOnce(&'static Inner) -> Option<SegmentName>) -> Option<SegmentName> {
        let _read = self.thread.read();
        find(self.inner)
    }

    /// To be called when the kernel has removed the segment: removes its key, or its entry. A thread that finds either
    /// before this is done asks the kernel.
    fn refresh(&self) {
        if self.find(|inner| find_id(&inner.arena, self.id)).is_none() {
            return;
        }
        self.inner.with_registry(self.thread, Class::Shm, Call::Shmctl, |registry| {
            let _ = refresh(registry, registry::find_index(registry.arena, Class::Shm, Id(self.id).index()));
        });
    }
}

/// The kernel's answer to a command that describes a segment.
fn ask(id: i32, cmd: i32) -> Result<(i32, ShmidDs), Errno> {
    let mut status = ShmidDs::default();
    // SAFETY: the address is that of a live structure of the command's type.
    let id = unsafe { unspin_sys::ipc::shmctl(id, cmd, &raw mut status as usize) }?;
    Ok((id, status))
}
