//! Disturbances during a run.

use crate::throttling::Throttling;
use serde::Serialize;
use std::fs;

/// CPU time of the whole machine, in seconds, since a fixed moment; and what the own CPU quota took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CpuTime {
    /// Busy time, in user mode or in the kernel.
    pub busy_s: f64,
    /// Steal time: taken by the hypervisor while CPUs were ready to run.
    pub steal_s: f64,
    /// All time, including idle time: wall-clock time × CPUs.
    pub total_s: f64,
    /// What the CPU quota of the own control groups took; none if they have no quota.
    pub throttling: Option<Throttling>,
}

impl CpuTime {
    /// Since boot: the first line of `/proc/stat`; all zero if it cannot be read.
    pub fn since_boot() -> CpuTime {
        let time = fs::read_to_string("/proc/stat").ok().and_then(|text| CpuTime::parse(&text));
        CpuTime { throttling: Throttling::of_own_groups(), ..time.unwrap_or_default() }
    }

    /// proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, in ticks of 1/100 s (USER_HZ, fixed
    /// by the ABI of x86-64). The guest columns after them are already part of user and nice.
    fn parse(text: &str) -> Option<CpuTime> {
        let line = text.lines().find_map(|l| l.strip_prefix("cpu "))?;
        let ticks: Vec<f64> = line.split_whitespace().map_while(|w| w.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = *ticks.first_chunk()?;
        let busy = user + nice + system + irq + softirq;
        let seconds = |ticks: f64| ticks / 100.0;
        Some(CpuTime {
            busy_s: seconds(busy),
            steal_s: seconds(steal),
            total_s: seconds(busy + idle + iowait + steal),
            throttling: None,
        })
    }
}

/// What disturbed a run or a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Disturbance {
    /// CPU time of all CPUs, including idle time: the total of which the others are shares.
    pub total_s: f64,
    /// CPU time that the hypervisor gave to others.
    pub steal_s: f64,
    /// CPU time of other programs, and of the kernel for no process.
    pub others_s: f64,
    /// What the CPU quota of unspin's control groups took, in which the program runs too; none if they have no quota.
    pub throttling: Option<Throttling>,
}

impl Disturbance {
    /// The disturbances between two readings, if unspin and the measured program used `own_s` seconds of CPU time.
    pub fn between(before: &CpuTime, after: &CpuTime, own_s: f64) -> Disturbance {
        Disturbance {
            total_s: after.total_s - before.total_s,
            steal_s: after.steal_s - before.steal_s,
            // The kernel counts in ticks, so the total of a short run may be less than what it used.
            others_s: (after.busy_s - before.busy_s - own_s).max(0.0),
            throttling: before.throttling.zip(after.throttling).map(|(before, after)| after.since(&before)),
        }
    }

    /// In the form that a recording has; none if no time has passed.
    pub fn shares(&self) -> Option<unspin_wire::Disturbance> {
        let share = |part: f64| part / self.total_s;
        (self.total_s > 0.0).then(|| unspin_wire::Disturbance {
            others: share(self.others_s),
            stolen: share(self.steal_s),
            throttled: self.throttling.map(|throttling| throttling.share()),
        })
    }

    /// Steal and other programs, in percent of all CPU time. Zero if no time has passed.
    pub fn percent(&self) -> (f64, f64) {
        let share = |part: f64| if self.total_s > 0.0 { 100.0 * part / self.total_s } else { 0.0 };
        (share(self.steal_s), share(self.others_s))
    }
}

/// Ids of the kernel's semaphore sets that belong to `uid`: `/proc/sysvipc/sem`.
pub fn kernel_sets(uid: u32) -> Vec<i32> {
    parse_sets(&fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default(), uid)
}

/// Columns: key semid perms nsems uid gid cuid cgid otime ctime.
fn parse_sets(text: &str, uid: u32) -> Vec<i32> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(4)?.parse() == Ok(uid)).then(|| words[1].parse().ok())?
    };
    text.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_of_proc_stat_is_parsed() {
        let text = "cpu  100 50 200 1000 30 5 15 7 90 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        let time = CpuTime::parse(text).unwrap();
        assert_eq!((time.busy_s, time.steal_s, time.total_s), (3.7, 0.07, 14.07));
        assert_eq!(CpuTime::parse("cpu  1 2 3\n"), None);
        assert!(CpuTime::since_boot().total_s > 0.0);
    }

    #[test]
    fn cpu_time_of_others_is_the_rest() {
        let throttling = Throttling { periods: 10, throttled: 1, throttled_s: 0.5 };
        let before = CpuTime { busy_s: 10.0, steal_s: 1.0, total_s: 100.0, throttling: Some(throttling) };
        let throttling = Throttling { periods: 14, throttled: 2, throttled_s: 0.75 };
        let after = CpuTime { busy_s: 13.0, steal_s: 1.5, total_s: 104.0, throttling: Some(throttling) };
        let disturbance = Disturbance::between(&before, &after, 2.0);
        let throttling = Some(Throttling { periods: 4, throttled: 1, throttled_s: 0.25 });
        assert_eq!(disturbance, Disturbance { total_s: 4.0, steal_s: 0.5, others_s: 1.0, throttling });
        assert_eq!(disturbance.shares().unwrap().throttled, Some(0.25));
        let before = CpuTime { throttling: None, ..before };
        assert_eq!(Disturbance::between(&before, &after, 2.0).throttling, None);
        assert_eq!(disturbance.percent(), (12.5, 25.0));
        assert_eq!(Disturbance::default().percent(), (0.0, 0.0));
    }

    #[test]
    fn sets_are_selected_by_owner() {
        let text = "       key      semid perms      nsems   uid   gid  cuid  cgid      otime      ctime\n\
                    \x20        0          3   600         16     0     0     0     0  0 1\n\
                    \x20        9      32772   600         16  1000  1000  1000  1000  0 1\n";
        assert_eq!(parse_sets(text, 0), [3]);
        assert_eq!(parse_sets(text, 1000), [32772]);
        assert!(parse_sets("", 0).is_empty());
    }
}
