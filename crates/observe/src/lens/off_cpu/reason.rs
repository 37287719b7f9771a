//! For what a thread blocked, by the kernel's functions on its stack.

use super::states::{Blocked, Sleep};
use serde::Serialize;
use unspin_trace::{KernelSymbols, Stacks};

/// For what a thread blocked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// A futex: locks, conditions and joins of user space.
    Futex,
    /// A lock inside the kernel.
    KernelLock,
    /// A device or a file system: `D`.
    Io,
    /// One of several descriptors: poll, select, epoll.
    Poll,
    /// A socket.
    Socket,
    /// A pipe.
    Pipe,
    /// Time: nanosleep, and timers.
    Sleep,
    /// A child process.
    Child,
    /// The child of vfork(2), posix_spawn(3) or system(3), until it executes a program or exits: `D`.
    Vfork,
    /// A semaphore or a message of System V.
    SystemV,
    /// A signal, a debugger, or a stop.
    Stopped,
    /// Another system call.
    Other,
}

/// The functions of the kernel in which a thread sleeps for one of its locks.
const LOCKS: [&str; 9] = [
    "rwsem_down_",
    "__mutex_lock",
    "mutex_lock",
    "__down",
    "rt_mutex_slowlock",
    "__rt_mutex_slowlock",
    "rt_spin_lock",
    "percpu_down_",
    "__percpu_down",
];

/// What functions of the kernel say; the first of them on the stack counts, from where the thread sleeps outwards.
const FUNCTIONS: [(&str, Reason); 37] = [
    ("futex_", Reason::Futex),
    ("__futex", Reason::Futex),
    ("io_schedule", Reason::Io),
    ("folio_wait", Reason::Io),
    ("blk_", Reason::Io),
    ("jbd2_", Reason::Io),
    ("ep_poll", Reason::Poll),
    ("do_epoll_wait", Reason::Poll),
    ("do_poll", Reason::Poll),
    ("do_sys_poll", Reason::Poll),
    ("do_select", Reason::Poll),
    ("poll_schedule_timeout", Reason::Poll),
    ("unix_", Reason::Socket),
    ("sock_", Reason::Socket),
    ("sk_wait", Reason::Socket),
    ("tcp_", Reason::Socket),
    ("inet_", Reason::Socket),
    ("__skb_", Reason::Socket),
    ("skb_", Reason::Socket),
    ("netlink_", Reason::Socket),
    ("__sys_accept", Reason::Socket),
    ("__sys_connect", Reason::Socket),
    ("pipe_", Reason::Pipe),
    ("anon_pipe_", Reason::Pipe),
    ("fifo_open", Reason::Pipe),
    ("hrtimer_nanosleep", Reason::Sleep),
    ("do_nanosleep", Reason::Sleep),
    ("do_wait", Reason::Child),
    ("kernel_wait", Reason::Child),
    // Compilers inline `wait_for_vfork_done` into `kernel_clone`.
    ("wait_for_vfork_done", Reason::Vfork),
    ("kernel_clone", Reason::Vfork),
    ("do_semtimedop", Reason::SystemV),
    ("do_msg", Reason::SystemV),
    ("do_sigtimedwait", Reason::Stopped),
    ("sigsuspend", Reason::Stopped),
    ("do_signal_stop", Reason::Stopped),
    ("ptrace_stop", Reason::Stopped),
];

impl Reason {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Futex => "futex",
            Reason::KernelLock => "kernel lock",
            Reason::Io => "I/O and other sleep in state D",
            Reason::Poll => "poll, select, epoll",
            Reason::Socket => "socket",
            Reason::Pipe => "pipe",
            Reason::Sleep => "nanosleep",
            Reason::Child => "child process",
            Reason::Vfork => "vfork child, until it executes or exits",
            Reason::SystemV => "System V semaphore or message",
            Reason::Stopped => "signal or stop",
            Reason::Other => "other",
        }
    }

    /// Of a thread that blocked, and the system call in which it did.
    pub fn of(blocked: Blocked, stacks: &Stacks, symbols: &KernelSymbols) -> (Reason, Option<String>) {
        match blocked {
            Blocked::At(stack, sleep) => {
                let kernel = stacks.get(stack).kernel;
                let functions: Vec<&str> = kernel
                    .iter()
                    .filter_map(|&address| symbols.function(address.wrapping_sub(1)))
                    .map(|symbol| symbol.name.as_str())
                    .collect();
                (of_functions(&functions, sleep), system_call(&functions))
            }
            Blocked::Before(number, sleep) => of_number(number, sleep),
        }
    }
}

impl Blocked {
    /// Whether the thread was at a futex already when the observation began.
    pub fn is_futex_before(self) -> bool {
        matches!(self, Blocked::Before(number, sleep) if of_number(number, sleep).0 == Reason::Futex)
    }
}

fn of_functions(functions: &[&str], sleep: Sleep) -> Reason {
    let is_lock = |function: &&str| LOCKS.iter().any(|lock| function.starts_with(lock));
    // A futex with priority inheritance sleeps in a lock of the kernel too, and is no lock inside the kernel.
    if functions.iter().any(is_lock) && !functions.iter().any(|function| function.starts_with("futex_")) {
        return Reason::KernelLock;
    }
    // While it copies the process, `kernel_clone` does not wait for the child of vfork.
    let mut innermost = functions.iter().take_while(|function| !function.starts_with("copy_process"));
    let named = innermost.find_map(|function| {
        FUNCTIONS.iter().find(|(begin, _)| function.starts_with(begin)).map(|(_, reason)| *reason)
    });
    named.unwrap_or(match sleep {
        Sleep::Uninterruptible => Reason::Io,
        Sleep::Stopped => Reason::Stopped,
        Sleep::Interruptible => Reason::Other,
    })
}

/// The system call by its function: `__x64_sys_futex`, or `__arm64_sys_futex`.
fn system_call(functions: &[&str]) -> Option<String> {
    functions.iter().find_map(|function| {
        let (before, call) = function.split_once("_sys_")?;
        ["__x64", "__arm64", "__ia32", "__riscv"].contains(&before).then(|| call.to_owned())
    })
}

/// By the number of the system call in which a thread already was.
#[cfg(target_arch = "x86_64")]
fn of_number(number: Option<u64>, sleep: Sleep) -> (Reason, Option<String>) {
    let known = match number {
        Some(202 | 449 | 455) => Some((Reason::Futex, "futex")),
        Some(7 | 271) => Some((Reason::Poll, "poll")),
        Some(23 | 270) => Some((Reason::Poll, "select")),
        Some(232 | 281 | 441) => Some((Reason::Poll, "epoll_wait")),
        Some(35 | 230) => Some((Reason::Sleep, "nanosleep")),
        Some(61 | 247) => Some((Reason::Child, "wait4")),
        // clone, vfork and clone3: without CLONE_VFORK they do not sleep for long.
        Some(56) => Some((Reason::Vfork, "clone")),
        Some(58) => Some((Reason::Vfork, "vfork")),
        Some(435) => Some((Reason::Vfork, "clone3")),
        Some(43 | 288) => Some((Reason::Socket, "accept")),
        Some(45 | 47 | 299) => Some((Reason::Socket, "recv")),
        Some(65 | 220) => Some((Reason::SystemV, "semop")),
        Some(69 | 70) => Some((Reason::SystemV, "msgrcv")),
        Some(34 | 128 | 130) => Some((Reason::Stopped, "sigsuspend")),
        Some(0) => Some((Reason::Other, "read")),
        _ => None,
    };
    match known {
        Some((reason, name)) if sleep != Sleep::Stopped => (reason, Some(name.into())),
        _ => (of_functions(&[], sleep), None),
    }
}

/// The numbers of the other architectures are not listed here.
#[cfg(not(target_arch = "x86_64"))]
fn of_number(_: Option<u64>, sleep: Sleep) -> (Reason, Option<String>) {
    (of_functions(&[], sleep), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(functions: &str) -> Reason {
        of_functions(&functions.split(' ').collect::<Vec<_>>(), Sleep::Interruptible)
    }

    #[test]
    fn reason_is_found_on_the_stack() {
        for (functions, expected) in [
            ("__schedule schedule futex_do_wait __futex_wait futex_wait do_futex", Reason::Futex),
            ("schedule __rt_mutex_slowlock rt_mutex_wait_proxy_lock futex_lock_pi", Reason::Futex),
            ("schedule rwsem_down_write_slowpath down_write vm_mmap_pgoff", Reason::KernelLock),
            ("schedule schedule_timeout unix_stream_read_generic sock_recvmsg", Reason::Socket),
            ("schedule anon_pipe_read vfs_read", Reason::Pipe),
            ("schedule do_nanosleep hrtimer_nanosleep", Reason::Sleep),
            ("schedule schedule_timeout __wait_for_common wait_for_vfork_done kernel_clone", Reason::Vfork),
            ("schedule schedule_timeout __wait_for_common kernel_clone __do_sys_vfork", Reason::Vfork),
            ("schedule io_schedule folio_wait_bit dup_mmap copy_process kernel_clone", Reason::Io),
            ("schedule down_write copy_process kernel_clone", Reason::Other),
            ("schedule something_else", Reason::Other),
        ] {
            assert_eq!(reason(functions), expected, "{functions}");
        }
        assert_eq!(of_functions(&["schedule"], Sleep::Uninterruptible), Reason::Io);
    }

    #[test]
    fn system_call_has_the_name_of_its_function() {
        assert_eq!(system_call(&["schedule", "__x64_sys_futex", "do_syscall_64"]).as_deref(), Some("futex"));
        assert_eq!(system_call(&["schedule", "do_sys_poll"]), None);
    }
}
