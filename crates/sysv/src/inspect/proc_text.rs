//! The text of the files in `/proc/sysvipc` (proc(5)) for the objects of an engine: the same columns as the kernel's,
//! to the byte.

use crate::Engine;
use crate::class::Class;
use crate::shm::usage_of;
use core::fmt::{self, Write};
use unspin_sys::Errno;
use unspin_sys::ipc::{IpcPerm, MsqidDs, SemidDs, ShmidDs};

impl Engine {
    /// The present text of the file of a class. Fails like the commands that list objects: `ENOMEM` if the arena has no
    /// free slot; in the `kernel` engine with the kernel's errors.
    pub fn proc_text(&self, class: Class) -> Result<String, Errno> {
        let mut text = String::new();
        let written = match class {
            Class::Sem => sets(&mut text, &self.sets()?),
            Class::Msg => queues(&mut text, &self.queues()?),
            Class::Shm => segments(&mut text, &self.segments()?),
        };
        written.expect("a string takes whatever fits into memory");
        Ok(text)
    }
}

/// Key, id and mode: the beginning of every line. Widths here and below are those of the kernel's format strings, in
/// the `sysvipc_*_proc_show` of `ipc/sem.c`, `ipc/msg.c` and `ipc/shm.c`. The headings are from the same files.
fn begin(text: &mut String, id: i32, perm: &IpcPerm) -> fmt::Result {
    write!(text, "{:10} {id:10}  {:4o}", perm.key, perm.mode)
}

fn owners(text: &mut String, perm: &IpcPerm) -> fmt::Result {
    write!(text, " {:5} {:5} {:5} {:5}", perm.uid, perm.gid, perm.cuid, perm.cgid)
}

fn times(text: &mut String, times: &[i64]) -> fmt::Result {
    times.iter().try_for_each(|time| write!(text, " {time:10}"))?;
    Ok(())
}

fn sets(text: &mut String, sets: &[(i32, SemidDs)]) -> fmt::Result {
    text.push_str("       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n");
    for (id, set) in sets {
        begin(text, *id, &set.sem_perm)?;
        write!(text, " {:10}", set.sem_nsems)?;
        owners(text, &set.sem_perm)?;
        times(text, &[set.sem_otime, set.sem_ctime])?;
        text.push('\n');
    }
    Ok(())
}

fn queues(text: &mut String, queues: &[(i32, MsqidDs)]) -> fmt::Result {
    text.push_str(
        "       key      msqid perms      cbytes       qnum lspid lrpid   uid   gid  cuid  cgid      stime      rtime      ctime\n",
    );
    for (id, queue) in queues {
        begin(text, *id, &queue.msg_perm)?;
        write!(text, "  {:10} {:10}", queue.msg_cbytes, queue.msg_qnum)?;
        write!(text, " {:5} {:5}", queue.msg_lspid, queue.msg_lrpid)?;
        owners(text, &queue.msg_perm)?;
        times(text, &[queue.msg_stime, queue.msg_rtime, queue.msg_ctime])?;
        text.push('\n');
    }
    Ok(())
}

fn segments(text: &mut String, segments: &[(i32, ShmidDs)]) -> fmt::Result {
    text.push_str(
        "       key      shmid perms                  size  cpid  lpid nattch   uid   gid  cuid  cgid      atime      dtime      ctime                   rss                  swap\n",
    );
    for ((id, segment), bytes) in segments.iter().zip(usage_of(segments)) {
        begin(text, *id, &segment.shm_perm)?;
        write!(text, " {:21} {:5} {:5}", segment.shm_segsz, segment.shm_cpid, segment.shm_lpid)?;
        write!(text, "  {:5}", segment.shm_nattch)?;
        owners(text, &segment.shm_perm)?;
        times(text, &[segment.shm_atime, segment.shm_dtime, segment.shm_ctime])?;
        writeln!(text, " {:21} {:21}", bytes.resident, bytes.swapped)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Options};
    use std::path::Path;
    use unspin_sys::ipc::flag::IPC_PRIVATE;

    /// The `kernel` engine must show what the kernel shows, apart from objects that other processes make and remove
    /// meanwhile.
    #[test]
    fn kernel_engine_proc_text_equals_proc_sysvipc() {
        let kernel = Engine::open(Kind::Kernel, Path::new(""), &Options::default(), None).unwrap();
        let ids = [
            (Class::Sem, "sem", kernel.semget(IPC_PRIVATE, 7, 0o640).unwrap()),
            (Class::Msg, "msg", kernel.msgget(IPC_PRIVATE, 0o4).unwrap()),
            (Class::Shm, "shm", kernel.shmget(IPC_PRIVATE, 123_456, 0o777).unwrap()),
        ];
        // SAFETY: the kernel chooses the address, and the write is inside the segment.
        unsafe { (kernel.shmat(ids[2].2, 0, 0).unwrap() as *mut u8).write_volatile(1) };
        for (class, name, id) in ids {
            let shown = std::fs::read_to_string(format!("/proc/sysvipc/{name}")).unwrap();
            let ours = kernel.proc_text(class).unwrap();
            let line = |text: &str| {
                let words = |line: &&str| line.split_ascii_whitespace().nth(1) == Some(&id.to_string());
                text.lines().find(words).unwrap().to_owned()
            };
            assert_eq!(ours.lines().next(), shown.lines().next());
            assert_eq!(line(&ours), line(&shown));
            kernel.remove(class, id).unwrap();
        }
    }
}
