//! What to do next about a part of the threads' time.

use crate::next::{Next, Step, Subject};
use serde::Serialize;

/// For what a thread blocked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockReason {
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

impl BlockReason {
    /// The reason's name in the table.
    pub fn name(self) -> &'static str {
        match self {
            BlockReason::Futex => "futex",
            BlockReason::KernelLock => "kernel lock",
            BlockReason::Io => "I/O and other sleep in state D",
            BlockReason::Poll => "poll, select, epoll",
            BlockReason::Socket => "socket",
            BlockReason::Pipe => "pipe",
            BlockReason::Sleep => "nanosleep",
            BlockReason::Child => "child process",
            BlockReason::Vfork => "vfork child, until it executes or exits",
            BlockReason::SystemV => "System V semaphore or message",
            BlockReason::Stopped => "signal or stop",
            BlockReason::Other => "other",
        }
    }

    /// Whether the thread waited for a descriptor.
    pub fn is_descriptor(self) -> bool {
        matches!(self, BlockReason::Poll | BlockReason::Socket | BlockReason::Pipe)
    }
}

/// About threads that could run and had no CPU.
pub fn about_runnable(subject: &Subject) -> Next {
    let text = "threads were ready and had no CPU: more of them want to run than there are CPUs, or other programs use the CPUs. \
                Use as many threads as CPUs, and see what runs on them:";
    Next::with_step(text, Step::ProfileAll, subject)
}

/// About the time on CPUs, where it is most of the threads' time.
pub fn about_on_cpu(subject: &Subject) -> Next {
    let text = "the threads mostly run. The functions in which they do, locks on which they spin among them:";
    Next::with_step(text, Step::ProfileUser, subject)
}

/// About the time blocked for a reason. Of waits for descriptors it must be known whether the pthread lens would see nothing
/// of the program.
pub fn about(reason: BlockReason, is_beyond_pthread: bool, subject: &Subject) -> Next {
    let (text, step) = match reason {
        BlockReason::Futex => (
            "locks, conditions and joins, of which some may be threads that have nothing to do. The futexes with their callers:",
            Step::Futex,
        ),
        BlockReason::KernelLock => ("locks inside the kernel. Which ones:", Step::Kernel),
        BlockReason::Io => (
            "mostly a disk or a file system, no lock: read and write less, or more at a time; keep data in memory; or let other \
             threads work meanwhile. The callers above say in which system call",
            Step::None,
        ),
        BlockReason::Poll | BlockReason::Socket | BlockReason::Pipe if is_beyond_pthread => (
            "threads wait for descriptors, no lock: for work, or for the answer of another thread or process. The pthread lens sees \
             nothing of this program; the futexes at which its threads wait for each other:",
            Step::Futex,
        ),
        BlockReason::Poll | BlockReason::Socket | BlockReason::Pipe => (
            "threads wait for descriptors, no lock: for work, or for the answer of another thread or process. If a request waits \
             here too, the pthread lens says which waits are short enough for polling:",
            Step::Pthread,
        ),
        BlockReason::Sleep => (
            "threads sleep for a time that they chose, no lock. Nothing is lost, unless a thread sleeps until something has \
             happened: then let it wait for that, by a condition or a descriptor",
            Step::None,
        ),
        BlockReason::Child => (
            "processes wait for processes that they started, whose time is in this table if they were observed: look at the \
             other rows",
            Step::None,
        ),
        BlockReason::Vfork => (
            "a parent waits until its child of vfork, posix_spawn or system executes a program or exits, no disk and no lock: let \
             the child execute sooner, or start programs from a thread that has time",
            Step::None,
        ),
        BlockReason::SystemV => (
            "semaphores and messages of System V: unspin's engine rcu wakes fewer threads and takes no lock where a call can \
             proceed. Prove the difference (a running program must be started again, by unspin prove --sysv rcu):",
            Step::ProveSysv,
        ),
        BlockReason::Stopped => (
            "threads wait for a signal, or are stopped by one or by a debugger, no lock: nothing is lost unless they should run",
            Step::None,
        ),
        BlockReason::Other => ("no lock that is known: the callers above name the system call", Step::None),
    };
    Next::with_step(text, step, subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pthread_lens_is_suggested_where_it_can_work() {
        let shell = Subject::Program(vec!["/bin/sh".into()]);
        let command = |is_beyond| about(BlockReason::Poll, is_beyond, &shell).command;
        assert_eq!(command(false).as_deref(), Some("unspin meter /bin/sh"));
        assert_eq!(command(true).as_deref(), Some("unspin meter --lens futex /bin/sh"));
    }
}
