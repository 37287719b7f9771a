//! The mailbox of a participant: memory in the arena for one message, which a sender hands over to it, or which waits
//! with it for room. It is made when a thread first has to wait, is replaced by a larger one when necessary, and is
//! passed on with the participant's slot. So a message that was handed over stays valid if the queue is removed.

use super::cell::{CellSize, MessageCell, Slab};
use super::memory::{MemoryOwner, OutgoingMessage};
use crate::class::Class;
use crate::engine::Inner;
use crate::engine::lock_names::Call;
use crate::participant::ParticipantRecord;
use crate::store::Arena;
use crate::store::heap;
use crate::thread::Thread;
use core::ptr::NonNull;
use unspin_sync::atomic::Ordering::{Relaxed, Release};
use unspin_sys::Errno;

/// Bytes of text that a participant's mailbox can hold; `None` if it has no mailbox.
pub(super) fn capacity(arena: &Arena, participant: &ParticipantRecord) -> Option<usize> {
    // Relaxed: the participant changes it while it does not wait; others change it under the lock of the queue that it
    // waits for.
    let at = participant.msg_wait.mailbox.load(Relaxed);
    let slab = arena.get::<Slab>(at).filter(|_| at != 0)?;
    Some(slab.size().capacity())
}

/// The message in a participant's mailbox, and its text.
pub(super) fn message<'a>(
    arena: &'a Arena,
    participant: &ParticipantRecord,
) -> Option<(&'a MessageCell, NonNull<u8>)> {
    // Relaxed: as in `capacity`.
    let at = Slab::first(participant.msg_wait.mailbox.load(Relaxed));
    let cell = arena.get::<MessageCell>(at)?;
    Some((cell, MessageCell::text(arena, at, cell.size())?))
}

/// Copies a message that has to wait into the mailbox of its sender, which is large enough. `EFAULT` if the text cannot
/// be read.
pub(super) fn keep(
    arena: &Arena,
    participant: &ParticipantRecord,
    outgoing: &OutgoingMessage,
) -> Result<(), Errno> {
    let at = Slab::first(participant.msg_wait.mailbox.load(Relaxed));
    let cell = arena.get::<MessageCell>(at).ok_or(Errno::ENOMEM)?;
    outgoing.write(MessageCell::text(arena, at, outgoing.size).ok_or(Errno::ENOMEM)?)?;
    cell.describe(outgoing.mtype, outgoing.size);
    Ok(())
}

/// The message that was kept in the sender's mailbox, to be sent from there.
pub(super) fn kept_message(
    arena: &Arena,
    participant: &ParticipantRecord,
    outgoing: &OutgoingMessage,
) -> Option<OutgoingMessage> {
    let (cell, text) = message(arena, participant)?;
    let kept = OutgoingMessage { memory: MemoryOwner::Ours, text: text.as_ptr() as usize, ..*outgoing };
    (cell.size() == outgoing.size).then_some(kept)
}

/// Makes sure that the calling thread's mailbox can hold `text` bytes. `ENOMEM` if the arena is full. The caller holds
/// no lock.
#[cold]
pub(super) fn provide(inner: &'static Inner, thread: &Thread, text: usize) -> Result<(), Errno> {
    let size = CellSize::smallest_for(text).ok_or(Errno::ENOMEM)?;
    inner.with_registry(thread, Class::Msg, Call::Mailbox, |registry| {
        let (arena, me) = (registry.arena, registry.me);
        let mailbox = &me.msg_wait.mailbox;
        if capacity(arena, me) >= Some(text) {
            return Ok(());
        }
        let old = mailbox.load(Relaxed);
        if old != 0 {
            heap::unpublish(me, old);
            // Release: the block is pending before it stops being the mailbox.
            mailbox.store(0, Release);
            heap::free(arena, me, old);
        }
        let new = heap::allocate(arena, me, size.slab_bytes(1))?;
        Slab::init(arena, new, size, 1);
        // Release: the slab is complete before it is in use.
        mailbox.store(new, Release);
        heap::publish(me);
        Ok(())
    })
}
