//! A keeper: a process between the caller and a command. It ends all that the command has started when the caller ends, by
//! whatever cause.
//!
//! The kernel signals only the direct child of a process that dies. A command that is a script would leave the programs that it
//! has started. Their orphans become children of the keeper, not of the caller.
//!
//! ```text
//! caller ─► keeper (leads the process group, adopts orphans) ─► command ─► what it starts
//! ```
//!
//! The keeper runs no code but this module's, which makes system calls and uses neither memory nor locks of the caller, of
//! which it is a copy.

use crate::child::{self, End, Ended, Signal};
use crate::signal::{self, Mask};
use crate::{Errno, process, raw};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The signal that the keeper gets when the caller's thread ends: the last real-time signal, which nothing else sends.
const CALLER_ENDED: i32 = 64;

/// Runs the command under a keeper. The pid of the spawned child is the keeper's, and the number of its process group; the command
/// and what it starts are in this group. The keeper ends when the command and its orphans have ended, with the command's exit
/// code, or 128 + n if signal n killed it.
pub fn keep(command: &mut Command) -> &mut Command {
    let caller = process::pid();
    command.process_group(0);
    // SAFETY: the closure makes system calls and uses neither memory nor locks: that is permitted between fork and exec. It
    // returns in one process, which executes the command; the keeper never returns.
    unsafe { command.pre_exec(move || split(caller).map_err(|e| std::io::Error::from_raw_os_error(e.0))) }
}

/// Becomes the keeper and its child. Returns in the child.
fn split(caller: u32) -> Result<(), Errno> {
    child::signal_when_parent_dies(caller, Signal::PassedOn(CALLER_ENDED))?;
    child::become_subreaper()?;
    let mask = signal::set_mask(Mask::ALL);
    let keeper = process::pid();
    // SAFETY: this process has one thread, since it was just forked. The copy goes on here with a stack of its own.
    match unsafe { raw::call(libc::SYS_fork, []) } {
        Ok(0) => {
            signal::set_mask(mask);
            child::die_with_parent(keeper)
        }
        Ok(command) => guard(command as u32),
        Err(error) => Err(error),
    }
}

/// Waits until no descendant is left, or the caller has ended. All signals stay blocked.
fn guard(command: u32) -> ! {
    // The caller waits until all copies of a pipe are closed. Standard descriptors stay.
    // SAFETY: the descriptors belong to values of the caller, of which this copy uses none.
    let _ = unsafe { raw::call(libc::SYS_close_range, [3, u32::MAX as usize, 0]) };
    let mut end = End::Exited(0);
    loop {
        match child::try_wait_any() {
            Ok(Some(Ended { pid, end: how, .. })) if pid == command => end = how,
            Ok(Some(_)) | Err(Errno::EINTR) => {}
            Ok(None) => {
                if next_signal() == Ok(CALLER_ENDED) {
                    // This process is in the group, too.
                    let _ = child::signal_group(process::pid(), Signal::Kill);
                }
            }
            // ECHILD
            Err(_) => leave(end),
        }
    }
}

/// Takes the next signal of this process, of which SIGCHLD is one.
fn next_signal() -> Result<i32, Errno> {
    let all = Mask::ALL;
    // SAFETY: a live eight-byte mask; no information on the signal is wanted, and no time limits the wait.
    let taken =
        unsafe { raw::call(libc::SYS_rt_sigtimedwait, [&raw const all.0 as usize, 0, 0, size_of::<u64>()]) };
    taken.map(|number| number as i32)
}

fn leave(end: End) -> ! {
    let code = match end {
        End::Exited(code) => code,
        End::Killed(signal) => 128 + signal,
    };
    // SAFETY: ends the process; nothing is flushed or freed.
    unsafe { libc::_exit(code) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Child, Stdio};
    use std::time::Duration;

    fn start(script: &str) -> Child {
        let mut command = Command::new("sh");
        keep(command.args(["-c", script]).stdout(Stdio::piped())).spawn().unwrap()
    }

    #[test]
    fn exit_code_is_that_of_the_command() {
        assert_eq!(start("exit 7").wait().unwrap().code(), Some(7));
        assert_eq!(start("kill -TERM $$").wait().unwrap().code(), Some(128 + libc::SIGTERM));
        let missing = keep(&mut Command::new("/nowhere/at/all")).spawn().unwrap_err();
        assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    }

    #[test]
    fn signals_of_the_group_reach_the_command_and_leave_the_keeper() {
        let mut kept = start("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
        let mut output = BufReader::new(kept.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        child::signal_group(kept.id(), Signal::Terminate).unwrap();
        output.read_to_string(&mut line).unwrap();
        assert_eq!((kept.wait().unwrap().code(), line.as_str()), (Some(3), "ready\nbye\n"));
    }

    /// The caller is a thread here: the kernel tells of the end of the thread that has forked.
    #[test]
    fn what_a_script_has_started_ends_with_the_caller() {
        let caller = std::thread::spawn(|| {
            let mut kept = start("sleep 1000 & (sleep 1000 & echo started) & wait");
            let mut output = BufReader::new(kept.stdout.take().unwrap());
            output.read_line(&mut String::new()).unwrap();
            (kept, output)
        });
        let (mut kept, mut output) = caller.join().unwrap();
        // The pipe ends when none of them is left.
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(!kept.wait().unwrap().success());
        assert_eq!(child::has_ended_within(kept.id(), Duration::ZERO), Err(Errno::ESRCH));
    }
}
