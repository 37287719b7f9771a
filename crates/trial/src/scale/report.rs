//! The findings of a session, for the text and as JSON.

use super::cpu_sets::CpuSets;
use super::measurement::{Measurement, ROUNDS_MIN, ScaleRun};
use super::profile::MeteredLock;
use crate::percentile::PercentileEvidence;
use crate::runner::Runner;
use serde::Serialize;
use std::path::Path;
use unspin_launch::error::Error;
use unspin_launch::machine::{Build, Machine};
use unspin_launch::output::document;
use unspin_observe::disturbance::Disturbance;
use unspin_scaling::fit::{FitError, Validation, validations};
use unspin_scaling::program::{ProgramProfile, WaitStyle};
use unspin_scaling::{CpuMeasurement, MachineCost, ScalingFit};
use unspin_stats::{Direction, Metric};

/// The number after the slash is increased when a field changes its meaning or is removed.
const SCHEMA: &str = "unspin.scale/1";

/// Everything that is printed.
#[derive(Debug, Serialize)]
pub struct ScaleReport {
    schema: &'static str,
    /// The build of unspin.
    pub unspin: Build,
    /// The machine.
    pub machine: Machine,
    /// The machine's costs, by the probe.
    pub machine_cost: MachineCost,
    /// The command that was measured.
    pub command: Vec<String>,
    /// The figure of a run.
    pub metric: Metric,
    /// What the figure rests on, if it is a percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentile: Option<PercentileEvidence>,
    /// Numbers of CPUs on which the program ran.
    pub measured_cpus: Vec<u32>,
    /// Complete rounds.
    pub rounds: u32,
    /// Wall-clock time of the rounds, in seconds.
    pub elapsed_s: f64,
    /// The names of all configurations, which the runs count from 0.
    pub names: Vec<String>,
    /// The control, then the candidates that did not fail; empty if the rounds are too few for a fit.
    pub configurations: Vec<ScaledConfiguration>,
    /// What failed, one sentence each.
    pub failures: Vec<String>,
    /// Whether ^C ended the session.
    pub interrupted: bool,
    /// What disturbed the runs, summed.
    pub disturbance: Disturbance,
    /// The command that repeats the measurement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<String>,
    /// What to do next, in words.
    pub next: String,
    /// The seed of order and resampling.
    pub seed: u64,
    /// All runs of the complete rounds; all runs if these are too few for a fit.
    pub runs: Vec<ScaleRun>,
}

/// One configuration.
#[derive(Debug, Serialize)]
pub struct ScaledConfiguration {
    /// The configuration's name.
    pub name: String,
    /// The configuration's lock; none if the meter saw none.
    pub lock: Option<MeteredLock>,
    /// Voluntary context switches for each unit of work, by number of CPUs.
    pub sleeps: Vec<(u32, f64)>,
    /// CPUs kept busy, by number of CPUs.
    pub busy: Vec<(u32, f64)>,
    /// The fit.
    pub fit: ScalingFit,
}

impl ScaleReport {
    /// Fits each configuration.
    pub fn new(
        runner: &Runner<'_>,
        measured: Measurement,
        machine_cost: MachineCost,
        cpu_sets: &CpuSets,
        parallel: Option<u32>,
        seed: u64,
    ) -> Result<ScaleReport, Error> {
        let mut inputs = Vec::new();
        for (n, configuration) in measured.configurations.iter().enumerate() {
            if measured.rounds < ROUNDS_MIN || measured.runs_of(n, 1).next().is_none() {
                continue;
            }
            let lock = measured.locks[n].clone();
            let mean = |cpus: u32, value: &dyn Fn(&ScaleRun) -> f64| {
                let (count, sum) = measured
                    .runs_of(n, cpus)
                    .fold((0.0, 0.0), |(count, sum), run| (count + 1.0, sum + value(run)));
                sum / count
            };
            let by_cpus = |value: &dyn Fn(&ScaleRun) -> f64| -> Vec<(u32, f64)> {
                cpu_sets.measured.iter().map(|&cpus| (cpus, mean(cpus, value))).collect()
            };
            let sleeps = by_cpus(&|run| run.sleeps);
            let points: Vec<CpuMeasurement> = cpu_sets
                .measured
                .iter()
                .map(|&cpus| CpuMeasurement {
                    cpus,
                    throughputs: measured.runs_of(n, cpus).map(|run| run.throughput).collect(),
                })
                .collect();
            let busy = by_cpus(&|run| run.trial.cpu_s() / run.trial.elapsed_s);
            let profile = profile(lock.as_ref(), parallel, sleeps[0].1, busy[0].1);
            inputs.push(FitInput {
                name: configuration.name().to_owned(),
                lock,
                sleeps,
                busy,
                points,
                profile,
            });
        }
        let configurations = fit_all(inputs, &machine_cost, &cpu_sets.predicted, seed)?;
        let mut disturbance = Disturbance::default();
        for run in &measured.runs {
            disturbance.total_s += run.trial.disturbance.total_s;
            disturbance.steal_s += run.trial.disturbance.steal_s;
            disturbance.others_s += run.trial.disturbance.others_s;
            if let Some(throttling) = run.trial.disturbance.throttling {
                *disturbance.throttling.get_or_insert_default() += throttling;
            }
        }
        Ok(ScaleReport {
            schema: SCHEMA,
            unspin: Build::THIS,
            machine: Machine::this(),
            machine_cost,
            command: runner
                .program
                .command_line()
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            metric: runner.figure.measured_metric(),
            percentile: runner.figure.percentile_evidence(measured.runs.iter().map(|run| run.trial.samples)),
            measured_cpus: cpu_sets.measured.clone(),
            rounds: measured.rounds,
            elapsed_s: measured.elapsed_s,
            names: measured.configurations.iter().map(|c| c.name().to_owned()).collect(),
            configurations,
            failures: measured.failures,
            interrupted: measured.interrupted,
            disturbance,
            repeat: None,
            next: String::new(),
            seed,
            runs: measured.runs,
        })
    }

    /// Writes it as JSON.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        document::write_json(self, file)
    }

    /// Writes it as a page, which contains the JSON.
    pub fn write_page(&self, file: &Path) -> Result<(), Error> {
        document::write_page(self, file, unspin_page::page)
    }

    /// What a throughput of 1 is.
    pub fn unit(&self) -> String {
        let unit =
            if self.metric.unit.is_empty() { String::new() } else { format!(" in {}", self.metric.unit) };
        match self.metric.direction {
            Direction::LowerIsBetter => format!("1/{}{unit}", self.metric.name),
            Direction::HigherIsBetter => format!("{}{unit}", self.metric.name),
        }
    }
}

/// What is known of a configuration before the fit.
struct FitInput {
    name: String,
    lock: Option<MeteredLock>,
    sleeps: Vec<(u32, f64)>,
    busy: Vec<(u32, f64)>,
    points: Vec<CpuMeasurement>,
    profile: ProgramProfile,
}

/// Fits all configurations. The checks of all of them tell how far the model may be off.
fn fit_all(
    inputs: Vec<FitInput>,
    machine: &MachineCost,
    predicted: &[u32],
    seed: u64,
) -> Result<Vec<ScaledConfiguration>, Error> {
    let unfit = |name: &str, e: FitError| Error::Unjudged(format!("{name}: {e}"));
    let checks: Vec<Vec<Validation>> = inputs
        .iter()
        .map(|input| {
            validations(&input.points, input.profile, machine, seed).map_err(|e| unfit(&input.name, e))
        })
        .collect::<Result<_, _>>()?;
    let fit = |(n, input): (usize, FitInput)| {
        let others: Vec<Validation> =
            checks.iter().enumerate().filter(|(other, _)| *other != n).flat_map(|(_, c)| c.clone()).collect();
        let FitInput { name, lock, sleeps, busy, points, profile } = input;
        let fit = ScalingFit::new(&points, profile, machine, predicted, &others, seed)
            .map_err(|e| unfit(&name, e))?;
        Ok(ScaledConfiguration { name, lock, sleeps, busy, fit })
    };
    inputs.into_iter().enumerate().map(fit).collect()
}

fn profile(lock: Option<&MeteredLock>, parallel: Option<u32>, sleeps: f64, busy: f64) -> ProgramProfile {
    /// Less is not told from nothing.
    const BUSY_MIN: f64 = 1e-3;
    let busy = busy.clamp(BUSY_MIN, 1.0);
    /// More threads than this change no prediction for the CPUs that can be asked for, and take time to compute.
    const THREADS_MAX: u32 = 512;
    // The meter counts threads that use locks; without a lock it may see next to none.
    let metered = lock.filter(|lock| lock.name.is_some()).map_or(THREADS_MAX, |lock| lock.threads);
    let threads = parallel.unwrap_or(metered).min(THREADS_MAX);
    match lock {
        Some(lock) => ProgramProfile {
            threads,
            style: lock.style,
            locks: lock.locks,
            acquisitions: lock.acquisitions,
            hold_s: lock.hold_s,
            sleeps,
            busy,
        },
        None => ProgramProfile {
            threads,
            style: WaitStyle::Barging,
            locks: 1,
            acquisitions: 0.0,
            hold_s: 0.0,
            sleeps,
            busy,
        },
    }
}
