//! The schedulers of a session: what the kernel had enabled, and how they compare with each other.

use super::configuration::Configuration;
use super::session::Session;
use serde::Serialize;
use unspin_launch::scheduler::{Enabled, Reach};
use unspin_stats::{Comparison, Verdict};

/// The scheduler of a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedScheduler {
    /// The command that loads it.
    pub command: String,
    /// The name that the kernel shows; none if it was not enabled to the end of any run.
    pub ops: Option<String>,
    /// Which tasks it schedules: those of the machine, or of the program.
    pub reach: Option<Reach>,
    /// CPU time of its process in a run, a mean in seconds; that of the program does not contain it.
    pub cpu_s: Option<f64>,
}

impl JudgedScheduler {
    /// That of a configuration; none if none is judged.
    pub fn of(configuration: &Configuration, index: usize, session: &Session) -> Option<JudgedScheduler> {
        let command = configuration.judged_scheduler()?.line.clone();
        let all = session.runs.iter().filter(|run| run.candidate == index).map(|run| &run.trial.scheduler);
        let enabled: Option<Enabled> = all.filter_map(|past| past.enabled.clone()).next_back();
        let measured: Vec<f64> = session
            .trials(index)
            .filter(|trial| trial.value.is_ok())
            .map(|trial| trial.scheduler.cpu_s)
            .collect();
        let cpu_s = (!measured.is_empty()).then(|| measured.iter().sum::<f64>() / measured.len() as f64);
        let (ops, reach) = enabled.map(|enabled| (enabled.ops, enabled.reach)).unzip();
        Some(JudgedScheduler { command, ops, reach, cpu_s })
    }

    /// "unspin-sched mq: sched_ext unspin_mq for the program only; its process used 0.01 s of CPU time in a run".
    pub fn sentence(&self, name: &str) -> String {
        let enabled = match (&self.ops, self.reach) {
            (Some(ops), Some(Reach::Machine)) => format!("sched_ext {ops} for all tasks of the machine"),
            (Some(ops), _) => format!("sched_ext {ops} for the program only"),
            (None, _) => "not enabled to the end of any run".into(),
        };
        let cpu = match self.cpu_s {
            Some(seconds) => format!("; its process used {seconds:.3} s of CPU time in a run"),
            None => String::new(),
        };
        format!("{name}: {enabled}{cpu}.")
    }
}

/// Two schedulers of a session, compared by its runs.
#[derive(Clone, Debug, Serialize)]
pub struct SchedulerPair {
    /// The scheduler that is the control of this comparison.
    pub control: String,
    /// The other one, compared with it.
    pub comparison: Comparison,
}

impl SchedulerPair {
    /// Each pair of schedulers, in the order of the command line. Pairs that cannot be compared, because one of the two failed, are
    /// left out. The significance level of a pair is that of the session divided by the number of pairs (Bonferroni), so the
    /// probability of any false proof among them does not grow with their number.
    pub fn all(configurations: &[Configuration], session: &Session) -> Vec<SchedulerPair> {
        let judged: Vec<usize> = (0..configurations.len())
            .filter(|&index| configurations[index].judged_scheduler().is_some())
            .collect();
        let with_later = judged
            .iter()
            .enumerate()
            .flat_map(|(at, &before)| judged[at + 1..].iter().map(move |&after| (before, after)));
        let pairs: Vec<(usize, usize)> = with_later.collect();
        let alpha = session.analysis.settings.alpha / pairs.len().max(1) as f64;
        let compare = |(before, after): (usize, usize)| {
            let comparison = session.between(before, after, "", alpha)?;
            let has_failed = matches!(comparison.verdict, Verdict::Failed { .. });
            let control = configurations[before].name().to_owned();
            (!has_failed).then_some(SchedulerPair { control, comparison })
        };
        pairs.into_iter().filter_map(compare).collect()
    }
}
