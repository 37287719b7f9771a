//! The older functions that set a handler. Each calls sigaction(2) in the same way as glibc's.
//!
//! glibc's own functions would bypass our sigaction, so all of them are here.

use super::action::{self, by_next};
use super::exchange::exchange;
use super::exchange::sigaction;
use crate::errno;
use core::ffi::{c_int, c_void};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::Errno;

/// Signals for which siginterrupt(3) requested interruption: `_sigintr` in glibc. Bit n-1 is signal n.
static INTERRUPTING: AtomicU64 = AtomicU64::new(0);

/// `SA_INTERRUPT` of old kernels. glibc's sysv_signal still passes it.
const SA_INTERRUPT: c_int = 0x2000_0000;
/// `SIG_HOLD` of sigset(3).
const SIG_HOLD: usize = 2;

/// The bit in a `sigset_t` of a signal that sigaddset would accept.
fn bit(signal: c_int) -> Option<u64> {
    (1..=64).contains(&signal).then(|| 1 << (signal - 1))
}

/// Sets a handler and returns the previous one; SIG_ERR with errno set if that failed.
fn set(signal: c_int, handler: usize, flags: c_int, mask: u64) -> usize {
    let mut new = action::zeroed();
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    action::set_mask(&mut new, mask);
    let mut old = action::zeroed();
    // SAFETY: live structures.
    match unsafe { exchange(signal, &new, &mut old, by_next) } {
        Ok(()) => old.sa_sigaction,
        Err(e) => {
            errno::set(e);
            libc::SIG_ERR
        }
    }
}

fn refuse() -> usize {
    errno::set(Errno::EINVAL);
    libc::SIG_ERR
}

/// signal(2) with BSD semantics: restarts system calls unless siginterrupt(3) was called; blocks the signal itself.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn signal(signal: c_int, handler: usize) -> usize {
    match bit(signal) {
        Some(bit) if handler != libc::SIG_ERR => {
            // Relaxed: an independent flag; glibc does not order it either.
            let interrupting = INTERRUPTING.load(Ordering::Relaxed) & bit != 0;
            set(signal, handler, if interrupting { 0 } else { libc::SA_RESTART }, bit)
        }
        _ => refuse(),
    }
}

/// [`signal`] under its BSD name.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn bsd_signal(number: c_int, handler: usize) -> usize {
    signal(number, handler)
}

/// [`signal`] under its System V name.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ssignal(number: c_int, handler: usize) -> usize {
    signal(number, handler)
}

/// sysv_signal(3): one-shot, interrupts system calls, does not block the signal itself.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sysv_signal(signal: c_int, handler: usize) -> usize {
    if handler == libc::SIG_ERR || bit(signal).is_none() {
        return refuse();
    }
    set(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER | SA_INTERRUPT, 0)
}

/// [`sysv_signal`] under the name that `signal` has in programs compiled with only `_XOPEN_SOURCE`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __sysv_signal(signal: c_int, handler: usize) -> usize {
    sysv_signal(signal, handler)
}

/// sigset(3): sets the handler and unblocks the signal, or blocks it for SIG_HOLD. Returns SIG_HOLD if the signal was
/// blocked.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sigset(signal: c_int, handler: usize) -> usize {
    let Some(bit) = bit(signal).filter(|_| handler != libc::SIG_ERR) else { return refuse() };
    let before = if handler == SIG_HOLD {
        change_mask(libc::SIG_BLOCK, bit).map(|mask| (mask, None))
    } else {
        let old = set(signal, handler, 0, 0);
        if old == libc::SIG_ERR {
            return old;
        }
        change_mask(libc::SIG_UNBLOCK, bit).map(|mask| (mask, Some(old)))
    };
    match before {
        None => libc::SIG_ERR,
        Some((mask, _)) if mask & bit != 0 => SIG_HOLD,
        Some((_, Some(old))) => old,
        Some((_, None)) => current(signal),
    }
}

/// Changes the calling thread's mask through libc. Returns the previous mask, or `None` with errno set.
fn change_mask(how: c_int, mask: u64) -> Option<u64> {
    let (mut new, mut old) = (action::zeroed().sa_mask, action::zeroed().sa_mask);
    // SAFETY: live sets, whose first word is the kernel's mask.
    unsafe {
        (&raw mut new).cast::<u64>().write(mask);
        (libc::sigprocmask(how, &new, &mut old) == 0).then(|| (&raw const old).cast::<u64>().read())
    }
}

/// The current handler of a signal; SIG_ERR with errno set if there is no such signal.
fn current(signal: c_int) -> usize {
    let mut old = action::zeroed();
    // SAFETY: a live structure.
    if unsafe { sigaction(signal, core::ptr::null(), &mut old) } == 0 {
        old.sa_sigaction
    } else {
        libc::SIG_ERR
    }
}

/// sigignore(3).
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sigignore(signal: c_int) -> c_int {
    if set(signal, libc::SIG_IGN, 0, 0) == libc::SIG_ERR { -1 } else { 0 }
}

/// siginterrupt(3): sets whether this signal interrupts system calls. [`signal`] remembers it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn siginterrupt(signal: c_int, interrupt: c_int) -> c_int {
    let mut action = action::zeroed();
    // SAFETY: a live structure.
    if unsafe { sigaction(signal, core::ptr::null(), &mut action) } != 0 {
        return -1;
    }
    let Some(bit) = bit(signal) else { return -1 };
    if interrupt != 0 {
        // Relaxed: as in `signal`.
        INTERRUPTING.fetch_or(bit, Ordering::Relaxed);
        action.sa_flags &= !libc::SA_RESTART;
    } else {
        // Relaxed: as in `signal`.
        INTERRUPTING.fetch_and(!bit, Ordering::Relaxed);
        action.sa_flags |= libc::SA_RESTART;
    }
    // SAFETY: a live structure.
    unsafe { sigaction(signal, &action, core::ptr::null_mut()) }
}

/// `struct sigvec` of 4.3BSD. Programs linked against glibc before 2.21 still use it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Sigvec {
    handler: usize,
    mask: c_int,
    flags: c_int,
}

const SV_ONSTACK: c_int = 1 << 0;
const SV_INTERRUPT: c_int = 1 << 1;
const SV_RESETHAND: c_int = 1 << 2;

/// sigvec(3).
///
/// # Safety
/// As for libc's: each pointer is null or points to a `struct sigvec`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigvec(signal: c_int, new: *const Sigvec, old: *mut Sigvec) -> c_int {
    // SAFETY: the caller's promise.
    let wanted = unsafe { new.as_ref() }.map(|vec| {
        let mut action = action::zeroed();
        action.sa_sigaction = vec.handler;
        action::set_mask(&mut action, vec.mask as u32 as u64);
        let flag = |from: c_int, to: c_int| if vec.flags & from != 0 { to } else { 0 };
        action.sa_flags = flag(SV_ONSTACK, libc::SA_ONSTACK)
            | flag(SV_RESETHAND, libc::SA_RESETHAND)
            | (libc::SA_RESTART ^ flag(SV_INTERRUPT, libc::SA_RESTART));
        action
    });
    let mut seen = action::zeroed();
    let wanted_at = wanted.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: live structures; `old` is the caller's promise.
    unsafe {
        if sigaction(signal, wanted_at, &mut seen) != 0 {
            return -1;
        }
        if !old.is_null() {
            let flag = |from: c_int, to: c_int| if seen.sa_flags & from != 0 { to } else { 0 };
            let flags = flag(libc::SA_ONSTACK, SV_ONSTACK)
                | flag(libc::SA_RESETHAND, SV_RESETHAND)
                | (SV_INTERRUPT ^ flag(libc::SA_RESTART, SV_INTERRUPT));
            old.write(Sigvec { handler: seen.sa_sigaction, mask: action::mask(&seen) as c_int, flags });
        }
    }
    0
}

const _: () = assert!(size_of::<Sigvec>() == size_of::<*mut c_void>() + 2 * size_of::<c_int>());
