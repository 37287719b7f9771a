//! Processes that share an arena, and die.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use unspin_rcu::registry::Recovery;
use unspin_rcu::{Domain, ParticipantId, Rcu, Slot};
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::mem::Mapping;
use unspin_sys::process::Identity;

pub const SLOTS: usize = 32;

/// A domain and the data of a test beside it, in a mapping of a temporary file that children inherit.
#[repr(C)]
pub struct Arena<T> {
    pub domain: Domain,
    pub slots: [Slot; SLOTS],
    /// Children advance it to report their progress.
    pub stage: AtomicU64,
    pub rest: T,
}

impl<T> Arena<T> {
    /// A zeroed arena, mapped for the rest of the test process.
    ///
    /// # Safety
    /// All zeroes is a valid `T`.
    pub unsafe fn new() -> &'static Arena<T> {
        let file = tempfile::tempfile().unwrap();
        let len = size_of::<Arena<T>>();
        file.set_len(len as u64).unwrap();
        let start = Mapping::map_shared(&file, len).unwrap().leak();
        // SAFETY: the mapping is large enough, aligned to a page, zeroed, and never unmapped.
        unsafe { start.cast::<Arena<T>>().as_ref() }
    }

    pub fn rcu(&self) -> Rcu<'_> {
        Rcu::new(&self.domain, &self.slots)
    }

    pub fn reach(&self, stage: u64) {
        self.stage.store(stage, Ordering::SeqCst);
    }

    pub fn await_stage(&self, stage: u64) {
        while self.stage.load(Ordering::SeqCst) < stage {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// A child process; killed and reaped when dropped.
pub struct Child(libc::pid_t);

impl Child {
    /// Forks, and runs `body` in the child, which exits with 0 if it returned and 101 if it panicked.
    pub fn run(body: impl FnOnce()) -> Child {
        // SAFETY: the child runs `body`, which allocates at most what glibc permits after fork, and ends by _exit.
        match unsafe { libc::fork() } {
            0 => {
                let outcome = catch_unwind(AssertUnwindSafe(body));
                // SAFETY: ends the child.
                unsafe { libc::_exit(if outcome.is_ok() { 0 } else { 101 }) }
            }
            pid => {
                assert!(pid > 0, "fork failed");
                Child(pid)
            }
        }
    }

    /// Kills the process and leaves a zombie.
    pub fn kill(&self) {
        // SAFETY: the pid is our child's, which has not been reaped.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            let mut info: libc::siginfo_t = core::mem::zeroed();
            libc::waitid(libc::P_PID, self.0 as u32, &mut info, libc::WEXITED | libc::WNOWAIT);
        }
    }

    /// The process id.
    pub fn pid(&self) -> libc::pid_t {
        self.0
    }

    /// Consumes the handle of a child that the caller has reaped.
    pub fn reaped(self) {
        core::mem::forget(self);
    }

    /// Waits until the process has killed itself.
    pub fn settled(self) {
        assert!(libc::WIFSIGNALED(self.reap()), "the child was to kill itself");
    }

    /// Waits for the process to end and asserts that it did not panic.
    pub fn join(self) {
        assert_eq!(self.reap(), 0, "the child failed");
    }

    fn reap(self) -> i32 {
        let mut status = 0;
        // SAFETY: the pid is our child's; it is reaped once, as `self` is consumed and not dropped.
        unsafe { libc::waitpid(self.0, &mut status, 0) };
        core::mem::forget(self);
        status
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        let mut status = 0;
        // SAFETY: as in `reap`.
        unsafe { libc::waitpid(self.0, &mut status, 0) };
    }
}

/// Suspends the calling process for ever.
pub fn hang() -> ! {
    loop {
        // SAFETY: no arguments.
        unsafe { libc::pause() };
    }
}

/// Kills the calling process at once.
pub fn die() -> ! {
    // SAFETY: SIGKILL to the own process does not return.
    unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    hang()
}

pub fn done(_: ParticipantId, _: &Identity) -> Recovery {
    Recovery::Done
}

/// A small random generator: tests need no good one, and a child must not share its parent's.
pub struct Dice(u64);

impl Dice {
    pub fn new() -> Dice {
        Dice(unspin_sys::clock::ticks() | 1)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
