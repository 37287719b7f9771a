//! What to do next about a part of the threads' time.

use super::reason::Reason;
use crate::lens::next::{Next, Step};
use crate::lens::subject::Subject;

/// About threads that could run and had no CPU.
pub fn about_runnable(subject: &Subject) -> Next {
    let text = "threads were ready and had no CPU: more of them want to run than there are CPUs, or other programs use the CPUs. \
                Use as many threads as CPUs, and see what runs on them:";
    Next::new(text, Step::ProfileAll, subject)
}

/// About the time on CPUs, where it is most of the threads' time.
pub fn about_on_cpu(subject: &Subject) -> Next {
    let text = "the threads mostly run. The functions in which they do, locks on which they spin among them:";
    Next::new(text, Step::ProfileUser, subject)
}

/// About the time blocked for a reason.
pub fn about(reason: Reason, subject: &Subject) -> Next {
    let (text, step) = match reason {
        Reason::Futex => (
            "locks, conditions and joins, of which some may be threads that have nothing to do. The futexes with their callers:",
            Step::Futex,
        ),
        Reason::KernelLock => ("locks inside the kernel. Which ones:", Step::Kernel),
        Reason::Io => (
            "mostly a disk or a file system, no lock: read and write less, or more at a time; keep data in memory; or let other \
             threads work meanwhile. The callers above say in which system call",
            Step::None,
        ),
        Reason::Poll | Reason::Socket | Reason::Pipe if subject.is_beyond_pthread() => (
            "threads wait for descriptors, no lock: for work, or for the answer of another thread or process. The pthread lens sees \
             nothing of this program; the futexes at which its threads wait for each other:",
            Step::Futex,
        ),
        Reason::Poll | Reason::Socket | Reason::Pipe => (
            "threads wait for descriptors, no lock: for work, or for the answer of another thread or process. If a request waits \
             here too, the pthread lens says which waits are short enough for polling:",
            Step::Pthread,
        ),
        Reason::Sleep => (
            "threads sleep for a time that they chose, no lock. Nothing is lost, unless a thread sleeps until something has \
             happened: then let it wait for that, by a condition or a descriptor",
            Step::None,
        ),
        Reason::Child => (
            "processes wait for processes that they started, whose time is in this table if they were observed: look at the \
             other rows",
            Step::None,
        ),
        Reason::Vfork => (
            "a parent waits until its child of vfork, posix_spawn or system executes a program or exits, no disk and no lock: let \
             the child execute sooner, or start programs from a thread that has time",
            Step::None,
        ),
        Reason::SystemV => (
            "semaphores and messages of System V: unspin's engine rcu wakes fewer threads and takes no lock where a call can \
             proceed. Prove the difference (a running program must be started again, by unspin prove --sysv rcu):",
            Step::ProveSysv,
        ),
        Reason::Stopped => (
            "threads wait for a signal, or are stopped by one or by a debugger, no lock: nothing is lost unless they should run",
            Step::None,
        ),
        Reason::Other => ("no lock that is known: the callers above name the system call", Step::None),
    };
    Next::new(text, step, subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pthread_lens_is_suggested_where_it_can_work() {
        let shell = Subject::Program(vec!["/bin/sh".into()]);
        assert_eq!(about(Reason::Poll, &shell).command.as_deref(), Some("unspin meter /bin/sh"));
        // It is no program that can be executed, so the preload library cannot reach it.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("not-elf");
        std::fs::write(&file, "no\0ELF").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let file = file.to_str().unwrap().to_owned();
        let next = about(Reason::Poll, &Subject::Program(vec![file.clone().into()]));
        assert_eq!(next.command, Some(format!("unspin meter --lens futex {file}")));
    }
}
