//! What took CPU time from the program while it ran, measured as `prove` does.

use crate::disturbance::{self, CpuTime};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};
use unspin_sys::child::Usage;
use unspin_wire::Disturbance;

/// Minimum length of a measurement.
pub const SHORTEST: Duration = Duration::from_millis(unspin_report::SHORTEST_MS);

/// Measures from its creation on.
pub struct DisturbanceMonitor {
    began: Instant,
    machine: CpuTime,
    own: Usage,
}

impl DisturbanceMonitor {
    /// Begins now.
    pub fn start() -> DisturbanceMonitor {
        DisturbanceMonitor { began: Instant::now(), machine: CpuTime::since_boot(), own: Usage::of_self() }
    }

    /// The disturbance until now, if the program has used as many seconds of CPU time. None if too little time has
    /// passed.
    pub fn until_now(&self, program_s: f64) -> Option<Disturbance> {
        if self.began.elapsed() < SHORTEST {
            return None;
        }
        let own_s = Usage::of_self().since(&self.own).cpu_s() + program_s;
        disturbance::Disturbance::between(&self.machine, &CpuTime::since_boot(), own_s).shares()
    }
}

/// CPU time of living processes in seconds, each with the children that it has waited for.
pub fn cpu_s_of(processes: &BTreeSet<u32>) -> f64 {
    let ticks = |pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/stat")).map_or(0, |stat| ticks(&stat).unwrap_or(0))
    };
    // USER_HZ is 100 by the ABI of x86-64.
    processes.iter().map(ticks).sum::<u64>() as f64 / 100.0
}

/// proc_pid_stat(5): fields 14 to 17 are utime, stime, cutime, cstime. The second field may contain spaces and
/// parentheses.
fn ticks(stat: &str) -> Option<u64> {
    let fields = stat.rsplit_once(')')?.1.split_whitespace();
    fields.skip(11).take(4).map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_process_and_its_children_are_added() {
        assert_eq!(ticks("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0"), Some(127));
        assert_eq!(ticks("7"), None);
        assert_eq!(cpu_s_of(&BTreeSet::new()), 0.0);
    }

    #[test]
    fn short_run_is_not_judged() {
        assert_eq!(DisturbanceMonitor::start().until_now(0.0), None);
    }
}
