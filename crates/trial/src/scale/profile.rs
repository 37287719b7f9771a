//! What one metered run on one CPU tells about the contended lock.

use crate::configuration::Configuration;
use crate::figure::Figure;
use crate::metering::Metering;
use serde::Serialize;
use unspin_launch::plan::Plan;
use unspin_launch::plan::kind::{self, AnyKind};
use unspin_launch::replace::engine::Engine;
use unspin_locks::{AcquisitionOrder, LockKind, RwLockKind, WaitingMode};
use unspin_report::{Lock, MeterReport, Row, TimeRange};
use unspin_scaling::program::WaitStyle;
use unspin_stats::Direction;
use unspin_wire::RecordKind;
use unspin_wire::plan::LockFamily;

/// The lock that is held most, and the threads.
#[derive(Clone, Debug, Serialize)]
pub struct MeteredLock {
    /// The lock's name; none if the program holds no lock that the meter sees.
    pub name: Option<String>,
    /// Number of locks that share the name.
    pub locks: u32,
    /// Acquisitions for each unit of the throughput.
    pub acquisitions: f64,
    /// Mean hold in seconds.
    pub hold_s: f64,
    /// Whether it is a read-write lock, of which only the holds for writing count: readers hold it together.
    pub for_writing: bool,
    /// Share of the run's CPU time in which one of them was held.
    pub share: f64,
    /// Threads that the meter counted, without those that waited for the end of others (pthread_join) all the time.
    pub threads: u32,
    /// How a thread waits for it.
    pub style: WaitStyle,
}

/// Throughput of a figure: itself if it is a rate, else runs a second.
pub fn throughput(figure: &Figure, value: f64) -> f64 {
    match figure.metric.direction {
        Direction::HigherIsBetter => value,
        Direction::LowerIsBetter => 1.0 / value,
    }
}

/// Units of work in one run. A figure need not be about the whole run: semopbench prints the time of one repetition.
pub fn units(figure: &Figure, value: f64, elapsed_s: f64) -> f64 {
    throughput(figure, value) * elapsed_s
}

impl MeteredLock {
    /// From a metered run on one CPU. `unmetered_cpu_s` is the CPU time of a unit of work without the meter: a hold is
    /// lengthened by the meter as the run is.
    pub fn of(
        metering: &Metering,
        configuration: &Configuration,
        figure: &Figure,
        unmetered_cpu_s: f64,
    ) -> MeteredLock {
        let report = &metering.report;
        let threads = threads(report);
        let holds = report.locks.iter().map(|lock| (lock, Holds::of(lock)));
        let most = holds.max_by(|(_, a), (_, b)| a.sum_s().total_cmp(&b.sum_s()));
        let style = style(configuration, most.as_ref().and_then(|(lock, _)| family(lock)));
        let value = metering.trial.value.clone().unwrap_or(f64::NAN);
        let units = units(figure, value, metering.trial.elapsed_s);
        let metered_cpu_s = metering.trial.cpu_s() / units;
        let slower = (metered_cpu_s / unmetered_cpu_s).max(1.0);
        // Each id has a lock of its own under rcu, and ids are found without one.
        let has_locks = configuration.judged_engine() != Some(Engine::Rcu);
        let used = |(_, holds): &(&Lock, Holds)| {
            has_locks && holds.sum_s() > 0.0 && units.is_finite() && units > 0.0
        };
        match most.filter(used) {
            None => MeteredLock {
                name: None,
                locks: 1,
                acquisitions: 0.0,
                hold_s: 0.0,
                for_writing: false,
                share: 0.0,
                threads,
                style,
            },
            Some((lock, holds)) => MeteredLock {
                name: Some(lock.row.name.clone()),
                locks: lock.locks.clamp(1, 1 << 20) as u32,
                acquisitions: holds.acquisitions / units,
                hold_s: holds.mean_s / slower,
                for_writing: family(lock) == Some(LockFamily::RwLock),
                share: (holds.sum_s() / metering.trial.cpu_s()).min(1.0),
                threads,
                style,
            },
        }
    }
}

/// Threads that can run at once, as far as the meter sees them.
fn threads(report: &MeterReport) -> u32 {
    let counted = report.processes.iter().map(|process| process.threads).sum::<u64>();
    let joins = report.waits.iter().filter(|wait| wait.kind == RecordKind::Join);
    let joined = joins.map(|wait| wait.row.waited).sum::<f64>();
    // Not the time of the whole recording: a busy machine starts a program late, and ends it late.
    let life = match report.blocked.threads {
        0 => report.seconds,
        known => report.blocked.lived / known as f64,
    };
    // The mean number of threads that joined others; one that did so for half of a thread's life counts as running.
    let joining = if life > 0.0 { joined / life } else { 0.0 };
    counted.saturating_sub(joining.round() as u64).clamp(1, 1 << 20) as u32
}

/// The holds of a lock that exclude all other threads.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Holds {
    acquisitions: f64,
    mean_s: f64,
}

impl Holds {
    /// All holds; of a read-write lock those for writing.
    fn of(lock: &Lock) -> Holds {
        let of = |row: &Row, ranges: &mut dyn Iterator<Item = TimeRange>| Holds {
            acquisitions: (row.attempts - row.rejected) as f64,
            mean_s: mean_hold_s(row.hold_mean, ranges),
        };
        match (family(lock), lock.use_as(RecordKind::Write)) {
            (Some(LockFamily::RwLock), None) => Holds { acquisitions: 0.0, mean_s: 0.0 },
            (Some(LockFamily::RwLock), Some(writes)) => {
                let callers = writes.callers.iter();
                of(&writes.row, &mut callers.flat_map(|caller| caller.holds.ranges().iter().copied()))
            }
            _ => of(&lock.row, &mut lock.holds.ranges().iter().copied()),
        }
    }

    fn sum_s(&self) -> f64 {
        self.mean_s * self.acquisitions
    }
}

/// The family of a lock that a plan can replace.
fn family(lock: &Lock) -> Option<LockFamily> {
    lock.uses.iter().find_map(|one| one.kind.family())
}

/// Holds from here on may be those of owners that lost the CPU: a time slice takes milliseconds.
const SLICE_S: f64 = 0.5e-3;
/// If a larger share of the holds is so long, the program itself holds the lock for that long.
const PREEMPTED_MAX: f64 = 0.02;

/// Mean hold in seconds, `all_s` with all holds. On one CPU an owner that loses the CPU holds its lock for slices of other threads. With a CPU for
/// each thread it would not, so the few holds of that length are left out.
fn mean_hold_s(all_s: f64, ranges: &mut dyn Iterator<Item = TimeRange>) -> f64 {
    let (long, short): (Vec<TimeRange>, Vec<TimeRange>) = ranges.partition(|range| range.from >= SLICE_S);
    let count = |ranges: &[TimeRange]| ranges.iter().map(|range| range.count as f64).sum::<f64>();
    let (long, all) = (count(&long), count(&long) + count(&short));
    if long == 0.0 || long > PREEMPTED_MAX * all {
        return all_s;
    }
    // Times are evenly distributed within a range, as in the estimate of short waits.
    let sum: f64 = short.iter().map(|r| r.count as f64 * 0.5 * (r.from + r.below.unwrap_or(r.from))).sum();
    (sum / count(&short)).min(all_s)
}

/// How threads wait for locks of a family under a configuration; for other locks, as for mutexes. A plan with several kinds
/// of a family counts as its first.
fn style(configuration: &Configuration, family: Option<LockFamily>) -> WaitStyle {
    // A thread polls for the lock of an engine.
    if configuration.judged_engine().is_some() {
        return WaitStyle::Spin;
    }
    let family = family.unwrap_or(LockFamily::Mutex);
    let of_family = |plan: &Plan| plan.of_family(family).map(|entry| entry.kind).next();
    match configuration.judged_plan().and_then(of_family).unwrap_or_else(|| kind::libcs(family)) {
        AnyKind::Mutex(kind) => style_of_mutexes(kind),
        // libc's readers and writers sleep, and running threads overtake them.
        AnyKind::RwLock(RwLockKind::System) => WaitStyle::Barging,
        // The waiters of all other kinds keep their CPUs for as long as that pays.
        AnyKind::RwLock(_) | AnyKind::Spin(_) => WaitStyle::Spin,
    }
}

fn style_of_mutexes(kind: LockKind) -> WaitStyle {
    match (kind.waiting_mode(), kind.acquisition_order()) {
        (WaitingMode::Sleep, AcquisitionOrder::Barging) => WaitStyle::Barging,
        (WaitingMode::Sleep, AcquisitionOrder::HandOff) => WaitStyle::HandOff,
        (WaitingMode::SpinOnLock | WaitingMode::SpinOnOwnWord | WaitingMode::SpinThenSleep, _) => {
            WaitStyle::Spin
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requested::{NamedCandidates, Requested};
    use crate::testing::settings;
    use unspin_launch::program::Program;

    /// The style of the candidate that an option names, for locks of a family.
    fn style_of(option: &str, kind: &str, family: LockFamily) -> WaitStyle {
        let options = settings(&[option, kind, "sh"]);
        let program = Program::find(&options.command).unwrap();
        let requested = Requested::of(&NamedCandidates::of(&options), &program).unwrap().unwrap();
        style(&requested.judged[0], Some(family))
    }

    #[test]
    fn threads_wait_as_the_kind_of_the_family_says() {
        use LockFamily::{Mutex, RwLock, Spin};
        assert_eq!(style_of("--mutex", "fair", Mutex), WaitStyle::HandOff);
        assert_eq!(style_of("--mutex", "adaptive", Mutex), WaitStyle::Spin);
        assert_eq!(style_of("--rwlock", "rw-biased", RwLock), WaitStyle::Spin);
        assert_eq!(style_of("--spin", "adaptive", Spin), WaitStyle::Spin);
        assert_eq!(style_of("--mutex", "adaptive", RwLock), WaitStyle::Barging, "libc's");
        assert_eq!(style_of("--rwlock", "rw-biased", Mutex), WaitStyle::Barging, "libc's");
        assert_eq!(style_of("--rwlock", "rw-biased", Spin), WaitStyle::Spin, "libc's");
    }
}
