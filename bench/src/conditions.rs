//! The machine, the versions and the load of a measurement.

use crate::tools::Tools;
use serde::Serialize;
use std::fs;
use unspin_launch::machine::Machine;
use unspin_launch::machine::floor::Floor;

/// The conditions that a figure must be read with.
#[derive(Clone, Debug, Serialize)]
pub struct Conditions {
    /// The machine.
    #[serde(flatten)]
    pub machine: Machine,
    /// What no lock and no engine can change about it.
    pub floor: Floor,
    /// What `unspin --version` says: version and commit.
    pub unspin: String,
    /// How this program was called.
    pub command: String,
    /// CPU time that other programs took meanwhile, in percent of all.
    pub others_percent: f64,
    /// CPU time that the hypervisor gave to others, in percent of all.
    pub steal_percent: f64,
}

impl Conditions {
    /// Since `before`, while the measured programs took `own_s` seconds of CPU time.
    pub fn of(tools: &Tools, before: &Load, own_s: f64) -> Conditions {
        let now = Load::now();
        let percent = |seconds: f64| 100.0 * seconds.max(0.0) / (now.total_s - before.total_s).max(0.01);
        let options = std::env::args().skip(1).fold(String::new(), |all, word| all + " " + &word);
        let separator = if options.is_empty() { "" } else { " --" };
        Conditions {
            machine: Machine::this(),
            floor: Floor::measure(),
            unspin: tools.version.clone(),
            command: format!("cargo run --release -p unspin-bench{separator}{options}"),
            others_percent: percent(now.busy_s - before.busy_s - own_s),
            steal_percent: percent(now.steal_s - before.steal_s),
        }
    }
}

/// CPU time of the whole machine since boot, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    busy_s: f64,
    steal_s: f64,
    total_s: f64,
}

impl Load {
    /// The first line of `/proc/stat`; zero where it cannot be read.
    pub fn now() -> Load {
        fs::read_to_string("/proc/stat").ok().and_then(|text| Load::parse(&text)).unwrap_or_default()
    }

    /// proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, in ticks of 1/100 s.
    fn parse(text: &str) -> Option<Load> {
        let line = text.lines().find_map(|l| l.strip_prefix("cpu "))?;
        let ticks: Vec<f64> = line.split_whitespace().map_while(|w| w.parse().ok()).collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = *ticks.first_chunk()?;
        let busy = user + nice + system + irq + softirq;
        Some(Load {
            busy_s: busy / 100.0,
            steal_s: steal / 100.0,
            total_s: (busy + idle + iowait + steal) / 100.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_of_proc_stat_is_the_whole_machine() {
        let load = Load::parse("cpu  100 50 200 1000 30 5 15 7 90 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        assert_eq!(load, Some(Load { busy_s: 3.7, steal_s: 0.07, total_s: 14.07 }));
        assert_eq!(Load::parse("cpu  1 2 3\n"), None);
    }
}
