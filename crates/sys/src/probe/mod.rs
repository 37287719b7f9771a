//! Finds out which system calls the kernel and the seccomp filters of this process permit, in child processes: a call that
//! a filter forbids may fail, or kill the process that makes it.
//!
//! A child makes one call after another and notes each in memory that it shares with its parent. If a call kills it, the next
//! child begins behind that call. A call that does not return counts as one that kills.

mod calls;
mod switches;

pub use calls::Call;
pub use switches::switches_are_counted;

use crate::mem::Mapping;
use crate::signal::{self, Mask};
use crate::{Errno, file, raw};
use core::ffi::CStr;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;
use std::io::Write;
use std::time::Instant;

/// What happened to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It did what it does where nothing is forbidden.
    Works,
    /// It failed.
    Fails,
    /// It ended the process.
    Kills,
    /// It did not return in time.
    Hangs,
}

impl Answer {
    /// Whether a process must not make the call.
    pub fn is_fatal(self) -> bool {
        matches!(self, Answer::Kills | Answer::Hangs)
    }
}

/// A child that makes no progress for so long hangs, unless it only has to wait for a CPU.
const SILENCE: Duration = Duration::from_millis(100);
/// The longest wait for a CPU.
const LONGEST: Duration = Duration::from_secs(2);
/// Pauses between two looks at the child.
const PAUSES_US: [u32; 4] = [50, 100, 500, 2_000];

/// What a child and its parent share. All zeroes at first.
struct Notes {
    /// Position behind the last call that was begun; [`PREPARING`] while the child prepares itself.
    begun: AtomicU32,
    /// Whether preparing has killed a child.
    is_preparing_deadly: AtomicU32,
    answers: [AtomicU32; Call::ALL.len()],
}

const PREPARING: u32 = u32::MAX;
const FINISHED: u32 = u32::MAX - 1;
/// Values of [`Notes::answers`]; 0: the call was not made to the end.
const WORKS: u32 = 1;
const FAILS: u32 = 2;

/// The answer to each call of [`Call::ALL`]. Takes about a millisecond, and 100 for a call that does not return.
///
/// # Errors
/// Those of fork(2) and mmap(2): then nothing is known.
pub fn calls() -> Result<[Answer; Call::ALL.len()], Errno> {
    let notes = Mapping::map_shared_with_children(size_of::<Notes>())?;
    // SAFETY: zeroed memory, aligned and large enough, of atomics only; it lives until the end of this function, and the
    // children have copies of the mapping.
    let notes = unsafe { &*notes.start().as_ptr().cast::<Notes>() };
    let mut answers = [Answer::Fails; Call::ALL.len()];
    let mut first = 0;
    while first < answers.len() {
        // Relaxed: no child runs.
        notes.begun.store(PREPARING, Ordering::Relaxed);
        let child = Child::start(|| make_calls(notes, first))?;
        // Acquire: pairs with the Release stores of the child.
        let is_hanging = child.wait(&|| notes.begun.load(Ordering::Acquire)) == Waited::Hangs;
        let verdict = if is_hanging { Answer::Hangs } else { Answer::Kills };
        // Acquire: as above.
        match notes.begun.load(Ordering::Acquire) {
            FINISHED => break,
            // A child that cannot even do without its preparation can make no call.
            PREPARING if notes.is_preparing_deadly.swap(1, Ordering::Relaxed) == 1 => break,
            PREPARING => {}
            begun => {
                answers[begun as usize - 1] = verdict;
                first = begun as usize;
            }
        }
    }
    for (answer, noted) in answers.iter_mut().zip(&notes.answers) {
        // Relaxed: the children have ended.
        match noted.load(Ordering::Relaxed) {
            WORKS => *answer = Answer::Works,
            FAILS => *answer = Answer::Fails,
            _ => {}
        }
    }
    Ok(answers)
}

/// Runs in the child.
fn make_calls(notes: &Notes, first: usize) {
    // Relaxed: written before this child was started.
    if notes.is_preparing_deadly.load(Ordering::Relaxed) == 0 {
        leave_no_core_file();
    }
    for (at, call) in Call::ALL.iter().enumerate().skip(first) {
        // Release: the parent sees the notes on the calls before.
        notes.begun.store(at as u32 + 1, Ordering::Release);
        let answer = if call.works() { WORKS } else { FAILS };
        // Relaxed: published by the next store.
        notes.answers[at].store(answer, Ordering::Relaxed);
    }
    // Release: as above.
    notes.begun.store(FINISHED, Ordering::Release);
}

/// A process that is killed by a filter dumps its memory. With a limit of one byte it writes no file, and starts no program that
/// would read the dump (core(5); with 0 it would start that).
fn leave_no_core_file() {
    let limit = |new: usize, old: usize| {
        // SAFETY: each address is 0, or that of a live limit; 0 is the calling process.
        unsafe { raw::call(libc::SYS_prlimit64, [0, libc::RLIMIT_CORE as usize, new, old]) }
    };
    let mut core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let _ = limit(0, &raw mut core as usize);
    core.rlim_cur = core.rlim_max.min(1);
    let _ = limit(&raw const core as usize, 0);
}

/// How a wait for a child has ended. In both cases the child is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waited {
    Ended,
    /// It was killed, because it made no progress.
    Hangs,
}

/// A child process that makes plain system calls. Dropping it ends it.
struct Child {
    pid: u32,
}

impl Child {
    /// Starts a child that runs `body` and ends. This process may have other threads: so `body` must be one of this module, which
    /// takes no lock, allocates nothing, and calls only functions that are safe in a signal handler (signal-safety(7)).
    fn start(body: impl FnOnce()) -> Result<Child, Errno> {
        // A handler of this process that ran in the child would write to what they share.
        let mask = signal::block(Mask::ALL);
        // SAFETY: the child does only what is permitted after a fork of a process with several threads, as stated.
        let pid = match unsafe { libc::fork() } {
            -1 => Err(Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EAGAIN))),
            0 => {
                body();
                // SAFETY: ends the process; nothing is flushed or freed.
                unsafe { libc::_exit(0) }
            }
            pid => Ok(Child { pid: pid as u32 }),
        };
        signal::set_mask(mask);
        pid
    }

    /// Waits until the child has ended, or makes no progress any more and is killed. `progress` changes with its progress.
    fn wait(&self, progress: &dyn Fn() -> u32) -> Waited {
        let (began, mut last) = (Instant::now(), (progress(), Instant::now()));
        let mut pauses = PAUSES_US.iter();
        let mut pause = PAUSES_US[0];
        while !self.has_ended() {
            pause = *pauses.next().unwrap_or(&pause);
            sleep_us(pause);
            let now = progress();
            if now != last.0 {
                last = (now, Instant::now());
            }
            let is_silent =
                last.1.elapsed() >= SILENCE && (!self.is_runnable() || began.elapsed() >= LONGEST);
            if is_silent && !self.has_ended() {
                self.kill();
                return Waited::Hangs;
            }
        }
        Waited::Ended
    }

    /// Whether the child has ended, or is no child of this process any more: a process that ignores SIGCHLD is not told.
    fn has_ended(&self) -> bool {
        // SAFETY: a zeroed siginfo is a valid one.
        let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
        let options = (libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) as usize;
        let arguments = [libc::P_PID as usize, self.pid as usize, &raw mut info as usize, options, 0];
        // SAFETY: the kernel fills the live structure.
        let answer = unsafe { raw::call(libc::SYS_waitid, arguments) };
        // SAFETY: waitid(2) sets the pid of a child that has ended, and leaves 0 otherwise.
        answer.is_err() || unsafe { info.si_pid() } != 0
    }

    /// Whether the child runs or waits for a CPU: the third field of `/proc/PID/stat`, behind the name in parentheses.
    fn is_runnable(&self) -> bool {
        let (mut path, mut text) = ([0; 32], [0; 512]);
        let _ = write!(&mut path[..31], "/proc/{}/stat", self.pid);
        let stat =
            CStr::from_bytes_until_nul(&path).ok().and_then(|path| file::read_once(path, &mut text).ok());
        let state = stat.and_then(|stat| stat.rsplitn(2, |&byte| byte == b')').next()?.get(1).copied());
        state == Some(b'R')
    }

    fn kill(&self) {
        // SAFETY: no pointers. The process is a child that nobody has waited for, so the number is still its own.
        let _ = unsafe { raw::call(libc::SYS_kill, [self.pid as usize, libc::SIGKILL as usize]) };
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.kill();
        }
        // SAFETY: no pointers but null.
        while unsafe { raw::call(libc::SYS_wait4, [self.pid as usize, 0, 0, 0]) } == Err(Errno::EINTR) {}
    }
}

fn sleep_us(us: u32) {
    let pause = libc::timespec { tv_sec: 0, tv_nsec: i64::from(us) * 1_000 };
    // SAFETY: a live timespec, and no place for the rest. A signal may end it early.
    let _ = unsafe { raw::call(libc::SYS_nanosleep, [&raw const pause as usize, 0]) };
}

#[cfg(test)]
mod tests;
