//! The reason why a thread blocked, by the kernel's functions on its stack.

use super::states::{Blocked, Sleep};
use unspin_report::next::lens::off_cpu::BlockReason;
use unspin_trace::{KernelSymbols, Stacks};

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

/// The reasons that functions of the kernel stand for. The first such function on the stack counts, beginning with the
/// innermost.
const FUNCTIONS: [(&str, BlockReason); 37] = [
    ("futex_", BlockReason::Futex),
    ("__futex", BlockReason::Futex),
    ("io_schedule", BlockReason::Io),
    ("folio_wait", BlockReason::Io),
    ("blk_", BlockReason::Io),
    ("jbd2_", BlockReason::Io),
    ("ep_poll", BlockReason::Poll),
    ("do_epoll_wait", BlockReason::Poll),
    ("do_poll", BlockReason::Poll),
    ("do_sys_poll", BlockReason::Poll),
    ("do_select", BlockReason::Poll),
    ("poll_schedule_timeout", BlockReason::Poll),
    ("unix_", BlockReason::Socket),
    ("sock_", BlockReason::Socket),
    ("sk_wait", BlockReason::Socket),
    ("tcp_", BlockReason::Socket),
    ("inet_", BlockReason::Socket),
    ("__skb_", BlockReason::Socket),
    ("skb_", BlockReason::Socket),
    ("netlink_", BlockReason::Socket),
    ("__sys_accept", BlockReason::Socket),
    ("__sys_connect", BlockReason::Socket),
    ("pipe_", BlockReason::Pipe),
    ("anon_pipe_", BlockReason::Pipe),
    ("fifo_open", BlockReason::Pipe),
    ("hrtimer_nanosleep", BlockReason::Sleep),
    ("do_nanosleep", BlockReason::Sleep),
    ("do_wait", BlockReason::Child),
    ("kernel_wait", BlockReason::Child),
    // Compilers inline `wait_for_vfork_done` into `kernel_clone`.
    ("wait_for_vfork_done", BlockReason::Vfork),
    ("kernel_clone", BlockReason::Vfork),
    ("do_semtimedop", BlockReason::SystemV),
    ("do_msg", BlockReason::SystemV),
    ("do_sigtimedwait", BlockReason::Stopped),
    ("sigsuspend", BlockReason::Stopped),
    ("do_signal_stop", BlockReason::Stopped),
    ("ptrace_stop", BlockReason::Stopped),
];

/// The reason of a blocked thread, and the system call in which it blocked.
pub fn of(blocked: Blocked, stacks: &Stacks, symbols: &KernelSymbols) -> (BlockReason, Option<String>) {
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
impl Blocked {
    /// Whether the thread was at a futex already when the observation began.
    pub fn is_futex_before(self) -> bool {
        matches!(self, Blocked::Before(number, sleep) if of_number(number, sleep).0 == BlockReason::Futex)
    }
}

fn of_functions(functions: &[&str], sleep: Sleep) -> BlockReason {
    let is_lock = |function: &&str| LOCKS.iter().any(|lock| function.starts_with(lock));
    // A futex with priority inheritance sleeps in a lock of the kernel too, and is no lock inside the kernel.
    if functions.iter().any(is_lock) && !functions.iter().any(|function| function.starts_with("futex_")) {
        return BlockReason::KernelLock;
    }
    // While it copies the process, `kernel_clone` does not wait for the child of vfork.
    let mut innermost = functions.iter().take_while(|function| !function.starts_with("copy_process"));
    let named = innermost.find_map(|function| {
        FUNCTIONS.iter().find(|(begin, _)| function.starts_with(begin)).map(|(_, reason)| *reason)
    });
    named.unwrap_or(match sleep {
        Sleep::Uninterruptible => BlockReason::Io,
        Sleep::Stopped => BlockReason::Stopped,
        Sleep::Interruptible => BlockReason::Other,
    })
}

/// The system call by its function: `__x64_sys_futex`, or `__arm64_sys_futex`.
fn system_call(functions: &[&str]) -> Option<String> {
    functions.iter().find_map(|function| {
        let (before, call) = function.split_once("_sys_")?;
        ["__x64", "__arm64", "__ia32", "__riscv"].contains(&before).then(|| call.to_owned())
    })
}

/// The reason of a thread that was already in the system call with this number.
#[cfg(target_arch = "x86_64")]
fn of_number(number: Option<u64>, sleep: Sleep) -> (BlockReason, Option<String>) {
    let known = match number {
        Some(202 | 449 | 455) => Some((BlockReason::Futex, "futex")),
        Some(7 | 271) => Some((BlockReason::Poll, "poll")),
        Some(23 | 270) => Some((BlockReason::Poll, "select")),
        Some(232 | 281 | 441) => Some((BlockReason::Poll, "epoll_wait")),
        Some(35 | 230) => Some((BlockReason::Sleep, "nanosleep")),
        Some(61 | 247) => Some((BlockReason::Child, "wait4")),
        // clone, vfork and clone3: without CLONE_VFORK they do not sleep for long.
        Some(56) => Some((BlockReason::Vfork, "clone")),
        Some(58) => Some((BlockReason::Vfork, "vfork")),
        Some(435) => Some((BlockReason::Vfork, "clone3")),
        Some(43 | 288) => Some((BlockReason::Socket, "accept")),
        Some(45 | 47 | 299) => Some((BlockReason::Socket, "recv")),
        Some(65 | 220) => Some((BlockReason::SystemV, "semop")),
        Some(69 | 70) => Some((BlockReason::SystemV, "msgrcv")),
        Some(34 | 128 | 130) => Some((BlockReason::Stopped, "sigsuspend")),
        Some(0) => Some((BlockReason::Other, "read")),
        _ => None,
    };
    match known {
        Some((reason, name)) if sleep != Sleep::Stopped => (reason, Some(name.into())),
        _ => (of_functions(&[], sleep), None),
    }
}

/// The numbers of the other architectures are not listed here.
#[cfg(not(target_arch = "x86_64"))]
fn of_number(_: Option<u64>, sleep: Sleep) -> (BlockReason, Option<String>) {
    (of_functions(&[], sleep), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(functions: &str) -> BlockReason {
        of_functions(&functions.split(' ').collect::<Vec<_>>(), Sleep::Interruptible)
    }

    #[test]
    fn reason_is_found_on_the_stack() {
        for (functions, expected) in [
            ("__schedule schedule futex_do_wait __futex_wait futex_wait do_futex", BlockReason::Futex),
            ("schedule __rt_mutex_slowlock rt_mutex_wait_proxy_lock futex_lock_pi", BlockReason::Futex),
            ("schedule rwsem_down_write_slowpath down_write vm_mmap_pgoff", BlockReason::KernelLock),
            ("schedule schedule_timeout unix_stream_read_generic sock_recvmsg", BlockReason::Socket),
            ("schedule anon_pipe_read vfs_read", BlockReason::Pipe),
            ("schedule do_nanosleep hrtimer_nanosleep", BlockReason::Sleep),
            (
                "schedule schedule_timeout __wait_for_common wait_for_vfork_done kernel_clone",
                BlockReason::Vfork,
            ),
            ("schedule schedule_timeout __wait_for_common kernel_clone __do_sys_vfork", BlockReason::Vfork),
            ("schedule io_schedule folio_wait_bit dup_mmap copy_process kernel_clone", BlockReason::Io),
            ("schedule down_write copy_process kernel_clone", BlockReason::Other),
            ("schedule something_else", BlockReason::Other),
        ] {
            assert_eq!(reason(functions), expected, "{functions}");
        }
        assert_eq!(of_functions(&["schedule"], Sleep::Uninterruptible), BlockReason::Io);
    }

    #[test]
    fn system_call_has_the_name_of_its_function() {
        assert_eq!(system_call(&["schedule", "__x64_sys_futex", "do_syscall_64"]).as_deref(), Some("futex"));
        assert_eq!(system_call(&["schedule", "do_sys_poll"]), None);
    }
}
