//! The runs: one metered run of each configuration on one CPU, then rounds in random order.

use super::cpu_sets::CpuSets;
use super::profile::{MeteredLock, throughput, units};
use crate::configuration::Configuration;
use crate::metering::{Metering, meter};
use crate::monitor::NoMonitor;
use crate::requested::Requested;
use crate::runner::{Limit, Runner, Trial};
use crate::settings::ScaleSettings;
use serde::Serialize;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_scaling::round_order::RoundOrder;
use unspin_sys::sched;

/// Rounds that a fit needs: one has no spread.
pub const ROUNDS_MIN: u32 = 2;

/// All runs of a session.
pub struct Measurement {
    /// The control, then the candidates.
    pub configurations: Vec<Configuration>,
    /// The lock of each; none if its metered run failed, or no round is complete.
    pub locks: Vec<Option<MeteredLock>>,
    /// The runs of the complete rounds, in their order; all runs if there are too few rounds for a fit.
    pub runs: Vec<ScaleRun>,
    /// Number of complete rounds.
    pub rounds: u32,
    /// Why a configuration is not judged, by its name.
    pub failures: Vec<String>,
    /// Whether ^C ended the session.
    pub interrupted: bool,
    /// Wall-clock time of the rounds, in seconds.
    pub elapsed_s: f64,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub struct ScaleRun {
    /// Index of the configuration.
    pub configuration: usize,
    /// CPUs.
    pub cpus: u32,
    /// Round, counted from 0.
    pub round: u32,
    /// Units of work a second.
    pub throughput: f64,
    /// Voluntary context switches for each unit.
    pub sleeps: f64,
    /// CPU time of each unit, in seconds.
    pub cpu_s: f64,
    /// The run.
    #[serde(flatten)]
    pub trial: Trial,
}

impl Measurement {
    /// Runs everything. ^C ends it after the complete rounds. `seed` determines the order.
    pub fn take(
        runner: &Runner<'_>,
        requested: Requested,
        cpu_sets: &CpuSets,
        options: &ScaleSettings,
        seed: u64,
    ) -> Result<Measurement, Error> {
        let result = Measurement::on_sets(runner, requested, cpu_sets, options, seed);
        // unspin itself may use all CPUs again.
        bind(&cpu_sets.allowed)?;
        result
    }

    fn on_sets(
        runner: &Runner<'_>,
        mut requested: Requested,
        cpu_sets: &CpuSets,
        options: &ScaleSettings,
        seed: u64,
    ) -> Result<Measurement, Error> {
        let began = Instant::now();
        bind(cpu_sets.first(1))?;
        let mut failures = Vec::new();
        let control = requested.control.clone();
        runner.progress.phase(&format!("one metered run of {} on one CPU", control.name()));
        let mut meterings = vec![try_meter(runner, &control, options.time_limit, &mut failures)];
        if let Some(metering) = &meterings[0] {
            requested.complete_first_uses(&metering.all_located(), runner.program)?;
        }
        for candidate in &requested.judged {
            runner.progress.phase(&format!("one metered run of {} on one CPU", candidate.name()));
            meterings.push(try_meter(runner, candidate, options.time_limit, &mut failures));
        }
        let configurations = [vec![control], requested.judged].concat();
        let mut measurement = Measurement {
            locks: vec![None; configurations.len()],
            configurations,
            runs: Vec::new(),
            rounds: 0,
            failures,
            interrupted: runner.interrupt.has_come(),
            elapsed_s: 0.0,
        };
        measurement.run_rounds(runner, cpu_sets, options, seed, began)?;
        for (n, metering) in meterings.iter().enumerate() {
            let own = measurement.runs.iter().filter(|run| run.configuration == n && run.cpus == 1);
            let (count, cpu_s) = own.fold((0.0, 0.0), |sum, run| (sum.0 + 1.0, sum.1 + run.cpu_s));
            if let Some(metering) = metering.as_ref().filter(|_| count > 0.0) {
                let configuration = &measurement.configurations[n];
                let lock = MeteredLock::of(metering, configuration, runner.figure, cpu_s / count);
                measurement.locks[n] = Some(lock);
            }
        }
        Ok(measurement)
    }

    /// Runs each configuration on each number of CPUs in each round. A candidate that fails is left out from then on.
    fn run_rounds(
        &mut self,
        runner: &Runner<'_>,
        cpu_sets: &CpuSets,
        options: &ScaleSettings,
        seed: u64,
        session_began: Instant,
    ) -> Result<(), Error> {
        let began = Instant::now();
        let mut orders = RoundOrder::new(seed);
        let mut failed = vec![false; self.configurations.len()];
        for round in 0..options.runs {
            let mut complete = Vec::new();
            let places = cpu_sets.measured.len();
            for place in orders.next(self.configurations.len() * places) {
                let (configuration, cpus) = (place / places, cpu_sets.measured[place % places]);
                if failed[configuration] || self.interrupted {
                    continue;
                }
                let name = self.configurations[configuration].name().to_owned();
                runner.progress.detail(&format!(
                    "round {} of {}: {name}, {cpus} CPUs",
                    round + 1,
                    options.runs
                ));
                bind(cpu_sets.first(cpus))?;
                let setup = self.configurations[configuration].setup.as_ref();
                let limit = Limit::Timeout(options.time_limit);
                let Some(trial) = runner.run(setup, limit, None, &mut NoMonitor)? else {
                    self.interrupted = true;
                    continue;
                };
                match &trial.value {
                    Ok(value) if *value > 0.0 => {
                        let units = units(runner.figure, *value, trial.elapsed_s);
                        complete.push(ScaleRun {
                            configuration,
                            cpus,
                            round,
                            throughput: throughput(runner.figure, *value),
                            sleeps: trial.voluntary_switches as f64 / units,
                            cpu_s: trial.cpu_s() / units,
                            trial,
                        });
                    }
                    other => {
                        let reason = match other {
                            Ok(value) => {
                                format!("its figure is {value}, and a throughput needs a positive one")
                            }
                            Err(reason) => reason.clone(),
                        };
                        let cpus = if cpus == 1 { "1 CPU".into() } else { format!("{cpus} CPUs") };
                        let text = format!("{name} on {cpus}, round {}: {reason}", round + 1);
                        if configuration == 0 && self.rounds == 0 {
                            let tail = trial.output_tail.trim();
                            let output = if tail.is_empty() {
                                String::new()
                            } else {
                                format!("; its output ends: {tail}")
                            };
                            return Err(Error::Unjudged(format!(
                                "the control failed, so there is nothing to fit: {text}{output}"
                            )));
                        }
                        self.failures.push(format!("{text}. It is not run again."));
                        failed[configuration] = true;
                    }
                }
            }
            if self.interrupted || failed[0] {
                // Too few for a fit, but not lost.
                if self.rounds < ROUNDS_MIN {
                    self.runs.append(&mut complete);
                }
                break;
            }
            self.runs.append(&mut complete);
            self.rounds = round + 1;
            let one = began.elapsed() / self.rounds;
            if round == 0 {
                runner.progress.phase(&announcement(options, one, session_began.elapsed()));
            }
            let is_over = |budget| session_began.elapsed() + one > budget;
            if self.rounds >= ROUNDS_MIN && options.time_budget.is_some_and(is_over) {
                break;
            }
        }
        self.elapsed_s = began.elapsed().as_secs_f64();
        // A candidate that failed in a later round has no figures of all rounds.
        if self.rounds >= ROUNDS_MIN {
            self.runs.retain(|run| !failed[run.configuration] || run.configuration == 0);
        }
        Ok(())
    }

    /// The runs of a configuration on some CPUs, in the order of the rounds.
    pub fn runs_of(&self, configuration: usize, cpus: u32) -> impl Iterator<Item = &ScaleRun> {
        self.runs.iter().filter(move |run| run.configuration == configuration && run.cpus == cpus)
    }
}

/// How many rounds follow, how long they take, and what makes them fewer. A round takes `one`; `spent` is the time of the session
/// until now.
fn announcement(options: &ScaleSettings, one: Duration, spent: Duration) -> String {
    let whole = |rounds: u32| (one * rounds).as_secs_f64();
    match options.time_budget {
        Some(budget) => {
            let fitting = (budget.saturating_sub(spent).as_secs_f64() / one.as_secs_f64().max(1e-9)) as u32;
            let rounds = fitting.saturating_add(1).max(ROUNDS_MIN).min(options.runs);
            format!(
                "{rounds} rounds for this time budget ({ROUNDS_MIN} at least), about {:.0} s",
                whole(rounds)
            )
        }
        None if options.runs > ROUNDS_MIN => format!(
            "{} rounds, about {:.0} s (--time-budget bounds them; --runs {ROUNDS_MIN}, the fewest, take {:.0} s)",
            options.runs,
            whole(options.runs),
            whole(ROUNDS_MIN)
        ),
        None => format!("{} rounds, about {:.0} s", options.runs, whole(options.runs)),
    }
}

fn try_meter(
    runner: &Runner<'_>,
    configuration: &Configuration,
    time_limit: Duration,
    failures: &mut Vec<String>,
) -> Option<Metering> {
    let setup = configuration.setup.as_ref().expect("all of them go through the interposition");
    match meter(runner, setup, time_limit) {
        Ok(metering) => Some(metering),
        Err(reason) => {
            failures.push(format!(
                "{}: no lock is known, so its model has none: {reason}.",
                configuration.name()
            ));
            None
        }
    }
}

/// Binds this thread, and so the programs that it starts.
fn bind(cpus: &[usize]) -> Result<(), Error> {
    sched::stay_on_all(cpus).map_err(|e| {
        Error::Environment(format!("cannot bind to the CPUs {cpus:?}: {e} (taskset(1), cpuset(7))"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcement_says_what_bounds_the_time() {
        let said = |runs: u32, seconds: Option<u64>| {
            let time_budget = seconds.map(Duration::from_secs);
            let settings = ScaleSettings { runs, time_budget, ..ScaleSettings::of(vec!["ls".into()]) };
            announcement(&settings, Duration::from_secs(10), Duration::from_secs(14))
        };
        assert_eq!(
            said(5, None),
            "5 rounds, about 50 s (--time-budget bounds them; --runs 2, the fewest, take 20 s)"
        );
        assert_eq!(said(2, None), "2 rounds, about 20 s");
        assert_eq!(said(5, Some(35)), "3 rounds for this time budget (2 at least), about 30 s");
        assert_eq!(said(5, Some(1)), "2 rounds for this time budget (2 at least), about 20 s");
    }
}
