//! What happened to the engines' locks: one run more for each engine, metered, after everything has been timed.
//!
//! The timed runs are not metered: reading clocks at every lock costs some nanoseconds, which engines with many
//! short sections would pay for more than others.

use super::contestant::Contestant;
use super::runner::{Limit, Runner};
use super::sitting::Sitting;
use crate::engine::Engine;
use crate::error::Error;
use serde::Serialize;
use std::time::Duration;
use unspin_meter::{Config, Recording, Report};

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

/// Runs the program once more under each judged engine, the reports' order: what was before, what came after.
/// Engines that failed are left out, and so is one whose metered run fails: it has no table to show.
pub fn meter(
    runner: &Runner<'_>,
    contestants: &[Contestant],
    sitting: &Sitting,
    patience: Duration,
) -> Result<Vec<Metered>, Error> {
    let mut metered = Vec::new();
    for (index, contestant) in contestants.iter().enumerate() {
        let Some(engine) = contestant.engine.filter(|_| contestant.is_judged()) else { continue };
        if runner.interrupt.came() || sitting.first_failure(index).is_some() {
            continue;
        }
        metered.extend(meter_one(runner, contestant, engine, patience)?);
    }
    Ok(metered)
}

fn meter_one(
    runner: &Runner<'_>,
    contestant: &Contestant,
    engine: Engine,
    patience: Duration,
) -> Result<Option<Metered>, Error> {
    let path = runner.scratch(&format!("recording-{engine}"));
    let recording =
        Recording::create(&path, Config::default()).map_err(|e| Error::Environment(e.to_string()))?;
    recording.start();
    let trial = runner.run(contestant, Limit::Patience(patience), Some(&path), &|| ())?;
    let Some(trial) = trial.filter(|t| t.value.is_ok()) else { return Ok(None) };
    recording.finish(Some(Duration::from_secs_f64(trial.cpu_s())));
    let report = Report::from_recording(&recording, &unspin_sysv::describe);
    Ok(Some(Metered { engine: engine.name(), elapsed_s: trial.elapsed_s, report }))
}
