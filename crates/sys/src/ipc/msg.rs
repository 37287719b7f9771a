//! Message queues.

use super::{IpcPerm, plain};
use crate::{Errno, raw};

/// `struct msqid_ds` as glibc has it on x86-64.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct MsqidDs {
    /// Owner and permissions.
    pub msg_perm: IpcPerm,
    /// Last `msgsnd`, seconds since the epoch, 0 if none.
    pub msg_stime: i64,
    /// Last `msgrcv`.
    pub msg_rtime: i64,
    /// Last change by `msgctl`, or creation.
    pub msg_ctime: i64,
    /// Bytes of all messages in the queue.
    pub msg_cbytes: u64,
    /// Messages in the queue.
    pub msg_qnum: u64,
    /// Maximum bytes, and maximum messages, in the queue.
    pub msg_qbytes: u64,
    /// Process of the last `msgsnd`.
    pub msg_lspid: i32,
    /// Process of the last `msgrcv`.
    pub msg_lrpid: i32,
    /// Unused.
    pub unused: [u64; 2],
}

/// `struct msginfo`, the answer of `IPC_INFO` and `MSG_INFO`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Msginfo {
    /// Unused by the kernel; for `MSG_INFO` the number of queues.
    pub msgpool: i32,
    /// Unused by the kernel; for `MSG_INFO` the number of messages.
    pub msgmap: i32,
    /// Maximum bytes of a message.
    pub msgmax: i32,
    /// Maximum bytes of a new queue.
    pub msgmnb: i32,
    /// Maximum number of queues.
    pub msgmni: i32,
    /// Unused by the kernel.
    pub msgssz: i32,
    /// Unused by the kernel; for `MSG_INFO` the bytes of all messages.
    pub msgtql: i32,
    /// Unused by the kernel.
    pub msgseg: u16,
    /// Unused.
    pub pad: u16,
}

/// msgget(2), by the kernel.
pub fn msgget(key: i32, flags: i32) -> Result<i32, Errno> {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_msgget, [key as usize, flags as usize]) }.map(|n| n as i32)
}

/// msgsnd(2), by the kernel.
///
/// # Safety
/// None beyond the kernel's own checks: `message` may be any address; a bad one is `EFAULT`. Unsafe because the kernel
/// reads the address.
pub unsafe fn msgsnd(id: i32, message: usize, size: usize, flags: i32) -> Result<i32, Errno> {
    // SAFETY: the kernel checks the address.
    unsafe { raw::call(libc::SYS_msgsnd, [id as usize, message, size, flags as usize]) }.map(|n| n as i32)
}

/// msgrcv(2), by the kernel. Returns the number of bytes of the message's text.
///
/// # Safety
/// `message` is where the program wants the type and up to `size` bytes after it.
pub unsafe fn msgrcv(id: i32, message: usize, size: usize, kind: i64, flags: i32) -> Result<usize, Errno> {
    // SAFETY: the kernel checks the address; it writes only where the program asked for it.
    unsafe { raw::call(libc::SYS_msgrcv, [id as usize, message, size, kind as usize, flags as usize]) }
}

/// msgctl(2), by the kernel.
///
/// # Safety
/// `arg` is what the command requires: an address must be one that the program wants written.
pub unsafe fn msgctl(id: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: the kernel checks the address; it writes only where the program asked for it.
    unsafe { raw::call(libc::SYS_msgctl, [id as usize, cmd as usize, arg]) }.map(|n| n as i32)
}

plain! { MsqidDs Msginfo }

// The layouts are the ABI that programs are compiled for.
const _: () = {
    assert!(size_of::<MsqidDs>() == size_of::<libc::msqid_ds>());
    assert!(core::mem::offset_of!(MsqidDs, msg_qbytes) == core::mem::offset_of!(libc::msqid_ds, msg_qbytes));
    assert!(core::mem::offset_of!(MsqidDs, msg_lrpid) == core::mem::offset_of!(libc::msqid_ds, msg_lrpid));
    assert!(size_of::<Msginfo>() == size_of::<libc::msginfo>());
};
