//! Whether a thread or a process is alive.
//!
//! A thread is identified by pid, tid and start time, so that a reused pid is not mistaken for the earlier process; and
//! by the address of its initial stack, which `exec` changes while everything else stays: whatever the earlier image
//! was doing has ended with it.

mod group;

pub use group::ThreadGroup;

use crate::generation::OncePerProcess;
use crate::{Errno, file, raw};

/// A thread, distinguishable from every other thread since boot. Zeroed: no thread.
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

/// The result of a check whether a thread is alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Liveness {
    /// It runs, or there is no proof that it does not.
    Alive,
    /// It has ended, is a zombie, or its process has executed another program.
    Dead,
}

/// A number that distinguishes the program image that runs now from earlier images of the process. It is made from the
/// random bytes that the kernel gives to each image (getauxval(3), `AT_RANDOM`); they cannot be derived from the
/// number, because libc's stack protection relies on them. 0 if there are none.
pub fn image() -> u64 {
    // SAFETY: takes no address.
    let bytes = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const [u64; 2];
    if bytes.is_null() {
        return 0;
    }
    // SAFETY: the address of 16 bytes that stay mapped.
    let [low, high] = unsafe { bytes.read_unaligned() };
    low ^ high.rotate_left(32)
}

impl Identity {
    /// The calling thread. Reads `/proc/TID/stat` once (some 10 µs): keep the result.
    pub fn current() -> Identity {
        let (pid, tid) = (pid(), tid());
        let stat = Stat::of(tid).unwrap_or_default();
        Identity { pid, tid, start_time: stat.start_time, image: stat.image, namespace: pid_namespace() }
    }

    /// The thread that now has the id `tid` in the caller's pid namespace; `None` if there is none or it has ended.
    /// `pid` is 0, and so are the fields that `/proc` does not show.
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

    /// Whether the thread still runs the program that it ran when the identity was taken.
    ///
    /// Costs a system call if the thread no longer exists, otherwise also a read of `/proc` (some 5 µs). Without
    /// `/proc` a zombie counts as alive. A thread of another pid namespace always counts as alive.
    pub fn liveness(&self) -> Liveness {
        if self.pid == 0 {
            return Liveness::Dead;
        }
        if self.namespace != 0 && self.namespace != pid_namespace() {
            return Liveness::Alive;
        }
        // SAFETY: signal 0 checks for existence only.
        let exists = unsafe { raw::call(libc::SYS_tgkill, [self.pid as usize, self.tid as usize, 0]) };
        if exists == Err(Errno::ESRCH) {
            return Liveness::Dead;
        }
        let Some(stat) = Stat::of(self.tid) else { return Liveness::Alive };
        let reused = self.start_time != 0 && stat.start_time != self.start_time;
        let other_image = self.image > 1 && stat.image > 1 && stat.image != self.image;
        if stat.ended || reused || other_image { Liveness::Dead } else { Liveness::Alive }
    }
}

/// Whether a process with this id exists in our pid namespace, possibly as a zombie.
pub fn exists(pid: u32) -> bool {
    // SAFETY: signal 0 checks for existence only.
    pid != 0 && unsafe { raw::call(libc::SYS_kill, [pid as usize, 0]) } != Err(Errno::ESRCH)
}

/// Whether a thread of this process has the id `tid`.
pub fn has_thread(tid: u32) -> bool {
    // SAFETY: signal 0 checks for existence only.
    tid != 0 && unsafe { raw::call(libc::SYS_tgkill, [pid() as usize, tid as usize, 0]) } != Err(Errno::ESRCH)
}

/// Whether the program has more privileges than its caller: it is set-uid or set-gid, or has capabilities of its file
/// (getauxval(3), `AT_SECURE`). Then its environment must not decide which files it writes.
pub fn is_secure_execution() -> bool {
    // SAFETY: takes no address.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The address of the program headers of the program, as opposed to its libraries (getauxval(3), `AT_PHDR`); 0 if there is none.
pub fn program_headers() -> usize {
    // SAFETY: takes no address.
    unsafe { libc::getauxval(libc::AT_PHDR) as usize }
}

/// The id of the calling process.
pub fn pid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { raw::syscall6(libc::SYS_getpid, [0; 6]) as u32 }
}

/// The id of the calling thread, by a system call.
pub fn tid() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { raw::syscall6(libc::SYS_gettid, [0; 6]) as u32 }
}

/// Nanoseconds that the calling thread has run on a CPU, and that it has waited for one: `/proc/thread-self/schedstat`
/// (sched-stats, kernel documentation). None if the kernel does not provide it.
pub fn thread_times() -> Option<(u64, u64)> {
    let mut buffer = [0; 96];
    let text = file::read_small(c"/proc/thread-self/schedstat", &mut buffer).ok()?;
    let mut numbers = core::str::from_utf8(text).ok()?.split_ascii_whitespace().map(|word| word.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// How often the calling thread has given up the CPU voluntarily, for instance to sleep (getrusage(2), `ru_nvcsw`).
pub fn voluntary_switches() -> u64 {
    thread_usage().ru_nvcsw as u64
}

/// How often the calling thread was preempted or yielded (getrusage(2), `ru_nivcsw`).
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

/// The id of the current parent of the calling process.
pub fn parent() -> u32 {
    // SAFETY: no arguments, cannot fail.
    unsafe { raw::syscall6(libc::SYS_getppid, [0; 6]) as u32 }
}

/// The process group of a process; `ESRCH` if there is none.
pub fn group_of(pid: u32) -> Result<u32, Errno> {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_getpgid, [pid as usize]) }.map(|group| group as u32)
}

/// Number of threads of the calling process; 0 if `/proc` cannot be read.
///
/// The link count of `/proc/self/task` is two more than its number of directories, and each thread has one directory.
pub fn thread_count() -> u64 {
    file::links(c"/proc/self/task").map_or(0, |n| n.saturating_sub(2))
}

/// Inode number of this process's pid namespace; 0 if unknown. Read only once, because a process never changes its pid
/// namespace (pid_namespaces(7)).
pub fn pid_namespace() -> u64 {
    static KNOWN: OncePerProcess = OncePerProcess::new();
    KNOWN
        .get(|| file::inode(c"/proc/self/ns/pid").map_or(0, |inode| u32::try_from(inode).unwrap_or(0)))
        .into()
}

/// Whether `/proc` shows our pid namespace. A process with a new pid namespace but without a new `/proc` finds other
/// processes there under the ids that it knows.
fn is_proc_ours() -> bool {
    static KNOWN: OncePerProcess = OncePerProcess::new();
    KNOWN.get(|| {
        let mut buffer = [0; 16];
        let name = file::link(c"/proc/self", &mut buffer).ok().and_then(|text| str::from_utf8(text).ok());
        name.map_or(0, |name| u32::from(name.parse() == Ok(pid())))
    }) == 1
}

#[derive(Default)]
struct Stat {
    /// Whether the thread executes its program no more: it is a zombie, or is about to become one.
    ended: bool,
    threads: u64,
    start_time: u64,
    image: u64,
}

/// From include/linux/sched.h; a flag in field 9 of `/proc/PID/stat`.
const PF_EXITING: u64 = 4;

impl Stat {
    /// The state of a thread, with the number of threads of its process.
    ///
    /// The path is not `/proc/PID/task/TID`, for this reason: the kernel caches looked-up entries of that directory.
    /// The thread drops its entry when it ends, and the parent drops the entries when it reaps the process. If both
    /// happen at once, the parent busy-waits for the thread without giving it the CPU, on a busy machine until its time
    /// slice ends (`shrink_dcache_parent` of fs/dcache.c). `/proc/TID` exists for every thread; the listing of `/proc`
    /// just omits all threads but the first of each process.
    fn of(tid: u32) -> Option<Stat> {
        use std::io::Write;
        if !is_proc_ours() {
            return None;
        }
        let mut path = [0u8; 32];
        (&mut path[..31]).write_fmt(format_args!("/proc/{tid}/stat")).ok()?;
        let mut buffer = [0u8; 1024];
        let text = file::read_once(core::ffi::CStr::from_bytes_until_nul(&path).ok()?, &mut buffer).ok()?;
        Stat::parse(text)
    }

    /// See proc_pid_stat(5). The second field is the command in parentheses, which may contain anything, so fields are
    /// counted from the last closing parenthesis.
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
    use std::io::Write as _;

    #[test]
    fn own_identity_is_alive_and_pid_reuse_is_detected() {
        let me = Identity::current();
        assert_eq!(me.liveness(), Liveness::Alive);
        assert!(me.start_time > 0);
        assert_eq!(Identity { start_time: me.start_time + 1, ..me }.liveness(), Liveness::Dead);
        assert_eq!(Identity::default().liveness(), Liveness::Dead);
    }

    #[test]
    fn thread_is_found_by_its_tid_alone() {
        let (me, found) =
            std::thread::spawn(|| (Identity::current(), Identity::of_thread(tid()))).join().unwrap();
        assert_eq!(found, Some(Identity { pid: 0, ..me }));
        assert_eq!(Identity::of_thread(0), None);
    }

    #[test]
    fn a_zombie_is_dead() {
        // SAFETY: the child only pauses until it is killed; the parent reaps it afterwards.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::pause();
            }
            let id = Identity { pid: child as u32, tid: child as u32, ..Identity::default() };
            assert_eq!(id.liveness(), Liveness::Alive);
            libc::kill(child, libc::SIGKILL);
            let mut info: libc::siginfo_t = core::mem::zeroed();
            libc::waitid(libc::P_PID, child as u32, &mut info, libc::WEXITED | libc::WNOWAIT);
            assert_eq!(id.liveness(), Liveness::Dead);
            libc::waitpid(child, core::ptr::null_mut(), 0);
            assert_eq!(id.liveness(), Liveness::Dead);
        }
    }

    /// In that `/proc` the ids 1 and 2 belong to init and a kernel thread, which never end.
    #[test]
    fn proc_of_another_namespace_is_not_used() {
        // SAFETY: child and grandchild only make plain system calls, and end.
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
                    let (me, us) = (Identity::current(), ThreadGroup::current());
                    let absent = ThreadGroup { pid: 2, ..us };
                    let lives = (me.liveness(), us.liveness(), absent.liveness());
                    let right = (me.start_time, us.start_time) == (0, 0)
                        && lives == (Liveness::Alive, Liveness::Alive, Liveness::Dead);
                    libc::_exit(i32::from(!right));
                }
                libc::_exit(ended(first));
            }
            match ended(child) {
                77 => {
                    let _ = writeln!(
                        std::io::stderr(),
                        "SKIPPED proc_of_another_namespace_is_not_used: run as root"
                    );
                }
                code => assert_eq!(code, 0),
            }
        }
    }

    #[test]
    fn stat_with_parentheses_in_the_name_is_parsed() {
        let line = b"7 (a) b (c) S 1 2 3 4 5 2 7 8 9 10 11 12 13 14 15 16 17 18 4242 20 21 22 23 24 777 26\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.ended, stat.start_time, stat.image, stat.threads), (false, 4242, 777, 17));
        assert!(
            Stat::parse(b"7 (a) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242").unwrap().ended,
            "PF_EXITING"
        );
    }
}
