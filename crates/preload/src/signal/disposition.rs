//! The program's settings for each signal: one word per signal, which a handler can read at any time.

use crate::waits::handlers::Restart;
use core::ffi::c_int;
use unspin_sync::atomic::{AtomicU64, Ordering};

/// Signals are numbered 1 to 64 on x86-64 (`_NSIG` of the kernel).
pub const SIGNALS: usize = 64;

static WORDS: [AtomicU64; SIGNALS + 1] = [const { AtomicU64::new(0) }; SIGNALS + 1];

/// The program's handler, and the flags that differ in the kernel's entry.
///
/// | bits | meaning |
/// |---|---|
/// | 0-56 | address of the handler, SIG_DFL (0) or SIG_IGN (1) |
/// | 59 | the program's SA_RESTART |
/// | 60 | [`UNTOUCHED`](Self::UNTOUCHED) |
/// | 61 | the program's SA_RESETHAND |
/// | 62 | the program's SA_ONSTACK (an owned signal has it without being asked) |
/// | 63 | the program's SA_SIGINFO (a trampoline has it without being asked) |
///
/// Writers: the thread that holds `family::Change`; and the trampoline of a signal with SA_RESETHAND, which changes the
/// handler to SIG_DFL only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Disposition(u64);

/// What to do with a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// SIG_DFL.
    Default,
    /// SIG_IGN.
    Ignore,
    /// Call the function at this address.
    Handler(usize),
}

impl Disposition {
    /// The program has not set the signal: flags, mask and restorer read as zero.
    pub const UNTOUCHED: u64 = 1 << 60;
    const RESTART: u64 = 1 << 59;
    const RESETHAND: u64 = 1 << 61;
    const ONSTACK: u64 = 1 << 62;
    const SIGINFO: u64 = 1 << 63;
    const ADDRESS: u64 = (1 << 57) - 1;

    /// Whether an address fits. All user addresses do, with 5-level paging too.
    pub fn fits(handler: usize) -> bool {
        handler as u64 & !Self::ADDRESS == 0
    }

    /// A disposition for a handler that [fits](Self::fits), with the flags of its `sigaction`.
    pub fn new(handler: usize, flags: c_int) -> Disposition {
        let bit = |flag: c_int, bit: u64| if flags & flag != 0 { bit } else { 0 };
        Disposition(
            handler as u64
                | bit(libc::SA_RESTART, Self::RESTART)
                | bit(libc::SA_RESETHAND, Self::RESETHAND)
                | bit(libc::SA_ONSTACK, Self::ONSTACK)
                | bit(libc::SA_SIGINFO, Self::SIGINFO),
        )
    }

    /// A disposition inherited from before exec.
    pub fn untouched(handler: usize) -> Disposition {
        Disposition(handler as u64 | Self::UNTOUCHED)
    }

    /// The address, SIG_DFL or SIG_IGN, as in `sa_handler`.
    pub fn handler(self) -> usize {
        (self.0 & Self::ADDRESS) as usize
    }

    /// What to do with the signal.
    pub fn target(self) -> Target {
        match self.handler() {
            libc::SIG_DFL => Target::Default,
            libc::SIG_IGN => Target::Ignore,
            address => Target::Handler(address),
        }
    }

    /// Whether the program has never set the signal.
    pub fn is_untouched(self) -> bool {
        self.0 & Self::UNTOUCHED != 0
    }

    /// Whether the handler is called for one signal only (SA_RESETHAND).
    pub fn is_one_shot(self) -> bool {
        self.0 & Self::RESETHAND != 0
    }

    /// Whether a system call that the handler interrupts is restarted.
    pub fn restart(self) -> Restart {
        if self.0 & Self::RESTART != 0 { Restart::Yes } else { Restart::No }
    }

    /// The flags of the kernel's entry, with the bits that the trampoline changes as the program set them.
    pub fn flags(self, kernel: c_int) -> c_int {
        let bit = |bit: u64, flag: c_int| if self.0 & bit != 0 { flag } else { 0 };
        kernel & !(libc::SA_ONSTACK | libc::SA_SIGINFO)
            | bit(Self::ONSTACK, libc::SA_ONSTACK)
            | bit(Self::SIGINFO, libc::SA_SIGINFO)
    }
}

/// The word of a signal number from 1 to 64.
pub fn get(signal: c_int) -> Disposition {
    // Acquire: pairs with the Release in `set`: the handler sees what the program wrote before it installed the
    // handler, as with the kernel's own table.
    Disposition(WORDS[signal as usize].load(Ordering::Acquire))
}

/// Sets the word and returns the previous one.
pub fn set(signal: c_int, disposition: Disposition) -> Disposition {
    // Release: pairs with the Acquire in `get`.
    Disposition(WORDS[signal as usize].swap(disposition.0, Ordering::Release))
}

/// Removes a one-shot handler. `false` if the word has changed since it was read.
pub fn spend(signal: c_int, read: Disposition) -> bool {
    let spent = Disposition(read.0 & !Disposition::ADDRESS);
    // Relaxed: nothing is published. The thread that succeeds has already read the address that it calls.
    WORDS[signal as usize].compare_exchange(read.0, spent.0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_back_as_they_were_set() {
        let kernel = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        for flags in [0, libc::SA_SIGINFO, libc::SA_ONSTACK, libc::SA_SIGINFO | libc::SA_ONSTACK] {
            let disposition = Disposition::new(0x7fff_1234_5678, flags);
            assert_eq!(disposition.flags(kernel), flags | libc::SA_RESTART);
            assert_eq!(disposition.target(), Target::Handler(0x7fff_1234_5678));
        }
        assert!(Disposition::fits(0x00ff_ffff_ffff_ffff));
        assert!(!Disposition::fits(usize::MAX));
    }

    #[test]
    fn a_one_shot_handler_is_spent_once() {
        let read = Disposition::new(0x1000, libc::SA_RESETHAND);
        set(64, read);
        assert!(spend(64, read));
        assert!(!spend(64, read));
        assert_eq!(get(64).target(), Target::Default);
        assert!(get(64).is_one_shot());
    }
}
