//! The mailbox of a participant: memory in the arena for one message, which a sender hands over to it, or which waits
//! with it for room. It is made when a thread first has to wait, is replaced by a larger one when necessary, and is
//! passed on with the participant's slot.

use super::cell::{Cell, Size, Slab};
use super::memory::{Letter, Memory};
use crate::class::Class;
use crate::engine::Inner;
use crate::engine::lock_names::Call;
use crate::participant::Participant;
use crate::store::Arena;
use crate::store::heap;
use crate::thread::Thread;
use core::ptr::NonNull;
use unspin_sync::atomic::Ordering::{Relaxed, Release};
use unspin_sys::Errno;

/// Bytes of text that a participant's mailbox can hold; `None` if it has no mailbox.
pub(super) fn capacity(arena: &Arena, person: &Participant) -> Option<usize> {
    // Relaxed: the participant changes it while it does not wait; others change it under the lock of the queue that it
    // waits for.
    let at = person.errand.mailbox.load(Relaxed);
    let slab = arena.get::<Slab>(at).filter(|_| at != 0)?;
    Some(slab.size().capacity())
}

/// The message in a participant's mailbox, and its text.
pub(super) fn message<'a>(arena: &'a Arena, person: &Participant) -> Option<(&'a Cell, NonNull<u8>)> {
    // Relaxed: as in `capacity`.
    let at = Slab::first(person.errand.mailbox.load(Relaxed));
    let cell = arena.get::<Cell>(at)?;
    Some((cell, Cell::text(arena, at, cell.size())?))
}

/// Copies a message that has to wait into the mailbox of its sender, which is large enough. `EFAULT` if the text cannot
/// be read.
pub(super) fn keep(arena: &Arena, person: &Participant, letter: &Letter) -> Result<(), Errno> {
    let at = Slab::first(person.errand.mailbox.load(Relaxed));
    let cell = arena.get::<Cell>(at).ok_or(Errno::ENOMEM)?;
    letter.write(Cell::text(arena, at, letter.size).ok_or(Errno::ENOMEM)?)?;
    cell.describe(letter.kind, letter.size);
    Ok(())
}

/// The message that was kept in the sender's mailbox, to be sent from there.
pub(super) fn kept(arena: &Arena, person: &Participant, letter: &Letter) -> Option<Letter> {
    let (cell, text) = message(arena, person)?;
    let kept = Letter { memory: Memory::Ours, text: text.as_ptr() as usize, ..*letter };
    (cell.size() == letter.size).then_some(kept)
}

/// Makes sure that the calling thread's mailbox can hold `text` bytes. `ENOMEM` if the arena is full. The caller holds
/// no lock.
#[cold]
pub(super) fn provide(inner: &'static Inner, thread: &Thread, text: usize) -> Result<(), Errno> {
    let size = Size::fitting(text).ok_or(Errno::ENOMEM)?;
    inner.with_registry(thread, Class::Msg, Call::Mailbox, |registry| {
        let (arena, me) = (registry.arena, registry.me);
        let mailbox = &me.errand.mailbox;
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
