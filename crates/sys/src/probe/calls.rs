//! The calls that a poll makes, each with the arguments that it has there, on objects of its own.
//!
//! What the program's libc makes of a function (`select` may be the call select or pselect6) is made here too: where a poll
//! calls libc, so does this module.

use crate::mem::Mapping;
use crate::{Errno, membarrier, process, raw};
use core::ffi::c_int;
use core::ptr::{null, null_mut};

/// A system call, or a function of libc that makes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    /// sched_yield(2).
    Yield,
    /// getrusage(2) of the calling thread.
    Usage,
    /// sched_getscheduler(2) of the calling thread.
    Class,
    /// sched_getparam(2) of the calling thread.
    Priority,
    /// mmap(2) of memory, private and shared.
    Map,
    /// madvise(2), MADV_WIPEONFORK.
    WipeOnFork,
    /// poll(2).
    Poll,
    /// ppoll(2).
    PPoll,
    /// select(2).
    Select,
    /// pselect(2).
    PSelect,
    /// clock_gettime(2).
    Clock,
    /// epoll_wait(2).
    EpollWait,
    /// fcntl(2), F_GETFL.
    Flags,
    /// getsockopt(2) of SO_RCVLOWAT and SO_RCVTIMEO.
    SocketOption,
    /// recv(2) and recvfrom(2), MSG_DONTWAIT.
    Receive,
    /// recvmsg(2), MSG_DONTWAIT.
    ReceiveMessage,
    /// futex(2), FUTEX_CMP_REQUEUE.
    Requeue,
    /// rt_sigprocmask(2).
    Mask,
    /// process_vm_readv(2) of the own process.
    ReadMemory,
    /// process_vm_writev(2) of the own process.
    WriteMemory,
    /// membarrier(2), the private expedited commands.
    Membarrier,
    /// sched_setaffinity(2) of the calling thread, to the CPUs that it has. No poll makes it, but the measurement of a wake-up does.
    Affinity,
    /// perf_event_open(2). No poll makes it, but `unspin` does, to learn which programs run.
    OpenEvent,
    /// futex_waitv(2). No poll makes it; waiters in an arena do.
    WaitForAny,
}

impl Call {
    /// All of them, in the order in which they are made.
    pub const ALL: [Call; 24] = [
        Call::Yield,
        Call::Usage,
        Call::Class,
        Call::Priority,
        Call::Map,
        Call::WipeOnFork,
        Call::Poll,
        Call::PPoll,
        Call::Select,
        Call::PSelect,
        Call::Clock,
        Call::EpollWait,
        Call::Flags,
        Call::SocketOption,
        Call::Receive,
        Call::ReceiveMessage,
        Call::Requeue,
        Call::Mask,
        Call::ReadMemory,
        Call::WriteMemory,
        Call::Membarrier,
        Call::Affinity,
        Call::OpenEvent,
        Call::WaitForAny,
    ];

    /// The name of the manual page.
    pub fn name(self) -> &'static str {
        match self {
            Call::Yield => "sched_yield",
            Call::Usage => "getrusage",
            Call::Class => "sched_getscheduler",
            Call::Priority => "sched_getparam",
            Call::Map => "mmap",
            Call::WipeOnFork => "madvise",
            Call::Poll => "poll",
            Call::PPoll => "ppoll",
            Call::Select => "select",
            Call::PSelect => "pselect",
            Call::Clock => "clock_gettime",
            Call::EpollWait => "epoll_wait",
            Call::Flags => "fcntl",
            Call::SocketOption => "getsockopt",
            Call::Receive => "recvfrom",
            Call::ReceiveMessage => "recvmsg",
            Call::Requeue => "futex",
            Call::Mask => "sigprocmask",
            Call::ReadMemory => "process_vm_readv",
            Call::WriteMemory => "process_vm_writev",
            Call::Membarrier => "membarrier",
            Call::Affinity => "sched_setaffinity",
            Call::OpenEvent => "perf_event_open",
            Call::WaitForAny => "futex_waitv",
        }
    }

    /// Makes the call, and returns whether it did what it should. Runs in a child process.
    pub(super) fn works(self) -> bool {
        match self {
            Call::Yield => plain(libc::SYS_sched_yield, []) == Ok(0),
            Call::Usage => {
                // SAFETY: a zeroed rusage is a valid one.
                let mut usage: libc::rusage = unsafe { core::mem::zeroed() };
                let arguments = [libc::RUSAGE_THREAD as usize, &raw mut usage as usize];
                plain(libc::SYS_getrusage, arguments) == Ok(0)
            }
            Call::Class => plain(libc::SYS_sched_getscheduler, [0]).is_ok(),
            Call::Priority => {
                let mut parameters = libc::sched_param { sched_priority: 0 };
                plain(libc::SYS_sched_getparam, [0, &raw mut parameters as usize]) == Ok(0)
            }
            Call::Map => {
                let is_mapped = |mapping: Result<Mapping, Errno>| mapping.map(drop).is_ok();
                is_mapped(Mapping::map_private(PAGE)) && is_mapped(Mapping::map_shared_with_children(PAGE))
            }
            Call::WipeOnFork => Mapping::map_wiped_on_fork(PAGE).is_ok(),
            Call::Poll => empty_pipe().is_some_and(|pipe| {
                let fd = pipe.first();
                let mut asked = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                // SAFETY: one live pollfd, as stated.
                unsafe { libc::poll(&mut asked, 1, 0) == 0 }
            }),
            Call::PPoll => empty_pipe().is_some_and(|pipe| {
                let fd = pipe.first();
                let mut asked = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                // SAFETY: one live pollfd, as stated, and a live time.
                unsafe { libc::ppoll(&mut asked, 1, &NO_TIME, null()) == 0 }
            }),
            Call::Select => empty_pipe().is_some_and(|pipe| {
                let fd = pipe.first();
                let (mut asked, mut no_time) = (set_of(fd), libc::timeval { tv_sec: 0, tv_usec: 0 });
                // SAFETY: a live set, which has the descriptor, and a live time.
                unsafe { libc::select(fd + 1, &mut asked, null_mut(), null_mut(), &mut no_time) == 0 }
            }),
            Call::PSelect => empty_pipe().is_some_and(|pipe| {
                let fd = pipe.first();
                let mut asked = set_of(fd);
                // SAFETY: a live set, which has the descriptor, and a live time.
                unsafe { libc::pselect(fd + 1, &mut asked, null_mut(), null_mut(), &NO_TIME, null()) == 0 }
            }),
            Call::Clock => {
                let mut now = NO_TIME;
                // SAFETY: a live timespec.
                unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) == 0 }
            }
            Call::EpollWait => epoll_is_empty(),
            Call::Flags => empty_pipe().is_some_and(|pipe| {
                plain(libc::SYS_fcntl, [pipe.first() as usize, libc::F_GETFL as usize]).is_ok()
            }),
            Call::SocketOption => sockets().is_some_and(|pair| {
                let fd = pair.first();
                option(fd, libc::SO_RCVLOWAT, 4) == Ok(4) && option(fd, libc::SO_RCVTIMEO, 16) == Ok(16)
            }),
            Call::Receive => sockets().is_some_and(|pair| {
                let fd = pair.first();
                let mut byte = [0u8; 1];
                let room = byte.as_mut_ptr().cast();
                // SAFETY: room for one byte, and no address is wanted.
                let received = unsafe {
                    [
                        libc::recv(fd, room, 1, libc::MSG_DONTWAIT),
                        libc::recvfrom(fd, room, 1, libc::MSG_DONTWAIT, null_mut(), null_mut()),
                    ]
                };
                received == [-1; 2] && errno() == libc::EAGAIN
            }),
            Call::ReceiveMessage => sockets().is_some_and(|pair| {
                let fd = pair.first();
                let mut byte = [0u8; 1];
                let mut room = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
                // SAFETY: a zeroed msghdr is a valid one.
                let mut message: libc::msghdr = unsafe { core::mem::zeroed() };
                (message.msg_iov, message.msg_iovlen) = (&mut room, 1);
                // SAFETY: a live message with room for one byte.
                unsafe {
                    libc::recvmsg(fd, &mut message, libc::MSG_DONTWAIT) == -1 && errno() == libc::EAGAIN
                }
            }),
            Call::Requeue => [0, libc::FUTEX_PRIVATE_FLAG].iter().all(|flag| {
                let word = 5u32;
                let word = &raw const word as usize;
                let compare = (libc::FUTEX_CMP_REQUEUE | flag) as usize;
                let answer = |expected| plain(libc::SYS_futex, [word, compare, 0, 0, word, expected]);
                answer(4) == Err(Errno::EAGAIN) && answer(5) == Ok(0)
            }),
            Call::Mask => {
                let mut mask = 0u64;
                let at = &raw mut mask as usize;
                let set =
                    |how: c_int, new| plain(libc::SYS_rt_sigprocmask, [how as usize, new, at, MASK_BYTES]);
                set(libc::SIG_BLOCK, 0) == Ok(0) && set(libc::SIG_SETMASK, at) == Ok(0)
            }
            Call::ReadMemory => copies(libc::SYS_process_vm_readv),
            Call::WriteMemory => copies(libc::SYS_process_vm_writev),
            Call::Membarrier => {
                membarrier::register_private_expedited() && membarrier::issue_private_expedited()
            }
            Call::Affinity => {
                let mut mask = [0u64; 128];
                let arguments = [0, size_of_val(&mask), mask.as_mut_ptr() as usize];
                plain(libc::SYS_sched_getaffinity, arguments).is_ok()
                    && plain(libc::SYS_sched_setaffinity, arguments) == Ok(0)
            }
            // Without words it fails in any case, as the next: all that matters is whether a filter kills for it.
            Call::WaitForAny => plain(libc::SYS_futex_waitv, [0; 5]).is_err(),
            // Without a description of the event.
            Call::OpenEvent => plain(libc::SYS_perf_event_open, [0; 5]).is_err(),
        }
    }
}

const PAGE: usize = 4096;
/// Bytes of a signal mask, as the kernel has it.
const MASK_BYTES: usize = 8;
const NO_TIME: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// A call whose pointers, if it has any, lead to live objects of the caller.
fn plain<const N: usize>(number: i64, arguments: [usize; N]) -> Result<usize, Errno> {
    // SAFETY: this module passes pointers to live objects of the types that the kernel reads or writes.
    unsafe { raw::call(number, arguments) }
}

fn errno() -> c_int {
    // SAFETY: the address of the calling thread's errno.
    unsafe { *libc::__errno_location() }
}

/// Descriptors that are closed when dropped: a process may have few (`ulimit -n`).
struct Open<const N: usize>([c_int; N]);

impl<const N: usize> Drop for Open<N> {
    fn drop(&mut self) {
        for fd in self.0 {
            let _ = plain(libc::SYS_close, [fd as usize]);
        }
    }
}

impl<const N: usize> Open<N> {
    fn first(&self) -> c_int {
        self.0[0]
    }
}

/// A pipe without data; the reading end first.
fn empty_pipe() -> Option<Open<2>> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    (unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } == 0).then_some(Open(ends))
}

/// Two connected sockets without data.
fn sockets() -> Option<Open<2>> {
    let mut ends = [0; 2];
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
    // SAFETY: room for two descriptors.
    (unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } == 0).then_some(Open(ends))
}

/// Length of a socket option's value.
fn option(fd: c_int, option: c_int, room: usize) -> Result<u32, Errno> {
    let (mut value, mut length) = ([0u64; 2], room as libc::socklen_t);
    let at = [&raw mut value as usize, &raw mut length as usize];
    plain(libc::SYS_getsockopt, [fd as usize, libc::SOL_SOCKET as usize, option as usize, at[0], at[1]])?;
    Ok(length)
}

fn set_of(fd: c_int) -> libc::fd_set {
    // SAFETY: a zeroed set is a valid one, and the descriptor of a process that has just started few is below FD_SETSIZE.
    unsafe {
        let mut set: libc::fd_set = core::mem::zeroed();
        if (fd as usize) < libc::FD_SETSIZE {
            libc::FD_SET(fd, &mut set);
        }
        set
    }
}

fn epoll_is_empty() -> bool {
    let Some(pipe) = empty_pipe() else { return false };
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
    // SAFETY: live events, and room for one.
    unsafe {
        let set = Open([libc::epoll_create1(libc::EPOLL_CLOEXEC)]);
        libc::epoll_ctl(set.first(), libc::EPOLL_CTL_ADD, pipe.first(), &mut event) == 0
            && libc::epoll_wait(set.first(), &mut event, 1, 0) == 0
    }
}

/// Whether the call copies eight bytes between two words of this process.
fn copies(call: i64) -> bool {
    let (mut local, mut remote) = (1u64, 2u64);
    let vector = |word: &mut u64| libc::iovec { iov_base: (&raw mut *word).cast(), iov_len: 8 };
    let (from, to) = (vector(&mut local), vector(&mut remote));
    let (from, to) = (&raw const from as usize, &raw const to as usize);
    let copied = plain(call, [process::tid() as usize, from, 1, to, 1, 0]);
    // The kernel has written one of the words.
    let words = core::hint::black_box([&local, &remote]);
    copied == Ok(8) && words[0] == words[1]
}
