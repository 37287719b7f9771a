//! What a process got from its parent and changes for itself. Rust's runtime ignores SIGPIPE before `main`, and opens /dev/null
//! in place of closed standard descriptors. libc handles a signal of its own from the first thread on. And a process that ignores
//! SIGCHLD cannot wait for its children (wait(2)), so the constructor here ends that. A program that launches another one hands
//! on what it got.
//!
//! A file that would become longer than permitted (`ulimit -f`) kills its writer by SIGXFSZ. The constructor lets that signal run a
//! handler, so that the writer gets EFBIG, and says so. exec gives a handled signal its default action, which a program gets where
//! its launcher got it.
//!
//! The constructor records all of it before the runtime starts. So the feature `inherited` is for programs and for the
//! libraries that make them up, and not for libraries that other programs load.
//! What else the runtime sets up, an alternate stack and handlers for faults, does not outlive execve(2).

use crate::raw;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Bit n: the standard descriptor n was closed. Written by the constructor only.
static CLOSED: AtomicU8 = AtomicU8::new(0);
/// Bit n - 1: signal n was ignored. Written by the constructor only.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// The highest signal of the kernel (`_NSIG` of asm/signal.h).
const SIGNALS: i32 = 64;

#[used]
// SAFETY: the section holds functions that the dynamic linker, or the start of a static program, calls once before `main`.
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = record;

extern "C" fn record() {
    let closed = (0..3).filter(|&number| !is_open(number)).fold(0, |bits, number| bits | 1 << number);
    // Relaxed (both): no thread has been started yet, here and where they are read.
    CLOSED.store(closed, Ordering::Relaxed);
    let ignored = (1..=SIGNALS).filter(|&signal| is_ignored(signal));
    IGNORED.store(ignored.fold(0, |bits, signal| bits | bit(signal)), Ordering::Relaxed);
    if is_ignored(libc::SIGCHLD) {
        set_action(libc::SIGCHLD, libc::SIG_DFL);
    }
    if !is_ignored(libc::SIGXFSZ) {
        survive_long_files();
    }
}

fn survive_long_files() {
    extern "C" fn go_on(_: i32) {}
    // SAFETY: a zeroed sigaction is a valid one: no flags, and an empty mask.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = go_on as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: a live action, whose handler does nothing. libc's function, because the kernel wants code for the return from it.
    let _ = unsafe { libc::sigaction(libc::SIGXFSZ, &action, core::ptr::null_mut()) };
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn is_open(number: usize) -> bool {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_fcntl, [number, libc::F_GETFD as usize]) }.is_ok()
}

/// `struct sigaction` of the kernel: handler, flags, restorer, mask.
type Action = [usize; 4];

fn is_ignored(signal: i32) -> bool {
    let mut action: Action = [0; 4];
    let arguments = [signal as usize, 0, action.as_mut_ptr() as usize, size_of::<u64>()];
    // SAFETY: no new action; the kernel fills the four words.
    let asked = unsafe { raw::call(libc::SYS_rt_sigaction, arguments) };
    asked.is_ok() && action[0] == libc::SIG_IGN
}

/// Ignores a signal (SIG_IGN), or gives it its default action (SIG_DFL). libc's function would refuse libc's own signals.
fn set_action(signal: i32, handler: usize) {
    let action: Action = [handler, 0, 0, 0];
    let arguments = [signal as usize, action.as_ptr() as usize, 0, size_of::<u64>()];
    // SAFETY: a live action, which runs no code. The kernel refuses signals whose action cannot be set.
    let _ = unsafe { raw::call(libc::SYS_rt_sigaction, arguments) };
}

/// The command's process ignores the signals that this process was started to ignore. (Rust's standard library gives SIGPIPE
/// its default action.)
pub fn hand_on_signals(command: &mut Command) -> &mut Command {
    // Relaxed: written before `main`.
    let ignored = IGNORED.load(Ordering::Relaxed);
    if ignored == 0 {
        return command;
    }
    // SAFETY: the closure makes system calls only: that is permitted between fork and exec.
    unsafe {
        command.pre_exec(move || {
            for signal in (1..=SIGNALS).filter(|&signal| ignored & bit(signal) != 0) {
                set_action(signal, libc::SIG_IGN);
            }
            Ok(())
        })
    }
}

/// Standard descriptors that were closed when this process was started are closed in the command's process. To be called for
/// a command that inherits all three.
pub fn hand_on_descriptors(command: &mut Command) -> &mut Command {
    // Relaxed: written before `main`.
    let closed = CLOSED.load(Ordering::Relaxed);
    if closed == 0 {
        return command;
    }
    // SAFETY: the closure makes system calls only: that is permitted between fork and exec. What it closes is /dev/null, which
    // the runtime has opened, and which no value owns.
    unsafe {
        command.pre_exec(move || {
            for number in (0..3).filter(|number| closed >> number & 1 == 1) {
                let _ = raw::call(libc::SYS_close, [number]);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest is tested with programs that are started so: `crates/cli/tests/suite/inherited.rs`.
    #[test]
    fn state_of_this_process_is_read() {
        assert!(is_open(2) && !is_open(usize::MAX >> 1));
        assert!(is_ignored(libc::SIGPIPE), "the runtime of this program has set it");
        assert!(!is_ignored(libc::SIGCHLD) && !is_ignored(libc::SIGKILL));
    }
}
