//! shmget(2).
//!
//! The checks are in Linux's order (`ksys_shmget`, `ipcget`). For a key that exists: EEXIST, then size (EINVAL), then
//! permission (EACCES). For a key that does not exist: ENOENT, or the kernel's errors for making a segment: EINVAL for
//! a size out of range, ENOSPC beyond `shmall` or `shmmni`, ENOMEM, EPERM for huge pages.

use super::segment::{KernelState, SegmentName, SegmentOrigin};
use super::{SegmentEntry, find_segment, refresh};
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::{self, Id, Perm, Registry};
use crate::rules::Lookup;
use crate::store::heap;
use crate::thread::Thread;
use crate::time;
use unspin_sys::ipc::flag::{IPC_CREAT, IPC_EXCL, IPC_PRIVATE};
use unspin_sys::ipc::{ShmidDs, shm_remove, shm_stat_any};
use unspin_sys::{Errno, namespace, process};

impl Engine {
    /// shmget(2). The id is the kernel's: see the module's text.
    pub fn shmget(&self, key: i32, size: usize, flags: i32) -> Result<i32, Errno> {
        let Some(inner) = self.inner else { return unspin_sys::ipc::shmget(key, size, flags) };
        let thread = Thread::of(inner)?;
        let ask = ShmgetCall { inner, thread, key, size, flags };
        if key != IPC_PRIVATE && inner.rules.lookup == Lookup::Rcu {
            match ask.find()? {
                Some((id, status)) => return ask.open_existing(id, &status),
                None if flags & IPC_CREAT == 0 => return Err(Errno::ENOENT),
                None => {}
            }
        }
        inner.with_registry(thread, Class::Shm, Call::Shmget, |registry| ask.find_or_create(registry))
    }
}

/// The arguments of a call.
struct ShmgetCall {
    inner: &'static Inner,
    thread: &'static Thread,
    key: i32,
    size: usize,
    flags: i32,
}

impl ShmgetCall {
    /// Finds the segment of the key, without a lock.
    fn find(&self) -> Result<Option<(i32, ShmidDs)>, Errno> {
        let name = {
            let _read = self.thread.read();
            let at = registry::find_key(&self.inner.arena, Class::Shm, self.key);
            at.and_then(|at| find_segment(&self.inner.arena, at)).map(SegmentEntry::name)
        };
        let Some(name) = name else { return Ok(None) };
        Ok(match name.ask()? {
            KernelState::Live(status) => Some((name.id, status)),
            KernelState::MarkedForRemoval(_) | KernelState::Gone => None,
        })
    }

    fn open_existing(&self, id: i32, status: &ShmidDs) -> Result<i32, Errno> {
        if self.flags & (IPC_CREAT | IPC_EXCL) == IPC_CREAT | IPC_EXCL {
            return Err(Errno::EEXIST);
        }
        if self.size as u64 > status.shm_segsz {
            return Err(Errno::EINVAL);
        }
        match Perm::from_c(&status.shm_perm).allows_flags(&self.thread.creds.read(), self.flags) {
            true => Ok(id),
            false => Err(Errno::EACCES),
        }
    }

    fn find_or_create(&self, registry: &Registry<'static>) -> Result<i32, Errno> {
        if self.key != IPC_PRIVATE
            && let Some(at) = registry.find_key(self.key)
            && let Some(segment) = find_segment(registry.arena, at)
        {
            let id = segment.name().id;
            if let Some(status) = refresh(registry, at)? {
                return self.open_existing(id, &status);
            }
        }
        match self.key == IPC_PRIVATE || self.flags & IPC_CREAT != 0 {
            true => self.create(registry),
            false => Err(Errno::ENOENT),
        }
    }

    fn create(&self, registry: &Registry<'static>) -> Result<i32, Errno> {
        let making = &registry.arena.header().making.0;
        let creds = self.thread.creds.read();
        // The pid is read from the kernel: a child made by vfork uses its parent's record.
        let creator = process::pid() as i32;
        let birth = SegmentOrigin {
            size: self.size as u64,
            made: time::seconds(),
            creator,
            uid: creds.uid,
            gid: creds.gid,
            pids: process::pid_namespace(),
            users: namespace::user(),
        };
        making.begin(&birth, self.flags as u32);
        let id = unspin_sys::ipc::shmget(IPC_PRIVATE, self.size, self.flags).inspect_err(|_| making.end())?;
        making.note_id(id);
        let named = self.name(registry, id);
        if named.is_err() {
            // This process made it a moment ago: it may remove it, and no process has attached it.
            let _ = shm_remove(id);
        }
        making.end();
        named.map(|()| id)
    }

    /// Enters a segment that the kernel has made into the arena.
    fn name(&self, registry: &Registry<'static>, id: i32) -> Result<(), Errno> {
        let (_, status) = shm_stat_any(id)?;
        // Kernels with `ipcmni_extend` have more indices than the table, so two living segments may have the same table
        // index.
        let before = registry::find_index(registry.arena, Class::Shm, Id(id).index());
        refresh(registry, before)?;
        registry.claim(Id(id))?;
        let at = heap::allocate(registry.arena, registry.me, size_of::<SegmentEntry>() as u64)?;
        let segment = find_segment(registry.arena, at).ok_or(Errno::ENOMEM)?;
        segment.init(&SegmentName { id, key: self.key, birth: SegmentOrigin::of(&status) });
        registry.add(at);
        Ok(())
    }
}
