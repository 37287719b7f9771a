//! A stored session, and its values by configuration.

use unspin_results::{Obstacle, StoredProof};
use unspin_stats::{Comparison, Ratio, Role, RoundedMean, Run, RunOutcome, comparable};

/// A stored result of `unspin prove`.
#[derive(Clone, Debug)]
pub struct Session {
    /// The file that it was read from.
    pub file: String,
    /// The result.
    pub proof: StoredProof,
}

/// The figures of a configuration in one session.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// In the order of the rounds.
    pub values: Vec<f64>,
    /// Their mean, as far as their digits tell it.
    pub mean: RoundedMean,
}

/// The rounds of a candidate in one session.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    /// As (control, candidate).
    pub values: Vec<(f64, f64)>,
    /// The means of both, as far as the digits of the figures tell them.
    pub means: [RoundedMean; 2],
}

impl Session {
    /// The names of the configurations that are compared, the control first. Not the second set of the control's runs.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.comparisons().filter(|comparison| comparison.role == Role::Candidate);
        std::iter::once(self.control()).chain(others.map(|comparison| comparison.name.as_str()))
    }

    /// The names of the candidates. Their gains are compared.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &str> {
        let judged =
            self.proof.analysis.comparisons.iter().filter(|comparison| comparison.role == Role::Candidate);
        judged.map(|comparison| comparison.name.as_str())
    }

    pub(crate) fn control(&self) -> &str {
        &self.proof.analysis.control
    }

    /// The figures of a configuration, in the order of the rounds.
    pub(crate) fn figures(&self, name: &str) -> Result<Figures, Obstacle> {
        let (warm_up, runs) = self.runs(name).ok_or(Obstacle::NoRuns)?;
        if let Some(obstacle) = obstacle(warm_up.iter().chain(runs)) {
            return Err(obstacle);
        }
        let values = runs.iter().filter_map(Run::value).collect();
        Ok(Figures { values, mean: RoundedMean::of(runs).ok_or(Obstacle::NoRuns)? })
    }

    /// The rounds of a candidate.
    pub(crate) fn rounds(&self, name: &str) -> Result<Rounds, Obstacle> {
        let of_control = |why| Obstacle::Control { name: self.control().to_owned(), why: Box::new(why) };
        let control = self.figures(self.control()).map_err(of_control)?;
        let candidate = self.figures(name)?;
        Ok(Rounds {
            values: control.values.into_iter().zip(candidate.values).collect(),
            means: [control.mean, candidate.mean],
        })
    }

    /// The candidate's ratio to the control, as the session states it.
    pub(crate) fn gain(&self, name: &str) -> Option<Ratio> {
        self.comparisons().find(|comparison| comparison.name == name)?.ratio
    }

    /// One value for each round: the mean over all configurations, each divided by its own mean. Empty if some have fewer rounds.
    pub(crate) fn relative_rounds(&self) -> Vec<f64> {
        let figures = self.names().filter_map(|name| self.figures(name).ok());
        let all: Vec<Vec<f64>> = figures.map(|figures| figures.values).collect();
        let rounds = all.iter().map(Vec::len).min().unwrap_or(0);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let means: Vec<f64> = all.iter().map(|values| mean(values)).collect();
        let relative =
            |round: usize| all.iter().zip(&means).map(|(values, mean)| values[round] / mean).sum::<f64>();
        (0..rounds).map(|round| relative(round) / all.len() as f64).collect()
    }

    /// Whether it has the same runs as another: then it is the same session.
    pub(crate) fn is_same(&self, other: &Session) -> bool {
        self.proof.elapsed_s == other.proof.elapsed_s
            && self.proof.analysis.control_runs == other.proof.analysis.control_runs
    }

    fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.proof.no_preload.iter().chain(&self.proof.analysis.comparisons)
    }

    /// The runs of a configuration without the warm-up; empty if there are none.
    pub(crate) fn measured_runs(&self, name: &str) -> &[Run] {
        self.runs(name).map_or(&[], |(_, runs)| runs)
    }

    fn runs(&self, name: &str) -> Option<(&Option<Run>, &[Run])> {
        let analysis = &self.proof.analysis;
        if name == analysis.control {
            return Some((&analysis.control_warm_up, &analysis.control_runs));
        }
        let found = self.comparisons().find(|comparison| comparison.name == name)?;
        Some((&found.warm_up, &found.runs))
    }
}

fn obstacle<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Option<Obstacle> {
    let all = runs.clone().count() as u32;
    let mut reasons = runs.clone().filter_map(|run| match &run.outcome {
        RunOutcome::Failed { reason } => Some(reason.clone()),
        // Only a damaged document has such a value.
        RunOutcome::Ok { value } => comparable(*value).err(),
        _ => None,
    });
    if let Some(reason) = reasons.next() {
        return Some(Obstacle::Failed { failed: 1 + reasons.count() as u32, runs: all, reason });
    }
    let mut limits = runs.filter_map(|run| match run.outcome {
        RunOutcome::Collapsed { limit_s }
        | RunOutcome::Hung { limit_s }
        | RunOutcome::Stopped { limit_s } => Some(limit_s),
        RunOutcome::Ok { .. } | RunOutcome::Failed { .. } => None,
    });
    let limit_s = limits.next()?;
    Some(Obstacle::CutOff { cut_off: 1 + limits.count() as u32, runs: all, limit_s })
}
