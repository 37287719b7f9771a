//! Blocking signals around a critical section.

use crate::{Errno, raw};

/// A signal mask as the kernel keeps it: bit n-1 is signal n.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask(pub u64);

impl Mask {
    /// Every signal that can be blocked.
    pub const ALL: Mask = Mask(!0);

    /// Every signal except the one that a mapped file raises that has shrunk ([`file_mapping`](crate::file_mapping)).
    pub const ALL_BUT_SIGBUS: Mask = Mask(!(1 << (libc::SIGBUS - 1)));

    /// Every signal except those that instructions raise: if such a signal is raised while blocked, the kernel kills
    /// the process.
    pub const ALL_BUT_FAULTS: Mask = {
        let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP];
        let (mut mask, mut i) = (!0, 0);
        while i < faults.len() {
            mask &= !(1 << (faults[i] - 1));
            i += 1;
        }
        Mask(mask)
    };
}

/// Sets the calling thread's mask to the kernel's eight-byte mask at an address, and returns the previous mask; EFAULT
/// for a bad address.
pub fn set_mask_at(address: usize) -> Result<Mask, Errno> {
    let mut old = 0u64;
    // SAFETY: the kernel checks the first address; the second is a live mask of the stated size.
    let set = unsafe {
        raw::call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, address, &raw mut old as usize, 8])
    };
    set.map(|_| Mask(old))
}

/// Sets the calling thread's mask and returns the previous one.
pub fn set_mask(mask: Mask) -> Mask {
    change_mask(libc::SIG_SETMASK, mask)
}

/// Blocks these signals in addition to those already blocked, and returns the previous mask.
pub fn block(mask: Mask) -> Mask {
    change_mask(libc::SIG_BLOCK, mask)
}

fn change_mask(how: i32, mask: Mask) -> Mask {
    let mut old = 0u64;
    // SAFETY: both pointers are live 8-byte masks, which is the stated size.
    let _ = unsafe {
        raw::call(
            libc::SYS_rt_sigprocmask,
            [how as usize, &raw const mask.0 as usize, &raw mut old as usize, 8],
        )
    };
    Mask(old)
}

/// Calls `writes` with the signals blocked that write(2) raises, and takes back those that it has raised. One that was pending
/// before stays so. SIGTTOU, which stops a background process, is not raised while it is blocked: the write is done (termios(3),
/// `TOSTOP`).
pub fn without_write_signals(writes: impl FnOnce()) {
    let of_writes = Mask(1 << (libc::SIGPIPE - 1) | 1 << (libc::SIGXFSZ - 1));
    let (before, pending) = (block(Mask(of_writes.0 | 1 << (libc::SIGTTOU - 1))), pending());
    writes();
    let new = Mask(of_writes.0 & !pending.0);
    let now = [0i64; 2];
    // SAFETY: a live mask of the stated size, no siginfo, and a live timespec of zero.
    while unsafe {
        raw::call(libc::SYS_rt_sigtimedwait, [&raw const new.0 as usize, 0, &raw const now as usize, 8])
    }
    .is_ok()
    {}
    set_mask(before);
}

/// The signals that are pending for the calling thread or for the process.
fn pending() -> Mask {
    let mut pending = 0u64;
    // SAFETY: a live mask of the stated size.
    let _ = unsafe { raw::call(libc::SYS_rt_sigpending, [&raw mut pending as usize, 8]) };
    Mask(pending)
}

/// rt_sigreturn(2), in the instructions by which debuggers and unwinders know it. Not to be called: the end of a signal handler
/// returns to it.
#[unsafe(naked)]
pub extern "C" fn sigreturn() {
    core::arch::naked_asm!("mov rax, {number}", "syscall", number = const libc::SYS_rt_sigreturn)
}

/// Gives a signal its default action, and returns the action that it had.
pub fn set_default(signal: i32) -> usize {
    // SAFETY: SIG_DFL is no function.
    unsafe { libc::signal(signal, libc::SIG_DFL) }
}

/// Gives a signal the action that [`set_default`] has returned.
pub(crate) fn restore(signal: i32, action: usize) {
    // SAFETY: the action was in force before.
    unsafe { libc::signal(signal, action) };
}
