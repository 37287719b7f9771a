//! Short runs of many candidates, of which the best are kept. They select candidates, and prove nothing.

use super::super::configuration::Configuration;
use super::super::progress::Progress;
use super::super::runner::{Limit, Runner};
use crate::error::Error;
use serde::Serialize;
use std::time::{Duration, Instant};
use unspin_stats::screening::{ScreeningEnd, ScreeningResult};
use unspin_stats::{Conclusion, Run, SampleSet, Screening};

/// The result of the screening.
#[derive(Debug, Serialize)]
pub struct Screened {
    /// The candidates, the best first.
    pub standings: Vec<ScreeningResult>,
    /// All runs, the control's first.
    pub samples: Vec<SampleSet>,
    /// Its duration in seconds.
    pub elapsed_s: f64,
}

/// Number of candidates that are kept through the last stage: one more than are judged, because some are combined.
const KEPT: usize = 3;

/// Compares the candidates for about `budget`.
pub fn screen(
    runner: &Runner<'_>,
    control: &Configuration,
    entrants: &[Configuration],
    budget: Duration,
    time_limit: Duration,
) -> Result<Screened, Error> {
    let candidates = entrants.iter().map(|entrant| entrant.candidate.clone()).collect();
    let direction = runner.figure.metric.direction;
    let mut screening =
        Screening::new(control.candidate.clone(), candidates, KEPT, budget, direction, super::super::seed());
    let mut progress = Progress::over(budget);
    let began = Instant::now();
    while let Some(turn) = screening.next(began.elapsed()) {
        let who = turn.index.checked_sub(1).map_or(control, |index| &entrants[index]);
        progress.message(&format!("trying {} ({} candidates)", who.name(), entrants.len()), began.elapsed());
        let limit = match turn.limit {
            Some(limit) if limit < time_limit => Limit::Collapse(limit),
            _ => Limit::Timeout(time_limit),
        };
        let Some(trial) = runner.run(who.setup.as_ref(), limit, None, &mut progress)? else { break };
        let run = Run::new(Duration::from_secs_f64(trial.elapsed_s), trial.outcome(limit));
        screening.record(run.with_cpu_s(trial.cpu_s()));
        if runner.interrupt.came() {
            break;
        }
    }
    progress.finish();
    Ok(Screened {
        standings: screening.results(),
        samples: screening.samples().to_vec(),
        elapsed_s: began.elapsed().as_secs_f64(),
    })
}

impl Screened {
    /// The best candidates, at most `most`: those that were better than the control, or else the one that came closest,
    /// so that there is a result. With a limit of CPU time those that seemed to stay within it come first.
    pub fn best(
        &self,
        most: usize,
        entrants: &[Configuration],
        within_limit: &dyn Fn(usize) -> bool,
    ) -> Vec<Configuration> {
        let ran = self
            .standings
            .iter()
            .filter(|standing| matches!(standing.end, ScreeningEnd::Kept | ScreeningEnd::Dropped));
        let better = |standing: &&ScreeningResult| standing.ratio.is_some_and(|ratio| ratio > 1.0);
        let (frugal, others): (Vec<&ScreeningResult>, Vec<&ScreeningResult>) =
            ran.clone().filter(better).partition(|standing| within_limit(standing.index));
        let mut best: Vec<&ScreeningResult> = frugal.into_iter().chain(others).take(most).collect();
        if best.is_empty() {
            best.extend(ran.take(1));
        }
        best.into_iter().map(|standing| entrants[standing.index - 1].clone()).collect()
    }

    /// The conclusion if no candidate is left to be judged.
    pub fn conclusion(&self) -> Conclusion {
        let collapsed = |standing: &ScreeningResult| matches!(standing.end, ScreeningEnd::Collapsed { .. });
        if self.standings.iter().any(collapsed) { Conclusion::Slower } else { Conclusion::Failed }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.samples.iter().map(|samples| samples.all_runs().count()).sum()
    }
}
