//! sigaction(2): stores what the program sets, and returns what the program has set.

use super::action::{self, Install, KERNEL_MASK_SIZE, KernelAction};
use super::disposition::{self, Disposition, SIGNALS};
use super::trampoline::trampoline;
use super::{family, is_direct, is_owned, restorer};
use crate::errno;
use crate::plan::{self, Handlers};
use core::ffi::c_int;
use libc::sigaction as Action;
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::{Errno, raw};

/// sigaction(2).
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the caller's promise.
    errno::answer(unsafe { exchange(signal, new, old, action::by_next) }.map(|()| 0))
}

/// sigaction(2), under a second name that glibc exports.
///
/// # Safety
/// As for [`sigaction`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { sigaction(signal, new, old) }
}

/// The system call, for programs that make it by number.
///
/// # Safety
/// As for the system call, but the addresses must be valid: a bad address is not answered with EFAULT.
pub unsafe fn rt_sigaction(
    signal: c_int,
    new: *const KernelAction,
    old: *mut KernelAction,
    mask_size: usize,
) -> Result<usize, Errno> {
    if is_direct(signal) || mask_size != KERNEL_MASK_SIZE {
        // SAFETY: the caller's promise; the arguments are passed on unchanged.
        return unsafe {
            raw::call(libc::SYS_rt_sigaction, [signal as usize, new as usize, old as usize, mask_size])
        };
    }
    // SAFETY: the caller's promise.
    let new = unsafe { new.as_ref() }.map(|new| restorer::add(new.to_libc()));
    let mut seen = action::zeroed();
    let new_at = new.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
    // SAFETY: live structures; `old` is the caller's promise.
    unsafe {
        exchange(signal, new_at, &mut seen, action::by_number)?;
        if !old.is_null() {
            old.write(KernelAction::from_libc(&seen));
        }
    }
    Ok(0)
}

/// Sets and reads an entry in the program's view.
///
/// # Safety
/// `new` and `old` are null or point to actions.
pub unsafe fn exchange(
    signal: c_int,
    new: *const Action,
    old: *mut Action,
    install: Install,
) -> Result<(), Errno> {
    if is_direct(signal) || !(1..=SIGNALS as c_int).contains(&signal) {
        // SAFETY: the caller's promise.
        return unsafe { install(signal, new, old) };
    }
    let mut seen = action::zeroed();
    // SAFETY: the caller's promise; `old` may equal `new`, which is read first.
    unsafe {
        let known = match new.as_ref() {
            Some(new) if wants_trampoline(signal, new) => put(signal, new, &mut seen, install)?,
            _ => {
                install(signal, new, &mut seen)?;
                disposition::get(signal)
            }
        };
        if !old.is_null() {
            old.write(as_program_set_it(seen, known));
        }
    }
    Ok(())
}

fn wants_trampoline(signal: c_int, new: &Action) -> bool {
    let handler = new.sa_sigaction;
    let real = handler != libc::SIG_DFL && handler != libc::SIG_IGN;
    // An address that does not fit cannot be valid. It is installed without a trampoline, and crashes at the first
    // signal.
    (real || is_always_ours(signal, handler)) && Disposition::fits(handler) && !family::borrows_memory()
}

/// Whether the trampoline replaces SIG_DFL and SIG_IGN too. Without an engine the kernel keeps SIG_IGN, for programs that
/// are executed.
fn is_always_ours(signal: c_int, handler: usize) -> bool {
    is_owned(signal) && (handler != libc::SIG_IGN || plan::handlers() == Handlers::Guarded)
}

/// Installs the trampoline for `new`. Returns the previous word, which belongs to the kernel's previous entry (`seen`).
///
/// # Safety
/// `seen` is live.
unsafe fn put(
    signal: c_int,
    new: &Action,
    seen: &mut Action,
    install: Install,
) -> Result<Disposition, Errno> {
    let wanted = Disposition::new(new.sa_sigaction, new.sa_flags);
    // SAFETY: live structures.
    unsafe { replace(signal, wanted, &in_kernel(signal, new), seen, install) }
}

/// The entry with which the kernel calls the trampoline as it would call the program's handler: with the same mask and
/// flags, so on the same stack. Only an owned signal without a handler also gets SA_ONSTACK, as the normal stack may be
/// unusable.
fn in_kernel(signal: c_int, new: &Action) -> Action {
    let mut action = *new;
    action.sa_sigaction = trampoline as *const () as usize;
    action.sa_flags |= libc::SA_SIGINFO;
    if is_owned(signal) && (new.sa_sigaction == libc::SIG_DFL || new.sa_sigaction == libc::SIG_IGN) {
        action.sa_flags |= libc::SA_ONSTACK;
    }
    action
}

/// Changes word and entry together. The word changes first, so that an installed trampoline finds its handler.
///
/// # Safety
/// `seen` is live.
unsafe fn replace(
    signal: c_int,
    wanted: Disposition,
    entry: &Action,
    seen: &mut Action,
    install: Install,
) -> Result<Disposition, Errno> {
    let mask = set_mask(Mask::ALL);
    let change = family::Change::begin();
    let before = disposition::set(signal, wanted);
    // SAFETY: live structures.
    let result = unsafe { install(signal, entry, seen) };
    if result.is_err() {
        disposition::set(signal, before);
    }
    drop(change);
    set_mask(mask);
    result.map(|()| before)
}

/// Converts the kernel's entry to the program's view.
fn as_program_set_it(seen: Action, known: Disposition) -> Action {
    let seen = restorer::remove(seen);
    let flags = known.flags(seen.sa_flags);
    if seen.sa_sigaction == trampoline as *const () as usize {
        return if known.is_untouched() {
            Action { sa_sigaction: known.handler(), ..action::zeroed() }
        } else {
            Action { sa_sigaction: known.handler(), sa_flags: flags, ..seen }
        };
    }
    // A one-shot handler that has run leaves SIG_DFL with the flags of the handler.
    let fired = seen.sa_sigaction == libc::SIG_DFL && seen.sa_flags & libc::SA_RESETHAND != 0;
    if fired && known.is_one_shot() { Action { sa_flags: flags, ..seen } } else { seen }
}

/// Installs the trampoline of an owned signal, unless it is installed already. Returns whether it is installed.
pub fn own(signal: c_int) -> bool {
    let mut seen = action::zeroed();
    // SAFETY: live structures.
    unsafe {
        if action::by_next(signal, core::ptr::null(), &mut seen).is_err() {
            return false;
        }
        if seen.sa_sigaction == trampoline as *const () as usize {
            return true;
        }
        if !is_always_ours(signal, seen.sa_sigaction) {
            return false;
        }
        let entry = in_kernel(signal, &action::zeroed());
        let inherited = Disposition::untouched(seen.sa_sigaction);
        replace(signal, inherited, &entry, &mut seen, action::by_next).is_ok()
    }
}
