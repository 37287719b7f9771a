//! The address to which a handler returns, where the program gives none. For SIG_DFL and SIG_IGN the kernel needs none, and libc's
//! sigaction(2) gives one in any case; a program that makes the system call need not. The trampoline in their place does.

use libc::sigaction as Action;
use unspin_sys::signal::sigreturn;

/// `struct sigaction` has a restorer (`arch/x86/include/uapi/asm/signal.h`).
const SA_RESTORER: i32 = 0x0400_0000;

/// Gives an entry without a handler the address that it lacks.
pub fn add(mut new: Action) -> Action {
    let is_default = new.sa_sigaction == libc::SIG_DFL || new.sa_sigaction == libc::SIG_IGN;
    if is_default && new.sa_flags & SA_RESTORER == 0 {
        new.sa_flags |= SA_RESTORER;
        new.sa_restorer = Some(sigreturn);
    }
    new
}

/// The entry as it was before [`add`].
pub fn remove(mut seen: Action) -> Action {
    if seen.sa_restorer.is_some_and(|at| at as usize == sigreturn as *const () as usize) {
        seen.sa_flags &= !SA_RESTORER;
        seen.sa_restorer = None;
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::super::action;
    use super::*;

    #[test]
    fn only_an_entry_without_handler_and_restorer_gets_one() {
        let entry = |handler, flags| Action { sa_sigaction: handler, sa_flags: flags, ..action::zeroed() };
        for (handler, flags, is_added) in [
            (libc::SIG_DFL, 0, true),
            (libc::SIG_IGN, libc::SA_RESTART, true),
            (libc::SIG_DFL, SA_RESTORER, false),
            (0x1000, 0, false),
        ] {
            let added = add(entry(handler, flags));
            assert_eq!(added.sa_restorer.is_some(), is_added);
            assert_eq!(added.sa_flags, if is_added { flags | SA_RESTORER } else { flags });
            let seen = remove(added);
            assert_eq!((seen.sa_flags, seen.sa_restorer), (flags, None));
        }
    }
}
