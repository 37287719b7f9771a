//! Results whose truth is known, as files have them.

use crate::host::HostResult;
use std::time::Duration;
use unspin_results::{CombinedResults, StoredBuild, StoredProof, StoredResult};
use unspin_stats::{Analysis, Candidate, Experiment, Metric, Role, Run, RunOutcome, SampleSet, Settings};

/// The CPU time of a candidate in each run, where the control's is 1.
const CANDIDATE_CPU: f64 = 1.3;

/// A host and what is measured on it.
#[derive(Clone)]
pub struct HostModel {
    pub name: String,
    pub processor: String,
    pub command: Vec<String>,
    pub metric: Metric,
    pub control: String,
    pub engine: String,
    /// The candidates with their ratios; a ratio of 0 fails.
    pub candidates: Vec<(String, f64)>,
    pub rounds: u32,
    /// The control's wall time; negative if it fails.
    pub speed: f64,
    pub plan: Option<String>,
    /// The compiled plan of the candidates.
    pub compiled: Option<String>,
    /// The name of the scheduler of the candidates.
    pub scheduler: Option<String>,
    pub cpu_limit: Option<f64>,
    pub interrupted: bool,
    /// The share of the CPUs that other programs took.
    pub others: f64,
    /// In which steps the figures are printed; none if they are not.
    pub step: Option<f64>,
}

impl HostModel {
    pub fn new(name: &str, candidates: &[(&str, f64)]) -> HostModel {
        HostModel {
            name: name.into(),
            processor: "Fast CPU".into(),
            command: vec!["./x".into(), "1".into()],
            metric: Metric::wall_time(),
            control: "system".into(),
            engine: "kernel".into(),
            candidates: candidates.iter().map(|&(name, ratio)| (name.into(), ratio)).collect(),
            rounds: 8,
            speed: 1.0,
            plan: None,
            compiled: None,
            scheduler: None,
            cpu_limit: None,
            interrupted: false,
            others: 0.01,
            step: None,
        }
    }

    /// The document of `unspin prove --json`.
    pub fn document(&self) -> String {
        let again = format!("{} (again)", self.control);
        let mut samples = vec![self.samples(Candidate::control(&*self.control), 1.0, 0)];
        samples.push(self.samples(Candidate::aa_control(&*again), 1.0, 1));
        let candidates = self.candidates.iter().zip(2..);
        samples.extend(
            candidates.map(|((name, ratio), salt)| self.samples(Candidate::new(&**name), *ratio, salt)),
        );
        let experiment = Experiment { metric: self.metric.clone(), seed: 7, samples };
        let settings =
            Settings { resamples: 199, draws: 199, cpu_limit: self.cpu_limit, ..Settings::default() };
        let analysis = Analysis::of(&experiment, &settings);
        let cpu = serde_json::json!({"user_percent": 50.0, "system_percent": 1.0, "idle_percent": 49.0, "cpu_s": 1.0,
            "wall_s": 1.0, "voluntary_switches": 1.0, "involuntary_switches": 1.0});
        let disturbance = serde_json::json!({"total_s": 9.0, "steal_s": 0.0, "others_s": 9.0 * self.others, "throttling": null});
        let configurations = experiment.samples.iter().map(|samples| {
            let plan = self.compiled.as_ref().filter(|_| samples.candidate.role == Role::Candidate);
            let scheduler = self.scheduler.as_ref().filter(|_| samples.candidate.role == Role::Candidate);
            let scheduler = scheduler.map(
                |ops| serde_json::json!({"command": samples.candidate.name, "ops": ops, "reach": "machine"}),
            );
            serde_json::json!({"name": samples.candidate.name, "engine": self.engine, "plan": plan,
                "run_queue": null, "scheduler": scheduler, "cpu": cpu})
        });
        let runs = experiment.samples.iter().enumerate().flat_map(|(candidate, samples)| {
            let disturbance = disturbance.clone();
            samples.runs.iter().zip(1..).map(move |(run, round)| {
                serde_json::json!({"candidate": candidate, "round": round, "started_s": 0.0, "elapsed_s": run.elapsed_s,
                    "user_s": 0.5, "system_s": 0.01, "value": run.value(), "failure": null, "disturbance": disturbance})
            })
        });
        let document = serde_json::json!({
            "schema": "unspin.prove/3",
            "unspin": {"version": "0.1.0", "commit": "0123456789ab"},
            "machine": {"cpus": 4, "processor": self.processor, "kernel": "6.18.1", "host": self.name},
            "command": self.command, "service": null, "conclusion": analysis.conclusion(),
            "interrupted": self.interrupted, "aborted": null, "rounds": self.rounds, "elapsed_s": 9.5,
            "candidates": configurations.collect::<Vec<_>>(), "disturbance": disturbance,
            "analysis": analysis, "no_preload": null, "plan": self.plan, "runs": runs.collect::<Vec<_>>(),
        });
        document.to_string()
    }

    pub fn result(&self, file: &str) -> HostResult {
        let Ok(StoredResult::Proof(proof)) = StoredResult::parse(&self.document()) else { panic!("a proof") };
        let proof: StoredProof = *proof;
        HostResult::new(file.into(), proof)
    }

    /// Half a percent of scatter, which looks random and is the same each time.
    fn samples(&self, candidate: Candidate, ratio: f64, salt: u32) -> SampleSet {
        let name: u32 = self.name.bytes().map(u32::from).sum();
        let run = |round: u32| {
            let noise = f64::from((round * 7919 + salt * 104_729 + name * 31) % 101) / 101.0 - 0.5;
            let exact = self.speed / ratio * (1.0 + 0.02 * noise);
            let value = self.step.map_or(exact, |step| (exact / step).round() * step);
            let fails = ratio <= 0.0 || self.speed <= 0.0;
            let cpu_s = if candidate.role == Role::Candidate { CANDIDATE_CPU } else { 1.0 };
            let outcome = match !fails {
                true => RunOutcome::measured(value),
                false => RunOutcome::Failed { reason: "it ended with exit code 1".into() },
            };
            Run::new(Duration::from_secs_f64(if fails { 0.1 } else { exact }), outcome)
                .with_cpu_s(cpu_s)
                .with_step(self.step)
        };
        SampleSet { runs: (0..self.rounds).map(run).collect(), ..SampleSet::new(candidate) }
    }
}

/// The results of these hosts, from files of their names.
pub fn results(hosts: &[HostModel]) -> Vec<HostResult> {
    hosts.iter().map(|host| host.result(&format!("{}.json", host.name))).collect()
}

/// The results of these hosts combined.
pub fn combined(hosts: &[HostModel]) -> CombinedResults {
    crate::combine(results(hosts), None, build()).unwrap()
}

/// A build of unspin.
pub fn build() -> StoredBuild {
    StoredBuild { version: "0.1.0".into(), commit: "0123456789ab".into() }
}
