//! Simulated sessions, for tests.

use crate::Session;
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use std::time::Duration;
use unspin_results::{
    StoredBuild, StoredConfiguration, StoredCpuShares, StoredDisturbance, StoredLocks, StoredMachine,
    StoredProof,
};
use unspin_stats::{
    Analysis, Candidate, Conclusion, Direction, Experiment, Metric, Run, RunOutcome, SampleSet, Settings,
};

/// What a simulated session is like.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Rounds.
    pub rounds: usize,
    /// True mean figure of the control.
    pub control: f64,
    /// How many times as good the candidate `poll` truly is.
    pub gain: f64,
    /// Coefficient of variation of a run.
    pub cv: f64,
    /// The metric.
    pub metric: Metric,
    /// In which steps the figures are printed; none if they are not.
    pub step: Option<f64>,
}

impl Default for Simulation {
    fn default() -> Simulation {
        Simulation { rounds: 10, control: 1.0, gain: 2.0, cv: 0.05, metric: Metric::wall_time(), step: None }
    }
}

impl Simulation {
    /// One session.
    pub fn session(&self, file: &str, seed: u64) -> Session {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut samples = |candidate: Candidate, mean: f64| {
            let values: Vec<f64> = (0..self.rounds).map(|_| mean * self.noise(&mut random)).collect();
            self.printed(samples(candidate, &values))
        };
        let poll = match self.metric.direction {
            Direction::LowerIsBetter => self.control / self.gain,
            Direction::HigherIsBetter => self.control * self.gain,
        };
        let control = samples(Candidate::control("system"), self.control);
        let again = samples(Candidate::aa_control("system (again)"), self.control);
        let unhooked = samples(Candidate::new("no preload"), self.control);
        let candidate = samples(Candidate::new("poll"), poll);
        let settings = Settings { resamples: 199, draws: 199, ..Settings::default() };
        let analyse =
            |samples| Analysis::of(&Experiment { metric: self.metric.clone(), seed, samples }, &settings);
        let no_preload = analyse(vec![control.clone(), unhooked]).comparisons.remove(0);
        let analysis = analyse(vec![control, again, candidate]);
        Session { file: file.into(), proof: proof(analysis, Some(no_preload), self.rounds as u32, seed) }
    }

    /// With the digits that are printed.
    fn printed(&self, mut samples: SampleSet) -> SampleSet {
        for run in &mut samples.runs {
            if let (Some(value), Some(step)) = (run.value(), self.step) {
                run.outcome = RunOutcome::measured((value / step).round() * step);
                run.step = Some(step);
            }
        }
        samples
    }

    /// Log-normal, with mean 1.
    fn noise(&self, random: &mut ChaCha8Rng) -> f64 {
        let variance = self.cv.powi(2).ln_1p();
        // The sum of twelve uniform numbers has the variance 1.
        let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        (variance.sqrt() * normal - 0.5 * variance).exp()
    }
}

/// Runs with these values.
pub fn samples(candidate: Candidate, values: &[f64]) -> SampleSet {
    let run = |value: &f64| Run::new(Duration::from_secs_f64(value.abs()), RunOutcome::measured(*value));
    SampleSet { runs: values.iter().map(run).collect(), ..SampleSet::new(candidate) }
}

fn proof(
    analysis: Analysis,
    no_preload: Option<unspin_stats::Comparison>,
    rounds: u32,
    seed: u64,
) -> StoredProof {
    StoredProof {
        unspin: build(),
        machine: StoredMachine {
            cpus: 2,
            processor: "Fast CPU".into(),
            kernel: "6.1".into(),
            host: "one".into(),
        },
        command: vec!["./bench".into(), "a b".into()],
        service: None,
        conclusion: Conclusion::NothingProven,
        summary: None,
        interrupted: false,
        aborted: None,
        percentile: None,
        rounds,
        elapsed_s: 10.0 + seed as f64 / 1e6,
        candidates: Vec::new(),
        disturbance: StoredDisturbance { total_s: 20.0, ..StoredDisturbance::default() },
        analysis,
        no_preload,
        between_schedulers: Vec::new(),
        plan: None,
        waits: Vec::new(),
        locks: StoredLocks::default(),
        runs: Vec::new(),
    }
}

/// A configuration with this compiled plan.
pub fn configuration(name: &str, plan: Option<&str>) -> StoredConfiguration {
    StoredConfiguration {
        name: name.into(),
        engine: None,
        plan: plan.map(str::to_owned),
        run_queue: None,
        scheduler: None,
        kernel: None,
        summary: None,
        cpu: StoredCpuShares::default(),
    }
}

/// A build of unspin.
pub fn build() -> StoredBuild {
    StoredBuild { version: "0.1.0".into(), commit: "1a2b3c4".into() }
}
