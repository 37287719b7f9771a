//! The control groups that this process is in, as a container or a service has them (cgroups(7)), and their CPU quotas: in each period
//! the threads of a group may run for so long, and are stopped for the rest of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder of a control group, and the version of its files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlGroup {
    folder: PathBuf,
    version: Version,
}

/// The version of cgroups(7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Of the controller `cpu`.
    One,
    /// Of all controllers.
    Two,
}

impl ControlGroup {
    /// The groups that this process was in at the first call, and those above them, as far as they can be seen.
    pub fn own() -> &'static [ControlGroup] {
        static GROUPS: OnceLock<Vec<ControlGroup>> = OnceLock::new();
        GROUPS.get_or_init(|| {
            let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
            groups(&text("/proc/self/cgroup"), &text("/proc/self/mountinfo"))
        })
    }

    /// The group of this folder.
    pub fn at(folder: PathBuf, version: Version) -> ControlGroup {
        ControlGroup { folder, version }
    }

    /// The text of one of its files; none if it is not there.
    pub fn file(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.folder.join(name)).ok()
    }

    /// Its quota, in CPUs; none if it has none.
    pub fn quota(&self) -> Option<f64> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let (quota, period) = match self.version {
            // -1 is no quota.
            Version::One => {
                (number(&self.file("cpu.cfs_quota_us")?)?, number(&self.file("cpu.cfs_period_us")?)?)
            }
            // `max 100000` is no quota.
            Version::Two => {
                let text = self.file("cpu.max")?;
                let (quota, period) = text.split_once(' ')?;
                (number(quota)?, number(period)?)
            }
        };
        (quota > 0.0 && period > 0.0).then(|| quota / period)
    }
}

/// The own group and those above it, as far as they can be seen: of version 2, and of version 1 with the controller `cpu`.
/// `cgroup` is the text of `/proc/self/cgroup` (cgroups(7)), `mountinfo` that of `/proc/self/mountinfo` (proc(5)).
fn groups(cgroup: &str, mountinfo: &str) -> Vec<ControlGroup> {
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
                seen.filter(|_| is_inside).map(|folder| ControlGroup { folder: folder.to_owned(), version }),
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
        let folder = |group: ControlGroup| (group.folder.to_str().unwrap().to_owned(), group.version);
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
    fn quota_is_in_cpus() {
        let folder = tempfile::tempdir().unwrap();
        let group = |version| ControlGroup::at(folder.path().to_owned(), version);
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        assert_eq!(group(Version::Two).quota(), None);
        for (text, quota) in [("max 100000\n", None), ("150000 100000\n", Some(1.5))] {
            write("cpu.max", text);
            assert_eq!(group(Version::Two).quota(), quota);
        }
        write("cpu.cfs_period_us", "100000\n");
        for (text, quota) in [("-1\n", None), ("200000\n", Some(2.0))] {
            write("cpu.cfs_quota_us", text);
            assert_eq!(group(Version::One).quota(), quota);
        }
    }
}
