//! msgctl(2).
//!
//! The checks are in the order of Linux 6.18 (`ipc/msg.c`: `ksys_msgctl` and what it calls). The functions name their
//! kernel counterparts.

use super::MsgQueue;
use super::object::queue_at;
use super::section::QueueSection;
use crate::class::Class;
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::registry::{self, Access, Id};
use crate::thread::Thread;
use crate::time;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::creds::CAP_SYS_RESOURCE;
use unspin_sys::ipc::{IpcPerm, Msginfo, MsqidDs, flag};
use unspin_sys::limits::MsgLimits;
use unspin_sys::{Errno, fault};

impl Engine {
    /// msgctl(2); `arg` is the address of the command's data.
    ///
    /// # Safety
    /// If `arg` is a valid address, the program must mean it to be read or written by the command. For an invalid
    /// address the call fails with `EFAULT`.
    pub unsafe fn msgctl(&self, id: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
        let Some(inner) = self.inner else {
            // SAFETY: the caller's promise is the kernel's.
            return unsafe { unspin_sys::ipc::msgctl(id, cmd, arg) };
        };
        if id < 0 || cmd < 0 {
            return Err(Errno::EINVAL);
        }
        let call = MsgctlCall { inner, thread: Thread::of(inner)?, id };
        match cmd {
            flag::IPC_INFO | flag::MSG_INFO => call.info(cmd, arg),
            flag::IPC_STAT => call.stat(id, Some(Access::Read), arg).map(|_| 0),
            flag::MSG_STAT => call.stat_index(Some(Access::Read), arg),
            flag::MSG_STAT_ANY => call.stat_index(None, arg),
            flag::IPC_SET => call.set(arg),
            flag::IPC_RMID => call.remove(),
            _ => Err(Errno::EINVAL),
        }
    }
}

/// MSGSSZ and MSGSEG of `include/uapi/linux/msg.h`.
const SEGMENT_BYTES: i32 = 16;
const SEGMENTS: u16 = 0xFFFF;

struct MsgctlCall {
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
}

impl MsgctlCall {
    /// `msgctl_info`. Needs no permission; the id must not be negative, but is not used.
    fn info(&self, cmd: i32, arg: usize) -> Result<i32, Errno> {
        let (limits, default) = (MsgLimits::read(), MsgLimits::DEFAULT);
        let (highest, pool, map, total) = match cmd {
            flag::MSG_INFO => self.sums(),
            // MSGPOOL, MSGMAP and MSGTQL of `include/uapi/linux/msg.h`.
            _ => {
                let pool = u64::from(default.queues) * default.queue / 1024;
                (self.highest(), pool, default.queue, default.queue)
            }
        };
        let info = Msginfo {
            msgpool: int(pool),
            msgmap: int(map),
            msgmax: limits.message as i32,
            msgmnb: limits.queue as i32,
            msgmni: limits.queues as i32,
            msgssz: SEGMENT_BYTES,
            msgtql: int(total),
            msgseg: SEGMENTS,
            pad: 0,
        };
        // SAFETY: `msgctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(info.as_bytes(), arg) }?;
        Ok(highest as i32)
    }

    /// The highest index in use; 0 if there is none.
    fn highest(&self) -> usize {
        let arena = &self.inner.arena;
        let _read = self.thread.read();
        let mut indices = 0..registry::capacity(arena, Class::Msg) as usize;
        indices.rfind(|&index| registry::find_index(arena, Class::Msg, index) != 0).unwrap_or(0)
    }

    /// The highest index in use (0 if there is none), and the total numbers of queues, messages and bytes.
    fn sums(&self) -> (usize, u64, u64, u64) {
        let arena = &self.inner.arena;
        let _read = self.thread.read();
        let mut sums = (0, 0, 0, 0);
        for index in 0..registry::capacity(arena, Class::Msg) as usize {
            if let Some(queue) = queue_at(arena, registry::find_index(arena, Class::Msg, index)) {
                // Relaxed: counts that may change at any time.
                let (count, bytes) =
                    (queue.contended.count.load(Relaxed), queue.contended.bytes.load(Relaxed));
                sums = (index, sums.1 + 1, sums.2 + count, sums.3 + bytes);
            }
        }
        sums
    }

    /// `msgctl_stat`. Returns the id.
    fn stat(&self, id: i32, want: Option<Access>, arg: usize) -> Result<i32, Errno> {
        let check =
            |queue: &MsgQueue| want.map_or(Ok(()), |want| self.inner.permit(self.thread, &queue.perm, want));
        let mut guard = self.inner.guard_by_id(self.thread, Call::MsgStat, id, check)?;
        let status = status(guard.section());
        drop(guard);
        // SAFETY: `msgctl`'s caller promises that the answer goes there.
        unsafe { fault::copy_out(status.as_bytes(), arg) }?;
        Ok(id)
    }

    /// `msgctl_stat` with MSG_STAT and MSG_STAT_ANY: the argument is used as an index into the table.
    fn stat_index(&self, want: Option<Access>, arg: usize) -> Result<i32, Errno> {
        let id = {
            let (_read, arena) = (self.thread.read(), &self.inner.arena);
            let at = registry::find_index(arena, Class::Msg, Id(self.id).index());
            // Relaxed: immutable once published.
            queue_at(arena, at).ok_or(Errno::EINVAL)?.perm.id.load(Relaxed)
        };
        self.stat(id, want, arg)
    }

    /// `msgctl_down` with IPC_SET: reads the structure before it checks the id.
    fn set(&self, arg: usize) -> Result<i32, Errno> {
        let mut status = MsqidDs::default();
        fault::copy_in(arg, status.as_bytes_mut())?;
        let mut guard = self.inner.guard_by_id(self.thread, Call::MsgSet, self.id, |queue| {
            self.own(queue)?;
            let creds = self.thread.creds.read();
            match status.msg_qbytes <= MsgLimits::read().queue || creds.capable(CAP_SYS_RESOURCE) {
                true => Ok(()),
                false => Err(Errno::EPERM),
            }
        })?;
        let section = guard.section();
        let queue = section.queue();
        queue.perm.update(&status.msg_perm).ok_or(Errno::EINVAL)?;
        // Relaxed: under the lock.
        queue.most.store(status.msg_qbytes, Relaxed);
        queue.changed.store(time::seconds(), Relaxed);
        self.inner.arena.note_change();
        section.recheck_waiters();
        Ok(0)
    }

    fn own(&self, queue: &MsgQueue) -> Result<(), Errno> {
        if queue.perm.is_owned_by(&self.thread.creds.read()) { Ok(()) } else { Err(Errno::EPERM) }
    }

    /// `msgctl_down` with IPC_RMID.
    fn remove(&self) -> Result<i32, Errno> {
        self.inner.with_registry(self.thread, Class::Msg, Call::MsgRmid, |registry| {
            let (at, queue) = self.inner.find::<MsgQueue>(self.id)?;
            self.own(queue)?;
            let bytes = self.inner.evict(self.thread, registry, at);
            registry.remove(at, bytes);
            Ok(0)
        })
    }
}

/// A count as the kernel shows it in a field of 32 bits.
fn int(count: u64) -> i32 {
    count.min(i32::MAX as u64) as i32
}

fn status(section: &QueueSection) -> MsqidDs {
    let queue = section.queue();
    // Relaxed: under the lock.
    MsqidDs {
        msg_perm: IpcPerm { ..queue.perm.to_c() },
        msg_stime: queue.contended.sent.load(Relaxed),
        msg_rtime: queue.contended.received.load(Relaxed),
        msg_ctime: queue.changed.load(Relaxed),
        msg_cbytes: queue.contended.bytes.load(Relaxed),
        msg_qnum: queue.contended.count.load(Relaxed),
        msg_qbytes: queue.most.load(Relaxed),
        msg_lspid: queue.contended.sender.load(Relaxed) as i32,
        msg_lrpid: queue.contended.receiver.load(Relaxed) as i32,
        ..MsqidDs::default()
    }
}
