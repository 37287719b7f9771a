//! Kernel objects that belong to no arena: no call may change them, whatever an arena contains.

use super::caller::SEGMENT;
use super::scene::remove_segment;
use unspin_sys::ipc::{self, flag, shm_limits, shm_remove, shm_stat_any};

/// A segment, a queue and a set, until the process ends that made them.
pub struct Strangers {
    pub segment: i32,
    queue: i32,
    set: i32,
}

/// Bytes of the segment.
const BYTES: usize = 12_321;

impl Strangers {
    pub fn new() -> Strangers {
        let made = "the kernel makes one";
        let strangers = Strangers {
            segment: ipc::shmget(flag::IPC_PRIVATE, BYTES, 0o600).expect(made),
            queue: ipc::msgget(flag::IPC_PRIVATE, 0o600).expect(made),
            set: ipc::semget(flag::IPC_PRIVATE, 1, 0o600).expect(made),
        };
        strangers.leave_a_janitor();
        strangers
    }

    /// An error if one of them is gone.
    pub fn are_well(&self) -> Result<(), String> {
        let mut room = [0u64; 64];
        let at = room.as_mut_ptr() as usize;
        // SAFETY: the room is larger than what IPC_STAT writes.
        let (queue, set) = unsafe {
            (ipc::msgctl(self.queue, flag::IPC_STAT, at), ipc::semctl(self.set, 0, flag::IPC_STAT, at))
        };
        let segment = shm_stat_any(self.segment).is_ok_and(|(_, status)| status.shm_segsz == BYTES as u64);
        match segment && queue.is_ok() && set.is_ok() {
            true => Ok(()),
            false => Err("hostile: an object of the kernel's was removed that is a stranger's".into()),
        }
    }

    /// Removes the segments that scenes of this process have made: those of these ids, and what calls have made
    /// besides.
    pub fn remove_segments(ids: &[i32]) {
        ids.iter().copied().for_each(remove_segment);
        remove_all_of(std::process::id() as i32);
    }

    /// A process that outlives this one, however it ends, and removes what it leaves.
    fn leave_a_janitor(&self) {
        let maker = std::process::id() as i32;
        // SAFETY: the child uses nothing of its parent's but numbers; it ends without running what belongs to its
        // parent.
        unsafe {
            let mut ends = [0; 2];
            assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0);
            if libc::fork() == 0 {
                libc::setsid();
                // The parent's output may be a pipe, whose reader waits for its end.
                (0..1024).filter(|fd| *fd != ends[0]).for_each(|fd| {
                    let _ = libc::close(fd);
                });
                // Returns when the last writer, the parent, is gone.
                while libc::read(ends[0], ends.as_mut_ptr().cast(), 1) > 0 {}
                let _ = shm_remove(self.segment);
                let _ = ipc::msgctl(self.queue, flag::IPC_RMID, 0);
                let _ = ipc::semctl(self.set, 0, flag::IPC_RMID, 0);
                remove_all_of(maker);
                libc::_exit(0);
            }
            libc::close(ends[0]);
        }
    }
}

/// Removes the segments that a process has made for scenes.
fn remove_all_of(maker: i32) {
    let Ok((highest, _)) = shm_limits() else { return };
    for (id, status) in (0..=highest).filter_map(|index| shm_stat_any(index).ok()) {
        if status.shm_cpid == maker && status.shm_segsz == SEGMENT as u64 {
            let _ = shm_remove(id);
        }
    }
}
