//! IPC namespaces, and the inode numbers of user namespaces.

use crate::{Errno, file, raw};
use core::ffi::CStr;

/// `CLONE_NEWIPC` of clone(2), unshare(2) and setns(2).
pub const CLONE_NEWIPC: i32 = libc::CLONE_NEWIPC;

/// An IPC namespace. Namespaces that exist at the same time differ in their inode numbers. Namespaces of different
/// times differ in their ids, which the kernel assigns since Linux 6.18. Zeroed: unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ipc {
    /// Inode number, as in `/proc/PID/ns/ipc`; 0 if unknown.
    pub inode: u64,
    /// Never reused before the next boot; 0 if unknown.
    pub id: u64,
}

/// How two descriptions of namespaces relate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// One namespace, as far as the known fields tell.
    Same,
    /// Two namespaces with the same inode number, which cannot have existed at the same time.
    Successor,
    /// Two different namespaces.
    Other,
}

impl Ipc {
    /// No namespace is another one than this.
    pub const UNKNOWN: Ipc = Ipc { inode: 0, id: 0 };

    /// The namespace of the calling thread: each thread has its own.
    pub fn current() -> Ipc {
        let path = c"/proc/thread-self/ns/ipc";
        Ipc { inode: file::inode(path).unwrap_or(0), id: id(path).unwrap_or(0) }
    }

    /// The relation of this namespace to another.
    pub fn relation(&self, other: &Ipc) -> Relation {
        let differ = |a, b| a != 0 && b != 0 && a != b;
        match () {
            _ if differ(self.inode, other.inode) => Relation::Other,
            _ if differ(self.id, other.id) => Relation::Successor,
            _ => Relation::Same,
        }
    }
}

/// Inode number of the calling thread's user namespace, 0 if unknown.
pub fn user() -> u64 {
    file::inode(c"/proc/thread-self/ns/user").unwrap_or(0)
}

/// `NS_GET_ID` of `<linux/nsfs.h>`: `_IOR(0xb7, 13, __u64)`.
const NS_GET_ID: usize = 0x8008_b70d;

fn id(path: &CStr) -> Result<u64, Errno> {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    let mut id = 0u64;
    // SAFETY: a C string; the kernel writes the eight bytes of `id`; the descriptor is ours from open to close.
    unsafe {
        let fd = raw::call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags, 0])?;
        let result = raw::call(libc::SYS_ioctl, [fd, NS_GET_ID, &raw mut id as usize]);
        let _ = raw::call(libc::SYS_close, [fd]);
        result.map(|_| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_told_apart() {
        let here = Ipc::current();
        assert_ne!(here.inode, 0);
        assert_eq!(here.relation(&Ipc::current()), Relation::Same);
        let (a, b) = (Ipc { inode: 1, id: 5 }, Ipc { inode: 1, id: 6 });
        assert_eq!(a.relation(&b), Relation::Successor);
        assert_eq!(a.relation(&Ipc { inode: 2, id: 6 }), Relation::Other);
        for vague in [Ipc { inode: 1, id: 0 }, Ipc { inode: 0, id: 5 }, Ipc::default()] {
            assert_eq!((a.relation(&vague), vague.relation(&a)), (Relation::Same, Relation::Same));
        }
    }
}
