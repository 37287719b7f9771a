//! `kernel.sem_next_id` and `kernel.msg_next_id`: the id that the next new object is to have. A program that restores
//! others (CRIU) sets them. The kernel clears a setting when it assigns an id; no program can clear it otherwise.

use crate::ipc::flag::{IPC_PRIVATE, IPC_RMID};
use crate::ipc::{msgctl, msgget, semctl, semget};
use crate::sched::{self, ThreadQueries};
use crate::{Errno, file};

/// A setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextId {
    /// `kernel.sem_next_id`.
    Sem,
    /// `kernel.msg_next_id`.
    Msg,
}

/// The bits of an id that are the index; the rest is the sequence number (`ipc/util.h`).
const INDEX: i32 = (1 << 15) - 1;

impl NextId {
    /// The value, if it is set. The setting is cleared. `None` also if another process was faster, and where the
    /// program has restricted its system calls ([`ThreadQueries`]).
    pub fn take(self) -> Option<i32> {
        let wanted = self.read().filter(|&id| id >= 0)?;
        match self.create_and_remove() {
            // Another index if the kernel itself has an object of that index, another sequence number if another
            // process has created an object since the setting was read.
            Ok(id) if (id ^ wanted) & !INDEX != 0 || id & INDEX < wanted & INDEX => None,
            // An error: no index was left from the wanted one on, or the kernel has too many objects.
            _ => Some(wanted),
        }
    }

    fn read(self) -> Option<i32> {
        if sched::thread_queries() == ThreadQueries::Forbidden {
            return None;
        }
        let path = match self {
            NextId::Sem => c"/proc/sys/kernel/sem_next_id",
            NextId::Msg => c"/proc/sys/kernel/msg_next_id",
        };
        let mut buffer = [0; 16];
        let text = file::read_once(path, &mut buffer).ok()?;
        core::str::from_utf8(text).ok()?.trim_end().parse().ok()
    }

    /// Creates an object of the kernel, to which the kernel assigns the id, and removes it.
    fn create_and_remove(self) -> Result<i32, Errno> {
        let id = match self {
            NextId::Sem => semget(IPC_PRIVATE, 1, 0),
            NextId::Msg => msgget(IPC_PRIVATE, 0),
        }?;
        // SAFETY: the command has no argument. The object was created just now, and has no key.
        let _ = unsafe {
            match self {
                NextId::Sem => semctl(id, 0, IPC_RMID, 0),
                NextId::Msg => msgctl(id, IPC_RMID, 0),
            }
        };
        Ok(id)
    }
}
