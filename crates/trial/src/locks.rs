//! The locks under each candidate: one more run of each, metered, after the timed runs.

use super::budget::TimeBudget;
use super::call_sites::CallSites;
use super::configuration::Configuration;
use super::metering::{EndedEarly, Metering, meter, meter_as_far_as_possible};
use super::requested::Requested;
use super::runner::Runner;
use super::session::Session;
use super::setup::Prepared;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::plan::Located;
use unspin_launch::replace::run_queue;
use unspin_observe::disturbance::Disturbance;
use unspin_report::{Lock, LockId, MeterReport, Row};
use unspin_runqueue::lock::LOCK_NAME;
use unspin_wire::RecordKind;
use unspin_wire::plan::LockFamily;

/// A metered run after the rounds ends at this many times the candidate's longest run, and not before
/// [`METERED_AT_LEAST`]. The meter makes a program that does nothing but lock a few times slower.
const METERED_TIMES: f64 = 10.0;
const METERED_AT_LEAST: Duration = Duration::from_secs(1);
/// Maximum number of locks that a message names.
const NAMED_MAX: usize = 3;

/// The locks of one metered run.
#[derive(Clone, Debug, Serialize)]
pub struct Metered {
    /// The name of the configuration.
    pub candidate: String,
    /// Wall-clock time of this run, in seconds; not one of the results.
    pub elapsed_s: f64,
    /// CPU time of this run, in seconds.
    pub cpu_s: f64,
    /// Why it ended before the program did, if so; possible only for the control.
    pub ended_early: Option<EndedEarly>,
    /// What disturbed this run.
    #[serde(skip)]
    pub disturbance: Disturbance,
    /// The call sites of its waits.
    #[serde(skip)]
    pub call_sites: CallSites,
    /// The locks that stay libc's under this candidate, of the families that it replaces.
    #[serde(skip)]
    pub libcs: BTreeSet<LockId>,
    /// The locks.
    pub report: MeterReport,
}

/// The lock tables of all configurations.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Locks {
    /// One table for each configuration, the control's first.
    pub metered: Vec<Metered>,
    /// The reason for each configuration without a table.
    pub missing: Vec<String>,
}

impl Metered {
    /// The locks of a metered run under `candidate`.
    pub fn new(candidate: &str, metering: Metering) -> Metered {
        let call_sites = CallSites::of(&metering);
        let Metering { trial, ended_early, mut report, .. } = metering;
        let cpus = (trial.cpu_s() / trial.elapsed_s).min(f64::from(report.cpus));
        report.locks.iter_mut().for_each(|lock| bound_cpus(&mut lock.row, cpus, report.cpus));
        Metered {
            candidate: candidate.to_owned(),
            elapsed_s: trial.elapsed_s,
            cpu_s: trial.cpu_s(),
            ended_early,
            disturbance: trial.disturbance,
            call_sites,
            libcs: BTreeSet::new(),
            report,
        }
    }

    /// The locks of a metered run under a candidate with this plan.
    fn under(candidate: &str, plan: &Prepared, metering: Metering) -> Metered {
        let replaced = LockFamily::ALL.into_iter().filter(|&family| plan.plan.replaces(family));
        let left = replaced.flat_map(|family| {
            let located = metering.located(family);
            let of_family = metering.report.locks.iter().filter(move |lock| is_of(lock, family));
            of_family.filter(move |lock| stays(plan, family, &located, lock))
        });
        let libcs = left.map(Lock::id).collect();
        Metered { libcs, ..Metered::new(candidate, metering) }
    }
}

/// Limits the CPU time that a lock cost to what the program used. The meter sums the time in which threads held the
/// lock or spun for it; threads that were preempted meanwhile used no CPU.
fn bound_cpus(row: &mut Row, used: f64, machine: u32) {
    row.cpus = row.cpus.min(used);
    row.spin_cpu = row.spin_cpu.min(used / f64::from(machine));
}

impl Locks {
    /// With the control's metered run of the search.
    pub fn before(metered: Metered) -> Locks {
        Locks { metered: vec![metered], missing: Vec::new() }
    }

    /// The control's metered run, if it ended before the program did, and why.
    pub fn ended_early(&self) -> Option<(&Metered, EndedEarly)> {
        let first = self.metered.first()?;
        Some((first, first.ended_early?))
    }

    /// Meters the control of plans, and adds to the candidates what the recording knows of their locks. Refuses a
    /// program without a lock of the families whose kinds are judged, and a program without a wait if policies are judged.
    /// Refuses a candidate whose locks are all unused, and a candidate that polls only at call sites without waits.
    pub fn meter_control(
        &mut self,
        runner: &Runner<'_>,
        requested: &mut Requested,
        time_limit: Duration,
    ) -> Result<(), Error> {
        let control = &requested.control;
        let setup = control.setup.as_ref().expect("the control goes through the interposition");
        let plan = setup.plan.as_ref().map(|prepared| &prepared.plan);
        let families =
            LockFamily::ALL.into_iter().filter(|&family| plan.is_some_and(|plan| plan.has(family)));
        let families: Vec<LockFamily> = families.collect();
        let waits = plan.is_some_and(|plan| !plan.waits.is_empty());
        runner.progress.phase(&format!("one metered run of {}", control.name()));
        let metering = match meter_as_far_as_possible(runner, setup, time_limit) {
            Ok(metering) => metering,
            // If it also fails without the meter, the session reports that.
            Err(reason) => {
                self.missing.push(format!("No lock table of {}: {reason}.", control.name()));
                return Ok(());
            }
        };
        if metering.ended_early.is_some() {
            self.metered.push(Metered::new(control.name(), metering));
            return Ok(());
        }
        let has_locks = families.iter().any(|&family| metering.has(family));
        if !(has_locks || waits && !metering.report.waits.is_empty()) {
            let what = match families.first() {
                Some(&family) => format!("{} to judge kinds by", family.noun()),
                None => "wait to judge policies by".to_owned(),
            };
            return Err(Error::Unjudged(without(&what, runner, &metering)));
        }
        let located = LockFamily::ALL.map(|family| (family, metering.located(family)));
        let recorded = metering.all_located();
        let metered = Metered::new(control.name(), metering);
        requested.complete_first_uses(&recorded, runner.program)?;
        for configuration in &requested.judged {
            refuse_idle(configuration, &metered.call_sites, runner)?;
            refuse_unused(configuration, &metered.report, &located, runner)?;
        }
        self.metered.push(metered);
        Ok(())
    }

    /// Meters the control and the candidate of run queues, before the rounds: the report has both tables, however long
    /// the rounds take. Refuses a program if its executors recorded no use of a run queue's lock.
    pub fn meter_run_queues(
        &mut self,
        runner: &Runner<'_>,
        requested: &Requested,
        time_limit: Duration,
    ) -> Result<(), Error> {
        for configuration in [&requested.control].into_iter().chain(&requested.judged) {
            let name = configuration.name();
            let setup = configuration.setup.as_ref().expect("all of them go through the interposition");
            runner.progress.phase(&format!("one metered run of {name}"));
            let metering = match meter_as_far_as_possible(runner, setup, time_limit) {
                Ok(metering) => metering,
                // If it also fails without the meter, the session reports that.
                Err(reason) => {
                    self.missing.push(format!("No lock table of {name}: {reason}."));
                    continue;
                }
            };
            let ended_early = metering.ended_early;
            if let Some(own) = metering.trial.run_queue.filter(|_| setup.run_queue.is_none())
                && requested.judged.iter().any(|judged| judged.judged_run_queue() == Some(own))
            {
                return Err(Error::Unjudged(format!(
                    "{}: the program uses the run queue {own} by itself: give --runqueue {other},{own}",
                    runner.program.path.display(),
                    own = own.name(),
                    other = own.other().name(),
                )));
            }
            if ended_early.is_none() && metering.report.lock(LOCK_NAME).is_none() {
                return Err(Error::Unjudged(format!(
                    "{}: a metered run under {name} used no run queue of unspin: {}",
                    runner.program.path.display(),
                    run_queue::NEEDS_THE_CRATE
                )));
            }
            if ended_early.is_some() && !self.metered.is_empty() {
                self.missing.push(format!("No lock table of {name}: its metered run did not end."));
                break;
            }
            self.metered.push(Metered::new(name, metering));
            if ended_early.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Meters every candidate whose runs succeeded, except run queues, which have been metered, and schedulers, which change no lock.
    /// Failures here do not change
    /// the results so far.
    pub fn meter(
        &mut self,
        runner: &Runner<'_>,
        configurations: &[Configuration],
        session: &Session,
        budget: &TimeBudget,
        time_limit: Duration,
    ) {
        let has_no_table = |configuration: &Configuration| {
            configuration.is_judged() && configuration.is_metered_after_rounds()
        };
        for (index, configuration) in configurations.iter().enumerate().filter(|(_, c)| has_no_table(c)) {
            let Some(setup) = &configuration.setup else { continue };
            if session.failures(index).next().is_some() || session.trials(index).next().is_none() {
                continue; // The verdict reports the failure.
            }
            let name = configuration.name();
            let longest_s = session.trials(index).map(|trial| trial.elapsed_s).fold(0.0, f64::max);
            if runner.interrupt.has_come() {
                self.missing.push(format!("No lock table of {name}: interrupted."));
                continue;
            }
            // A metered run that begins before the budget is spent may end after it.
            if budget.left().is_zero() || budget.left().as_secs_f64() < 0.5 * longest_s {
                self.missing.push(format!("No lock table of {name}: the time budget is spent."));
                continue;
            }
            runner.progress.phase(&format!("one metered run of {name}"));
            // A program that never ends under the meter must not exceed the budget by much.
            let limit = METERED_AT_LEAST.max(Duration::from_secs_f64(METERED_TIMES * longest_s));
            match meter(runner, setup, time_limit.min(limit)) {
                Ok(metering) => self.metered.push(match &setup.plan {
                    Some(plan) => Metered::under(name, plan, metering),
                    None => Metered::new(name, metering),
                }),
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

/// Refuses a candidate whose only effect is polling at call sites that never wait. If such a candidate has other
/// effects, prints these call sites on standard error.
fn refuse_idle(configuration: &Configuration, sites: &CallSites, runner: &Runner<'_>) -> Result<(), Error> {
    let Some(prepared) = configuration.setup.as_ref().and_then(|setup| setup.plan.as_ref()) else {
        return Ok(());
    };
    let polling = prepared.compiled.polling_sites();
    let mut idle = Vec::new();
    for site in polling {
        let waits = sites.waits_at(site);
        if waits.as_ref().is_some_and(|waits| waits.waits > 0) {
            continue;
        }
        let how = match waits.map_or(0, |waits| waits.calls) {
            0 => "the program never called it in a metered run".to_owned(),
            calls => format!("none of its {calls} calls had to wait in a metered run"),
        };
        let nearest = match sites.nearest(&site.name) {
            nearest if nearest.is_empty() => "no call site waited".to_owned(),
            nearest => format!("call sites that waited: {}", nearest.join(", ")),
        };
        let candidate = configuration.name();
        let name = match candidate.ends_with(&format!("@{}", site.name)) {
            true => candidate.to_owned(),
            false => format!("{candidate}: {}", site.name),
        };
        idle.push(format!("{name}: {how}; {nearest}"));
    }
    let is_useless = !polling.is_empty()
        && idle.len() == polling.len()
        && prepared.plan.locks.is_empty()
        && !prepared.compiled.polls_everywhere();
    if is_useless {
        let program = runner.program.path.display();
        let also = "; `unspin meter` shows all";
        return Err(Error::Unjudged(format!("{program}: {}{also}", idle.join("; "))));
    }
    for idle in idle {
        unspin_launch::output::stderr::say(format_args!("{idle}"));
    }
    Ok(())
}

/// Refuses a candidate that replaces none of the locks that the program used, unless it also changes waits.
fn refuse_unused(
    configuration: &Configuration,
    report: &MeterReport,
    located: &[(LockFamily, Vec<Located>)],
    runner: &Runner<'_>,
) -> Result<(), Error> {
    let Some(prepared) = configuration.setup.as_ref().and_then(|setup| setup.plan.as_ref()) else {
        return Ok(());
    };
    if !prepared.plan.waits.is_empty() {
        return Ok(());
    }
    let replaced = located.iter().filter(|(family, _)| prepared.plan.replaces(*family));
    let mut locks: Vec<(LockFamily, &Lock, bool)> = Vec::new();
    for (family, located) in replaced {
        let of_family = report.locks.iter().filter(|lock| is_of(lock, *family));
        locks.extend(of_family.map(|lock| (*family, lock, stays(prepared, *family, located, lock))));
    }
    let Some(&(family, ..)) = locks.first().filter(|_| locks.iter().all(|(.., stays)| *stays)) else {
        return Ok(());
    };
    locks.sort_by(|(_, a, _), (_, b, _)| {
        b.row.lost.total_cmp(&a.row.lost).then(b.row.attempts.cmp(&a.row.attempts))
    });
    let named = locks
        .iter()
        .take(NAMED_MAX)
        .map(|(_, lock, _)| format!("{} ({} uses)", lock.row.name, lock.row.attempts));
    Err(Error::Unjudged(format!(
        "{}: {}: a metered run used no {} of this name; it used: {}; `unspin meter` shows all",
        runner.program.path.display(),
        configuration.name(),
        family.noun(),
        named.collect::<Vec<_>>().join(", ")
    )))
}

/// Whether a lock of the report stays libc's under a plan. `located` has the locks of its family.
fn stays(prepared: &Prepared, family: LockFamily, located: &[Located], lock: &Lock) -> bool {
    let lock = located.iter().find(|located| located.is(lock));
    prepared.compiled.leaves_to_libc(family, lock)
}

fn is_of(lock: &Lock, family: LockFamily) -> bool {
    lock.uses.iter().any(|one| one.kind.family() == Some(family) && one.kind != RecordKind::Reacquired)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_wire::{Counts, Window};

    /// Eight threads spin on two CPUs: most of their time is spent waiting for a CPU.
    #[test]
    fn cpu_time_of_a_lock_is_limited_to_that_of_the_program() {
        let window = Window { seconds: 1.0, cpus: 2, ticks_per_second: 1e9, cpu_seconds: Some(1.9) };
        let counts =
            Counts { spun: 1000, timed: 1000, hold: 200_000_000, spin: 4_400_000_000, ..Counts::default() };
        let mut row = Row::from_counts("lock", &counts, &window);
        assert!(row.cpus > 4.0 && row.spin_cpu > 2.0, "{row:?}");
        bound_cpus(&mut row, 1.9, 2);
        assert_eq!((row.cpus, row.spin_cpu), (1.9, 0.95));
    }
}
