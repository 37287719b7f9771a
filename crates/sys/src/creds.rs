//! The caller's credentials, as System V permission checks use them.

use crate::raw;
use core::cell::OnceCell;

/// CAP_IPC_OWNER of capabilities(7): overrides IPC permission checks.
pub const CAP_IPC_OWNER: u32 = 15;
/// CAP_SYS_ADMIN of capabilities(7): IPC_SET and IPC_RMID on any object.
pub const CAP_SYS_ADMIN: u32 = 21;
/// `CAP_SYS_RESOURCE` of `<linux/capability.h>`: may exceed limits, such as that of a queue's length.
pub const CAP_SYS_RESOURCE: u32 = 24;

/// Effective ids, supplementary groups and the effective capabilities.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Creds {
    /// Effective user id.
    pub uid: u32,
    /// Effective group id.
    pub gid: u32,
    /// Effective capabilities, bit n is capability n.
    pub capabilities: u64,
    /// Supplementary groups, read at first use: most checks do not need them.
    groups: OnceCell<Vec<u32>>,
}

impl Creds {
    /// The calling thread's current credentials. Three system calls, so keep the result until something changes them.
    pub fn current() -> Creds {
        // SAFETY: no pointers, cannot fail.
        let id = |call| unsafe { raw::syscall6(call, [0; 6]) as u32 };
        Creds::new(id(libc::SYS_geteuid), id(libc::SYS_getegid), capabilities())
    }

    /// Credentials whose supplementary groups are those of the calling thread at the first use.
    pub fn new(uid: u32, gid: u32, capabilities: u64) -> Creds {
        Creds { uid, gid, capabilities, groups: OnceCell::new() }
    }

    /// These credentials, with other supplementary groups.
    pub fn with_groups(self, groups: Vec<u32>) -> Creds {
        Creds { groups: groups.into(), ..self }
    }

    /// Whether `gid` is the effective group or a supplementary one (`in_group_p` in the kernel).
    pub fn in_group(&self, gid: u32) -> bool {
        gid == self.gid || self.groups.get_or_init(groups).contains(&gid)
    }

    /// Whether the caller has this effective capability.
    pub fn capable(&self, capability: u32) -> bool {
        self.capabilities >> capability & 1 == 1
    }
}

fn groups() -> Vec<u32> {
    loop {
        // SAFETY: size 0 asks for the count.
        let count = unsafe { raw::call(libc::SYS_getgroups, [0, 0]) }.unwrap_or(0);
        let mut list = vec![0u32; count];
        // SAFETY: the kernel writes at most `count` ids, and returns EINVAL if there are more by now.
        match unsafe { raw::call(libc::SYS_getgroups, [count, list.as_mut_ptr() as usize]) } {
            Ok(n) => {
                list.truncate(n);
                return list;
            }
            Err(_) => continue,
        }
    }
}

fn capabilities() -> u64 {
    // struct __user_cap_header_struct and __user_cap_data_struct[2] of <linux/capability.h>, version 3.
    let header: [u32; 2] = [0x2008_0522, 0];
    let mut data = [0u32; 6]; // effective, permitted, inheritable; twice
    // SAFETY: both arrays have the layout that version 3 demands.
    let done = unsafe { raw::call(libc::SYS_capget, [header.as_ptr() as usize, data.as_mut_ptr() as usize]) };
    if done.is_ok() { data[0] as u64 | (data[3] as u64) << 32 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_proc() {
        let creds = Creds::current();
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let field = |name: &str| {
            status.lines().find_map(|l| l.strip_prefix(name)).unwrap().split_whitespace().collect::<Vec<_>>()
        };
        assert_eq!(field("Uid:")[1].parse(), Ok(creds.uid));
        assert_eq!(field("Gid:")[1].parse(), Ok(creds.gid));
        assert_eq!(u64::from_str_radix(field("CapEff:")[0], 16), Ok(creds.capabilities));
        let groups: Vec<u32> = field("Groups:").iter().map(|g| g.parse().unwrap()).collect();
        assert!(groups.iter().all(|&group| creds.in_group(group)));
        assert!(!creds.in_group(u32::MAX));
    }
}
