//! What happened to the engines' locks: one run more for each engine, metered, after everything has been timed.
//!
//! The timed runs are not metered: reading clocks at every lock costs some nanoseconds, which engines with many
//! short sections would pay for more than others.

use super::contestant::Contestant;
use super::runner::{Limit, Runner};
use super::sitting::Sitting;
use crate::engine::Engine;
use serde::Serialize;
use std::time::Duration;
use unspin_meter::{Config, Name, Recording, Report};

/// One metered run.
#[derive(Clone, Debug, Serialize)]
pub struct Metered {
    /// Whose locks these are.
    pub engine: &'static str,
    /// Wall time of this run, in seconds; not one of the results.
    pub elapsed_s: f64,
    /// The locks.
    pub report: Report,
}

impl Metered {
    /// Whether the engine recorded anything at all. If not, no call of the program came to it.
    pub fn is_empty(&self) -> bool {
        self.report.locks.is_empty() && self.report.events.is_empty() && self.report.unrecorded.is_nothing()
    }
}

/// The tables of all engines.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Locks {
    /// One for each engine, the reports' order: what was before, what came after.
    pub metered: Vec<Metered>,
    /// For each engine without a table, why it has none.
    pub missing: Vec<String>,
}

/// Runs the program once more under each judged engine. Nothing that goes wrong here takes away from what has been
/// measured before.
pub fn meter(
    runner: &Runner<'_>,
    contestants: &[Contestant],
    sitting: &Sitting,
    patience: Duration,
) -> Locks {
    let mut locks = Locks::default();
    for (index, contestant) in contestants.iter().enumerate() {
        let Some(engine) = contestant.engine.filter(|_| contestant.is_judged()) else { continue };
        if sitting.first_failure(index).is_some() || sitting.trials(index).next().is_none() {
            continue; // The verdict says so already.
        }
        match meter_one(runner, contestant, engine, patience) {
            Ok(metered) => locks.metered.push(metered),
            Err(reason) => locks.missing.push(format!("No lock table of {engine}: {reason}.")),
        }
    }
    locks
}

fn meter_one(
    runner: &Runner<'_>,
    contestant: &Contestant,
    engine: Engine,
    patience: Duration,
) -> Result<Metered, String> {
    if runner.interrupt.came() {
        return Err("interrupted".into());
    }
    let path = runner.scratch(&format!("recording-{engine}"));
    let recording = Recording::create(&path, Config::default()).map_err(|e| e.to_string())?;
    recording.start();
    let trial = runner
        .run(contestant, Limit::Patience(patience), Some(&path), &|| ())
        .map_err(|e| e.to_string())?
        .ok_or("interrupted")?;
    recording.finish(Some(Duration::from_secs_f64(trial.cpu_s())));
    trial.value.as_ref().map_err(|reason| format!("when metered, {reason}"))?;
    let report = Report::from_recording(&recording, &|_, key| unspin_sysv::describe(key).map(Name::from));
    Ok(Metered { engine: engine.name(), elapsed_s: trial.elapsed_s, report })
}
