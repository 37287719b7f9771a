//! The system calls of a program and of its children, by ptrace(2): no privilege is needed, and every call stops its thread.

use crate::eventually::HANGS_AFTER;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};

/// A system call that a thread is about to make. The thread is stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemCall {
    /// The thread.
    pub tid: u32,
    /// The call, as `libc::SYS_…`.
    pub number: i64,
}

/// Counts the calls of all threads but the first one, which is the program's own.
#[derive(Clone, Default, Debug)]
pub struct CallsOfChildren {
    first: Option<u32>,
    by_number: BTreeMap<i64, u64>,
}

impl CallsOfChildren {
    /// Takes note of a call.
    pub fn add(&mut self, call: &SystemCall) {
        if call.tid != *self.first.get_or_insert(call.tid) {
            *self.by_number.entry(call.number).or_default() += 1;
        }
    }

    /// How many of them sleep or wake by a futex, and how many do not.
    fn futexes_and_others(&self) -> (u64, u64) {
        let is_futex =
            |&(&number, _): &(&i64, &u64)| [libc::SYS_futex, libc::SYS_futex_waitv].contains(&number);
        let futexes = self.by_number.iter().filter(is_futex).map(|(_, count)| count).sum();
        (futexes, self.by_number.values().sum::<u64>() - futexes)
    }
}

/// Rounds of the two counts whose difference is the calls of hand-offs.
const FEW: u64 = 10;
const MANY: u64 = 60;
/// A process that is kept from the CPU makes others look after it, which takes calls. So one attempt of these has to succeed.
const ATTEMPTS: usize = 3;

/// Demands that a hand-off takes calls of futex alone, and few of them. `count` runs so many rounds of `hand_offs` each.
///
/// A blocked hand-off needs two, FUTEX_WAKE and FUTEX_WAIT. How many more wait for an object's lock, and how often a sleeper that
/// waits for long looks after the others, depends on the load of the machine. So the limits are far above that, and far below
/// what a question about the waiter's life at each hand-off takes: four futex calls and four others. There is no lower limit:
/// where all waits are polled, a hand-off takes none.
///
/// # Panics
/// With the counts of the last attempt, if it takes more.
pub fn assert_few_calls(name: &str, hand_offs: u64, mut count: impl FnMut(u64) -> CallsOfChildren) {
    let hand_offs = (MANY - FEW) * hand_offs;
    let mut text = String::new();
    let are_few = (0..ATTEMPTS).any(|_| {
        let (many, few) = (count(MANY), count(FEW));
        text = format!("{name}: {hand_offs} hand-offs: {many:?} without {few:?}");
        // Starting, joining and ending takes as many calls in both.
        let ((many_futexes, many_others), (futexes, others)) =
            (many.futexes_and_others(), few.futexes_and_others());
        many_futexes.saturating_sub(futexes) <= 4 * hand_offs
            && many_others.saturating_sub(others) <= hand_offs / 4
    });
    assert!(are_few, "{text}");
}

/// Bit of a stop's signal that tells a system call (`PTRACE_O_TRACESYSGOOD`).
const AT_CALL: i32 = 0x80;
const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;

/// Runs a program to its end. Calls `each` at the beginning of each system call of its threads and of its children's threads,
/// except those that precede its `execve`. Other threads go on running meanwhile. Returns the program's status when all of them
/// have ended, or why it does not start or may not be traced. They are a process group, which is killed if it hangs.
pub fn trace(command: &mut Command, mut each: impl FnMut(&SystemCall)) -> io::Result<ExitStatus> {
    let root = start(command.process_group(0))?;
    let _ended = kill_unless_ended(root);
    resume(root, 0);
    let mut stopped_before = HashSet::from([root]);
    let mut status_of_root = 0;
    while let Some((tid, status)) = next() {
        if !libc::WIFSTOPPED(status) {
            if tid == root {
                status_of_root = status;
            }
            continue;
        }
        let signal = libc::WSTOPSIG(status);
        let is_new = stopped_before.insert(tid);
        let passed_on = match signal {
            _ if signal == libc::SIGTRAP | AT_CALL => {
                begun(tid).iter().for_each(&mut each);
                0
            }
            // An event of OPTIONS.
            libc::SIGTRAP if status >> 16 != 0 => 0,
            // The stop with which a new thread or process begins.
            libc::SIGSTOP if is_new => 0,
            signal => signal,
        };
        resume(tid, passed_on);
    }
    Ok(ExitStatus::from_raw(status_of_root))
}

/// Whether a program may be traced here; prints a line if not.
pub fn may_trace(test: &str) -> bool {
    let mut calls = 0;
    let reason = match trace(&mut Command::new("true"), |_| calls += 1) {
        Err(e) => e.to_string(),
        Ok(_) if calls == 0 => "Linux before 5.3 does not tell which call it is".to_owned(),
        Ok(_) => return true,
    };
    crate::skip(test, &format!("because ptrace(2) cannot be used: {reason}"));
    false
}

/// Kills a process group that hangs: one for which the sender is not dropped in time.
fn kill_unless_ended(group: i32) -> Sender<()> {
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        if ended.recv_timeout(HANGS_AFTER) == Err(RecvTimeoutError::Timeout) {
            // SAFETY: takes no address. The sender lives while a traced thread does, by which the group keeps its id.
            unsafe { libc::kill(-group, libc::SIGKILL) };
        }
    });
    sender
}

/// Starts the program, stopped behind its `execve`.
fn start(command: &mut Command) -> io::Result<i32> {
    let traced = || {
        // SAFETY: takes no address; the child asks for its own tracing.
        match unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: makes one system call, which a child of fork may do.
    let child = unsafe { command.pre_exec(traced) }.spawn()?.id() as i32;
    let mut status = 0;
    // SAFETY: a child of ours that has not been reaped. It is stopped from here on, unless it was killed.
    let done = unsafe {
        libc::waitpid(child, &mut status, libc::__WALL) == child
            && libc::ptrace(libc::PTRACE_SETOPTIONS, child, 0, OPTIONS) == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    Ok(child)
}

/// The next stop or end of a thread that the calling thread traces, with its status; none if there is no such thread left. Children
/// of the test's other threads are not touched.
fn next() -> Option<(i32, i32)> {
    let mut status = 0;
    loop {
        // SAFETY: writes the status.
        match unsafe { libc::waitpid(-1, &mut status, libc::__WALL | libc::__WNOTHREAD) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => return None,
            tid => return Some((tid, status)),
        }
    }
}

/// The system call that a stopped thread is about to make; none if it has made it.
fn begun(tid: i32) -> Option<SystemCall> {
    // SAFETY: plain integers, for which zero is a value.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of_val(&info);
    // SAFETY: the thread is traced by this one; at most `size` bytes are written.
    let got = unsafe { libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, tid, size, &raw mut info) };
    if got <= 0 || info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // SAFETY: `op` says that the entry is what the kernel has written.
    let number = unsafe { info.u.entry.nr } as i64;
    Some(SystemCall { tid: tid as u32, number })
}

/// Lets a stopped thread go on to its next stop. One that was killed meanwhile is reported by [`next`].
fn resume(tid: i32, signal: i32) {
    // SAFETY: takes no address; the thread is traced by this one.
    unsafe { libc::ptrace(libc::PTRACE_SYSCALL, tid, 0, signal) };
}
