//! `struct sigaction` in its two layouts, and the two functions that access the kernel's table.

use crate::next::next;
use core::ffi::{c_int, c_ulong};
use core::{mem, ptr};
use libc::sigaction as Action;
use unspin_sys::{Errno, raw};

/// Reads the entry of a signal into `old` and, if `new` is not null, replaces it.
pub type Install = unsafe fn(signal: c_int, new: *const Action, old: *mut Action) -> Result<(), Errno>;

/// `struct sigaction` as the system call expects it (`arch/x86/include/uapi/asm/signal.h`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct KernelAction {
    /// Address of the handler, SIG_DFL or SIG_IGN.
    pub handler: usize,
    /// SA_ flags.
    pub flags: c_ulong,
    /// Address to which the handler returns.
    pub restorer: usize,
    /// Signals that are blocked while the handler runs; bit n-1 is signal n.
    pub mask: u64,
}

/// Size of the kernel's sigset_t in bytes; the system call requires it as an argument.
pub const KERNEL_MASK_SIZE: usize = size_of::<u64>();

impl KernelAction {
    /// Converts to libc's layout.
    pub fn to_libc(self) -> Action {
        let mut action = zeroed();
        action.sa_sigaction = self.handler;
        action.sa_flags = self.flags as c_int;
        // SAFETY: an `Option` of a function pointer has the size of an address, and is null or callable. This one came
        // from a program, which means it to be called.
        action.sa_restorer = unsafe { mem::transmute::<usize, Option<extern "C" fn()>>(self.restorer) };
        set_mask(&mut action, self.mask);
        action
    }

    /// Converts from libc's layout.
    pub fn from_libc(action: &Action) -> KernelAction {
        KernelAction {
            handler: action.sa_sigaction,
            flags: action.sa_flags as u32 as c_ulong,
            restorer: action.sa_restorer.map_or(0, |f| f as usize),
            mask: mask(action),
        }
    }
}

/// All zero: SIG_DFL, no flags, no signal blocked.
pub fn zeroed() -> Action {
    // SAFETY: integers, an integer array, and an `Option` of a function pointer, all valid when zero.
    unsafe { mem::zeroed() }
}

/// The first 64 bits of `sa_mask`, which are the kernel's mask.
pub fn mask(action: &Action) -> u64 {
    // SAFETY: sigset_t is an array of longs, longer than one.
    unsafe { (&raw const action.sa_mask).cast::<u64>().read() }
}

/// Sets `sa_mask`.
pub fn set_mask(action: &mut Action, mask: u64) {
    // SAFETY: as for `mask`.
    unsafe { (&raw mut action.sa_mask).cast::<u64>().write(mask) }
}

/// Accesses the entry through the next definition of sigaction(2).
///
/// # Safety
/// `new` and `old` are null or point to actions.
pub unsafe fn by_next(signal: c_int, new: *const Action, old: *mut Action) -> Result<(), Errno> {
    next! { static NEXT = c"sigaction"; }
    let address = NEXT.address();
    if address == 0 {
        // SAFETY: the caller's promise.
        return unsafe { by_number(signal, new, old) };
    }
    // SAFETY: the next definition has the type that libc's header gives it.
    let next = unsafe {
        mem::transmute::<usize, unsafe extern "C-unwind" fn(c_int, *const Action, *mut Action) -> c_int>(
            address,
        )
    };
    // SAFETY: the caller's promise; libc returns the address of the calling thread's own errno.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        if next(signal, new, old) == 0 {
            return Ok(());
        }
        let failure = Errno(*errno);
        *errno = before;
        Err(failure)
    }
}

/// Accesses the entry through the system call. A new entry must contain its restorer.
///
/// # Safety
/// As for [`by_next`].
pub unsafe fn by_number(signal: c_int, new: *const Action, old: *mut Action) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    let new = unsafe { new.as_ref() }.map(KernelAction::from_libc);
    let mut seen = KernelAction::default();
    let new_at = new.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both addresses are null or point to live structures of the layout that the call expects.
    unsafe {
        raw::call(
            libc::SYS_rt_sigaction,
            [signal as usize, new_at as usize, &raw mut seen as usize, KERNEL_MASK_SIZE],
        )?;
        if !old.is_null() {
            old.write(seen.to_libc());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_layouts_hold_the_same() {
        let kernel = KernelAction { handler: 5, flags: 0xc400_0004, restorer: 7, mask: 9 };
        assert_eq!(KernelAction::from_libc(&kernel.to_libc()), kernel);
    }
}
