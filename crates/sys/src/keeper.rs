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
//!
//! A command may leave the process group: timeout(1) does, setsid(1), and the jobs of `sh -m`. So the keeper passes on what the group
//! is asked, and finds its descendants by `/proc`, where the kernel lists the children of each thread (proc(5), `children`).

use crate::child::{self, End, Ended, Signal};
use crate::signal::{self, Mask};
use crate::{Errno, file, process, raw};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The signal that tells the keeper to end all: the last real-time signal, which nothing else sends. The kernel sends it when the
/// caller's thread ends.
const END_ALL: i32 = 64;
/// The time between two looks for descendants that have been adopted meanwhile.
const LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Runs the command under a keeper. The pid of the spawned child is the keeper's, and the number of its process group; the command
/// and what it starts are in this group, as long as they do not leave it. The keeper ends when the command and its orphans have
/// ended, with the command's exit code, or 128 + n if signal n killed it.
pub fn keep(command: &mut Command) -> &mut Command {
    let caller = process::pid();
    command.process_group(0);
    // SAFETY: the closure makes system calls and uses neither memory nor locks: that is permitted between fork and exec. It
    // returns in one process, which executes the command; the keeper never returns.
    unsafe { command.pre_exec(move || split(caller).map_err(|e| std::io::Error::from_raw_os_error(e.0))) }
}

/// Asks the command and what it has started to end: SIGINT or SIGTERM for the process group, which the keeper passes on to those of its
/// children that are in another one. `ESRCH` if the keeper has ended.
pub fn ask_to_end(keeper: u32, signal: Signal) -> Result<(), Errno> {
    child::signal_group(keeper, signal)
}

/// Kills the command and all that it has started; then the keeper ends. `ESRCH` if it has ended.
pub fn end_all(keeper: u32) -> Result<(), Errno> {
    child::signal(keeper, Signal::PassedOn(END_ALL))
}

/// Becomes the keeper and its child. Returns in the child.
fn split(caller: u32) -> Result<(), Errno> {
    child::signal_when_parent_dies(caller, Signal::PassedOn(END_ALL))?;
    child::become_subreaper()?;
    let mask = signal::set_mask(Mask::ALL);
    let keeper = process::pid();
    // A process that ignores SIGCHLD is not told how its children end, and not woken.
    let action = signal::set_default(libc::SIGCHLD);
    // SAFETY: this process has one thread, since it was just forked. The copy goes on here with a stack of its own.
    match unsafe { raw::call(libc::SYS_fork, []) } {
        Ok(0) => {
            signal::restore(libc::SIGCHLD, action);
            signal::set_mask(mask);
            child::die_with_parent(keeper)
        }
        Ok(command) => guard(command as u32),
        Err(error) => Err(error),
    }
}

/// Waits until no descendant is left. All signals stay blocked.
fn guard(command: u32) -> ! {
    // The caller waits until all copies of a pipe are closed. Standard descriptors stay.
    // SAFETY: the descriptors belong to values of the caller, of which this copy uses none.
    let _ = unsafe { raw::call(libc::SYS_close_range, [3, u32::MAX as usize, 0]) };
    let mut end = End::Exited(0);
    let mut ends_all = false;
    let mut asked = Asked::default();
    loop {
        match child::try_wait_any() {
            Ok(Some(Ended { pid, end: how, .. })) => {
                if pid == command {
                    end = how;
                }
                // Its children are this process's now, and its number may be given to another process.
                asked.forget(pid);
                asked.pass_on();
            }
            Err(Errno::EINTR) => {}
            Ok(None) => {
                if ends_all {
                    kill_children();
                }
                // A descendant whose parent ends becomes a child without any notice.
                match next_signal((ends_all || asked.signal != 0).then_some(&LOOK)) {
                    Ok(END_ALL) => ends_all = true,
                    Ok(signal @ (libc::SIGINT | libc::SIGTERM)) => {
                        asked = Asked { signal, ..Asked::default() };
                        asked.pass_on();
                    }
                    _ => asked.pass_on(),
                }
            }
            // ECHILD
            Err(_) => leave(end),
        }
    }
}

/// Children of which it is remembered that they have been asked: more than one look finds.
const MANY: usize = 1024;

/// The last signal that the process group has got, and the children outside the group that have got it from this process.
struct Asked {
    /// 0: none yet.
    signal: i32,
    told: [u32; MANY],
    count: usize,
}

impl Default for Asked {
    fn default() -> Asked {
        Asked { signal: 0, told: [0; MANY], count: 0 }
    }
}

impl Asked {
    /// A child has ended.
    fn forget(&mut self, pid: u32) {
        if let Some(at) = self.told[..self.count].iter().position(|&told| told == pid) {
            self.count -= 1;
            self.told[at] = self.told[self.count];
        }
    }

    /// Passes the signal on to each child outside the group that has not got it from here. A child may have got it from its parent
    /// before, as that of timeout(1) has: another process cannot know.
    fn pass_on(&mut self) {
        if self.signal == 0 {
            return;
        }
        // Without /proc nothing outside the group is known.
        let _ = for_each_child(|pid| {
            if self.told[..self.count].contains(&pid) || process::group_of(pid) == Ok(process::pid()) {
                return;
            }
            let _ = child::signal(pid, Signal::PassedOn(self.signal));
            if self.count < MANY {
                self.told[self.count] = pid;
                self.count += 1;
            }
        });
    }
}

/// Kills the children. Theirs become the keeper's when they end.
fn kill_children() {
    let listed = for_each_child(|pid| {
        let _ = child::signal(pid, Signal::Kill);
    });
    if listed.is_err() {
        // Without /proc only the group is known. The keeper is in it, too.
        let _ = child::signal_group(process::pid(), Signal::Kill);
    }
}

/// Calls `with` for the children that the kernel lists; it may miss some while others end. Their pids are not reused before this process
/// waits for them.
fn for_each_child(mut with: impl FnMut(u32)) -> Result<(), Errno> {
    // The pids of a /proc of another pid namespace are not those of this process.
    if file::link(c"/proc/self", &mut [0; 16]).ok().and_then(number) != Some(process::pid()) {
        return Err(Errno::ENOENT);
    }
    let mut buffer = [0; 4096];
    let list = file::read_once(c"/proc/thread-self/children", &mut buffer)?;
    // A space ends each pid, so one that the buffer cuts is left out.
    for pid in list.split_inclusive(|&byte| byte == b' ').filter_map(|word| number(word.strip_suffix(b" ")?))
    {
        with(pid);
    }
    Ok(())
}

fn number(digits: &[u8]) -> Option<u32> {
    core::str::from_utf8(digits).ok()?.parse().ok()
}

/// Takes the next signal of this process, of which SIGCHLD is one; `EAGAIN` after the time.
fn next_signal(time: Option<&libc::timespec>) -> Result<i32, Errno> {
    let all = Mask::ALL;
    let time = time.map_or(0, |time| core::ptr::from_ref(time) as usize);
    let arguments = [&raw const all.0 as usize, 0, time, size_of::<u64>()];
    // SAFETY: a live eight-byte mask, and a live timespec or none; no information on the signal is wanted.
    unsafe { raw::call(libc::SYS_rt_sigtimedwait, arguments) }.map(|number| number as i32)
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

    /// Each leaves the process group in another way, ignores SIGINT, and writes a line at SIGTERM.
    const LEAVERS: [&str; 4] = [
        "exec timeout 1000 sh -c \"$0\"",
        "exec setsid sh -c \"$0\"",
        "setsid sh -c \"$0\" & trap 'exit 0' TERM; wait",
        // The shell that ends is no child of the keeper.
        "sh -c 'setsid sh -c \"$0\" & trap \"exit 0\" TERM; wait' \"$0\" & trap : TERM; while :; do sleep 0.01; done",
    ];

    fn start_leaver(leaver: &str, script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut command = Command::new("sh");
        let mut kept = keep(command.args(["-c", leaver, script]).stdout(Stdio::piped())).spawn().unwrap();
        let mut output = BufReader::new(kept.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        (kept, output)
    }

    #[test]
    fn what_has_left_the_group_is_asked_to_end() {
        let script = "trap '' INT; trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
        for leaver in LEAVERS {
            let (mut kept, mut output) = start_leaver(leaver, script);
            // The shell of a job ends after the signal, and its job is the keeper's child only then.
            ask_to_end(kept.id(), Signal::Terminate).unwrap();
            let mut said = String::new();
            output.read_line(&mut said).unwrap();
            assert_eq!(said, "bye\n", "{leaver}");
            end_all(kept.id()).unwrap();
            kept.wait().unwrap();
        }
    }

    #[test]
    fn what_has_left_the_group_is_killed_with_all_that_it_has_started() {
        let script = "trap '' INT TERM; (setsid sleep 1000 & sleep 1000 & echo ready); sleep 1000 & wait";
        for leaver in LEAVERS {
            let (mut kept, mut output) = start_leaver(leaver, script);
            end_all(kept.id()).unwrap();
            output.read_to_end(&mut Vec::new()).unwrap();
            kept.wait().unwrap();
        }
    }
}
