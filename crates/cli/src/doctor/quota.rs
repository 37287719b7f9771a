//! The CPU time that control groups grant in each period: cgroups(7), `cpu.max` of version 2, `cpu.cfs_quota_us` of version 1.

use super::check::Check;
use std::fs;
use std::path::{Path, PathBuf};
use unspin_sys::sched;

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The looks of this module.
pub fn checks() -> Vec<Check> {
    const NAME: &str = "CPU quota";
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let cpus = sched::affinity_count() as f64;
    vec![match quota(Path::new(MOUNT), &groups) {
        None => Check::ok(NAME, "none"),
        Some(quota) if quota >= cpus => Check::ok(NAME, format!("{quota:.2} CPUs, which is no limit here")),
        Some(quota) => Check::limited(
            NAME,
            format!("{quota:.2} of {cpus} CPUs"),
            "when it is used up, all threads stand still until the next period: times jump, and polling uses it up sooner",
            Some(
                "systemctl set-property UNIT CPUQuota=; of a container: docker run --cpus; of a Pod: limits.cpu",
            ),
        ),
    }]
}

/// The smallest quota of this process's group and of those around it, in CPUs.
fn quota(mount: &Path, groups: &str) -> Option<f64> {
    let folders = groups.lines().flat_map(|line| folders_of(mount, line));
    folders.filter_map(|folder| of_folder(&folder)).min_by(f64::total_cmp)
}

/// The folders of a line of `/proc/self/cgroup`, `HIERARCHY:CONTROLLERS:PATH`, which may have a quota: the group's own, and those
/// around it.
fn folders_of(mount: &Path, line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let root = match controllers.split(',').any(|name| name == "cpu") {
        true => mount.join(controllers),
        false if controllers.is_empty() => mount.to_owned(),
        false => return Vec::new(),
    };
    // A container sees its own group as the root.
    let path = Path::new(path.trim_start_matches('/'));
    path.ancestors().map(|part| root.join(part)).collect()
}

fn of_folder(folder: &Path) -> Option<f64> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    if let Some(text) = read("cpu.max") {
        let (quota, period) = text.trim().split_once(' ')?;
        return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
    }
    let number = |file: &str| read(file)?.trim().parse::<f64>().ok();
    // -1 is no quota.
    let quota = number("cpu.cfs_quota_us").filter(|&quota| quota > 0.0)?;
    Some(quota / number("cpu.cfs_period_us")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_quota_around_the_process_counts() {
        let mount = tempfile::tempdir().unwrap();
        let group = mount.path().join("a/b");
        fs::create_dir_all(&group).unwrap();
        let write = |folder: &Path, text: &str| fs::write(folder.join("cpu.max"), text).unwrap();
        assert_eq!(quota(mount.path(), "0::/a/b\n"), None);
        write(&group, "max 100000\n");
        assert_eq!(quota(mount.path(), "0::/a/b\n"), None);
        write(mount.path().join("a").as_path(), "150000 100000\n");
        assert_eq!(quota(mount.path(), "0::/a/b\n"), Some(1.5));
        write(&group, "50000 100000\n");
        assert_eq!(quota(mount.path(), "0::/a/b\n"), Some(0.5));
        assert_eq!(quota(mount.path(), "0::/a\n"), Some(1.5));
    }

    #[test]
    fn quota_of_version_1_is_read() {
        let mount = tempfile::tempdir().unwrap();
        let group = mount.path().join("cpu,cpuacct/x");
        fs::create_dir_all(&group).unwrap();
        fs::write(group.join("cpu.cfs_period_us"), "100000\n").unwrap();
        fs::write(group.join("cpu.cfs_quota_us"), "-1\n").unwrap();
        let lines = "5:memory:/x\n4:cpu,cpuacct:/x\n";
        assert_eq!(quota(mount.path(), lines), None);
        fs::write(group.join("cpu.cfs_quota_us"), "200000\n").unwrap();
        assert_eq!(quota(mount.path(), lines), Some(2.0));
    }
}
