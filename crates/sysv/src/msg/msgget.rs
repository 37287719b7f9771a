//! msgget(2).
//!
//! The checks are in Linux's order (`ksys_msgget`, `ipcget`). For a key that exists: EEXIST, then permission (EACCES).
//! For a key that does not exist: ENOENT, then the limit (ENOSPC) and memory (ENOMEM).

use super::MsgQueue;
use super::object::queue_at;
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::{self, Registry};
use crate::rules::Lookup;
use crate::store::heap;
use crate::thread::Thread;
use crate::time;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::Errno;
use unspin_sys::ipc::flag::{IPC_CREAT, IPC_EXCL, IPC_PRIVATE};
use unspin_sys::limits::MsgLimits;

impl Engine {
    /// msgget(2).
    pub fn msgget(&self, key: i32, flags: i32) -> Result<i32, Errno> {
        match self.inner {
            None => unspin_sys::ipc::msgget(key, flags),
            Some(inner) => get(inner, key, flags),
        }
    }
}

fn get(inner: &'static Inner, key: i32, flags: i32) -> Result<i32, Errno> {
    let thread = Thread::of(inner)?;
    let creates = key == IPC_PRIVATE || flags & IPC_CREAT != 0;
    if !creates && inner.rules.lookup == Lookup::Rcu {
        let _read = thread.read();
        let queue =
            registry::find_key(&inner.arena, Class::Msg, key).and_then(|at| queue_at(&inner.arena, at));
        return open_existing(queue.ok_or(Errno::ENOENT)?, thread, flags);
    }
    inner.with_registry(thread, Class::Msg, Call::Msgget, |registry| {
        let found = if key == IPC_PRIVATE { None } else { registry.find_key(key) };
        match found.and_then(|at| queue_at(&inner.arena, at)) {
            Some(queue) => open_existing(queue, thread, flags),
            None if creates => create(inner, registry, thread, key, flags),
            None => Err(Errno::ENOENT),
        }
    })
}

fn open_existing(queue: &MsgQueue, thread: &Thread, flags: i32) -> Result<i32, Errno> {
    if flags & (IPC_CREAT | IPC_EXCL) == IPC_CREAT | IPC_EXCL {
        return Err(Errno::EEXIST);
    }
    let perm = &queue.perm;
    if !perm.allows_flags_quickly(&thread.creds, flags) && !perm.allows_flags(&thread.creds.read(), flags) {
        return Err(Errno::EACCES);
    }
    // Relaxed: immutable once published.
    Ok(perm.id.load(Relaxed))
}

fn create(
    inner: &'static Inner,
    registry: &Registry<'static>,
    thread: &Thread,
    key: i32,
    flags: i32,
) -> Result<i32, Errno> {
    let limits = MsgLimits::read();
    let id = registry.reserve(limits.queues)?;
    let at = heap::allocate(&inner.arena, thread.record(), size_of::<MsgQueue>() as u64)?;
    let queue = queue_at(&inner.arena, at).ok_or(Errno::ENOMEM)?;
    queue.init(limits.queue, time::seconds());
    queue.perm.init(id.0, key, flags as u32, &thread.creds.read());
    registry.add(at);
    Ok(id.0)
}
