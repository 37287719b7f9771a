//! Blocking signals around a critical section.

use crate::raw;

/// A signal mask as the kernel keeps it: bit n-1 is signal n.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask(pub u64);

impl Mask {
    /// Every signal that can be blocked.
    pub const ALL: Mask = Mask(!0);
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
