//! What one metered run on one CPU tells about the contended lock.

use crate::configuration::Configuration;
use crate::figure::Figure;
use crate::metering::Metering;
use serde::Serialize;
use unspin_launch::plan::kind::AnyKind;
use unspin_launch::replace::engine::Engine;
use unspin_locks::{AcquisitionOrder, LockKind, WaitingMode};
use unspin_report::{Lock, MeterReport, TimeRange};
use unspin_scaling::program::WaitStyle;
use unspin_stats::Direction;
use unspin_wire::RecordKind;

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
        let held_s = |lock: &Lock| mean_hold_s(lock) * acquisitions(lock);
        let most = report.locks.iter().max_by(|a, b| held_s(a).total_cmp(&held_s(b)));
        let style = style(configuration);
        let value = metering.trial.value.clone().unwrap_or(f64::NAN);
        let units = units(figure, value, metering.trial.elapsed_s);
        let metered_cpu_s = metering.trial.cpu_s() / units;
        let slower = (metered_cpu_s / unmetered_cpu_s).max(1.0);
        // Each id has a lock of its own under rcu, and ids are found without one.
        let has_locks = configuration.judged_engine() != Some(Engine::Rcu);
        let used = |lock: &&Lock| has_locks && held_s(lock) > 0.0 && units.is_finite() && units > 0.0;
        match most.filter(used) {
            None => MeteredLock {
                name: None,
                locks: 1,
                acquisitions: 0.0,
                hold_s: 0.0,
                share: 0.0,
                threads,
                style,
            },
            Some(lock) => {
                let row = &lock.row;
                MeteredLock {
                    name: Some(row.name.clone()),
                    locks: lock.locks.clamp(1, 1 << 20) as u32,
                    acquisitions: acquisitions(lock) / units,
                    hold_s: mean_hold_s(lock) / slower,
                    share: (held_s(lock) / metering.trial.cpu_s()).min(1.0),
                    threads,
                    style,
                }
            }
        }
    }
}

/// Threads that can run at once, as far as the meter sees them.
fn threads(report: &MeterReport) -> u32 {
    let counted = report.processes.iter().map(|process| process.threads).sum::<u64>();
    let joins = report.waits.iter().filter(|wait| wait.kind == RecordKind::Join);
    // The mean number of threads that joined others; one that did so for half of the time counts as running.
    let joining = joins.map(|wait| wait.row.share).sum::<f64>();
    counted.saturating_sub(joining.round() as u64).clamp(1, 1 << 20) as u32
}

/// Acquisitions of a lock.
fn acquisitions(lock: &Lock) -> f64 {
    (lock.row.attempts - lock.row.rejected) as f64
}

/// Holds from here on may be those of owners that lost the CPU: a time slice takes milliseconds.
const SLICE_S: f64 = 0.5e-3;
/// If a larger share of the holds is so long, the program itself holds the lock for that long.
const PREEMPTED_MAX: f64 = 0.02;

/// Mean hold in seconds. On one CPU an owner that loses the CPU holds its lock for slices of other threads. With a CPU for
/// each thread it would not, so the few holds of that length are left out.
fn mean_hold_s(lock: &Lock) -> f64 {
    let (long, short): (Vec<&TimeRange>, Vec<&TimeRange>) =
        lock.holds.ranges().iter().partition(|range| range.from >= SLICE_S);
    let count = |ranges: &[&TimeRange]| ranges.iter().map(|range| range.count as f64).sum::<f64>();
    let (long, all) = (count(&long), count(&long) + count(&short));
    if long == 0.0 || long > PREEMPTED_MAX * all {
        return lock.row.hold_mean;
    }
    // Times are evenly distributed within a range, as in the estimate of short waits.
    let sum: f64 = short.iter().map(|r| r.count as f64 * 0.5 * (r.from + r.below.unwrap_or(r.from))).sum();
    (sum / count(&short)).min(lock.row.hold_mean)
}

fn kind_of_mutexes(kind: AnyKind) -> Option<LockKind> {
    if let AnyKind::Mutex(kind) = kind { Some(kind) } else { None }
}

/// How threads wait for mutexes under a configuration. A plan with several kinds counts as its first.
fn style(configuration: &Configuration) -> WaitStyle {
    // A thread polls for the lock of an engine.
    if configuration.judged_engine().is_some() {
        return WaitStyle::Spin;
    }
    let kind = configuration
        .judged_plan()
        .and_then(|plan| plan.locks.iter().find_map(|entry| kind_of_mutexes(entry.kind)))
        .unwrap_or(LockKind::System);
    match (kind.waiting_mode(), kind.acquisition_order()) {
        (WaitingMode::Sleep, AcquisitionOrder::Barging) => WaitStyle::Barging,
        (WaitingMode::Sleep, AcquisitionOrder::HandOff) => WaitStyle::HandOff,
        (WaitingMode::SpinOnLock | WaitingMode::SpinOnOwnWord | WaitingMode::SpinThenSleep, _) => {
            WaitStyle::Spin
        }
    }
}
