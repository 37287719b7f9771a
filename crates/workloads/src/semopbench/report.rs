//! The results of a benchmark run.

use super::ring::Record;
use super::{Options, Verbosity};
use std::fmt;
use unspin_sys::child::Usage;
use unspin_sys::sched;

/// The figures of one run.
#[derive(Clone, Debug)]
pub struct Report {
    options: Options,
    /// Number of CPUs that the processes could use.
    pub cpus: usize,
    /// Microseconds from the start until each process had completed its repetitions, group by group.
    pub process_us: Vec<f64>,
    /// CPU use of all processes from their first wait to their last post.
    pub usage: Usage,
}

impl Report {
    pub(super) fn new(options: &Options, started_ns: u64, records: Vec<Record>) -> Report {
        let mut usage = Usage::default();
        for record in &records {
            usage += record.usage;
        }
        let elapsed = |r: &Record| r.finished_ns.saturating_sub(started_ns) as f64 / 1e3;
        Report {
            options: options.clone(),
            cpus: sched::affinity_count(),
            process_us: records.iter().map(elapsed).collect(),
            usage,
        }
    }

    /// Average time in microseconds until a process has completed its repetitions.
    pub fn mean_process_us(&self) -> f64 {
        self.process_us.iter().sum::<f64>() / self.process_us.len() as f64
    }

    /// Average time in seconds for *one* repetition of a process, that is, one round of the token. (Hartner 2002 prints
    /// the time for all 16384 repetitions under this name.)
    pub fn seconds_per_repetition(&self) -> f64 {
        self.mean_process_us() / 1e6 / f64::from(self.options.repetitions)
    }

    /// Seconds from the start until the last process had completed its repetitions.
    pub fn wall_seconds(&self) -> f64 {
        self.process_us.iter().copied().fold(0.0, f64::max) / 1e6
    }

    /// Hand-offs per second, in all groups together.
    pub fn hand_offs_per_second(&self) -> f64 {
        self.options.hand_offs() as f64 / self.wall_seconds()
    }

    /// CPU time in user mode and in the kernel, in percent of the capacity of all CPUs.
    pub fn utilisation(&self) -> (f64, f64) {
        let capacity_us = self.wall_seconds() * 1e6 * self.cpus as f64;
        (100.0 * self.usage.user_us as f64 / capacity_us, 100.0 * self.usage.system_us as f64 / capacity_us)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let o = &self.options;
        writeln!(
            f,
            "{} groups of {} semaphores, {} repetitions: {} processes, {} hand-offs",
            o.groups,
            o.semaphores,
            o.repetitions,
            o.processes(),
            o.hand_offs()
        )?;
        if o.verbosity == Verbosity::Processes {
            for (index, us) in self.process_us.iter().enumerate() {
                let (group, gate) = (index / o.semaphores, index % o.semaphores);
                writeln!(f, "  group {group} process {gate}: {us:.1} microseconds")?;
            }
        }
        let (user, system) = self.utilisation();
        writeln!(f, "average microseconds per process: {:.1}", self.mean_process_us())?;
        writeln!(f, "seconds per repetition: {:.9}", self.seconds_per_repetition())?;
        writeln!(f, "hand-offs per second: {:.0}", self.hand_offs_per_second())?;
        writeln!(
            f,
            "CPU utilisation: {:.1} % of {} CPUs (user {user:.1} %, system {system:.1} %)",
            user + system,
            self.cpus
        )?;
        writeln!(
            f,
            "context switches: {} voluntary, {} involuntary",
            self.usage.voluntary, self.usage.involuntary
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Debug, ProfileReset};
    use super::*;

    #[test]
    fn report_figures_follow_from_the_records() {
        let options = Options {
            groups: 1,
            semaphores: 2,
            repetitions: 10,
            profile_reset: ProfileReset::No,
            debug: Debug::Off,
            verbosity: Verbosity::Summary,
        };
        let record = |finished_ns| Record {
            finished_ns,
            posts: 10,
            usage: Usage { user_us: 100, system_us: 300, voluntary: 7, involuntary: 1 },
        };
        let mut report = Report::new(&options, 1_000_000, vec![record(2_000_000), record(4_000_000)]);
        report.cpus = 2;
        assert_eq!(report.process_us, [1000.0, 3000.0]);
        assert_eq!(report.mean_process_us(), 2000.0);
        assert_eq!(report.seconds_per_repetition(), 0.0002);
        assert_eq!(report.wall_seconds(), 0.003);
        assert_eq!(report.hand_offs_per_second().round(), 6667.0);
        let (user, system) = report.utilisation();
        assert!((user - 100.0 * 200.0 / 6000.0).abs() < 1e-9 && (system - 10.0).abs() < 1e-9);
        assert!(report.to_string().contains("\nseconds per repetition: 0.000200000\n"));
    }
}
