//! Who is alive.
//!
//! A thread is known by pid, tid and start time, so that a reused pid is not taken for the one before, and by
//! the address of its initial stack, which `exec` changes while everything else stays: what the image before
//! was doing died with it.

mod group;

pub use group::Group;

use crate::generation::Once;
use crate::{Errno, file, raw};

/// A thread, distinguishable from every other thread that this boot has seen. Zeroed: nobody.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Identity {
    /// Process (thread group) id, in the pid namespace of the thread.
    pub pid: u32,
    /// Thread id, in the same namespace.
    pub tid: u32,
    /// Start time of the thread in clock ticks since boot: field 22 of `/proc/PID/stat`; 0 if unknown.
    pub start_time: u64,
    /// Address of the bottom of the initial stack: field 28 of `/proc/PID/stat`; 0 if unknown.
    pub image: u64,
    /// Inode number of the pid namespace; 0 if unknown.
    pub namespace: u64,
}

/// What can be said of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It runs, or nothing proves that it does not.
    Alive,
    /// It is gone, is a zombie, or its process has become another program.
    Dead,
}

/// A number that tells the image of a program that runs now from those that the process has executed before: made of the
/// random bytes that the kernel gives to each (getauxval(3), `AT_RANDOM`), so that these cannot be told from it, as libc
/// guards the stack with them. 0 if there are none.
pub fn image() -> u64 {
    // SAFETY: takes no address.
    let bytes = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const [u64; 2];
    if bytes.is_null() {
        return 0;
    }
    // SAFETY: the address of 16 bytes, which stay.
    let [low, high] = unsafe { bytes.read_unaligned() };
    low ^ high.rotate_left(32)
}

impl Identity {
    /// The calling thread. Reads `/proc/TID/stat` once (some 10 us): keep the result.
    pub fn current() -> Identity {
        let (pid, tid) = (pid(), tid());
        let stat = Stat::of(tid).unwrap_or_default();
        Identity { pid, tid, start_time: stat.start_time, image: stat.image, namespace: pid_namespace() }
    }

    /// Whoever has thread id `tid` now, in the caller's pid namespace; `None` if nobody has, or a thread that
    /// has ended. `pid` stays 0, and so does whatever `/proc` does not tell.
    pub fn of_thread(tid: u32) -> Option<Identity> {
        // SAFETY: signal 0 checks for existence only.
        let exists = unsafe { raw::call(libc::SYS_tkill, [tid as usize, 0]) };
        if exists == Err(Errno::ESRCH) || exists == Err(Errno::EINVAL) {
            return None;
        }
        let stat = Stat::of(tid).unwrap_or_default();
        let who = Identity {
            pid: 0,
            tid,
            start_time: stat.start_time,
            image: stat.image,
            namespace: pid_namespace(),
        };
        (!stat.ended).then_some(who)
    }

    /// Whether the thread still runs the program it ran when the identity was taken.
    ///
    /// Costs a system call if the thread is gone without trace, and a read of `/proc` (some 5 us) if not.
    /// Where `/proc` is not mounted a zombie counts as alive; a thread of another pid namespace always does.
    pub fn life(&self) -> Life {
        if self.pid == 0 {
            return Life::Dead;
        }
        if self.namespace != 0 && self.namespace != pid_namespace() {
            return Life::Alive;
        }
        // SAFETY: signal 0 checks for existence only.
        let exists = unsafe { raw::call(libc::SYS_tgkill, [self.pid as usize, self.tid as usize, 0]) };
        if exists == Err(Errno::ESRCH) {
            return Life::Dead;
        }
        let Some(stat) = Stat::of(self.tid) else { return Life::Alive };
        let reused = self.start_time != 0 && stat.start_time != self.start_time;
        let other_image = self.image > 1 && stat.image > 1 && stat.image != self.image;
        if stat.ended || reused || other_image { Life::Dead } else { Life::Alive }
    }
}

/// Whether there is a process of this id in our pid namespace, be it a zombie.
pub fn exists(pid: u32) -> bool {
    // SAFETY: signal 0 checks for existence only.
    pid != 0 && unsafe { raw::call(libc::SYS_kill, [pid as usize, 0]) } != Err(Errno::ESRCH)
}

/// The calling process.
pub fn pid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { raw::syscall6(libc::SYS_getpid, [0; 6]) as u32 }
}

/// The calling thread.
pub fn tid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { raw::syscall6(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Nanoseconds that the calling thread has been on a CPU, and has been waiting for one: `/proc/thread-self/schedstat`
/// (sched-stats, kernel documentation). None where the kernel does not say.
pub fn thread_times() -> Option<(u64, u64)> {
    let mut buffer = [0; 96];
    let text = file::read_small(c"/proc/thread-self/schedstat", &mut buffer).ok()?;
    let mut numbers = core::str::from_utf8(text).ok()?.split_ascii_whitespace().map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// How often the calling thread has gone to sleep of its own accord (getrusage(2), `ru_nvcsw`).
pub fn voluntary_switches() -> u64 {
    thread_usage().ru_nvcsw as u64
}

/// How often the calling thread has lost its CPU to another thread, by yielding too (getrusage(2), `ru_nivcsw`).
pub fn involuntary_switches() -> u64 {
    thread_usage().ru_nivcsw as u64
}

fn thread_usage() -> libc::rusage {
    // SAFETY: a zeroed rusage is a valid one, which the kernel fills.
    unsafe {
        let mut usage: libc::rusage = core::mem::zeroed();
        let _ = raw::call(libc::SYS_getrusage, [libc::RUSAGE_THREAD as usize, &raw mut usage as usize]);
        usage
    }
}

/// The parent of the calling process as it is now.
pub fn parent() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { raw::syscall6(libc::SYS_getppid, [0; 6]) as u32 }
}

/// Threads of the calling process; 0 where `/proc` cannot be read.
///
/// The link count of `/proc/self/task` is two more than its directories, one for each thread.
pub fn thread_count() -> u64 {
    file::links(c"/proc/self/task").map_or(0, |n| n.saturating_sub(2))
}

/// Inode number of this process's pid namespace, 0 if unknown. A process keeps the one that it was made in
/// (pid_namespaces(7)): asked for once.
pub fn pid_namespace() -> u64 {
    static KNOWN: Once = Once::new();
    KNOWN
        .get(|| file::inode(c"/proc/self/ns/pid").map_or(0, |inode| u32::try_from(inode).unwrap_or(0)))
        .into()
}

/// Whether `/proc` tells of our pid namespace. Who got a new one, and no new `/proc`, finds other processes there under the
/// numbers that he knows.
fn proc_is_ours() -> bool {
    static KNOWN: Once = Once::new();
    KNOWN.get(|| {
        let mut buffer = [0; 16];
        let name = file::link(c"/proc/self", &mut buffer).ok().and_then(|text| str::from_utf8(text).ok());
        name.map_or(0, |name| u32::from(name.parse() == Ok(pid())))
    }) == 1
}

#[derive(Default)]
struct Stat {
    /// Whether it executes nothing of its program any more: a zombie, or on its way to become one.
    ended: bool,
    threads: u64,
    start_time: u64,
    image: u64,
}

/// Of include/linux/sched.h, in field 9 of `/proc/PID/stat`.
const PF_EXITING: u64 = 4;

impl Stat {
    /// A thread's, with the number of threads of its process.
    ///
    /// Not by way of its process, `/proc/PID/task/TID`: the kernel keeps what was looked up there, and takes it away when the
    /// thread ends, which the thread does, and when the process ends, which its parent does. If both are at it at once the
    /// parent waits for the thread without giving it the CPU, on a busy machine until its time is up
    /// (`shrink_dcache_parent` of fs/dcache.c). A thread that is not its process's first is missing from the list in `/proc`,
    /// not from its lookup.
    fn of(tid: u32) -> Option<Stat> {
        use std::io::Write;
        if !proc_is_ours() {
            return None;
        }
        let mut path = [0u8; 32];
        (&mut path[..31]).write_fmt(format_args!("/proc/{tid}/stat")).ok()?;
        let mut buffer = [0u8; 1024];
        let text = file::read_once(core::ffi::CStr::from_bytes_until_nul(&path).ok()?, &mut buffer).ok()?;
        Stat::parse(text)
    }

    /// proc_pid_stat(5). The second field is the command in parentheses, which may hold anything: fields are
    /// counted from the last closing one.
    fn parse(text: &[u8]) -> Option<Stat> {
        let after = text.iter().rposition(|&b| b == b')')? + 1;
        let mut fields = text[after..].split(|&b| b == b' ').filter(|f| !f.is_empty());
        let state = fields.next()?; // field 3
        let number = |f: Option<&[u8]>| std::str::from_utf8(f?).ok()?.trim_end().parse::<u64>().ok();
        let flags = number(fields.nth(5)).unwrap_or(0); // field 9
        let threads = number(fields.nth(10)).unwrap_or(0); // field 20
        let start_time = number(fields.nth(1))?; // field 22
        let image = number(fields.nth(5)).unwrap_or(0); // field 28
        let ended = matches!(state, b"Z" | b"X" | b"x") || flags & PF_EXITING != 0;
        Some(Stat { ended, threads, start_time, image })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_is_alive_and_reuse_is_noticed() {
        let me = Identity::current();
        assert_eq!(me.life(), Life::Alive);
        assert!(me.start_time > 0);
        assert_eq!(Identity { start_time: me.start_time + 1, ..me }.life(), Life::Dead);
        assert_eq!(Identity::default().life(), Life::Dead);
    }

    #[test]
    fn a_thread_is_found_by_its_tid_alone() {
        let (me, found) =
            std::thread::spawn(|| (Identity::current(), Identity::of_thread(tid()))).join().unwrap();
        assert_eq!(found, Some(Identity { pid: 0, ..me }));
        assert_eq!(Identity::of_thread(0), None);
    }

    #[test]
    fn a_zombie_is_dead() {
        // SAFETY: the child only exits; the parent reaps it afterwards.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::pause();
            }
            let id = Identity { pid: child as u32, tid: child as u32, ..Identity::default() };
            assert_eq!(id.life(), Life::Alive);
            libc::kill(child, libc::SIGKILL);
            let mut info: libc::siginfo_t = core::mem::zeroed();
            libc::waitid(libc::P_PID, child as u32, &mut info, libc::WEXITED | libc::WNOWAIT);
            assert_eq!(id.life(), Life::Dead);
            libc::waitpid(child, core::ptr::null_mut(), 0);
            assert_eq!(id.life(), Life::Dead);
        }
    }

    /// There the numbers 1 and 2 are init's and a kernel thread's, which live for ever.
    #[test]
    fn a_proc_of_another_namespace_is_not_believed() {
        // SAFETY: child and grandchild make plain system calls only, and end.
        unsafe {
            let ended = |child| {
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                libc::WEXITSTATUS(status)
            };
            let child = libc::fork();
            if child == 0 {
                if libc::unshare(libc::CLONE_NEWPID) != 0 {
                    libc::_exit(77);
                }
                let first = libc::fork();
                if first == 0 {
                    let (me, us) = (Identity::current(), Group::current());
                    let nobody = Group { pid: 2, ..us };
                    let lives = (me.life(), us.life(), nobody.life());
                    let right = (me.start_time, us.start_time) == (0, 0)
                        && lives == (Life::Alive, Life::Alive, Life::Dead);
                    libc::_exit(i32::from(!right));
                }
                libc::_exit(ended(first));
            }
            match ended(child) {
                77 => eprintln!("SKIPPED a_proc_of_another_namespace_is_not_believed: run as root"),
                code => assert_eq!(code, 0),
            }
        }
    }

    #[test]
    fn command_names_with_parentheses_do_not_confuse() {
        let line = b"7 (a) b (c) S 1 2 3 4 5 2 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21 22 23 24 777 26\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.ended, stat.start_time, stat.image, stat.threads), (false, 4242, 777, 17));
        assert!(
            Stat::parse(b"7 (a) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242").unwrap().ended,
            "PF_EXITING"
        );
    }
}
