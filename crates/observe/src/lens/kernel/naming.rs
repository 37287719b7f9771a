//! Names for the kernel's locks.
//!
//! A lock in the kernel's data is named after its variable. Of a lock in dynamic memory the kernel tells the address and
//! the flags only, but the functions that wait for it say what it is: only a run queue's lock is taken in `__schedule`. One
//! such function among the waiters of a lock names it for all of them. A lock without such a function is named by its kind
//! and the function that waited the longest: `spinlock in do_msgsnd`.

use unspin_trace::KernelSymbols;

/// A frame of the kernel's stack.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KernelFrame {
    /// The function; empty if it has no name.
    pub function: String,
    /// The function and the offset in it, `__schedule+0xad`; or the address.
    pub place: String,
}

/// Names of functions, or their beginnings, that take locks on behalf of their callers.
const TAKE: [&str; 29] = [
    "_raw_spin_",
    "_raw_read_",
    "_raw_write_",
    "__raw_",
    "do_raw_",
    "queued_spin_lock",
    "native_queued_spin_lock",
    "__pv_queued_spin_lock",
    "queued_read_lock",
    "queued_write_lock",
    "raw_spin_rq_lock",
    "mutex_lock",
    "__mutex_lock",
    "ww_mutex_lock",
    "down_read",
    "down_write",
    "rwsem_",
    "__down",
    "down_interruptible",
    "down_killable",
    "percpu_rwsem_wait",
    "percpu_down",
    "__percpu_down",
    "mutex_optimistic_spin",
    "rt_mutex_",
    "__rt_mutex_",
    "rt_spin_lock",
    "trace_contention",
    "__traceiter_contention",
];

/// Functions that take one sort of lock only: the kind of lock, what it is, and the functions or their beginnings (`*`).
/// `down_write < dup_mmap` is dup_mmap where it calls down_write: by another function it takes another lock. A function that
/// takes several sorts in one way, such as vma_prepare, is in no list. Linux 5.19 to 6.18.
pub(super) const TAKEN_IN: [(&str, &str, &[&str]); 20] = [
    (
        "spinlock",
        "run-queue lock",
        &[
            "__schedule",
            "raw_spin_rq_lock_nested",
            "raw_spin_rq_trylock",
            "__task_rq_lock",
            "task_rq_lock",
            "task_sched_runtime",
            "sched_balance_*",
            "newidle_balance",
            "load_balance",
            "sched_tick",
            "scheduler_tick",
            "ttwu_queue",
            "sched_ttwu_pending",
            "ttwu_do_activate",
        ],
    ),
    (
        "spinlock",
        "futex bucket",
        &[
            "futex_q_lock",
            "futex_wake",
            "futex_wait_setup",
            "futex_requeue",
            "futex_wake_op",
            "futex_unqueue*",
        ],
    ),
    (
        "rwsem",
        "mmap_lock",
        &[
            "lock_mm_and_find_vma",
            "do_user_addr_fault",
            "vm_mmap_pgoff",
            "__vm_munmap",
            "do_madvise",
            "exit_mmap",
            "down_write_killable < dup_mmap",
            "do_mprotect_pkey",
            "__do_sys_brk",
            "__x64_sys_brk",
            "mmap_read_lock*",
            "mmap_write_lock*",
            "__mm_populate",
        ],
    ),
    // Static: named after its variable on kernels that list them.
    (
        "rwlock",
        "tasklist_lock",
        &["release_task", "copy_process", "__do_wait", "do_wait", "exit_notify", "do_exit", "ksys_setsid"],
    ),
    (
        "rwsem",
        "anon_vma lock",
        &["unlink_anon_vmas", "anon_vma_clone", "anon_vma_fork", "__anon_vma_prepare"],
    ),
    ("rwsem", "i_mmap lock", &["unlink_file_vma*", "down_write < dup_mmap", "vma_link*", "__vma_link_file"]),
    (
        "spinlock",
        "zone lock",
        &["rmqueue*", "free_pcppages_bulk", "free_one_page", "get_page_from_freelist", "__free_one_page*"],
    ),
    ("spinlock", "lruvec lock", &["folio_lruvec_lock*", "folio_batch_move_lru", "lru_add_drain*"]),
    ("spinlock", "page-table lock", &["__pte_offset_map_lock", "pte_offset_map_lock"]),
    (
        "spinlock",
        "slab list lock",
        &["get_partial_node*", "put_cpu_partial", "__put_partials", "__slab_free", "___slab_alloc"],
    ),
    (
        "spinlock",
        "semaphore set (System V)",
        &["do_semtimedop", "__do_semtimedop", "sem_lock", "semctl_*", "freeary", "exit_sem"],
    ),
    ("spinlock", "message queue (System V)", &["do_msgsnd", "do_msgrcv", "ksys_msgctl*", "freeque"]),
    ("mutex", "pipe", &["pipe_read", "pipe_write", "anon_pipe_read", "anon_pipe_write", "pipe_release"]),
    (
        "spinlock",
        "wait queue",
        &[
            "__wake_up*",
            "prepare_to_wait*",
            "add_wait_queue*",
            "remove_wait_queue",
            "finish_wait",
            "autoremove_*",
        ],
    ),
    ("spinlock", "epoll", &["ep_poll_callback", "ep_send_events", "do_epoll_wait", "ep_done_scan"]),
    ("rwlock", "epoll", &["ep_poll_callback", "ep_start_scan", "ep_done_scan"]),
    ("spinlock", "dentry lock", &["lockref_*", "dput", "d_alloc*", "d_walk", "fast_dput"]),
    ("spinlock", "timer base", &["lock_timer_base", "__mod_timer", "run_timer_base", "__run_timer*"]),
    (
        "spinlock",
        "high-resolution timers",
        &["lock_hrtimer_base", "hrtimer_start_range_ns", "hrtimer_interrupt"],
    ),
    (
        "spinlock",
        "sighand lock",
        &["__lock_task_sighand", "lock_task_sighand", "get_signal", "do_notify_parent*"],
    ),
];

/// The frames of a stack.
pub fn frames(symbols: &KernelSymbols, stack: &[u64]) -> Vec<KernelFrame> {
    let frame = |(n, &address): (usize, &u64)| {
        // All but the first are return addresses.
        let found = if n == 0 { symbols.function(address) } else { symbols.caller(address) };
        match found {
            Some(symbol) => KernelFrame {
                function: symbol.name.clone(),
                place: format!("{}+{:#x}", symbol.name, address - symbol.address),
            },
            None => KernelFrame { function: String::new(), place: format!("{address:#x}") },
        }
    };
    stack.iter().enumerate().map(frame).collect()
}

/// The functions of a stack, innermost first; addresses for those without a name.
pub fn functions(symbols: &KernelSymbols, stack: &[u64]) -> Vec<String> {
    let function = |frame: KernelFrame| if frame.function.is_empty() { frame.place } else { frame.function };
    frames(symbols, stack).into_iter().map(function).collect()
}

/// The frames from the function that wanted the lock on: without those that take locks for others.
pub fn callers(frames: &[KernelFrame]) -> &[KernelFrame] {
    let takes = |frame: &KernelFrame| {
        TAKE.iter().any(|start| frame.function.starts_with(start)) || frame.function == "down"
    };
    let first = frames.iter().position(|frame| !takes(frame));
    &frames[first.unwrap_or(frames.len().saturating_sub(1))..]
}

/// The sort of a lock of this kind for which one of these functions waits. The lesser of two sorts is more certain.
pub fn class(lock_kind: &str, frames: &[KernelFrame]) -> Option<LockClass> {
    // Functions that take the lock on behalf of the caller may tell the sort, too.
    let last = frames.len().min(frames.len() - callers(frames).len() + 1);
    let is_one = |pattern: &str, function: &str| match pattern.strip_suffix('*') {
        Some(start) => function.starts_with(start),
        None => function == pattern,
    };
    let is_in = |pattern: &&str| match pattern.split_once(" < ") {
        Some((called, function)) => {
            frames[..last].windows(2).any(|two| two[0].function == called && two[1].function == function)
        }
        None => frames[..last].iter().any(|frame| is_one(pattern, &frame.function)),
    };
    let fits = |(kind, _, patterns): &(&str, &str, &[&str])| *kind == lock_kind && patterns.iter().any(is_in);
    TAKEN_IN.iter().position(fits).map(LockClass)
}

/// A sort of lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LockClass(usize);

impl LockClass {
    /// What the lock is.
    pub fn name(self) -> &'static str {
        TAKEN_IN[self.0].1
    }
}

/// The variable of the kernel's data in which a lock lies: its name, with the offset if it is not at its beginning.
pub fn variable(symbols: &KernelSymbols, lock: u64) -> Option<String> {
    let symbol = symbols.variable(lock)?;
    let module = symbol.module.as_ref().map_or(String::new(), |module| format!(" [{module}]"));
    Some(match lock - symbol.address {
        0 => format!("{}{module}", symbol.name),
        offset => format!("{}+{offset:#x}{module}", symbol.name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_report::next::Subject;
    use unspin_report::next::lens::kernel;

    fn stack(functions: &[&str]) -> Vec<KernelFrame> {
        let frame = |function: &&str| KernelFrame {
            function: function.to_string(),
            place: format!("{function}+0x1"),
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn functions_that_take_locks_for_others_are_skipped() {
        let frames = stack(&["__pv_queued_spin_lock_slowpath", "_raw_spin_lock", "__schedule", "schedule"]);
        assert_eq!(callers(&frames)[0].function, "__schedule");
        let frames = stack(&["_raw_spin_lock"]);
        assert_eq!(callers(&frames)[0].function, "_raw_spin_lock", "there is no other");
        assert!(callers(&[]).is_empty());
    }

    #[test]
    fn classes_need_kind_and_function() {
        let name = |kind: &str, frames: &[KernelFrame]| class(kind, frames).map(LockClass::name);
        let frames = stack(&["_raw_spin_lock", "__schedule", "schedule"]);
        assert_eq!(name("spinlock", &frames), Some("run-queue lock"));
        assert_eq!(name("mutex", &frames), None);
        let frames = stack(&["_raw_spin_lock", "raw_spin_rq_lock_nested", "try_to_wake_up"]);
        assert_eq!(name("spinlock", &frames), Some("run-queue lock"));
        let frames = stack(&["rwsem_down_write_slowpath", "down_write_killable", "vm_mmap_pgoff"]);
        assert_eq!(name("rwsem", &frames), Some("mmap_lock"));
        assert_eq!(
            name("spinlock", &stack(&["_raw_spin_lock", "futex_unqueue_multiple"])),
            Some("futex bucket")
        );
        assert_eq!(name("spinlock", &[]), None);
    }

    /// In the order of mm/mmap.c: the parent's mmap_lock by down_write_killable, then of each file's mapping i_mmap_rwsem by
    /// down_write. vma_prepare takes i_mmap_rwsem and the lock of an anon_vma in the same way.
    #[test]
    fn function_that_takes_two_sorts_of_lock_does_not_name_one_wrongly() {
        let name = |takes: &str, function: &str| {
            let frames = stack(&["rwsem_down_write_slowpath", takes, function, "copy_process"]);
            class("rwsem", &frames).map(LockClass::name)
        };
        assert_eq!(name("down_write_killable", "dup_mmap"), Some("mmap_lock"));
        assert_eq!(name("down_write", "dup_mmap"), Some("i_mmap lock"));
        assert_eq!(name("down_write", "vma_prepare"), None);
    }

    #[test]
    fn variables_are_named_with_offsets() {
        let text =
            b"ffffffff82000000 D tasklist_lock\nffffffff82000040 d next\nffffffffc0000000 d table\t[ext4]\n\
            ffffffffc0000100 d after\t[ext4]\n";
        let symbols = KernelSymbols::parse(text);
        assert_eq!(variable(&symbols, 0xffff_ffff_8200_0000).as_deref(), Some("tasklist_lock"));
        assert_eq!(variable(&symbols, 0xffff_ffff_c000_0010).as_deref(), Some("table+0x10 [ext4]"));
        assert_eq!(variable(&symbols, 0xffff_8880_0000_0000), None);
    }

    #[test]
    fn each_sort_of_lock_has_advice_of_its_own() {
        for (_, name, _) in TAKEN_IN {
            assert_ne!(kernel::next(name, &Subject::Process(7)).text, kernel::UNKNOWN, "{name}");
        }
    }
}
