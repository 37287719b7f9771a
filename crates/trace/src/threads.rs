//! Threads that run already when an observation begins.

use std::fs;

/// A thread, and what it was doing when `/proc` was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunningThread {
    /// The thread's process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's state, as proc_pid_stat(5) has it: `R`, `S`, `D`, and others.
    pub state: char,
    /// The system call in which it is blocked, with its arguments; none if it runs, or if this may not be read.
    pub call: Option<SystemCall>,
}

/// A system call by its number, with its arguments. In place of restart_syscall(2) this is the call that it goes on
/// with after a signal, if that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemCall {
    /// The system call's number.
    pub number: u64,
    /// The system call's arguments.
    pub arguments: [u64; 6],
}

/// The bit of a thread's flags that only the kernel's own threads have (PF_KTHREAD in sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// All threads of the processes that are meant, without the kernel's own.
pub fn running(is_meant: &dyn Fn(u32) -> bool) -> Vec<RunningThread> {
    let pids = numbers("/proc").into_iter().filter(|&pid| is_meant(pid));
    pids.flat_map(|pid| {
        let tids = numbers(&format!("/proc/{pid}/task"));
        tids.into_iter().filter_map(move |tid| thread(pid, tid))
    })
    .collect()
}

/// The entries of a folder whose names are numbers.
fn numbers(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn thread(pid: u32, tid: u32) -> Option<RunningThread> {
    let folder = format!("/proc/{pid}/task/{tid}");
    let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    let mut words = after.split_ascii_whitespace();
    let state = words.next()?.chars().next()?;
    // After the state: ppid, pgrp, session, tty_nr, tpgid, flags.
    let flags: u64 = words.nth(5)?.parse().ok()?;
    let call = fs::read_to_string(format!("{folder}/syscall")).ok().and_then(|text| parse_call(&text));
    let call = call.map(|call| match call.number {
        RESTART_SYSCALL => {
            restarted_call(call, &fs::read_to_string(format!("{folder}/wchan")).unwrap_or_default())
        }
        _ => call,
    });
    (flags & KERNEL_THREAD == 0).then_some(RunningThread { pid, tid, state, call })
}

/// `202 0x7f… 0x80 0x2 0x0 0x0 0x0 SP PC`; `running`; `-1 SP PC` for a thread that is blocked outside of a system call.
fn parse_call(text: &str) -> Option<SystemCall> {
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some(SystemCall { number, arguments })
}

/// The numbers of restart_syscall(2), and of the calls that it can go on with by the kernel's function in which the thread
/// sleeps.
#[cfg(target_arch = "x86_64")]
const RESTART_SYSCALL: u64 = 219;
#[cfg(target_arch = "x86_64")]
const RESTARTED: [(&str, u64); 3] = [("futex", 202), ("hrtimer_nanosleep", 35), ("poll", 7)];
#[cfg(not(target_arch = "x86_64"))]
const RESTART_SYSCALL: u64 = 128;
#[cfg(not(target_arch = "x86_64"))]
const RESTARTED: [(&str, u64); 2] = [("futex", 98), ("hrtimer_nanosleep", 101)];

/// The call that restart_syscall(2) goes on with. The kernel has left the arguments as they were.
fn restarted_call(call: SystemCall, sleeps_in: &str) -> SystemCall {
    let found = RESTARTED.iter().find(|(function, _)| sleeps_in.starts_with(function));
    SystemCall { number: found.map_or(call.number, |&(_, number)| number), ..call }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarted_call_is_known_by_the_function_in_which_it_sleeps() {
        let call = SystemCall { number: RESTART_SYSCALL, arguments: [0x7F10, 0x80, 2, 0, 0, 0] };
        let futex = parse_call("202 0x7f10 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f11").unwrap().arguments;
        assert_eq!(restarted_call(call, "futex_do_wait").arguments, futex);
        assert_ne!(restarted_call(call, "futex_do_wait").number, RESTART_SYSCALL);
        assert_eq!(restarted_call(call, "0"), call, "the kernel hides the function");
    }

    #[test]
    fn system_call_is_parsed() {
        let call = parse_call("202 0x7f10 0x80 0x2 0x0 0x0 0xffffffff 0x7ffd 0x7f11\n").unwrap();
        assert_eq!(call, SystemCall { number: 202, arguments: [0x7F10, 0x80, 2, 0, 0, 0xFFFF_FFFF] });
        assert_eq!(parse_call("running\n"), None);
        assert_eq!(parse_call("-1 0x7ffd 0x7f11\n"), None);
    }

    #[test]
    fn own_threads_are_found() {
        let own = std::process::id();
        let threads = running(&|pid| pid == own);
        assert!(threads.iter().any(|thread| thread.tid == own), "{threads:?}");
        assert!(threads.iter().any(|thread| thread.state == 'R'), "the one that looks: {threads:?}");
    }
}
