//! What the kernel calls in place of the program's handler.
//!
//! Runs at any instruction of any thread: of libc it calls nothing but pthread_setcanceltype(3), which is one atomic
//! exchange; it allocates nothing, and leaves `errno` alone.

use super::action::{self, by_number};
use super::disposition::{self, Target};
use super::owned;
use crate::cancel;
use crate::waits::handlers;
use core::ffi::{c_int, c_void};
use libc::{siginfo_t, ucontext_t};
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::{fault, process, raw};
use unspin_sysv::signal::{Entry, Interrupted, entering_handler};

/// A handler as installed with SA_SIGINFO. One without takes the first argument only and does not see the
/// others: the kernel itself passes all three to both.
type Handler = unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);

/// Decides what becomes of a signal. Has nothing to drop, so that the program's handler may leave by longjmp
/// or by unwinding.
///
/// # Safety
/// Called by the kernel, as the handler of an action with SA_SIGINFO.
pub unsafe extern "C-unwind" fn trampoline(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a siginfo and a ucontext that live as long as the handler.
    unsafe {
        let frame = &mut *context.cast::<ucontext_t>();
        let faulted = is_fault(signal, (*info).si_code);
        if faulted && owned(signal) && (mended(signal, info) || fixed_up(frame)) {
            return rearm(signal);
        }
        let interrupted = match faulted {
            // By the program's own code: the engine's are fixed up.
            true => Interrupted::OUTSIDE,
            false => match entering_handler(*mask(frame)) {
                Entry::Deliver(interrupted) => interrupted,
                Entry::Defer => {
                    rearm(signal);
                    return put_off(signal, info, frame);
                }
            },
        };
        let disposition = disposition::get(signal);
        match disposition.target() {
            Target::Handler(address) => {
                // The kernel has taken a one-shot handler away; the entry of an owned signal must stay.
                if disposition.is_one_shot() && owned(signal) {
                    disposition::spend(signal, disposition);
                    rearm(signal);
                }
                handlers::note(disposition.restart());
                let handler = core::mem::transmute::<usize, Handler>(address);
                cancel::handling(|| handler(signal, info, context));
                interrupted.go_on();
            }
            Target::Ignore if !faulted => {}
            Target::Default | Target::Ignore => act_by_default(signal, info),
        }
    }
}

/// Whether the signal comes from an instruction of this thread rather than from a sender (sigaction(2),
/// "si_code": positive values are the kernel's).
fn is_fault(signal: c_int, code: c_int) -> bool {
    code > 0 && matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP)
}

/// Whether the fault was one of the arena, which was cut short.
///
/// # Safety
/// `info` is that of a fault.
unsafe fn mended(signal: c_int, info: *const siginfo_t) -> bool {
    // SAFETY: the caller's promise: a fault has an address.
    signal == libc::SIGBUS && unspin_sysv::damage::mend(unsafe { (*info).si_addr() } as usize)
}

/// Whether the fault was at one of our own loads from the program's memory, and now goes on behind it.
fn fixed_up(frame: &mut ucontext_t) -> bool {
    let ip = &mut frame.uc_mcontext.gregs[libc::REG_RIP as usize];
    match fault::fixup(*ip as usize) {
        Some(target) => {
            *ip = target as i64;
            true
        }
        None => false,
    }
}

/// The mask that is restored when the handler returns: the kernel's 8 bytes at the front of glibc's sigset_t.
fn mask(frame: &mut ucontext_t) -> *mut u64 {
    (&raw mut frame.uc_sigmask).cast()
}

/// Undoes what SA_RESETHAND did at the entry of the trampoline: the kernel has set the entry to SIG_DFL and
/// left its mask and flags as they were (`get_signal` in kernel/signal.c).
fn rearm(signal: c_int) {
    if !disposition::get(signal).is_one_shot() {
        return;
    }
    let mut entry = action::zeroed();
    // SAFETY: live structures; the entry brings the restorer along that it was installed with.
    unsafe {
        let asked = by_number(signal, core::ptr::null(), &mut entry);
        let was_reset = entry.sa_sigaction == libc::SIG_DFL && entry.sa_flags & libc::SA_RESETHAND != 0;
        if asked.is_ok() && was_reset {
            entry.sa_sigaction = trampoline as *const () as usize;
            let _ = by_number(signal, &entry, core::ptr::null_mut());
        }
    }
}

/// Lets the interrupted code go on with everything blocked and the signal pending again.
///
/// # Safety
/// `info` and `frame` are those of the running trampoline.
unsafe fn put_off(signal: c_int, info: *const siginfo_t, frame: &mut ucontext_t) {
    let blocked = while_deferred(signal);
    // Before the signal is queued again: with SA_NODEFER it would arrive here and now.
    set_mask(Mask(blocked));
    // SAFETY: the caller's promise.
    unsafe {
        send_to_self(signal, info);
        *mask(frame) = blocked;
    }
}

/// Everything but the signals of faults, which kill if blocked, and the two that glibc keeps for itself
/// (SIGCANCEL, SIGSETXID) and expects to arrive; and the deferred signal in any case.
fn while_deferred(signal: c_int) -> u64 {
    const OPEN: u64 = bit(libc::SIGSEGV)
        | bit(libc::SIGBUS)
        | bit(libc::SIGFPE)
        | bit(libc::SIGILL)
        | bit(libc::SIGTRAP)
        | bit(32)
        | bit(33);
    !OPEN | bit(signal)
}

const fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// Queues the very same siginfo to this thread.
///
/// # Safety
/// `info` is live.
unsafe fn send_to_self(signal: c_int, info: *const siginfo_t) {
    let (pid, tid) = (process::pid() as usize, process::tid() as usize);
    // SAFETY: the caller's promise; a thread may send itself any siginfo.
    unsafe {
        if raw::call(libc::SYS_rt_tgsigqueueinfo, [pid, tid, signal as usize, info as usize]).is_err() {
            // The queue is full (RLIMIT_SIGPENDING): the number at least must not be lost.
            let _ = raw::call(libc::SYS_tgkill, [pid, tid, signal as usize]);
        }
    }
}

/// Ends the process the way the kernel would have: the signal is pending again when its mask is restored, and
/// finds SIG_DFL, with the registers of the fault for the core dump.
///
/// # Safety
/// `info` is live.
unsafe fn act_by_default(signal: c_int, info: *const siginfo_t) {
    // SAFETY: a live structure; SIG_DFL needs no restorer.
    unsafe {
        // With SA_NODEFER the signal would arrive at once, which is as good.
        let _ = by_number(signal, &action::zeroed(), core::ptr::null_mut());
        send_to_self(signal, info);
    }
}
