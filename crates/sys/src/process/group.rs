//! A process as a whole: all its threads, and all programs that it executes one after another.

use super::{Liveness, Stat, exists, pid, pid_namespace};
use crate::child;
use core::time::Duration;

/// A process (the kernel's thread group), distinguishable from every other since boot. It stays the same after `exec`:
/// a thread that executes a program takes over pid and start time of the group's leader (`de_thread` in fs/exec.c).
/// Zeroed: no process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadGroup {
    /// Process id, in the pid namespace of the process.
    pub pid: u32,
    /// Start time of the leader in clock ticks since boot: field 22 of `/proc/PID/stat`; 0 if unknown.
    pub start_time: u64,
    /// Inode number of the pid namespace; 0 if unknown.
    pub namespace: u64,
}

impl ThreadGroup {
    /// The calling process. Reads `/proc` once (some 10 µs).
    pub fn current() -> ThreadGroup {
        let pid = pid();
        let start_time = Stat::of(pid).map_or(0, |stat| stat.start_time);
        ThreadGroup { pid, start_time, namespace: pid_namespace() }
    }

    /// The process with this id now; none if there is no such process.
    pub fn of(pid: u32) -> Option<ThreadGroup> {
        let start_time = Stat::of(pid)?.start_time;
        Some(ThreadGroup { pid, start_time, namespace: pid_namespace() })
    }

    /// Whether a thread of the process can still execute an instruction of a program. A zombie cannot, nor can a
    /// process with one thread that has begun to exit.
    ///
    /// Costs a read of `/proc` (some 5 µs), or less if the process no longer exists. Without `/proc` a zombie counts as
    /// alive. A process of another pid namespace always counts as alive.
    pub fn liveness(&self) -> Liveness {
        if self.pid == 0 {
            return Liveness::Dead;
        }
        if self.namespace != 0 && self.namespace != pid_namespace() {
            return Liveness::Alive;
        }
        // The process was reaped, or /proc shows nothing.
        let Some(stat) = Stat::of(self.pid) else {
            return if exists(self.pid) { Liveness::Alive } else { Liveness::Dead };
        };
        let reused = self.start_time != 0 && stat.start_time != self.start_time;
        // `threads` counts threads that have not ended yet (`__exit_signal`), and the leader until it is reaped.
        if reused || stat.ended && stat.threads <= 1 { Liveness::Dead } else { Liveness::Alive }
    }

    /// Waits until the process has ended, at most for `patience`. Returns at once if its end cannot be waited for. Call
    /// it when the end has been announced: some threads may end a little later than others.
    pub fn await_end(&self, patience: Duration) {
        let _ = child::has_ended_within(self.pid, patience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_is_alive_until_its_last_thread_ends() {
        // SAFETY: the child only makes threads and plain calls, and never returns.
        unsafe {
            let mut ends = [0; 2];
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                extern "C" fn stay(_: *mut libc::c_void) -> *mut libc::c_void {
                    // SAFETY: as above.
                    unsafe { libc::pause() };
                    core::ptr::null_mut()
                }
                let mut thread = core::mem::zeroed();
                libc::pthread_create(&mut thread, core::ptr::null(), stay, core::ptr::null_mut());
                libc::syscall(libc::SYS_write, ends[1], c"x".as_ptr(), 1usize);
                libc::syscall(libc::SYS_exit, 0);
            }
            let mut byte = 0u8;
            libc::read(ends[0], (&raw mut byte).cast(), 1);
            let stat = || Stat::of(child as u32).unwrap();
            let group =
                ThreadGroup { pid: child as u32, start_time: stat().start_time, ..ThreadGroup::default() };
            while !stat().ended {
                libc::sched_yield();
            }
            assert_eq!(group.liveness(), Liveness::Alive, "its leader is a zombie");
            assert_eq!(
                ThreadGroup { start_time: group.start_time + 1, ..group }.liveness(),
                Liveness::Dead,
                "a namesake"
            );
            libc::kill(child, libc::SIGKILL);
            group.await_end(Duration::from_secs(100));
            assert_eq!(group.liveness(), Liveness::Dead, "a zombie as a whole");
            libc::waitpid(child, core::ptr::null_mut(), 0);
            assert_eq!(group.liveness(), Liveness::Dead);
        }
        assert_eq!(ThreadGroup::current().liveness(), Liveness::Alive);
        assert_eq!(ThreadGroup::default().liveness(), Liveness::Dead);
    }
}
