//! What the engine needs of a class of objects that participants wait for: a lock, a section under that lock, and
//! operations on behalf of other participants.

use super::Inner;
use crate::class::Class;
use crate::participant::wakes::WakeList;
use crate::registry::Perm;
use crate::store::{Arena, Shared};
use crate::sync::lock::Lock;
use unspin_sys::Errno;

/// An object that participants wait for. It begins with its [`Perm`].
pub(crate) trait Object: Shared + Sized + 'static {
    /// The class of these objects.
    const CLASS: Class;
    /// The section in which the lock's holder works.
    type Section: ObjectSection;

    /// The object at an offset that the table gave; `None` if it cannot be an object, as in an overwritten arena.
    #[inline(always)]
    fn at(arena: &Arena, at: u64) -> Option<&Self> {
        if at == 0 { None } else { arena.get(at) }
    }

    /// Id, key, owner, mode.
    fn perm(&self) -> &Perm;

    /// The object's own lock. The `global` engine uses one lock for all objects instead.
    fn lock(&self) -> &Lock;

    /// Begins a section of participant `me`, which holds the lock. The object lies at the offset `at`.
    fn section(&'static self, inner: &'static Inner, at: u64, me: u32) -> Self::Section;
}

/// A critical section on an object, under its lock.
pub(crate) trait ObjectSection {
    /// The first step, except before a repair: brings the object to the state that the other operations expect.
    fn open(&mut self, _: &'static Inner) {}

    /// Finishes what a dead holder of the lock may have left incomplete, and serves the waiters.
    fn repair(&mut self);

    /// Takes the section's holder out of the queue with this error, unless its wait has ended already.
    fn withdraw(&mut self, why: Errno);

    /// Recovers a dead waiter: takes it out of the queue, or takes back what it was granted after its death.
    fn recover_dead(&mut self, dead: u32);

    /// The check of a sleeper that has waited for long: whether its wait should have ended, and which processes it has
    /// to monitor for exit.
    fn refresh_wait(&mut self, _: &'static Inner) {}

    /// The check of a sleeper that has waited for seconds: whether it is linked in its queue. If it is not, the arena
    /// was overwritten, and all derived state is rebuilt.
    fn verify_queue_link(&mut self);

    /// Performs what has become possible for waiters.
    fn serve(&mut self);

    /// The last step before the lock is released.
    fn close(&mut self);

    /// The wake-ups to make after the lock is released.
    fn wakes(&self) -> &WakeList;

    /// Offset of the object.
    fn offset(&self) -> u64;
}
