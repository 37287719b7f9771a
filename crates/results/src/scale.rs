//! A result of `unspin scale --json`.

use crate::machine::{StoredBuild, StoredDisturbance, StoredMachine};
use serde::Deserialize;
use unspin_scaling::{MachineCost, ScalingFit};
use unspin_stats::Metric;

/// A result of `unspin scale`.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredScale {
    /// The build that measured.
    pub unspin: StoredBuild,
    /// The machine.
    pub machine: StoredMachine,
    /// The machine's costs by the probe; none in documents of older versions.
    #[serde(default)]
    pub machine_cost: Option<MachineCost>,
    /// The command that was measured.
    pub command: Vec<String>,
    /// The figure of a run.
    pub metric: Metric,
    /// Numbers of CPUs on which the program ran.
    pub measured_cpus: Vec<u32>,
    /// Complete rounds.
    pub rounds: u32,
    /// Wall-clock time of the rounds, in seconds.
    pub elapsed_s: f64,
    /// The names of all configurations, which the runs count from 0.
    pub names: Vec<String>,
    /// The control, then the candidates that did not fail.
    pub configurations: Vec<StoredScaling>,
    /// What failed, one sentence each.
    pub failures: Vec<String>,
    /// Whether ^C ended the session.
    pub interrupted: bool,
    /// What disturbed the runs, summed.
    pub disturbance: StoredDisturbance,
    /// The command that repeats the measurement.
    #[serde(default)]
    pub repeat: Option<String>,
    /// What to do next, in words; none in documents of older versions.
    #[serde(default)]
    pub next: Option<String>,
    /// All runs of the complete rounds; all runs if these are too few for a fit.
    pub runs: Vec<StoredScaleRun>,
}

/// One configuration, fitted.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredScaling {
    /// Its name.
    pub name: String,
    /// The lock of the model; none if the meter saw none.
    #[serde(default)]
    pub lock: Option<StoredModelLock>,
    /// Voluntary context switches for each unit of work, by number of CPUs.
    pub sleeps: Vec<(u32, f64)>,
    /// CPUs kept busy, by number of CPUs.
    pub busy: Vec<(u32, f64)>,
    /// The fit.
    pub fit: ScalingFit,
}

/// The lock that is held most.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredModelLock {
    /// The lock's name; none if the program holds no lock that the meter sees.
    pub name: Option<String>,
    /// Number of locks that share the name.
    pub locks: u32,
    /// Mean hold in seconds.
    pub hold_s: f64,
    /// Whether only the holds for writing count.
    pub for_writing: bool,
    /// Share of the CPU time of a run on one CPU in which one of them was held.
    pub share: f64,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StoredScaleRun {
    /// Index into [`StoredScale::names`].
    pub configuration: usize,
    /// CPUs that the program could use.
    pub cpus: u32,
    /// Round, counted from 0.
    pub round: u32,
    /// Units of work a second.
    pub throughput: f64,
}
