//! Which signal handlers the calling thread has run: a handler that runs during a poll must end the wait.

use unspin_sys::tls::{self, Word};

/// How many handlers the thread has run: all in the low half, those without SA_RESTART in the high half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handlers(u64);

/// Whether a system call that a handler interrupts is made again (signal(7)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// SA_RESTART was set.
    Yes,
    /// It was not.
    No,
}

/// How handlers that ran during a poll end the wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruption {
    /// No handler ran.
    None,
    /// All of them had SA_RESTART: calls that are restarted go on.
    Restarts,
    /// The call answers EINTR.
    Ends,
}

impl Interruption {
    /// Whether a call ends that the kernel restarts after handlers with SA_RESTART (signal(7)).
    #[inline]
    pub fn ends_restartable(self) -> bool {
        self == Interruption::Ends
    }

    /// Whether a call ends that the kernel never restarts (signal(7)).
    #[inline]
    pub fn ends_any(self) -> bool {
        self != Interruption::None
    }
}

const NO_RESTART: u64 = 1 << 32;

impl Handlers {
    /// So far.
    #[inline]
    pub fn now() -> Handlers {
        Handlers(tls::word(Word::Handlers).get() as u64)
    }

    /// What has run since.
    #[inline]
    pub fn since(self) -> Interruption {
        let ran = Handlers::now().0.wrapping_sub(self.0);
        match ran {
            0 => Interruption::None,
            1..NO_RESTART => Interruption::Restarts,
            _ => Interruption::Ends,
        }
    }
}

/// A handler of the program is about to run in the calling thread.
pub fn note(restart: Restart) {
    let word = tls::word(Word::Handlers);
    let one = match restart {
        Restart::Yes => 1,
        Restart::No => NO_RESTART | 1,
    };
    word.set((word.get() as u64).wrapping_add(one) as usize);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_handler_without_restart_is_enough_to_end_a_call() {
        let before = Handlers::now();
        assert_eq!(before.since(), Interruption::None);
        note(Restart::Yes);
        assert_eq!(before.since(), Interruption::Restarts);
        note(Restart::No);
        note(Restart::Yes);
        assert_eq!(before.since(), Interruption::Ends);
        assert_eq!(Handlers::now().since(), Interruption::None);
    }
}
