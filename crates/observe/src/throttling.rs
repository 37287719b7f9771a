//! How often the CPU quota of the control groups that this process is in was used up. The kernel's documents "Control Group v2" and
//! "CFS Bandwidth Control".

use crate::control_group::ControlGroup;
use serde::Serialize;
use std::ops::AddAssign;

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
        of(ControlGroup::own())
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

/// The sum over the groups that have a quota. Usually one has.
fn of(groups: &[ControlGroup]) -> Option<Throttling> {
    groups.iter().filter_map(of_group).reduce(|mut sum, one| {
        sum += one;
        sum
    })
}

/// Of one group, if it has a quota.
fn of_group(group: &ControlGroup) -> Option<Throttling> {
    group.quota()?;
    parse(&group.file("cpu.stat")?)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control_group::Version;
    use std::fs;

    #[test]
    fn groups_with_a_quota_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let group = |name: &str, version, quota: (&str, &str), stat: &str| {
            let at = folder.path().join(name);
            fs::create_dir(&at).unwrap();
            fs::write(at.join(quota.0), quota.1).unwrap();
            fs::write(at.join("cpu.cfs_period_us"), "100000\n").unwrap();
            fs::write(at.join("cpu.stat"), stat).unwrap();
            ControlGroup::at(at, version)
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
