//! Short runs of many candidates, of which the best are kept. They select candidates, and prove nothing.

use super::super::configuration::Configuration;
use super::super::monitor::NoMonitor;
use super::super::runner::{Limit, Runner};
use serde::Serialize;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_stats::screening::{ScreeningEnd, ScreeningResult};
use unspin_stats::{Conclusion, RunLimit, SampleSet, Screening, collapse};

/// The result of the screening.
#[derive(Debug, Serialize)]
pub struct Screened {
    /// The candidates, the best first.
    pub standings: Vec<ScreeningResult>,
    /// All runs, the control's first.
    pub samples: Vec<SampleSet>,
    /// The screening's duration in seconds.
    pub elapsed_s: f64,
}

/// Number of candidates that are kept through the last stage: one more than are judged, because some are combined.
const KEPT: usize = 3;

/// Compares the candidates for `budget`: no run begins later.
pub fn screen(
    runner: &Runner<'_>,
    control: &Configuration,
    entrants: &[Configuration],
    budget: Duration,
    time_limit: Duration,
) -> Result<Screened, Error> {
    let candidates = entrants.iter().map(|entrant| entrant.candidate.clone()).collect();
    let mut screening = Screening::new(
        control.candidate.clone(),
        candidates,
        KEPT,
        budget,
        &runner.figure.metric,
        crate::seed::seed(),
    );
    let began = Instant::now();
    while let Some(turn) = screening.next(began.elapsed()) {
        if began.elapsed() >= budget {
            break;
        }
        let configuration = turn.index.checked_sub(1).map_or(control, |index| &entrants[index]);
        runner.progress.detail(&format!(
            "short run of {} ({} candidates)",
            configuration.name(),
            entrants.len()
        ));
        let limit = match turn.limit {
            Some(limit) if limit < time_limit => Limit::Candidate(RunLimit::Collapse(limit)),
            _ => Limit::Timeout(time_limit),
        };
        let Some(trial) = runner.run(configuration.setup.as_ref(), limit, None, &mut NoMonitor)? else {
            break;
        };
        screening.record(trial.run(limit));
        if runner.interrupt.has_come() {
            break;
        }
    }
    Ok(Screened {
        standings: screening.results(),
        samples: screening.samples().to_vec(),
        elapsed_s: began.elapsed().as_secs_f64(),
    })
}

impl Screened {
    /// The best candidates, at most `most`: all that were better than the control. If none was, the one closest to the
    /// control, so that there is a result. With a limit of CPU time those that seemed to stay within it come first.
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

    /// The conclusion if no candidate is left to be judged. A candidate proves nothing if it was stopped before its
    /// collapse, if it was stopped only once, or if the machine stalled the control in this session.
    pub fn conclusion(&self) -> Conclusion {
        let control = self.samples[0].all_runs().filter(|run| run.value().is_some());
        let control = control.map(|run| Duration::from_secs_f64(run.elapsed_s));
        let stalled = self.samples[0].cut_off() > 0;
        let collapse_s =
            collapse::limit(&control.collect::<Vec<_>>()).map_or(0.0, |limit| limit.as_secs_f64());
        let has_collapsed = |standing: &ScreeningResult| match standing.end {
            ScreeningEnd::Collapsed { limit_s } | ScreeningEnd::Hung { limit_s } => {
                limit_s >= collapse_s
                    && self.samples[standing.index].cut_off() >= collapse::CUT_OFF_AT_LEAST
                    && !stalled
            }
            ScreeningEnd::Kept | ScreeningEnd::Dropped | ScreeningEnd::Failed { .. } => false,
        };
        let has_failed = |standing: &ScreeningResult| matches!(standing.end, ScreeningEnd::Failed { .. });
        if self.standings.iter().any(has_collapsed) {
            Conclusion::Slower
        } else if self.standings.iter().all(has_failed) {
            Conclusion::Failed
        } else {
            Conclusion::NothingProven
        }
    }

    /// Number of runs.
    pub fn runs(&self) -> usize {
        self.samples.iter().map(|samples| samples.all_runs().count()).sum()
    }
}
