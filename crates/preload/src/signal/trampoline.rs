//! The function that the kernel calls in place of the program's handler.
//!
//! It runs at any instruction of any thread. The only function of libc that it calls is pthread_setcanceltype(3), which
//! is one atomic exchange. It allocates nothing, and does not change `errno`.

use super::action::{self, by_number};
use super::disposition::{self, Target};
use super::is_owned;
use crate::cancel;
use crate::waits::handlers;
use core::ffi::{c_int, c_void};
use libc::{siginfo_t, ucontext_t};
use unspin_sys::signal::{Mask, set_mask};
use unspin_sys::{fault, file_mapping, process, raw};
use unspin_sysv::signal::{Entry, Interrupted, enter_handler};

/// A handler as installed with SA_SIGINFO. A handler without it uses only the first argument. The kernel itself passes
/// all three to both kinds.
type Handler = unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);

/// Decides what to do with a signal. Has nothing to drop, so that the program's handler may leave it by longjmp or by
/// unwinding.
///
/// # Safety
/// Called by the kernel, as the handler of an action with SA_SIGINFO.
pub unsafe extern "C-unwind" fn trampoline(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a siginfo and a ucontext that live as long as the handler.
    unsafe {
        let frame = &mut *context.cast::<ucontext_t>();
        let faulted = is_fault(signal, (*info).si_code);
        if faulted && is_owned(signal) && (handle_fault(signal, info) || fix_up(frame)) {
            return rearm(signal);
        }
        let interrupted = match faulted {
            // A fault of the program's own code: those of the engine were fixed up above.
            true => Interrupted::OUTSIDE,
            false => match enter_handler(*mask(frame)) {
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
                // The kernel has removed a one-shot handler from its entry; but the entry of an owned signal must stay.
                if disposition.is_one_shot() && is_owned(signal) {
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

/// Whether an instruction of this thread caused the signal, rather than a sender (sigaction(2), "si_code": positive
/// values come from the kernel).
fn is_fault(signal: c_int, code: c_int) -> bool {
    code > 0 && matches!(signal, libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP)
}

/// Whether the fault was in an arena, a recording or a tally, because that file was truncated, and is repaired.
///
/// # Safety
/// `info` belongs to a fault.
unsafe fn handle_fault(signal: c_int, info: *const siginfo_t) -> bool {
    // SAFETY: the caller's promise: a fault has an address.
    let address = || unsafe { (*info).si_addr() } as usize;
    let handlers = [unspin_sysv::damage::handle_sigbus, file_mapping::handle_sigbus];
    signal == libc::SIGBUS && handlers.iter().any(|handler| handler(address()))
}

/// Whether one of our own loads from the program's memory faulted. If so, execution continues after it.
fn fix_up(frame: &mut ucontext_t) -> bool {
    let ip = &mut frame.uc_mcontext.gregs[libc::REG_RIP as usize];
    match fault::fixup(*ip as usize) {
        Some(target) => {
            *ip = target as i64;
            true
        }
        None => false,
    }
}

/// The signal mask that is restored when the handler returns: the kernel's 8 bytes at the start of glibc's sigset_t.
fn mask(frame: &mut ucontext_t) -> *mut u64 {
    (&raw mut frame.uc_sigmask).cast()
}

/// Undoes what SA_RESETHAND did at the entry of the trampoline: the kernel has set the handler to SIG_DFL, and has left
/// mask and flags of the entry unchanged (`get_signal` in kernel/signal.c).
fn rearm(signal: c_int) {
    if !disposition::get(signal).is_one_shot() {
        return;
    }
    let mut entry = action::zeroed();
    // SAFETY: live structures; the entry contains the restorer with which it was installed.
    unsafe {
        let asked = by_number(signal, core::ptr::null(), &mut entry);
        let was_reset = entry.sa_sigaction == libc::SIG_DFL && entry.sa_flags & libc::SA_RESETHAND != 0;
        if asked.is_ok() && was_reset {
            entry.sa_sigaction = trampoline as *const () as usize;
            let _ = by_number(signal, &entry, core::ptr::null_mut());
        }
    }
}

/// Defers the signal: it becomes pending again, and the interrupted code continues with all signals blocked.
///
/// # Safety
/// `info` and `frame` are those of the running trampoline.
unsafe fn put_off(signal: c_int, info: *const siginfo_t, frame: &mut ucontext_t) {
    let blocked = while_deferred(signal);
    // Blocked before the signal is queued again: with SA_NODEFER it would arrive at once.
    set_mask(Mask(blocked));
    // SAFETY: the caller's promise.
    unsafe {
        send_to_self(signal, info);
        *mask(frame) = blocked;
    }
}

/// The mask while a signal is deferred. Blocks all signals except those of faults, which kill the process if they are
/// blocked, and the two that glibc reserves for itself (SIGCANCEL, SIGSETXID) and expects to arrive. Always blocks the
/// deferred signal.
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

/// Queues the same siginfo to this thread.
///
/// # Safety
/// `info` is live.
unsafe fn send_to_self(signal: c_int, info: *const siginfo_t) {
    let (pid, tid) = (process::pid() as usize, process::tid() as usize);
    // SAFETY: the caller's promise; a thread may send itself any siginfo.
    unsafe {
        if raw::call(libc::SYS_rt_tgsigqueueinfo, [pid, tid, signal as usize, info as usize]).is_err() {
            // The queue is full (RLIMIT_SIGPENDING): at least the signal number must not be lost.
            let _ = raw::call(libc::SYS_tgkill, [pid, tid, signal as usize]);
        }
    }
}

/// Ends the process as the kernel would have done. The signal becomes pending again and arrives when the mask is
/// restored. It finds SIG_DFL, and the registers of the fault for the core dump.
///
/// # Safety
/// `info` is live.
unsafe fn act_by_default(signal: c_int, info: *const siginfo_t) {
    // SAFETY: a live structure; SIG_DFL needs no restorer.
    unsafe {
        // With SA_NODEFER the signal arrives at once; the result is the same.
        let _ = by_number(signal, &action::zeroed(), core::ptr::null_mut());
        send_to_self(signal, info);
    }
}
