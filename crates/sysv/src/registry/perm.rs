use crate::registry::creds::Cached;
use unspin_sync::atomic::Ordering::{Acquire, Release};
use unspin_sync::atomic::{AtomicI32, AtomicU32, Ordering::Relaxed};
use unspin_sys::creds::{CAP_IPC_OWNER, CAP_SYS_ADMIN, Creds};
use unspin_sys::ipc::IpcPerm;

/// The beginning of every object (`kern_ipc_perm`). Id and key are immutable once published. Owner and mode are changed
/// under the object's lock and read without it, as in the kernel.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Perm {
    pub(crate) id: AtomicI32,
    pub(crate) key: AtomicI32,
    uid: AtomicU32,
    gid: AtomicU32,
    cuid: AtomicU32,
    cgid: AtomicU32,
    mode: AtomicU32,
    deleted: AtomicU32,
}

/// What a call wants to do with an object; in the kernel the bits of all three classes (`S_IRUGO`, `S_IWUGO`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read it.
    Read,
    /// Change it.
    Alter,
}

impl Access {
    /// The permission bit within one class of users.
    #[inline(always)]
    pub fn bit(self) -> u32 {
        match self {
            Access::Read => 0o4,
            Access::Alter => 0o2,
        }
    }
}

impl Perm {
    /// Fills in a new object that is not yet published.
    pub(crate) fn init(&self, id: i32, key: i32, mode: u32, creds: &Creds) {
        // Relaxed: published by the Release store of the object's offset in the table.
        self.id.store(id, Relaxed);
        self.key.store(key, Relaxed);
        for uid in [&self.uid, &self.cuid] {
            uid.store(creds.uid, Relaxed);
        }
        for gid in [&self.gid, &self.cgid] {
            gid.store(creds.gid, Relaxed);
        }
        self.mode.store(mode & 0o777, Relaxed);
        self.deleted.store(0, Relaxed);
    }

    /// Whether the object is removed.
    #[inline(always)]
    pub fn is_deleted(&self) -> bool {
        // Acquire: partner of the Release in `delete`.
        self.deleted.load(Acquire) != 0
    }

    /// Marks the object as removed. The caller holds its lock.
    pub(crate) fn delete(&self) {
        // Release: partner of the Acquire in `is_deleted`.
        self.deleted.store(1, Release);
    }

    /// Whether the cached credentials suffice. `false` means only that the caller must ask [`Perm::allows`].
    #[inline(always)]
    pub(crate) fn allows_quickly(&self, creds: &Cached, want: Access) -> bool {
        self.grants_quickly(creds, want.bit())
    }

    /// Like [`Perm::allows_quickly`], for the nine permission bits of `semget`'s flags.
    #[inline(always)]
    pub(crate) fn allows_flags_quickly(&self, creds: &Cached, flags: i32) -> bool {
        self.grants_quickly(creds, classes(flags))
    }

    #[inline(always)]
    fn grants_quickly(&self, creds: &Cached, wanted: u32) -> bool {
        // Relaxed: the kernel too reads permissions without the lock; a change races with the call.
        let mode = self.mode.load(Relaxed);
        if wanted & !(mode & (mode >> 3) & (mode >> 6)) & 0o7 == 0 {
            return true;
        }
        creds.is_fresh()
            && (creds.overrides()
                || wanted & !(mode >> 6) & 0o7 == 0
                    && (creds.uid() == self.uid.load(Relaxed) || creds.uid() == self.cuid.load(Relaxed)))
    }

    /// `ipcperms` of `ipc/util.c`: the owner's class if the effective uid is owner or creator, else the group's, else
    /// that of others. Only the first class that matches counts. CAP_IPC_OWNER overrides.
    pub(crate) fn allows(&self, creds: &Creds, want: Access) -> bool {
        self.grants(creds, want.bit())
    }

    /// Like [`Perm::allows`], for the nine permission bits of `semget`'s flags.
    pub(crate) fn allows_flags(&self, creds: &Creds, flags: i32) -> bool {
        self.grants(creds, classes(flags))
    }

    fn grants(&self, creds: &Creds, wanted: u32) -> bool {
        // Relaxed: as in allows_quickly.
        let of = |field: &AtomicU32| field.load(Relaxed);
        let mode = of(&self.mode);
        let granted = if creds.uid == of(&self.cuid) || creds.uid == of(&self.uid) {
            mode >> 6
        } else if creds.in_group(of(&self.cgid)) || creds.in_group(of(&self.gid)) {
            mode >> 3
        } else {
            mode
        };
        wanted & !granted & 0o7 == 0 || creds.capable(CAP_IPC_OWNER)
    }

    /// Whether the caller may change or remove the object (`ipcctl_obtain_check`): owner, creator, CAP_SYS_ADMIN.
    pub(crate) fn is_owned_by(&self, creds: &Creds) -> bool {
        // Relaxed: as in allows_quickly.
        creds.uid == self.cuid.load(Relaxed)
            || creds.uid == self.uid.load(Relaxed)
            || creds.capable(CAP_SYS_ADMIN)
    }

    /// IPC_SET: sets owner, group and the low nine bits of the mode, nothing else. `None` for an invalid uid or gid
    /// (-1).
    pub(crate) fn update(&self, from: &IpcPerm) -> Option<()> {
        if from.uid == u32::MAX || from.gid == u32::MAX {
            return None;
        }
        // Relaxed: as in allows_quickly.
        self.uid.store(from.uid, Relaxed);
        self.gid.store(from.gid, Relaxed);
        self.mode.store(self.mode.load(Relaxed) & !0o777 | from.mode & 0o777, Relaxed);
        Some(())
    }

    /// An object's owner and mode as the kernel reports them, for objects of the kernel whose ids and keys are managed
    /// here.
    pub(crate) fn from_c(from: &IpcPerm) -> Perm {
        Perm {
            key: AtomicI32::new(from.key),
            uid: AtomicU32::new(from.uid),
            gid: AtomicU32::new(from.gid),
            cuid: AtomicU32::new(from.cuid),
            cgid: AtomicU32::new(from.cgid),
            mode: AtomicU32::new(from.mode),
            ..Perm::default()
        }
    }

    /// The structure that IPC_STAT fills in.
    pub(crate) fn to_c(&self) -> IpcPerm {
        // Relaxed: as in allows_quickly.
        let of = |field: &AtomicU32| field.load(Relaxed);
        IpcPerm {
            key: self.key.load(Relaxed),
            uid: of(&self.uid),
            gid: of(&self.gid),
            cuid: of(&self.cuid),
            cgid: of(&self.cgid),
            mode: of(&self.mode),
            seq: super::Id(self.id.load(Relaxed)).sequence() as u16,
            ..IpcPerm::default()
        }
    }
}

/// The bits wanted of the caller's class: `semget`'s flags ask for what any of their three digits asks for.
#[inline(always)]
fn classes(flags: i32) -> u32 {
    let flags = flags as u32;
    flags >> 6 | flags >> 3 | flags
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn creds(uid: u32, gid: u32, groups: &[u32], capabilities: u64) -> Creds {
        Creds::new(uid, gid, capabilities).with_groups(groups.to_vec())
    }

    fn perm(mode: u32) -> Perm {
        // SAFETY: all fields are atomics, valid when zero.
        let perm: Perm = unsafe { core::mem::zeroed() };
        perm.init(7, 1, mode, &creds(100, 200, &[], 0));
        perm
    }

    #[test]
    fn first_matching_permission_class_decides() {
        let perm = perm(0o066);
        assert!(
            !perm.allows(&creds(100, 200, &[], 0), Access::Read),
            "owner has nothing, group is not asked"
        );
        assert!(perm.allows(&creds(101, 200, &[], 0), Access::Alter), "group");
        assert!(perm.allows(&creds(101, 7, &[9, 200], 0), Access::Alter), "supplementary group");
        assert!(perm.allows(&creds(101, 7, &[], 0), Access::Read), "others");
        assert!(perm.allows(&creds(100, 1, &[], 1 << CAP_IPC_OWNER), Access::Read), "capability");
    }

    #[test]
    fn creator_keeps_owner_class_and_control() {
        let perm = perm(0o600);
        perm.update(&IpcPerm { uid: 5, gid: 6, mode: 0o1640, ..IpcPerm::default() }).unwrap();
        assert_eq!(perm.to_c().mode, 0o640);
        for uid in [100, 5] {
            assert!(perm.allows(&creds(uid, 1, &[], 0), Access::Alter));
            assert!(perm.is_owned_by(&creds(uid, 1, &[], 0)));
        }
        assert!(perm.allows(&creds(9, 6, &[], 0), Access::Read));
        assert!(!perm.is_owned_by(&creds(9, 6, &[], 0)));
        assert_eq!(perm.update(&IpcPerm { uid: u32::MAX, ..IpcPerm::default() }), None);
    }

    #[test]
    fn semget_flags_ask_for_any_class() {
        let perm = perm(0o600);
        assert!(perm.allows_flags(&creds(100, 1, &[], 0), 0o006));
        assert!(!perm.allows_flags(&creds(1, 1, &[], 0), 0o400));
        assert!(perm.allows_flags(&creds(1, 1, &[], 0), 0));
    }
}
