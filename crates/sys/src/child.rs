//! Child processes: creating, waiting, ending, and their resource usage.

use crate::{Errno, raw};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// How a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It returned or called `exit` with this code.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

/// Resources used by a process and by the children that it has waited for: getrusage(2).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// CPU time in user mode, microseconds.
    pub user_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_us: u64,
    /// Context switches because the process waited for something.
    pub voluntary: u64,
    /// Context switches because its time slice ended or a more urgent thread was ready.
    pub involuntary: u64,
}

impl Usage {
    /// The usage of the calling process so far, without its children.
    pub fn of_self() -> Usage {
        // SAFETY: a zeroed rusage is a valid one.
        let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
        // SAFETY: the kernel fills `usage`; the call cannot fail with these arguments.
        let _ =
            unsafe { raw::call(libc::SYS_getrusage, [libc::RUSAGE_SELF as usize, &raw mut usage as usize]) };
        Usage::from(&usage)
    }

    /// CPU time, user and system, in seconds.
    pub fn cpu_s(&self) -> f64 {
        (self.user_us + self.system_us) as f64 / 1e6
    }

    /// The usage between `earlier` and `self`.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            user_us: self.user_us.saturating_sub(earlier.user_us),
            system_us: self.system_us.saturating_sub(earlier.system_us),
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }
}

impl core::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.user_us += other.user_us;
        self.system_us += other.system_us;
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
    }
}

impl From<&libc::rusage> for Usage {
    fn from(raw: &libc::rusage) -> Usage {
        let microseconds = |t: &libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
        Usage {
            user_us: microseconds(&raw.ru_utime),
            system_us: microseconds(&raw.ru_stime),
            voluntary: raw.ru_nvcsw as u64,
            involuntary: raw.ru_nivcsw as u64,
        }
    }
}

/// How long a thread that was joined may be counted. It takes microseconds, unless the thread has lost its CPU.
const LONGEST_REMOVAL: Duration = Duration::from_secs(1);

/// Whether the process has one thread, now or within the time.
fn is_alone_within(patience: Duration) -> bool {
    let until = Instant::now() + patience;
    loop {
        match crate::process::thread_count() {
            1 => return true,
            2.. if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
            _ => return false,
        }
    }
}

/// Forks a child that runs `body` and ends with the code that `body` returns. The child runs no exit handlers and
/// flushes nothing that it inherited from the parent. Returns the child's pid.
///
/// Uses libc's `fork`, so that the handlers of pthread_atfork(3) run. Refuses a process with more than one thread with
/// `EBUSY`: the child would have only one of the threads, and the locks that the others held. A thread that was joined
/// may still be counted, since the kernel wakes the joiner before it removes the thread: such threads are waited for.
pub fn fork(body: impl FnOnce() -> i32) -> Result<u32, Errno> {
    if !is_alone_within(LONGEST_REMOVAL) {
        return Err(Errno::EBUSY);
    }
    // SAFETY: the process has one thread, so the child is a complete copy and may do whatever the parent may.
    match unsafe { libc::fork() } {
        -1 => Err(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN))),
        0 => {
            // A panic must not unwind into the parent's frames, of which the child has copies.
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(101);
            // SAFETY: ends the process; nothing is flushed or freed.
            unsafe { libc::_exit(code) }
        }
        pid => Ok(pid as u32),
    }
}

/// A child that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The pid, free for reuse from now on.
    pub pid: u32,
    /// How the child ended.
    pub end: End,
    /// Resources used by the child and the children that it waited for.
    pub usage: Usage,
}

/// Waits until any child has ended; `ECHILD` if there is none. A signal does not interrupt the wait.
pub fn wait_any() -> Result<Ended, Errno> {
    loop {
        match wait4(-1, 0) {
            Ok(Some(ended)) => return Ok(ended),
            Ok(None) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e),
        }
    }
}

/// A child that has ended, if there is one now; `ECHILD` if there are no children at all.
pub fn try_wait_any() -> Result<Option<Ended>, Errno> {
    wait4(-1, libc::WNOHANG)
}

/// Waits until the child has ended, the time is up, or a signal has arrived: `None` in the latter two cases.
pub fn wait_for(pid: u32, patience: Duration) -> Result<Option<Ended>, Errno> {
    if !has_ended_within(pid, patience)? {
        return Ok(None);
    }
    wait4(pid as i32, libc::WNOHANG)
}

/// Waits as [`wait_for`] does, and returns whether the child has ended. The child stays a zombie, still visible in
/// `/proc`, until it is waited for.
pub fn has_ended_within(pid: u32, patience: Duration) -> Result<bool, Errno> {
    match Pidfd::open(pid) {
        Ok(pidfd) => is_readable_within(&pidfd, patience),
        Err(Errno::EMFILE | Errno::ENFILE) => poll_for_end(pid, patience),
        Err(error) => Err(error),
    }
}

/// Waits for the end of a process where no descriptor is left: looks from time to time.
fn poll_for_end(pid: u32, patience: Duration) -> Result<bool, Errno> {
    const PAUSE: Duration = Duration::from_millis(10);
    let until = Instant::now().checked_add(patience);
    loop {
        // SAFETY: a zeroed siginfo is a valid one.
        let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
        let options = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) as usize;
        let arguments = [libc::P_PID as usize, pid as usize, &raw mut info as usize, options, 0];
        // SAFETY: the kernel fills the live structure.
        unsafe { raw::call(libc::SYS_waitid, arguments) }?;
        // SAFETY: waitid(2) sets the pid of a child that has ended, and leaves 0 otherwise.
        if unsafe { info.si_pid() } != 0 {
            return Ok(true);
        }
        let left = until.map_or(PAUSE, |until| until.saturating_duration_since(Instant::now()));
        let pause = libc::timespec { tv_sec: 0, tv_nsec: left.min(PAUSE).as_nanos() as i64 };
        // SAFETY: a live timespec, and no place for the rest.
        let slept = unsafe { raw::call(libc::SYS_nanosleep, [&raw const pause as usize, 0]) };
        // A signal ends the wait early.
        if left.is_zero() || slept.is_err() {
            return Ok(false);
        }
    }
}

fn wait4(pid: i32, options: i32) -> Result<Option<Ended>, Errno> {
    let mut status = 0i32;
    // SAFETY: a zeroed rusage is a valid one.
    let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
    // SAFETY: both pointers are live and of the types that the kernel writes.
    let pid = unsafe {
        raw::call(
            libc::SYS_wait4,
            [pid as isize as usize, &raw mut status as usize, options as usize, &raw mut usage as usize],
        )
    }?;
    if pid == 0 {
        return Ok(None);
    }
    let end = if libc::WIFSIGNALED(status) {
        End::Killed(libc::WTERMSIG(status))
    } else {
        End::Exited(libc::WEXITSTATUS(status))
    };
    Ok(Some(Ended { pid: pid as u32, end, usage: Usage::from(&usage) }))
}

/// A pidfd: a descriptor that refers to a process; closed when dropped.
struct Pidfd(usize);

impl Pidfd {
    fn open(pid: u32) -> Result<Pidfd, Errno> {
        // SAFETY: no pointers.
        unsafe { raw::call(libc::SYS_pidfd_open, [pid as usize, 0]) }.map(Pidfd)
    }
}

impl Drop for Pidfd {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours, and is not used after this.
        let _ = unsafe { raw::call(libc::SYS_close, [self.0]) };
    }
}

/// Whether the process of `pidfd` ended in time; a signal ends the wait early.
fn is_readable_within(pidfd: &Pidfd, patience: Duration) -> Result<bool, Errno> {
    let mut poll = libc::pollfd { fd: pidfd.0 as i32, events: libc::POLLIN, revents: 0 };
    let patience_ms = patience.as_millis().min(i32::MAX as u128) as usize;
    // SAFETY: `poll` is one live pollfd, as stated.
    match unsafe { raw::call(libc::SYS_poll, [&raw mut poll as usize, 1, patience_ms]) } {
        Ok(n) => Ok(n == 1),
        Err(Errno::EINTR) => Ok(false),
        Err(e) => Err(e),
    }
}

/// Signals that unspin sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// SIGTERM: asks the process to end.
    Terminate,
    /// SIGKILL: ends the process at once.
    Kill,
    /// A signal that we received, by its number.
    PassedOn(i32),
}

impl Signal {
    fn number(self) -> usize {
        match self {
            Signal::Terminate => libc::SIGTERM as usize,
            Signal::Kill => libc::SIGKILL as usize,
            Signal::PassedOn(number) => number as usize,
        }
    }
}

/// Sends a signal to one process; `ESRCH` if there is none.
pub fn signal(pid: u32, signal: Signal) -> Result<(), Errno> {
    assert!(pid > 1, "pid 0 and 1 are not a child");
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_kill, [pid as usize, signal.number()]) }.map(drop)
}

/// Sends a signal to every process of a process group; `ESRCH` if it is empty.
pub fn signal_group(group: u32, signal: Signal) -> Result<(), Errno> {
    assert!(group > 1, "group 0 is our own, and -1 would be every process there is");
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_kill, [-(group as i64) as usize, signal.number()]) }.map(drop)
}

/// From now on the calling process gets SIGKILL when the *thread* that forked it ends. `ESRCH` if that has already
/// happened.
pub fn die_with_parent(parent: u32) -> Result<(), Errno> {
    signal_when_parent_dies(parent, Signal::Kill)
}

/// From now on the calling process gets this signal when the *thread* that forked it ends. `ESRCH` if that has already
/// happened.
pub fn signal_when_parent_dies(parent: u32, signal: Signal) -> Result<(), Errno> {
    prctl(libc::PR_SET_PDEATHSIG, signal.number())?;
    if crate::process::parent() == parent { Ok(()) } else { Err(Errno::ESRCH) }
}

/// Orphaned descendants become children of the calling process instead of init's.
pub fn become_subreaper() -> Result<(), Errno> {
    prctl(libc::PR_SET_CHILD_SUBREAPER, 1)
}

/// Whether orphaned descendants become children of the calling process, also after exec: it is the init of its pid
/// namespace, or has called [`become_subreaper`].
pub fn adopts_orphans() -> bool {
    let mut is_subreaper = 0i32;
    // A kernel without the option adopts none.
    let _ = prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut is_subreaper as usize);
    crate::process::pid() == 1 || is_subreaper != 0
}

fn prctl(option: i32, argument: usize) -> Result<(), Errno> {
    // SAFETY: the options used here take a number, or a pointer to a live `i32` that the kernel fills.
    unsafe { raw::call(libc::SYS_prctl, [option as usize, argument, 0, 0, 0]) }.map(drop)
}

/// Closes descriptors of the calling process, by their numbers. For a forked child, which has copies of descriptors
/// that are meant for another process: as long as they are open, the readers of a pipe see no end.
pub fn close_descriptors(numbers: &[u32]) {
    for &number in numbers {
        // SAFETY: no pointers. The caller names descriptors that no value of this process owns.
        let _ = unsafe { raw::call(libc::SYS_close, [number as usize]) };
    }
}

/// Starts a new session, without a terminal and with a new process group.
pub fn new_session() -> Result<(), Errno> {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_setsid, []) }.map(drop)
}

/// Makes the command's process the leader of its own process group, and has it killed when the calling thread ends, by
/// whatever cause, so that nothing that was started stays behind.
pub fn kill_on_parent_death(command: &mut Command) -> &mut Command {
    signal_on_parent_death(command, Signal::Kill)
}

/// Lets the kernel send this signal to the process when its parent dies: for a process that ends by itself then.
pub fn signal_on_parent_death(command: &mut Command, signal: Signal) -> &mut Command {
    let parent = crate::process::pid();
    command.process_group(0);
    // SAFETY: the closure makes two system calls and uses neither memory nor locks: that is permitted between fork and
    // exec.
    unsafe {
        command.pre_exec(move || {
            signal_when_parent_dies(parent, signal).map_err(|e| std::io::Error::from_raw_os_error(e.0))
        })
    }
}

/// The command is executed as execvp(3) does it: a file in whose format the kernel knows no program is run by `/bin/sh`. Without a
/// function to be called before exec, Rust's library uses posix_spawn(3), which does not.
pub fn execute_like_execvp(command: &mut Command) -> &mut Command {
    // SAFETY: the closure does nothing.
    unsafe { command.pre_exec(|| Ok(())) }
}

/// The command's process and what it starts are scheduled by the policy SCHED_EXT: [`sched::become_extensible`](crate::sched::become_extensible).
pub fn under_sched_ext(command: &mut Command) -> &mut Command {
    // SAFETY: the closure makes one system call and uses neither memory nor locks: that is permitted between fork and
    // exec.
    unsafe {
        command.pre_exec(|| {
            crate::sched::become_extensible().map_err(|e| std::io::Error::from_raw_os_error(e.0))
        })
    }
}

/// Gives the command's process its own session: no terminal, its own process group, and no signals from the keyboard.
pub fn in_new_session(command: &mut Command) -> &mut Command {
    // SAFETY: the closure makes one system call and uses neither memory nor locks: that is permitted between fork and
    // exec.
    unsafe { command.pre_exec(|| new_session().map_err(|e| std::io::Error::from_raw_os_error(e.0))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(command: &mut Command) -> u32 {
        let child = kill_on_parent_death(command).spawn().unwrap();
        let pid = child.id();
        // Waited for by its pid, below.
        std::mem::forget(child);
        pid
    }

    #[test]
    fn exit_and_kill_are_distinguished() {
        let pid = start(Command::new("sh").args(["-c", "exit 7"]));
        let ended = wait_for(pid, Duration::from_secs(100)).unwrap().unwrap();
        assert_eq!((ended.pid, ended.end), (pid, End::Exited(7)));

        let pid = start(Command::new("true").arg(""));
        while !has_ended_within(pid, Duration::from_secs(100)).unwrap() {}
        assert!(std::fs::exists(format!("/proc/{pid}/schedstat")).unwrap(), "it is a zombie");
        assert_eq!(wait_for(pid, Duration::ZERO).unwrap().unwrap().end, End::Exited(0));

        let pid = start(Command::new("sleep").arg("1000"));
        assert_eq!(wait_for(pid, Duration::from_millis(1)), Ok(None));
        signal_group(pid, Signal::Terminate).unwrap();
        let ended = wait_for(pid, Duration::from_secs(100)).unwrap().unwrap();
        assert_eq!(ended.end, End::Killed(libc::SIGTERM));
    }

    #[test]
    fn end_is_seen_without_a_descriptor() {
        let pid = start(Command::new("sleep").arg("1000"));
        assert_eq!(poll_for_end(pid, Duration::from_millis(1)), Ok(false));
        signal_group(pid, Signal::Kill).unwrap();
        while !poll_for_end(pid, Duration::from_secs(100)).unwrap() {}
        assert_eq!(wait_for(pid, Duration::ZERO).unwrap().unwrap().end, End::Killed(libc::SIGKILL));
        assert_eq!(poll_for_end(pid, Duration::ZERO), Err(Errno::ECHILD));
    }

    #[test]
    fn usage_grows_with_switches() {
        let before = Usage::of_self();
        std::thread::sleep(Duration::from_millis(2));
        let used = Usage::of_self().since(&before);
        assert!(used.voluntary >= 1, "{used:?}");
    }

    #[test]
    fn forking_with_threads_is_refused() {
        // The test harness runs this in a thread beside its main thread.
        assert_eq!(fork(|| 0), Err(Errno::EBUSY));
    }
}
