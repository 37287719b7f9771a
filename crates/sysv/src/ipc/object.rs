//! What the engine's frame needs of a class of objects that participants wait for: a lock to take, a section to hold under
//! it, and what can be done there for somebody else.

use super::{Class, Perm};
use crate::arena::{Arena, Shared};
use crate::engine::Inner;
use crate::lock::Lock;
use crate::wakes::Wakes;
use unspin_sys::Errno;

/// An object that participants wait for. It begins with its [`Perm`].
pub(crate) trait Object: Shared + Sized + 'static {
    /// Its class.
    const CLASS: Class;
    /// What its lock's holder does.
    type Section: Section;

    /// What lies at an offset that the table gave; `None` if that cannot be an object, as in an arena that was overwritten.
    #[inline(always)]
    fn at(arena: &Arena, at: u64) -> Option<&Self> {
        if at == 0 { None } else { arena.get(at) }
    }

    /// Id, key, owner, mode.
    fn perm(&self) -> &Perm;

    /// Its own lock; the engine `global` has another for all.
    fn lock(&self) -> &Lock;

    /// Begins a section of participant `me`, who holds the lock. The object lies at the offset `at`.
    fn section(&'static self, inner: &'static Inner, at: u64, me: u32) -> Self::Section;
}

/// A critical section on an object, under its lock.
pub(crate) trait Section {
    /// The first thing, but for a repair: brings the object to the state that everybody expects of it.
    fn open(&mut self, _: &'static Inner) {}

    /// Finishes what a dead holder of the lock may have left half-done, and serves the waiters.
    fn repair(&mut self);

    /// Takes the section's holder out of the queue with this error, unless its wait has ended already.
    fn withdraw(&mut self, why: Errno);

    /// Takes a dead waiter out of the queue, or takes back what it was granted after its death.
    fn bury(&mut self, dead: u32);

    /// What a sleeper looks for that has waited for long: whether its wait should have ended, and whose death it has to
    /// notice.
    fn watch(&mut self, _: &'static Inner) {}

    /// What a sleeper looks at that has waited for seconds: whether it stands in its queue as it should. If not, somebody has
    /// overwritten it, and all that follows from other things is made anew.
    fn review(&mut self);

    /// Does for waiters what has become possible.
    fn serve(&mut self);

    /// The last thing before the lock is released.
    fn close(&mut self);

    /// Whom to wake afterwards.
    fn wakes(&self) -> &Wakes;

    /// Offset of the object.
    fn offset(&self) -> u64;
}
