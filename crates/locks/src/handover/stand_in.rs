//! A condition that is libc's, for which threads wait whose mutex is ours. libc's wait can only release a mutex of libc. So
//! the waiter locks a *stand-in*, a mutex of libc, releases its own mutex, and passes the stand-in to libc's wait. A
//! thread that signals locks the stand-in for a moment ([`signal`]). If it has held the waiter's mutex before, it gets the
//! stand-in only when the waiter is in its wait.
//!
//! Code that calls libc directly signals without the stand-in. A waiter looks for the hand-over while it holds the
//! stand-in ([`lock_to_wait`]). The thread that begins the hand-over locks each stand-in afterwards ([`settle`]), before it
//! lets such code in:
//!
//! - A waiter that had its stand-in before has not seen the hand-over, and `settle` waits until it is in libc's wait. So
//!   the signals of such code find it there. It moves its mutex to libc when it acquires it again.
//! - A waiter that gets its stand-in later sees the hand-over. It moves its mutex to libc and waits with that mutex itself,
//!   which libc releases when the waiter is in the wait.
//!
//! Both sorts can wait for one condition: libc's conditions do not care whether their waiters use the same mutex. Threads
//! that signal through `signal` lock the stand-in at any time. Those that do so before `settle` is done need it; for a
//! waiter with its own mutex it has no effect.

use super::HandOver;

/// A mutex of libc that replaces a waiter's own one in libc's wait.
pub trait StandIn {
    /// Locks it.
    fn lock(&self);

    /// Unlocks it. The calling thread has locked it.
    fn unlock(&self);
}

/// The mutex with which a thread is to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitsWith {
    /// The stand-in, which it has locked.
    StandIn,
    /// The thread's own mutex, which the thread moves to libc first.
    Itself,
}

/// The beginning of a wait, by a thread that holds its own mutex.
pub fn lock_to_wait(stand_in: &impl StandIn, hand_over: &HandOver) -> WaitsWith {
    stand_in.lock();
    if !hand_over.has_begun() {
        return WaitsWith::StandIn;
    }
    // Not kept: a thread that has the waiter's mutex waits for the stand-in where it signals.
    stand_in.unlock();
    WaitsWith::Itself
}

/// To be called after the hand-over has begun: returns when each waiter that has not seen it is in libc's wait.
pub fn settle<'all>(stand_ins: impl IntoIterator<Item = &'all (impl StandIn + 'all)>) {
    for stand_in in stand_ins {
        stand_in.lock();
        stand_in.unlock();
    }
}

/// A signal. `signals` is libc's function.
pub fn signal<R>(stand_in: &impl StandIn, signals: impl FnOnce() -> R) -> R {
    stand_in.lock();
    let code = signals();
    stand_in.unlock();
    code
}
