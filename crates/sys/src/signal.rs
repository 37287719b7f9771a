//! Blocking signals around a critical section.

use crate::raw;

/// A signal mask as the kernel keeps it: bit n-1 is signal n.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask(pub u64);

impl Mask {
    /// Every signal that can be blocked.
    pub const ALL: Mask = Mask(!0);

    /// Every signal but those that an instruction raises: one that is blocked then kills.
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

/// Sets the calling thread's mask and returns the one before.
pub fn set_mask(mask: Mask) -> Mask {
    let mut old = 0u64;
    // SAFETY: both pointers are live 8-byte masks, the size that is stated.
    let _ = unsafe {
        raw::call(
            libc::SYS_rt_sigprocmask,
            [libc::SIG_SETMASK as usize, &raw const mask.0 as usize, &raw mut old as usize, 8],
        )
    };
    Mask(old)
}
