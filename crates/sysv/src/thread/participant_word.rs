//! Whether a thread has the robust word of its participant, by which wakers see that it lives
//! (`recovery/participant_life.rs`).

use super::Thread;

/// Whether a thread has the robust word of its participant. All-zero bytes are the first variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum ParticipantWord {
    /// The thread takes it before it waits.
    Wanted,
    /// It could not be taken just now. The thread tries again before its next wait.
    WantedLater,
    /// The thread has it, or cannot have it.
    Settled,
}

impl Thread {
    /// Whether the thread is to take its participant's robust word before it enters a queue.
    #[inline]
    pub fn wants_participant_word(&self) -> bool {
        self.participant_word.get() == ParticipantWord::Wanted
    }

    /// If the word could not be taken for this wait, the next one tries again.
    #[inline]
    pub fn want_participant_word_again(&self) {
        if self.participant_word.get() == ParticipantWord::WantedLater {
            self.participant_word.set(ParticipantWord::Wanted);
        }
    }
}
