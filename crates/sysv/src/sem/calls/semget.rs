//! semget(2).
//!
//! The checks are in Linux's order (`ksys_semget`, `ipcget`). First: size out of range (EINVAL). For a key that exists:
//! EEXIST, then size (EINVAL), then permission (EACCES). For a key that does not exist: ENOENT, or EINVAL for an empty
//! set, then the limits (ENOSPC) and memory (ENOMEM).

use super::object::{find_set, space};
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::{self, Registry};
use crate::rules::{Lookup, SingleOp};
use crate::sem::{Set, set};
use crate::store::heap;
use crate::thread::Thread;
use crate::time;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::Errno;
use unspin_sys::ipc::flag::{IPC_CREAT, IPC_EXCL, IPC_PRIVATE};
use unspin_sys::limits::SemLimits;

impl Engine {
    /// semget(2).
    pub fn semget(&self, key: i32, nsems: i32, flags: i32) -> Result<i32, Errno> {
        let Some(inner) = self.inner else { return unspin_sys::ipc::semget(key, nsems, flags) };
        if (0..=SemLimits::DEFAULT.per_set as i32).contains(&nsems)
            && key != IPC_PRIVATE
            && flags & IPC_CREAT == 0
            && inner.rules.lookup == Lookup::Rcu
            && let Some(thread) = Thread::current(inner.number)
            && let Some(id) = find_without_lock(inner, thread, key, nsems, flags)
        {
            return Ok(id);
        }
        slow(inner, key, nsems, flags)
    }
}

/// The id of an existing set, if the cached credentials suffice for it. Otherwise `None`, and the slow path must be
/// taken.
#[inline]
fn find_without_lock(
    inner: &'static Inner,
    thread: &Thread,
    key: i32,
    nsems: i32,
    flags: i32,
) -> Option<i32> {
    inner.check().ok()?;
    let _read = thread.read();
    let set = find_set(&inner.arena, registry::find_key(&inner.arena, Class::Sem, key)?)?;
    let fits = nsems as usize <= set.count() && set.perm.allows_flags_quickly(&thread.creds, flags);
    // Relaxed: immutable once published.
    fits.then(|| set.perm.id.load(Relaxed))
}

#[cold]
fn slow(inner: &'static Inner, key: i32, nsems: i32, flags: i32) -> Result<i32, Errno> {
    let thread = Thread::of(inner)?;
    let creates = key == IPC_PRIVATE || flags & IPC_CREAT != 0;
    if !creates && inner.rules.lookup == Lookup::Rcu {
        let _read = thread.read();
        return match registry::find_key(&inner.arena, Class::Sem, key)
            .and_then(|at| find_set(&inner.arena, at))
        {
            Some(set) => open_existing(set, thread, nsems, flags),
            None => Err(check_size(nsems).err().unwrap_or(Errno::ENOENT)),
        };
    }
    inner.with_registry(thread, Class::Sem, Call::Semget, |registry| {
        let found = if key == IPC_PRIVATE { None } else { registry.find_key(key) };
        match found.and_then(|at| find_set(&inner.arena, at)) {
            Some(set) => open_existing(set, thread, nsems, flags),
            None => match check_size(nsems)? {
                limits if creates => create(inner, registry, thread, (key, nsems as u32, flags), &limits),
                _ => Err(Errno::ENOENT),
            },
        }
    })
}

/// The limits, if they permit a set of this size, else `EINVAL`.
fn check_size(nsems: i32) -> Result<SemLimits, Errno> {
    let limits = SemLimits::read();
    match u32::try_from(nsems) {
        Ok(n) if n <= limits.per_set => Ok(limits),
        _ => Err(Errno::EINVAL),
    }
}

fn open_existing(set: &Set, thread: &Thread, nsems: i32, flags: i32) -> Result<i32, Errno> {
    // The kernel checks the limit first, but reading it costs more than all the rest. A size within the set's own size
    // is within the limit, unless the limit was lowered since.
    if usize::try_from(nsems).map_or(true, |n| n > set.count()) {
        check_size(nsems)?;
    }
    if flags & (IPC_CREAT | IPC_EXCL) == IPC_CREAT | IPC_EXCL {
        return Err(Errno::EEXIST);
    }
    if nsems as usize > set.count() {
        return Err(Errno::EINVAL);
    }
    if !set.perm.allows_flags(&thread.creds.read(), flags) {
        return Err(Errno::EACCES);
    }
    // Relaxed: immutable once published.
    Ok(set.perm.id.load(Relaxed))
}

fn create(
    inner: &'static Inner,
    registry: &Registry<'static>,
    thread: &Thread,
    (key, nsems, flags): (i32, u32, i32),
    limits: &SemLimits,
) -> Result<i32, Errno> {
    if nsems == 0 {
        return Err(Errno::EINVAL);
    }
    let root = inner.arena.header().root(Class::Sem);
    // Relaxed: under the registry lock.
    if root.units.load(Relaxed) + nsems as u64 > limits.total as u64 {
        return Err(Errno::ENOSPC);
    }
    let id = registry.reserve(limits.sets)?;
    let at = heap::allocate(&inner.arena, thread.record(), set::bytes(nsems))?;
    let set = inner.arena.get::<Set>(at).ok_or(Errno::ENOMEM)?;
    set.init(nsems, time::seconds());
    if inner.rules.single_op == SingleOp::Locked {
        space(inner, at, set).mark_slow_for_good();
    }
    set.perm.init(id.0, key, flags as u32, &thread.creds.read());
    registry.add(at);
    Ok(id.0)
}
