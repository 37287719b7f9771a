//! What happened to the locks: one run more for each candidate, metered, after everything has been timed.

use super::contestant::Contestant;
use super::metering::{Metering, meter};
use super::runner::Runner;
use super::sitting::Sitting;
use crate::error::Error;
use serde::Serialize;
use std::time::Duration;
use unspin_meter::Report;

/// The locks of one metered run.
#[derive(Clone, Debug, Serialize)]
pub struct Metered {
    /// Whose these are.
    pub candidate: String,
    /// Wall time of this run, in seconds; not one of the results.
    pub elapsed_s: f64,
    /// The locks.
    pub report: Report,
}

/// The tables of all candidates.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Locks {
    /// One for each, the reports' order: what was before, what came after.
    pub metered: Vec<Metered>,
    /// For each candidate without a table, why it has none.
    pub missing: Vec<String>,
}

impl Metered {
    /// What a metered run says of the locks under `candidate`.
    pub fn new(candidate: &str, metering: Metering) -> Metered {
        let Metering { trial, report, .. } = metering;
        Metered { candidate: candidate.to_owned(), elapsed_s: trial.elapsed_s, report }
    }
}

impl Locks {
    /// With what was metered before the sitting.
    pub fn before(metered: Metered) -> Locks {
        Locks { metered: vec![metered], missing: Vec::new() }
    }

    /// Runs the program under the control of plans: what was before. A program that locks no mutex is no program to judge kinds
    /// of mutex by, and one that never waits none to judge policies by.
    pub fn meter_control(
        &mut self,
        runner: &Runner<'_>,
        control: &Contestant,
        patience: Duration,
    ) -> Result<(), Error> {
        let setup = control.setup.as_ref().expect("the control goes through the interposition");
        let plan = setup.plan.as_ref().map(|prepared| &prepared.plan);
        let mutexes = plan.is_some_and(|plan| !plan.mutexes.is_empty());
        let waits = plan.is_some_and(|plan| !plan.waits.is_empty());
        match meter(runner, setup, patience) {
            Ok(metering)
                if !(mutexes && metering.has_mutexes() || waits && !metering.report.waits.is_empty()) =>
            {
                let what = if mutexes { "mutex to judge kinds by" } else { "wait to judge policies by" };
                Err(Error::Unjudged(without(what, runner, &metering)))
            }
            Ok(metering) => {
                self.metered.push(Metered::new(control.name(), metering));
                Ok(())
            }
            // If it fails by itself too, the sitting will show that.
            Err(reason) => {
                self.missing.push(format!("No lock table of {}: {reason}.", control.name()));
                Ok(())
            }
        }
    }

    /// Runs the program once more under each of the judged that ended well. Nothing that goes wrong here takes away from
    /// what has been measured before.
    pub fn meter(
        &mut self,
        runner: &Runner<'_>,
        contestants: &[Contestant],
        sitting: &Sitting,
        patience: Duration,
    ) {
        for (index, contestant) in contestants.iter().enumerate().filter(|(_, c)| c.is_judged()) {
            let Some(setup) = &contestant.setup else { continue };
            if sitting.first_failure(index).is_some() || sitting.trials(index).next().is_none() {
                continue; // The verdict says so already.
            }
            let name = contestant.name();
            match meter(runner, setup, patience) {
                Ok(metering) => self.metered.push(Metered::new(name, metering)),
                Err(reason) => self.missing.push(format!("No lock table of {name}: {reason}.")),
            }
        }
    }
}

fn without(what: &str, runner: &Runner<'_>, metering: &Metering) -> String {
    let program = runner.program.path.display();
    match &metering.silence {
        Some(why) => format!("{program}: there is no {what}. {why}"),
        None => format!(
            "{program}: there is no {what}: the locks and waits that it uses are others (`unspin meter` shows them)"
        ),
    }
}
