//! Which folders may stand above the cache: those in which no other user can rename or remove ours.

use nix::unistd::{Gid, Group, Uid, User};
use std::ffi::{CStr, CString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use unspin_sys::file;

/// The sticky bit: only its owner renames what lies in the folder.
const STICKY: u32 = 0o1000;

/// Why another user than `uid` and root could replace what lies beneath a folder; an error if the folder cannot be inspected.
pub fn check(folder: &Path, uid: u32) -> io::Result<Result<(), &'static str>> {
    let about = fs::metadata(folder)?;
    let path = CString::new(folder.as_os_str().as_bytes())?;
    Ok(judge(&about, file::has_attribute(&path, ACL), uid))
}

/// The list of access rights beside the permission bits, acl(5). A folder has it if users or groups are named in it. Then the bits
/// of the group are the most that any of them may do.
const ACL: &CStr = c"system.posix_acl_access";

fn judge(about: &Metadata, has_acl: bool, uid: u32) -> Result<(), &'static str> {
    let map = || fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if ![uid, 0].contains(&about.uid()) && !is_unshown(about.uid(), overflow(), &map()) {
        return Err("belongs to another user");
    }
    let is_shared = |bits: u32| about.mode() & bits != 0 && about.mode() & STICKY == 0;
    if is_shared(0o002) || is_shared(0o020) && (has_acl || !is_private(about.gid(), about.uid())) {
        return Err("lets others write to it");
    }
    Ok(())
}

/// Whether a group is that of one user, as many distributions give one to each user, or root's; and has no other members.
fn is_private(gid: u32, owner: u32) -> bool {
    let owners_name = User::from_uid(Uid::from_raw(owner)).ok().flatten().map(|user| user.name);
    let users = || fs::read_to_string("/etc/passwd").unwrap_or_default();
    match Group::from_gid(Gid::from_raw(gid)).ok().flatten() {
        Some(group) => {
            (gid == 0 || Some(&group.name) == owners_name.as_ref())
                && group.mem.iter().all(|member| member == "root" || Some(member) == owners_name.as_ref())
                && !is_first_group_of_another(gid, owner, &users())
        }
        // A container may have no list of groups.
        None => gid == 0,
    }
}

/// Whether the group is that with which another user logs in: passwd(5). The list of the group does not name such a user. Without
/// users that a directory service has: to ask for all of them may take minutes.
fn is_first_group_of_another(gid: u32, owner: u32, passwd: &str) -> bool {
    let is_other = |line: &str| {
        let mut ids = line.split(':').skip(2).map(|id| id.parse::<u32>().ok());
        let (user, group) = (ids.next().flatten(), ids.next().flatten());
        group == Some(gid) && user.is_some_and(|user| user != owner && user != 0)
    };
    passwd.lines().any(is_other)
}

/// Whether `owner` stands for the ids that a user namespace does not show: user_namespaces(7). Such a folder is that of the
/// machine outside, mostly root's. Where the map has an id of this number, it is the id of a user.
fn is_unshown(owner: u32, overflow: u32, map: &str) -> bool {
    let is_in = |line: &str| {
        let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            return true;
        };
        (first..first.saturating_add(count)).contains(&u64::from(owner))
    };
    owner == overflow && !map.is_empty() && !map.lines().any(is_in)
}

/// The number that stands for them, proc(5).
fn overflow() -> u32 {
    let text = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
    text.trim().parse().unwrap_or(65534)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn hidden_ids_are_those_that_the_map_lacks() {
        let whole = "         0          0 4294967295\n";
        let own = "         0       1000          1\n";
        let several = "0 1000 1\n1 100000 65536\n";
        assert!(!is_unshown(65534, 65534, whole), "that is the user nobody");
        assert!(is_unshown(65534, 65534, own));
        assert!(!is_unshown(65534, 65534, several), "nobody of the container, or an id of the machine");
        assert!(!is_unshown(1000, 65534, own));
        assert!(!is_unshown(65534, 65534, ""), "nothing is known");
    }

    #[test]
    fn folders_of_the_machine_are_accepted() {
        for folder in ["/", "/tmp"] {
            assert_eq!(check(Path::new(folder), 1000).unwrap(), Ok(()), "{folder}");
        }
    }

    #[test]
    fn group_with_another_member_is_not_private() {
        let passwd =
            "root:x:0:0:root:/root:/bin/sh\nann:x:7:70::/home/ann:/bin/sh\nbob:x:8:80::/home/bob:/bin/sh\n";
        assert!(!is_first_group_of_another(70, 7, passwd), "its own");
        assert!(is_first_group_of_another(80, 7, passwd));
        assert!(!is_first_group_of_another(0, 7, passwd), "root may do everything anyway");
        assert!(!is_first_group_of_another(80, 7, "bob:x:8\n\n:::\n"));
        assert!(is_private(0, 0), "root's group has no other members here");
    }

    #[test]
    fn folder_with_a_list_of_rights_is_refused_if_a_group_may_write() {
        let folder = tempfile::tempdir().unwrap();
        let mode = |mode| {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            fs::metadata(folder.path()).unwrap()
        };
        let owner = fs::metadata(folder.path()).unwrap().uid();
        assert_eq!(judge(&mode(0o755), true, owner), Ok(()), "none of the list may write");
        assert_eq!(judge(&mode(0o1775), true, owner), Ok(()), "the sticky bit protects what is ours");
        assert_eq!(judge(&mode(0o775), true, owner), Err("lets others write to it"));
        assert_eq!(judge(&mode(0o757), false, owner), Err("lets others write to it"));
    }

    /// user:7:rwx beside the usual entries, as setfacl(1) stores them: xattr of acl(5), version 2.
    #[test]
    fn list_of_rights_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let done = std::process::Command::new("setfacl").args(["-m", "u:7:rwx"]).arg(folder.path()).status();
        if !done.is_ok_and(|status| status.success()) {
            let _ = std::io::Write::write_all(
                &mut io::stderr(),
                b"SKIPPED, because there is no setfacl, or no ACL here\n",
            );
            return;
        }
        let owner = fs::metadata(folder.path()).unwrap().uid();
        assert_eq!(check(folder.path(), owner).unwrap(), Err("lets others write to it"));
    }
}
