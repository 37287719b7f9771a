//! Which folders may stand above the cache: those in which no other user can rename or remove ours.

use nix::unistd::{Gid, Group, Uid, User};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;

/// The sticky bit: only its owner renames what lies in the folder.
const STICKY: u32 = 0o1000;

/// Why another user than `uid` and root could replace what lies beneath a folder.
pub fn check(about: &Metadata, uid: u32) -> Result<(), &'static str> {
    let map = || fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if ![uid, 0].contains(&about.uid()) && !is_unshown(about.uid(), overflow(), &map()) {
        return Err("belongs to another user");
    }
    let is_shared = |bits: u32| about.mode() & bits != 0 && about.mode() & STICKY == 0;
    if is_shared(0o002) || is_shared(0o020) && !is_private(about.gid(), about.uid()) {
        return Err("lets others write to it");
    }
    Ok(())
}

/// Whether a group is that of one user, as many distributions give one to each user; or root's.
fn is_private(group: u32, owner: u32) -> bool {
    let name_of_owner = || User::from_uid(Uid::from_raw(owner)).ok().flatten().map(|user| user.name);
    let name_of_group = || Group::from_gid(Gid::from_raw(group)).ok().flatten().map(|group| group.name);
    group == 0 || name_of_group().is_some_and(|name| name_of_owner() == Some(name))
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
            assert_eq!(check(&fs::metadata(folder).unwrap(), 1000), Ok(()), "{folder}");
        }
    }
}
