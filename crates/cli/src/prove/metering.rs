//! Metered runs, which record locks. Their times are not compared.
//!
//! The timed runs are not metered: reading clocks at every lock costs some nanoseconds, which matters more for locks
//! with many short sections.

use super::monitor::RunMonitor;
use super::runner::{Limit, Runner, Trial};
use super::setup::Setup;
use crate::meter::names::Lookup;
use crate::meter::observer::Observer;
use crate::meter::outputs::Results;
use crate::meter::threads::Threads;
use crate::meter::wakeup;
use crate::options::ViewOptions;
use crate::plan::Located;
use crate::runtime::Runtime;
use std::time::Duration;
use unspin_meter::{Config, MeterReport, RecordKind, Recording, Snapshot};

/// A metered run.
pub struct Metering {
    /// The run.
    pub trial: Trial,
    /// What was recorded.
    pub snapshot: Snapshot,
    /// The same as a report.
    pub report: MeterReport,
    /// The names of its addresses.
    pub lookup: Lookup,
    /// Why nothing was recorded, if nothing was.
    pub silence: Option<String>,
    /// Which locks are not seen, if the program has a runtime with locks of its own.
    pub unseen: Option<String>,
}

/// Runs the program once with a setup and the meter. The error says why there is no recording.
pub fn meter(runner: &Runner<'_>, setup: &Setup, time_limit: Duration) -> Result<Metering, String> {
    if runner.interrupt.came() {
        return Err("interrupted".into());
    }
    let path = runner.scratch("recording");
    // Removes the recording of the previous metered run.
    let _ = std::fs::remove_file(&path);
    let recording = Recording::create(&path, Config::default()).map_err(|e| e.to_string())?;
    wakeup::store(&recording);
    let mut monitor = MeteringMonitor {
        recording: &recording,
        threads: Threads::new(),
        observer: Observer::new(&runner.program.path),
    };
    recording.start();
    let trial = runner
        .run(Some(setup), Limit::Timeout(time_limit), Some(&path), &mut monitor)
        .map_err(|e| e.to_string())?
        .ok_or("interrupted")?;
    recording.finish(Some(Duration::from_secs_f64(trial.cpu_s())));
    monitor.threads.write(&recording);
    trial.value.as_ref().map_err(|reason| format!("when metered, {reason}"))?;
    let snapshot = recording.snapshot();
    let lookup = Lookup::new();
    let report = Results::new(&snapshot, &lookup, &ViewOptions::default()).report;
    let silence = monitor.observer.explain(&snapshot);
    let unseen = Runtime::advice_on(&snapshot);
    Ok(Metering { trial, snapshot, report, lookup, silence, unseen })
}

impl Metering {
    /// The places by which the preload library identifies the locks of the report.
    pub fn located(&self) -> Vec<Located> {
        Located::all(&self.snapshot, &self.lookup)
    }

    /// The places by which the preload library identifies the call sites of the report's waits.
    pub fn call_sites(&self) -> Vec<Located> {
        Located::sites(&self.snapshot, &self.lookup)
    }

    /// Whether a mutex was used.
    pub fn has_mutexes(&self) -> bool {
        let mut uses = self.report.locks.iter().flat_map(|lock| &lock.uses);
        uses.any(|one| matches!(one.kind, RecordKind::Mutex | RecordKind::Reacquired))
    }
}

/// Observes threads and program during a metered run.
struct MeteringMonitor<'r> {
    recording: &'r Recording,
    threads: Threads,
    observer: Observer,
}

impl RunMonitor for MeteringMonitor<'_> {
    fn pause(&self) -> Duration {
        self.threads.wait()
    }

    fn check(&mut self, pid: u32) {
        self.recording.update_last_seen();
        self.threads.check(self.recording);
        self.observer.check(pid, self.recording);
    }
}
