//! Counts the signal handlers that the calling thread has run: a handler that runs during a poll must end the wait.

use unspin_sys::tls::{self, Word};

/// Number of handlers that the thread has run: all of them in the low half, those without SA_RESTART in the high half.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handlers(u64);

/// Whether a system call that a handler interrupts is restarted (signal(7)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Restart {
    /// SA_RESTART was set.
    Yes,
    /// SA_RESTART was not set.
    No,
}

/// How handlers that ran during a poll end the wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interruption {
    /// No handler ran.
    None,
    /// All of them had SA_RESTART: calls that the kernel restarts continue.
    Restarts,
    /// The call returns EINTR.
    Ends,
}

impl Interruption {
    /// Whether a call ends, if the kernel restarts it after handlers with SA_RESTART (signal(7)).
    #[inline]
    pub fn ends_restartable(self) -> bool {
        self == Interruption::Ends
    }

    /// Whether a call ends, if the kernel never restarts it (signal(7)).
    #[inline]
    pub fn ends_any(self) -> bool {
        self != Interruption::None
    }
}

const NO_RESTART: u64 = 1 << 32;

impl Handlers {
    /// The current count.
    #[inline]
    pub fn now() -> Handlers {
        Handlers(tls::word(Word::Handlers).get() as u64)
    }

    /// How the handlers that have run since then end the wait.
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

/// To be called before a handler of the program runs in the calling thread.
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
