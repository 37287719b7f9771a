//! A run that is not timed but metered: what happened to its locks.
//!
//! The timed runs are not metered: reading clocks at every lock costs some nanoseconds, which a lock with many short
//! sections would pay for more than others.

use super::runner::{Limit, Runner, Trial};
use super::setup::Setup;
use super::watch::Watch;
use crate::meter::names::Lookup;
use crate::meter::outputs::Results;
use crate::meter::threads::Threads;
use crate::meter::wakeup;
use crate::meter::witness::Witness;
use crate::options::View;
use crate::plan::Located;
use std::time::Duration;
use unspin_meter::{Config, MeterReport, RecordKind, Recording, Snapshot};

/// One metered run.
pub struct Metering {
    /// The run.
    pub trial: Trial,
    /// What was recorded.
    pub snapshot: Snapshot,
    /// The same as a report.
    pub report: MeterReport,
    /// What is known of names.
    pub lookup: Lookup,
    /// Why nothing was recorded at all, if that is so.
    pub silence: Option<String>,
}

/// Runs the program once under a setup, metered; or says why there is nothing to show for it.
pub fn meter(runner: &Runner<'_>, setup: &Setup, patience: Duration) -> Result<Metering, String> {
    if runner.interrupt.came() {
        return Err("interrupted".into());
    }
    let path = runner.scratch("recording");
    // The last one's, which nobody needs any more.
    let _ = std::fs::remove_file(&path);
    let recording = Recording::create(&path, Config::default()).map_err(|e| e.to_string())?;
    wakeup::store(&recording);
    let mut looks =
        Looks { recording: &recording, threads: Threads::new(), witness: Witness::new(&runner.program.path) };
    recording.start();
    let trial = runner
        .run(Some(setup), Limit::Patience(patience), Some(&path), &mut looks)
        .map_err(|e| e.to_string())?
        .ok_or("interrupted")?;
    recording.finish(Some(Duration::from_secs_f64(trial.cpu_s())));
    looks.threads.write(&recording);
    trial.value.as_ref().map_err(|reason| format!("when metered, {reason}"))?;
    let snapshot = recording.snapshot();
    let lookup = Lookup::new();
    let report = Results::new(&snapshot, &lookup, &View::default()).report;
    let silence = looks.witness.explain(&snapshot);
    Ok(Metering { trial, snapshot, report, lookup, silence })
}

impl Metering {
    /// Where the preload library recognises the locks of the report.
    pub fn located(&self) -> Vec<Located> {
        Located::all(&self.snapshot, &self.lookup)
    }

    /// Where the preload library recognises the call sites of the report's waits.
    pub fn call_sites(&self) -> Vec<Located> {
        Located::sites(&self.snapshot, &self.lookup)
    }

    /// Whether a mutex was used.
    pub fn has_mutexes(&self) -> bool {
        let mut uses = self.report.locks.iter().flat_map(|lock| &lock.uses);
        uses.any(|one| matches!(one.kind, RecordKind::Mutex | RecordKind::Reacquired))
    }
}

/// What is learnt about the program on the way.
struct Looks<'r> {
    recording: &'r Recording,
    threads: Threads,
    witness: Witness,
}

impl Watch for Looks<'_> {
    fn pause(&self) -> Duration {
        self.threads.wait()
    }

    fn look(&mut self, pid: u32) {
        self.recording.update_last_seen();
        self.threads.look(self.recording);
        self.witness.look(pid, self.recording);
    }
}
