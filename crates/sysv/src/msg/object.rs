//! A queue as an object of the registry, and a thread's way to it.

use super::MsgQueue;
use super::cell::{self, Slab};
use super::memory::RecvBuffer;
use super::section::QueueSection;
use super::{mailbox, storage};
use crate::class::Class;
use crate::engine::Inner;
use crate::engine::Object;
use crate::engine::lock_names::Call;
use crate::registry::creds;
use crate::registry::{self, Access, Perm, Registry};
use crate::store::Arena;
use crate::store::deferred_free;
use crate::store::heap;
use crate::store::part::Part;
use crate::sync::lock::Lock;
use crate::thread::Thread;
use crate::waiting::WaitResult;
use core::mem::offset_of;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sys::Errno;

impl Object for MsgQueue {
    const CLASS: Class = Class::Msg;
    type Section = QueueSection;

    fn perm(&self) -> &Perm {
        &self.perm
    }

    fn lock(&self) -> &Lock {
        &self.contended.lock
    }

    #[inline(always)]
    fn section(&'static self, inner: &'static Inner, at: u64, me: u32) -> QueueSection {
        QueueSection::new(inner, self, at, me)
    }
}

/// The queue at an offset that the table gave. `None` for 0 and for an offset that cannot be a queue.
pub(super) fn queue_at(arena: &Arena, at: u64) -> Option<&MsgQueue> {
    if at == 0 { None } else { arena.get(at) }
}

/// Runs `f` in a section on the queue of `id`, if the thread may do `want` with it; else `EINVAL`, `EACCES` or `EIDRM`.
/// Uses the thread's cache if the queue is in it.
///
/// It takes a closure and does not return a guard: a returned guard would be copied, which takes as long as the rest.
#[inline(always)]
pub(super) fn within<R>(
    inner: &'static Inner,
    thread: &'static Thread,
    (call, id, want): (Call, i32, Access),
    f: impl FnOnce(&mut QueueSection) -> R,
) -> Result<R, Errno> {
    let read = thread.read();
    let (cached, is_cached) = thread.cached_queue(id);
    if !is_cached || !cached.allows(want) {
        cache_queue(inner, thread, id, want)?;
    }
    inner.within(thread, call, cached.object(), read, f).ok_or(Errno::EIDRM)
}

/// Caches a queue, and what the thread may do with it. `EINVAL` if there is no queue, `EACCES` if the thread may not do
/// `want`. The caller is in a read-side section.
#[cold]
fn cache_queue(inner: &'static Inner, thread: &'static Thread, id: i32, want: Access) -> Result<(), Errno> {
    // Acquire: as in `Thread::cached_set`. Both numbers are read before the state that they are to vouch for.
    let when = (thread.changes().load(Acquire), creds::epoch());
    let (at, queue) = inner.find::<MsgQueue>(id)?;
    let creds = thread.creds.read();
    let may = [Access::Read, Access::Alter].into_iter().filter(|&want| queue.perm.allows(&creds, want));
    let cached = thread.cached_queue(id).0;
    cached.store(id, when, may.map(Access::bit).sum(), (at, queue));
    if cached.allows(want) { Ok(()) } else { Err(Errno::EACCES) }
}

/// Marks the queue at an offset as removed, ends all waits on it, and retires its slabs. Returns the size of its header
/// in bytes. The caller holds the registry lock.
pub(crate) fn evict(inner: &'static Inner, thread: &Thread, registry: &Registry<'_>, at: u64) -> u64 {
    let Some(queue) = queue_at(&inner.arena, at) else { return 0 };
    inner.guard_found(thread, Call::MsgRmid, (at, queue)).section().remove();
    let (arena, first) = (&inner.arena, &queue.contended.slabs);
    // Bounded by the number of slabs that can exist. An overwritten list may lead back to its start; the loop then
    // ends, because the links of retired slabs are 0.
    for _ in 0..storage::most(arena) {
        let at = first.load(Relaxed);
        let Some(slab) = arena.get::<Slab>(at).filter(|_| at != 0) else { break };
        heap::unpublish(registry.me, at);
        // Release: the slab is pending before it is unlinked, so that a thread that recovers us retires it.
        first.store(slab.next.load(Relaxed), Release);
        // Release: not before the next slab is the first. Otherwise a thread that continues after our death would find
        // no slab behind this one.
        slab.next.store(0, Release);
        deferred_free::retire(arena, &registry.rcu, registry.me, at, heap::size(arena, at));
    }
    size_of::<MsgQueue>() as u64
}

/// Whether a heap payload is a queue's slab or a participant's mailbox. The caller holds the registry lock.
pub(crate) fn owns(inner: &'static Inner, payload: u64) -> bool {
    // Acquire: a mailbox becomes a queue's slab before it stops being a mailbox. So a payload that is not found here is
    // found among the slabs.
    let mut participants = inner.participants().iter();
    participants.any(|participant| participant.msg_wait.mailbox.load(Acquire) == payload)
        || registry::objects(&inner.arena, Class::Msg)
            .filter_map(|at| queue_at(&inner.arena, at))
            .any(|queue| storage::slabs_of(&inner.arena, queue).any(|slab| slab == payload))
}

/// Locations of the first slabs of a queue, and of the first cells of each; at most `some` of either.
pub(crate) fn parts(inner: &'static Inner, queue: &'static MsgQueue, some: usize) -> Vec<Part> {
    let slabs = storage::slabs_of(&inner.arena, queue);
    let parts = slabs.take(some).flat_map(|at| {
        let slab = [
            Part::new("head of a block", at - heap::HEAD, heap::HEAD as usize),
            Part::new("next slab", at + offset_of!(Slab, next) as u64, 8),
            Part::new("slab", at, size_of::<Slab>()),
        ];
        let cells = Slab::cells(&inner.arena, at).take(some).flat_map(|(at, _)| {
            [
                Part::new("size of a message", at + cell::SIZE_AT, 4),
                Part::new("cell", at, size_of::<cell::MessageCell>()),
            ]
        });
        slab.into_iter().chain(cells)
    });
    parts.collect()
}

/// Copies the message that the thread was granted from its mailbox to the thread's buffer.
pub(crate) fn fetch(inner: &'static Inner, thread: &Thread, buffer: &RecvBuffer) -> WaitResult {
    let Some((cell, text)) = mailbox::message(&inner.arena, thread.record()) else {
        return WaitResult::Failed(Errno::EFAULT);
    };
    match buffer.take(cell.mtype.load(Relaxed), text, cell.size()) {
        Ok(received) => WaitResult::Done(received),
        Err(errno) => WaitResult::Failed(errno),
    }
}

/// Gives the message that the thread was granted back to its queue, because the thread's buffer no longer exists.
pub(crate) fn give_back(inner: &'static Inner, thread: &Thread) {
    let participant = thread.record();
    let _read = thread.read();
    // Relaxed: the thread's own record.
    let at = participant.waiter.object.load(Relaxed);
    let queue = Some(at).filter(|&at| registry::is_object(&inner.arena, Class::Msg, at));
    if let Some(queue) = queue.and_then(|at| queue_at(&inner.arena, at))
        && let Ok(mut guard) = inner.guard_alive(thread, Call::Wait, (at, queue))
    {
        guard.section().give_back(participant);
    }
}
