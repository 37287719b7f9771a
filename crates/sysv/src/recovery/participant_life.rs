//! Whether a participant's thread is alive, by one load.
//!
//! A thread that has waited once holds the robust word of its participant until it leaves ([`unspin_sys::robust`]). When
//! the thread ends or its process executes another program, the kernel clears the id in the word. So while the word has
//! an id, the thread is alive. That answers the question which every waker asks, and which it may ask under an object's
//! lock, where no system call is allowed.
//!
//! No id in the word is no answer: the thread has not waited yet, or has no robust list, or is dead. Then `/proc` is
//! asked.

use super::process;
use crate::engine::Inner;
use crate::thread::Thread;
use unspin_rcu::ParticipantId;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sys::Errno;
use unspin_sys::process::Liveness;

impl Inner {
    /// Whether `participant` can still execute. `participant` comes from the registry.
    pub fn liveness(&self, participant: ParticipantId) -> Liveness {
        match self.holds_word(participant.index()) {
            true => Liveness::Alive,
            false => self.rcu().registry().liveness(participant),
        }
    }

    /// Whether no thread can be executing as the participant with this index.
    pub fn is_dead(&self, index: u32) -> bool {
        let index = index as usize;
        !self.holds_word(index)
            && self.rcu().registry().participant(index).is_none_or(|who| self.liveness(who) == Liveness::Dead)
    }

    #[inline]
    fn holds_word(&self, index: usize) -> bool {
        // Acquire: partner of the kernel's change of the word, which orders everything, and of the exchange in
        // `robust::RobustFutex`.
        process::is_held(self.arena.participant_word(index).load(Acquire))
    }

    /// Takes the robust word of the calling thread's participant, if the thread does not hold it. Called before each
    /// wait.
    #[inline]
    pub fn hold_participant_word(&self, thread: &Thread) {
        if thread.lacks_word.get() {
            self.take_participant_word(thread);
        }
    }

    #[cold]
    fn take_participant_word(&self, thread: &Thread) {
        let word = self.arena.participant_word(thread.index() as usize);
        // Relaxed: the exchange that takes the word orders.
        let seen = word.load(Relaxed);
        // An id: the thread that had this index before is dead, but the kernel has not yet cleared its id.
        if process::is_held(seen) {
            return;
        }
        // SAFETY: the word lies in the arena. The robust futex is the thread's own, and it holds no word.
        let answer = unsafe { thread.robust_futex.acquire(word, seen, thread.identity().tid) };
        // EAGAIN: the thread is changing its robust list, and tries again at its next wait. After any other error it never
        // does: it has no such list.
        thread.lacks_word.set(answer == Err(Errno::EAGAIN));
    }

    /// Gives the robust word back, because the calling thread leaves.
    pub fn give_back_participant_word(&self, thread: &Thread) {
        let word = self.arena.participant_word(thread.index() as usize);
        // SAFETY: if the thread holds the word, it has taken it by this robust futex. No thread sleeps on the word.
        unsafe { thread.robust_futex.release(word, thread.identity().tid) };
        thread.robust_futex.unmap();
    }
}
