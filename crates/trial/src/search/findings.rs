//! Where a program's time goes, according to one metered run.

use super::super::metering::Metering;
use crate::kinds;
use serde::Serialize;
use unspin_report::{Finding, Lock, MeterReport};
use unspin_wire::RecordKind;
use unspin_wire::plan::LockFamily;

/// Minimum share of wall-clock time × CPUs that a lock must cost: smaller gains are within the noise of most machines.
pub const WORTH: f64 = 0.01;

/// Times in seconds; shares of wall-clock time × CPUs.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Wall-clock time.
    pub seconds: f64,
    /// Number of CPUs that the program could use.
    pub cpus: u32,
    /// Whether other programs took so much CPU time that the bounds on the gain mean nothing.
    pub disturbed: bool,
    /// Share of computing.
    pub computed: f64,
    /// Time that threads waited for mutexes that can be replaced, summed over them.
    pub mutexes_s: f64,
    /// Seconds lost on mutexes that stay libc's.
    pub kept_mutexes_s: f64,
    /// Time that threads waited for read-write locks that can be replaced.
    pub rwlocks_s: f64,
    /// Seconds lost on read-write locks that stay libc's.
    pub kept_rwlocks_s: f64,
    /// Time that threads waited for spin locks.
    pub spin_locks_s: f64,
    /// Seconds lost on semaphores and conditions that are used as locks, which stay libc's.
    pub semaphores_s: f64,
    /// Time in which threads waited for conditions, barriers and semaphores: by design, or because the signalling
    /// thread waits for a lock.
    pub by_design_s: f64,
    /// The mean of these waits.
    pub by_design_mean_s: f64,
    /// Time that threads waited for anything else: descriptors, joins, futexes, the System V engine.
    pub other_waits_s: f64,
    /// Time off the CPUs that no row of the report explains; none if unknown.
    pub unexplained_s: Option<f64>,
    /// Attempts at locks that can be replaced.
    pub attempts: u64,
    /// The lock with the most lost time, of those that can be replaced.
    pub worst: Option<Worst>,
    /// What costs the time, as `unspin meter` says it.
    pub causes: Vec<Finding>,
    /// Why nothing was recorded, if nothing was.
    pub silence: Option<String>,
    /// Which locks are not seen, if the program has a runtime with locks of its own.
    pub unseen: Option<String>,
}

/// The lock with the most lost time.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// The lock's name.
    pub name: String,
    /// Time waited for it.
    pub lost_s: f64,
    /// Share of the wall-clock time in which it was held; the mean if it is several locks.
    pub utilisation: f64,
    /// Mean time of a hold.
    pub hold_mean_s: f64,
}

impl Findings {
    /// For a metered run.
    pub fn of(metering: &Metering) -> Findings {
        let report = &metering.report;
        let lost = |kinds: &[RecordKind]| report.locks.iter().map(|lock| loss_as(lock, kinds)).sum();
        let kept = |family| {
            let locks = report.locks.iter().filter(|lock| lock.property.is_some());
            locks.map(|lock| kinds::lost_as(lock, family)).sum()
        };
        let by_design = || report.waits.iter().filter(|wait| wait.is_by_design());
        let waits = |what: fn(&unspin_report::WaitRow) -> f64| by_design().map(|w| what(&w.row)).sum::<f64>();
        let by_design_s = waits(|row| row.waited);
        let of_families = report.locks.iter().filter_map(|lock| Some((kinds::family(lock)?, lock)));
        let lost_for = |family| {
            let locks = of_families.clone().filter(|(other, _)| *other == family);
            locks.fold(0.0, |sum, (_, lock)| sum + kinds::lost_as(lock, family))
        };
        let loss = |(family, lock): (LockFamily, &Lock)| kinds::lost_as(lock, family);
        let worst = of_families.clone().max_by(|a, b| loss(*a).total_cmp(&loss(*b)));
        Findings {
            seconds: report.seconds,
            cpus: report.cpus,
            disturbed: report.is_disturbed(),
            computed: metering.trial.cpu_s() / capacity(report),
            mutexes_s: lost_for(LockFamily::Mutex),
            kept_mutexes_s: kept(LockFamily::Mutex),
            kept_rwlocks_s: kept(LockFamily::RwLock),
            rwlocks_s: lost_for(LockFamily::RwLock),
            spin_locks_s: lost_for(LockFamily::Spin),
            semaphores_s: lost(&[RecordKind::Semaphore, RecordKind::Condition]),
            by_design_s,
            by_design_mean_s: by_design_s / waits(|row| (row.satisfied + row.gave_up) as f64).max(1.0),
            other_waits_s: report.blocked.other_waits,
            unexplained_s: report.blocked.unexplained(),
            attempts: of_families.map(|(_, lock)| lock.row.attempts).sum(),
            worst: worst.map(|(family, lock)| Worst {
                name: lock.row.name.clone(),
                lost_s: kinds::lost_as(lock, family),
                utilisation: lock.util_each(),
                hold_mean_s: lock.row.hold_mean,
            }),
            causes: report.findings(),
            silence: metering.silence.clone(),
            unseen: metering.unseen.clone(),
        }
    }

    /// The locks that unspin cannot replace and that cost enough time for a sentence, by kind, with the time that threads
    /// waited for them.
    pub fn not_replaceable(&self) -> Vec<(&'static str, f64)> {
        let kinds = [
            ("process-shared or robust mutexes, or mutexes with a priority protocol", self.kept_mutexes_s),
            ("process-shared read-write locks", self.kept_rwlocks_s),
            ("semaphores and conditions that are used as locks", self.semaphores_s),
        ];
        kinds.into_iter().filter(|&(_, seconds)| self.share(seconds) >= WORTH).collect()
    }

    /// Time that threads waited for locks that can be replaced.
    pub fn locks_s(&self) -> f64 {
        self.mutexes_s + self.rwlocks_s + self.spin_locks_s
    }

    /// A time as a share of wall-clock time × CPUs.
    pub fn share(&self, seconds: f64) -> f64 {
        seconds / self.capacity()
    }

    /// Wall-clock time × CPUs.
    pub fn capacity(&self) -> f64 {
        self.seconds * f64::from(self.cpus)
    }

    /// A waiting time as the mean number of threads that waited at any moment: the sum of the waits divided by the
    /// wall-clock time (Little 1961).
    pub fn waiting(&self, seconds: f64) -> String {
        threads(seconds / self.seconds)
    }

    /// A share of wall-clock time × CPUs, as CPUs: `1.96 of the 2 CPUs`.
    pub fn in_cpus(&self, share: f64) -> String {
        let all = f64::from(self.cpus);
        let digits = if self.cpus < 10 { 2 } else { 1 };
        format!("{:.digits$} of the {}", (share * all).clamp(0.0, all), self.all_cpus())
    }

    /// The number of CPUs.
    pub fn all_cpus(&self) -> String {
        if self.cpus == 1 { "1 CPU".into() } else { format!("{} CPUs", self.cpus) }
    }
}

/// A mean number of threads, with at least two digits.
fn threads(mean: f64) -> String {
    match mean {
        mean if mean >= 9.95 => format!("{mean:.0} threads"),
        mean if mean >= 0.995 => format!("{mean:.1} threads"),
        mean if mean >= 0.005 => format!("{mean:.2} threads"),
        _ => "less than 0.01 threads".into(),
    }
}

/// Wall-clock time × CPUs.
pub fn capacity(report: &MeterReport) -> f64 {
    report.seconds * f64::from(report.cpus)
}

fn loss_as(lock: &Lock, kinds: &[RecordKind]) -> f64 {
    lock.uses.iter().filter(|one| kinds.contains(&one.kind)).map(|one| one.row.lost).sum()
}

/// Of ten seconds on two CPUs, half of them computing, for tests.
#[cfg(test)]
pub fn of_ten_seconds() -> Findings {
    Findings {
        seconds: 10.0,
        cpus: 2,
        disturbed: false,
        computed: 0.5,
        mutexes_s: 0.01,
        kept_mutexes_s: 0.0,
        kept_rwlocks_s: 0.0,
        rwlocks_s: 0.0,
        spin_locks_s: 0.0,
        semaphores_s: 0.0,
        by_design_s: 0.0,
        by_design_mean_s: 0.0,
        other_waits_s: 0.0,
        unexplained_s: Some(0.0),
        attempts: 1000,
        worst: None,
        causes: Vec::new(),
        silence: None,
        unseen: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_number_of_threads_has_two_digits() {
        let cases =
            [(8.877, "8.9 threads"), (120.4, "120 threads"), (0.75, "0.75 threads"), (0.996, "1.0 threads")];
        for (mean, text) in cases {
            assert_eq!(threads(mean), text);
        }
        assert_eq!(threads(0.0), "less than 0.01 threads");
    }
}
