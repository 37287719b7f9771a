//! What to do next about a lock of the kernel, by its name.

use crate::next::{Next, Step, Subject};

/// What to do about locks of these names, and the next step. A name is a sort of lock (`naming`), a variable, or the
/// function of a lock that is named after its caller. A name with `*` is a prefix. The first match counts.
const ADVICE: [(&[&str], &str, Step); 17] = [
    (
        &["run-queue lock"],
        "threads are woken and put to sleep too often, and each time takes a run queue's lock: let a thread do more work for \
         each wake-up, or use fewer threads. Of a program that is built on unspin-runqueue, compare one queue with one for \
         each CPU (unspin prove --runqueue global,percpu). The callers that sleep:",
        Step::ProveRunQueue,
    ),
    (
        &["futex bucket", "futex_*"],
        "the lock guards the futexes of one bucket, which many threads wait at or wake. Find the futex and its callers:",
        Step::Futex,
    ),
    (
        &["mmap_lock"],
        "threads of one process map, unmap and fault in pages at the same time. Make fewer calls of mmap, munmap, mprotect and \
         madvise: reuse memory, fault it in at once (MAP_POPULATE), or use processes in place of threads. If the calls are \
         malloc's, let it keep its memory (MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_), and \
         compare LOST:",
        Step::KeepMemory,
    ),
    (
        &[
            "anon_vma lock",
            "i_mmap lock",
            "tasklist_lock",
            "pidmap_lock",
            "cgroup_threadgroup_rwsem",
            "css_set_lock",
        ],
        "processes or threads that share memory begin and end: keep them for more work (a pool), or use posix_spawn or vfork in \
         place of fork. The functions of the kernel that take the time:",
        Step::Profile,
    ),
    (
        &["zone lock", "lruvec lock", "page-table lock"],
        "all CPUs allocate and free pages: keep memory in place of freeing it, or use larger pages (madvise with \
         MADV_HUGEPAGE). If the pages are malloc's, let it keep them \
         (MALLOC_TRIM_THRESHOLD_), and compare LOST:",
        Step::KeepMemory,
    ),
    (
        &["slab list lock"],
        "objects of the kernel (files, sockets, messages, processes) are made on one CPU and freed on another: make fewer, or \
         let the thread that made one free it. The functions of the kernel that make them:",
        Step::Profile,
    ),
    (
        &[
            "semaphore set (System V)",
            "message queue (System V)",
            "shm_*",
            "do_shm*",
            "ksys_shm*",
            "ipcget*",
            "ipc_*",
            "newque",
            "newseg",
            "newary",
        ],
        "the lock belongs to an object of System V IPC: unspin's engine rcu has one for each object, and none where a semop can \
         proceed. Prove the difference (a running program must be started again, by unspin prove --sysv rcu):",
        Step::ProveSysv,
    ),
    (
        &["pipe", "pipe_*", "anon_pipe_*", "fifo_*"],
        "several threads read or write one pipe: use a pipe for each pair of threads, or write more at a time. The callers that \
         wait:",
        Step::OffCpu,
    ),
    (
        &["epoll", "ep_*", "do_epoll_*"],
        "several threads use one epoll instance: use an instance for each thread, or EPOLLET and EPOLLONESHOT, so that an event \
         wakes one thread. The callers that wait:",
        Step::OffCpu,
    ),
    (
        &["wait queue"],
        "many threads wait at one object, and each event changes its list: let fewer threads wait there (EPOLLEXCLUSIVE, one \
         reader, one descriptor for each thread). The callers that wait:",
        Step::OffCpu,
    ),
    (
        &["dentry lock", "rename_lock", "mount_lock", "path_*", "lookup_*", "dput", "dget*"],
        "threads look up the same paths: keep files open, or open them relative to a folder's descriptor (openat). The \
         functions of the kernel that take the time:",
        Step::Profile,
    ),
    (
        &[
            "ext4_*",
            "xfs_*",
            "btrfs_*",
            "shmem_*",
            "generic_file_*",
            "inode_*",
            "iterate_dir",
            "filename_create",
            "do_unlink*",
        ],
        "threads write one file, or change one folder: give each thread a file or a folder of its own. The callers that wait:",
        Step::OffCpu,
    ),
    (
        &[
            "lock_sock*",
            "release_sock*",
            "tcp_*",
            "udp_*",
            "unix_*",
            "sock_*",
            "__sock_*",
            "skb_*",
            "inet_*",
            "netlink_*",
        ],
        "threads share a socket: use one for each thread (SO_REUSEPORT), or send and receive more in a call (sendmmsg, \
         recvmmsg). The callers that wait:",
        Step::OffCpu,
    ),
    (
        &["timer base", "high-resolution timers", "hrtimer_*"],
        "timers are set and cancelled very often: use fewer timeouts, or longer ones that are moved on rather than set anew. \
         The callers that wait:",
        Step::OffCpu,
    ),
    (
        &["sighand lock", "*.siglock"],
        "threads of one process send or receive signals, or ask for the CPU time of the process (getrusage, times, timers): do \
         it less often. The functions of the kernel that take the time:",
        Step::Profile,
    ),
    (
        &["files_struct*", "alloc_fd", "close_fd*", "fd_install", "file_close_fd*", "__close_range"],
        "threads of one process open and close descriptors: keep them open, or use processes in place of threads. The functions of \
         the kernel that take the time:",
        Step::Profile,
    ),
    (
        &["log_wait", "console_*", "tty_*", "n_tty_*"],
        "threads write to one terminal: write to a file, or more at a time. The callers that wait:",
        Step::OffCpu,
    ),
];

/// About a lock that none of `ADVICE` fits.
pub const UNKNOWN: &str = "the functions above want the lock, and the functions that call them (--json has whole stacks) name the \
                       system call that the program makes too often, or from too many threads. What the kernel does there:";

/// What to do next about a lock of this name.
pub fn next(name: &str, subject: &Subject) -> Next {
    // The name of a lock that is named after its caller has the kind and the function.
    let name = name.split_once(" in ").map_or(name, |(_, function)| function);
    let fits = |pattern: &&str| match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => name == *pattern,
    };
    let found = ADVICE.iter().find(|(names, ..)| names.iter().any(fits));
    match found {
        Some((_, text, step)) => Next::with_step(text, *step, subject),
        None => Next::with_step(UNKNOWN, Step::Profile, subject),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_variable_or_caller_have_advice() {
        let command = |name| next(name, &Subject::Process(7)).command;
        assert_eq!(command("futex bucket").as_deref(), Some("unspin meter --lens futex -p 7"));
        assert_eq!(command("rwsem in ipcget").as_deref(), None, "a running program keeps its engine");
        assert_eq!(
            command("mutex in unix_stream_read_generic").as_deref(),
            Some("unspin meter --lens off-cpu -p 7")
        );
        assert_eq!(command("spinlock in free_percpu").as_deref(), Some("unspin profile -p 7"));
        assert_eq!(next("spinlock in free_percpu", &Subject::Process(7)).text, UNKNOWN);
        let semopbench = Subject::Program(vec!["semopbench".into(), "-g".into(), "64".into()]);
        let proof = next("semaphore set (System V)", &semopbench).command;
        assert_eq!(proof.as_deref(), Some("unspin prove --sysv rcu semopbench -g 64"));
    }
}
