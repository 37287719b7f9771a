//! Whether a participant's thread is alive, by one load.
//!
//! Before its first wait a thread takes the robust word of its participant, and holds it until it leaves
//! ([`unspin_sys::robust`]). When the thread ends, the kernel clears the id in the word. So while the word has an id, the
//! thread is alive. Every waker asks that of the thread that it wakes, and in some cases under an object's lock.
//!
//! No id in the word is no answer: the thread has never waited, or has no robust list, or is dead. Then `/proc` is asked.
//! A thread that executes a program and is not its process's first one leaves its id: until the index is used again, it
//! counts as alive in a wait that a handler has left by the exec.

use super::process;
use crate::engine::Inner;
use crate::thread::{ParticipantWord, Thread};
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
            && self.rcu().registry().participant(index).is_none_or(|id| self.liveness(id) == Liveness::Dead)
    }

    #[inline]
    fn holds_word(&self, index: usize) -> bool {
        // Acquire: partner of the kernel's change of the word, which orders everything, and of the exchange in
        // `robust::RobustFutex`.
        process::is_held(self.arena.participant_word(index).load(Acquire))
    }

    /// Takes the robust word of the calling thread's participant. To be called before a wait, outside of locks, while
    /// the thread lacks the word.
    #[cold]
    pub fn take_participant_word(&self, thread: &Thread) {
        // Critical section: a handler that forked meanwhile would return in a child that has another record, and another
        // participant's word.
        let _critical = thread.critical();
        let word = self.arena.participant_word(thread.index() as usize);
        // Relaxed: the exchange that takes the word orders. An id in it is not that of a thread that lives: the index is
        // the calling thread's. The thread that had it before is dead, and the kernel is about to clear its id; or a
        // foreign write left the id. Both find that the word has changed.
        let seen = word.load(Relaxed);
        // SAFETY: the word lies in the arena. The robust futex is the thread's own, and it holds no word.
        let answer = unsafe { thread.robust_futex.acquire(word, seen, thread.identity().tid) };
        thread.participant_word.set(match answer {
            // ENOSYS: the thread has no robust list that we can use.
            Ok(()) | Err(Errno::ENOSYS) => ParticipantWord::Settled,
            // The word or the list is just changing, or there is no memory.
            Err(_) => ParticipantWord::WantedLater,
        });
    }

    /// Gives the robust word back, because the calling thread leaves.
    pub fn give_back_participant_word(&self, thread: &Thread) {
        let word = self.arena.participant_word(thread.index() as usize);
        // SAFETY: only this thread takes words by its robust futex, and it took this one last. No thread sleeps on the
        // word.
        unsafe {
            thread.robust_futex.release(word, thread.identity().tid);
            thread.robust_futex.unmap();
        }
    }
}
