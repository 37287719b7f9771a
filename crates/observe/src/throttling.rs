//! The CPU quota of the control groups that this process is in, as a container or a service has one: in each period the group's threads
//! may run for so long, and are stopped for the rest of it (cgroup v2: `cpu.max`, v1: `cpu.cfs_quota_us`). The kernel's documents
//! "Control Group v2" and "CFS Bandwidth Control".

use serde::Serialize;
use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How often the kernel has stopped the groups because their quota was used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Throttling {
    /// Periods in which threads of a group ran (`nr_periods`).
    pub periods: u64,
    /// Periods in which a group was stopped (`nr_throttled`).
    pub throttled: u64,
    /// For how long, in seconds: the sum over CPUs (`throttled_usec`, `throttled_time`).
    pub throttled_s: f64,
}

impl Throttling {
    /// Of the groups of this process that have a quota, since they exist. None if no group has one, or the files are not there.
    pub fn of_own_groups() -> Option<Throttling> {
        static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
        let groups = GROUPS.get_or_init(|| {
            let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
            groups(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"))
        });
        of(groups)
    }

    /// What has happened since an earlier reading.
    pub fn since(&self, earlier: &Throttling) -> Throttling {
        Throttling {
            periods: self.periods.saturating_sub(earlier.periods),
            throttled: self.throttled.saturating_sub(earlier.throttled),
            throttled_s: (self.throttled_s - earlier.throttled_s).max(0.0),
        }
    }

    /// The share of the periods in which a group was stopped.
    pub fn share(&self) -> f64 {
        if self.periods > 0 { self.throttled as f64 / self.periods as f64 } else { 0.0 }
    }
}

impl AddAssign for Throttling {
    fn add_assign(&mut self, other: Throttling) {
        self.periods += other.periods;
        self.throttled += other.throttled;
        self.throttled_s += other.throttled_s;
    }
}

/// The folder of a control group, and the version of its files.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Group {
    folder: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Version {
    One,
    Two,
}

/// The sum over the groups that have a quota. Usually one has.
fn of(groups: &[Group]) -> Option<Throttling> {
    groups.iter().filter_map(Group::throttling).reduce(|mut sum, one| {
        sum += one;
        sum
    })
}

impl Group {
    fn throttling(&self) -> Option<Throttling> {
        let text = |name: &str| fs::read_to_string(self.folder.join(name)).ok();
        let has_quota = match self.version {
            Version::One => !text("cpu.cfs_quota_us")?.trim().starts_with('-'),
            Version::Two => !text("cpu.max")?.starts_with("max"),
        };
        if has_quota { parse(&text("cpu.stat")?) } else { None }
    }
}

/// A `cpu.stat` of either version.
fn parse(stat: &str) -> Option<Throttling> {
    let field = |name: &str| {
        let mut lines = stat.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(key, _)| *key == name)?.1.trim().parse::<u64>().ok()
    };
    let throttled_s = match (field("throttled_usec"), field("throttled_time")) {
        (Some(us), _) => us as f64 / 1e6,
        (None, Some(ns)) => ns as f64 / 1e9,
        (None, None) => return None,
    };
    Some(Throttling { periods: field("nr_periods")?, throttled: field("nr_throttled")?, throttled_s })
}

/// The own group and those above it, as far as they can be seen: of version 2, and of version 1 with the controller `cpu`.
/// `cgroup` is the text of `/proc/self/cgroup` (cgroups(7)), `mountinfo` that of `/proc/self/mountinfo` (proc(5)).
fn groups(cgroup: &str, mountinfo: &str) -> Vec<Group> {
    let mut found = Vec::new();
    for line in cgroup.lines() {
        // 4:cpu,cpuacct:/docker/1f2e
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let version = match controllers {
            "" => Version::Two,
            names if names.split(',').any(|name| name == "cpu") => Version::One,
            _ => continue,
        };
        if let Some((root, mounted_at)) = mount_of(version, mountinfo)
            && let Ok(below) = Path::new(path).strip_prefix(root)
        {
            // A group outside of what this process sees has a path with `..` in it.
            let folder: PathBuf = mounted_at.join(below).components().collect();
            let seen = folder.ancestors().take_while(|folder| folder.starts_with(mounted_at));
            let is_inside = !path.contains("..");
            found.extend(
                seen.filter(|_| is_inside).map(|folder| Group { folder: folder.to_owned(), version }),
            );
        }
    }
    found
}

/// The group that is mounted, and where: `36 35 0:30 /docker/1f2e /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw`.
fn mount_of(version: Version, mountinfo: &str) -> Option<(&Path, &Path)> {
    mountinfo.lines().find_map(|line| {
        let (mount, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        let is_it = match version {
            Version::One => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
            Version::Two => kind == "cgroup2",
        };
        let mut mount = mount.split(' ').skip(3);
        is_it.then_some((Path::new(mount.next()?), Path::new(mount.next()?)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
        22 1 0:20 / /proc rw - proc proc rw\n\
        30 29 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n\
        31 29 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        32 29 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

    fn folders(cgroup: &str, mounts: &str) -> Vec<(String, Version)> {
        let folder = |group: Group| (group.folder.to_str().unwrap().to_owned(), group.version);
        groups(cgroup, mounts).into_iter().map(folder).collect()
    }

    #[test]
    fn own_group_and_those_above_are_found() {
        let here = |folder: &str, version| (folder.to_owned(), version);
        assert_eq!(
            folders("9:name=systemd:/\n3:cpuset:/\n1:cpu,cpuacct:/a/b\n0::/\n", MOUNTS),
            [
                here("/sys/fs/cgroup/cpu,cpuacct/a/b", Version::One),
                here("/sys/fs/cgroup/cpu,cpuacct/a", Version::One),
                here("/sys/fs/cgroup/cpu,cpuacct", Version::One),
                here("/sys/fs/cgroup/unified", Version::Two),
            ]
        );
        // A container with the machine's control groups: its own one is mounted.
        let inside = "36 35 0:30 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(folders("0::/docker/1f", inside), [here("/sys/fs/cgroup", Version::Two)]);
        for outside in ["0::/docker/other", "0::/../up", "", "nonsense"] {
            assert!(folders(outside, inside).is_empty(), "{outside}");
        }
    }

    #[test]
    fn groups_with_a_quota_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let group = |name: &str, version, quota: (&str, &str), stat: &str| {
            let at = folder.path().join(name);
            fs::create_dir(&at).unwrap();
            fs::write(at.join(quota.0), quota.1).unwrap();
            fs::write(at.join("cpu.stat"), stat).unwrap();
            Group { folder: at, version }
        };
        let free = group("free", Version::Two, ("cpu.max", "max 100000\n"), "usage_usec 7\nnr_periods 0\n");
        let two = "usage_usec 8\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250000\n";
        let two = group("two", Version::Two, ("cpu.max", "50000 100000\n"), two);
        let unlimited = group("unlimited", Version::One, ("cpu.cfs_quota_us", "-1\n"), "nr_periods 0\n");
        let one = "nr_periods 30\nnr_throttled 6\nthrottled_time 500000000\n";
        let one = group("one", Version::One, ("cpu.cfs_quota_us", "20000\n"), one);
        assert_eq!((of(&[free.clone(), unlimited.clone()]), of(&[])), (None, None));
        let sum = of(&[free, two, unlimited, one]).unwrap();
        assert_eq!(sum, Throttling { periods: 40, throttled: 10, throttled_s: 0.75 });
        assert_eq!(sum.share(), 0.25);
        let earlier = Throttling { periods: 30, throttled: 1, throttled_s: 0.5 };
        assert_eq!(sum.since(&earlier), Throttling { periods: 10, throttled: 9, throttled_s: 0.25 });
        assert_eq!(Throttling::default().share(), 0.0);
    }

    #[test]
    fn own_groups_are_read() {
        let found = Throttling::of_own_groups();
        assert!(found.is_none_or(|found| found.throttled <= found.periods), "{found:?}");
    }
}
