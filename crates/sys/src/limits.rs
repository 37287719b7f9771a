//! The live `kernel.*` settings of System V IPC, read by one `IPC_INFO` each. They are those of the caller's IPC
//! namespace, as `/proc/sys/kernel` shows them.

use crate::ipc::{Msginfo, Seminfo, flag, msgctl, semctl, shm_limits};

/// `kernel.sem`: the four limits on semaphores, in the order of the file (proc(5)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SemLimits {
    /// SEMMSL: semaphores in a set.
    pub per_set: u32,
    /// SEMMNS: semaphores in all sets.
    pub total: u32,
    /// SEMOPM: operations in a call.
    pub ops: u32,
    /// SEMMNI: sets.
    pub sets: u32,
}

impl SemLimits {
    /// The defaults of Linux since 3.19 (`include/uapi/linux/sem.h`).
    pub const DEFAULT: SemLimits =
        SemLimits { per_set: 32_000, total: 1_024_000_000, ops: 500, sets: 32_000 };

    /// The current settings; the defaults if the kernel has no System V IPC.
    pub fn read() -> SemLimits {
        let mut info = Seminfo::default();
        // SAFETY: the command fills in the live structure.
        let answer = unsafe { semctl(0, 0, flag::IPC_INFO, &raw mut info as usize) };
        answer.map_or(Self::DEFAULT, |_| SemLimits {
            per_set: info.semmsl as u32,
            total: info.semmns as u32,
            ops: info.semopm as u32,
            sets: info.semmni as u32,
        })
    }
}

/// `kernel.msgmax`, `kernel.msgmnb`, `kernel.msgmni`: the limits on message queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MsgLimits {
    /// MSGMAX: bytes of a message.
    pub message: u64,
    /// MSGMNB: bytes of a new queue.
    pub queue: u64,
    /// MSGMNI: queues.
    pub queues: u32,
}

impl MsgLimits {
    /// The defaults of Linux since 3.19 (`include/uapi/linux/msg.h`).
    pub const DEFAULT: MsgLimits = MsgLimits { message: 8192, queue: 16_384, queues: 32_000 };

    /// The current settings; the defaults if the kernel has no System V IPC.
    pub fn read() -> MsgLimits {
        let mut info = Msginfo::default();
        // SAFETY: the command fills in the live structure.
        let answer = unsafe { msgctl(0, flag::IPC_INFO, &raw mut info as usize) };
        answer.map_or(Self::DEFAULT, |_| MsgLimits {
            message: info.msgmax as u64,
            queue: info.msgmnb as u64,
            queues: info.msgmni as u32,
        })
    }
}

/// `kernel.shmmax`, `kernel.shmall`, `kernel.shmmni`: the limits on shared memory segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShmLimits {
    /// SHMMAX: bytes of a segment.
    pub segment: u64,
    /// SHMALL: pages of all segments.
    pub total: u64,
    /// SHMMNI: segments.
    pub segments: u32,
}

impl ShmLimits {
    /// The defaults of Linux since 3.16 (`include/uapi/linux/shm.h`).
    pub const DEFAULT: ShmLimits =
        ShmLimits { segment: u64::MAX - (1 << 24), total: u64::MAX - (1 << 24), segments: 4096 };

    /// The current settings; the defaults if the kernel has no System V IPC.
    pub fn read() -> ShmLimits {
        shm_limits().map_or(Self::DEFAULT, |(_, info)| ShmLimits {
            segment: info.shmmax,
            total: info.shmall,
            segments: info.shmmni.try_into().unwrap_or(u32::MAX),
        })
    }
}

/// The maximum length of a file that this process may create, in bytes (`RLIMIT_FSIZE`); `u64::MAX` if there is no
/// limit.
pub fn file_size() -> u64 {
    of_process(libc::RLIMIT_FSIZE)
}

/// One more than the highest number of a descriptor that this process may have (`RLIMIT_NOFILE`).
pub fn open_files() -> u64 {
    of_process(libc::RLIMIT_NOFILE)
}

/// The maximum size of the main thread's stack, in bytes (`RLIMIT_STACK`); `u64::MAX` if there is no limit.
pub fn stack() -> u64 {
    of_process(libc::RLIMIT_STACK)
}

/// A soft limit of getrlimit(2).
fn of_process(resource: libc::__rlimit_resource_t) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: writes the live structure. A failure, which the manual does not mention, leaves it unlimited.
    unsafe { libc::getrlimit(resource, &mut limit) };
    limit.rlim_cur
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_proc() {
        let read = |name: &str| -> Vec<u64> {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap();
            text.split_whitespace().map(|number| number.parse().unwrap()).collect()
        };
        let (sem, msg, shm) = (SemLimits::read(), MsgLimits::read(), ShmLimits::read());
        assert_eq!([sem.per_set, sem.total, sem.ops, sem.sets].map(u64::from).as_slice(), read("sem"));
        assert_eq!([msg.message], *read("msgmax"));
        assert_eq!([msg.queue], *read("msgmnb"));
        assert_eq!([u64::from(msg.queues)], *read("msgmni"));
        assert_eq!([shm.segment], *read("shmmax"));
        assert_eq!([shm.total], *read("shmall"));
        assert_eq!([u64::from(shm.segments)], *read("shmmni"));
    }
}
