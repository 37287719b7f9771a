//! The cost of a candidate in CPU time, compared with the control.
//!
//! A candidate that polls is faster and uses more CPU time. The verdict on its speed does not contain that price, so
//! the price is stated beside it: the candidate's CPU time divided by the control's, with an interval by the same
//! paired bootstrap as for the ratio of the metric.
//!
//! CPU times can be compared only for the same amount of work. For a metric of which less is better (usually a time),
//! each run is assumed to do the same work; the cost is the CPU time of a run. Where every run says how many requests it
//! served, the cost is its CPU time divided by them: a load of a fixed time serves more of them if the server is faster. A
//! metric of which more is better is assumed to be a rate; a run has then done rate × elapsed time of work, and the cost is
//! its CPU time divided by that.

use crate::bootstrap::ratio_of_means;
use crate::interval::Ratio;
use crate::metric::{Direction, Metric};
use crate::random::{Purpose, stream};
use crate::run::Run;
use crate::sample::{SampleSet, mean};
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The unit of work to which CPU time refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuCostUnit {
    /// A run: every run does the same work.
    Run,
    /// A request: every run says how many it served.
    Request,
    /// A unit of work: the metric is a rate, and rate × elapsed time is the work of a run.
    Unit,
}

/// The CPU time (user and system, with all children) of a candidate and of the control.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuCost {
    /// The unit of work.
    pub per: CpuCostUnit,
    /// The control's CPU time in seconds: the mean of the rounds in which both ended successfully.
    pub control_s: f64,
    /// The candidate's CPU time in seconds, in the same way.
    pub candidate_s: f64,
    /// The candidate's divided by the control's. Unlike in all other ratios, above 1 means *more*, thus worse.
    pub times: Ratio,
}

impl CpuCostUnit {
    /// What CPU time refers to, at the end of "the CPU time".
    pub fn of_work(self) -> &'static str {
        match self {
            CpuCostUnit::Run => "",
            CpuCostUnit::Request => " per request",
            CpuCostUnit::Unit => " per unit of work",
        }
    }
}

impl CpuCost {
    /// What a candidate costs, for a sentence: "1.31 times the CPU time". None if the interval includes 1, or if the figure would be 1.
    pub fn price(&self) -> Option<String> {
        let shown = self.times.shown().0;
        let differs = !self.times.includes_one() && shown.parse() != Ok(1.0);
        differs.then(|| format!("{shown} times the CPU time{}", self.per.of_work()))
    }

    /// Computed from the rounds in which both ended successfully and used CPU time. `None` below two such rounds.
    pub(crate) fn of(
        control: &SampleSet,
        candidate: &SampleSet,
        metric: &Metric,
        settings: &Settings,
        seed: u64,
    ) -> Option<CpuCost> {
        let per = CpuCostUnit::of(metric, [control, candidate]);
        let pairs = per.pairs(control, candidate);
        // Treat more as better: then the quotient is the candidate's CPU time divided by the control's.
        let times = ratio_of_means(
            &pairs,
            Direction::HigherIsBetter,
            settings.confidence,
            settings.resamples,
            &mut stream(seed, Purpose::CpuTime),
        )?;
        let (control, candidate): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        Some(CpuCost { per, control_s: mean(&control), candidate_s: mean(&candidate), times })
    }

    /// Only the quotient, for any number of runs: for choosing candidates, which proves nothing.
    pub fn quotient(control: &SampleSet, candidate: &SampleSet, metric: &Metric) -> Option<f64> {
        let pairs = CpuCostUnit::of(metric, [control, candidate]).pairs(control, candidate);
        let (control, candidate): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        (!control.is_empty()).then(|| mean(&candidate) / mean(&control))
    }

    /// Whether these runs rule out that the candidate costs more than the control by a larger share than `limit` (0.5:
    /// half as much again). The upper end of the interval decides.
    pub fn is_within(&self, limit: f64) -> bool {
        self.times.upper <= 1.0 + limit
    }
}

impl CpuCostUnit {
    fn of(metric: &Metric, sides: [&SampleSet; 2]) -> CpuCostUnit {
        CpuCostUnit::of_runs(metric, sides.iter().flat_map(|side| &side.runs))
    }

    /// The unit of work of these runs, with which their CPU times can be compared.
    pub fn of_runs<'a>(metric: &Metric, runs: impl IntoIterator<Item = &'a Run>) -> CpuCostUnit {
        let mut measured = runs.into_iter().filter(|run| run.value().is_some());
        match metric.direction {
            Direction::HigherIsBetter => CpuCostUnit::Unit,
            Direction::LowerIsBetter if measured.all(|run| run.samples.is_some()) => CpuCostUnit::Request,
            Direction::LowerIsBetter => CpuCostUnit::Run,
        }
    }

    /// (control, candidate) of the rounds in which both ended successfully and used CPU time.
    fn pairs(self, control: &SampleSet, candidate: &SampleSet) -> Vec<(f64, f64)> {
        let rounds = control.runs.iter().zip(&candidate.runs);
        rounds.filter_map(|(control, candidate)| Some((self.cost(control)?, self.cost(candidate)?))).collect()
    }

    /// CPU seconds per unit of work of a successful run. None if they are unknown or 0.
    pub fn cost(self, run: &Run) -> Option<f64> {
        let (value, cpu_s) = (run.value()?, run.cpu_s?);
        let cost = match self {
            CpuCostUnit::Run => cpu_s,
            CpuCostUnit::Request => cpu_s / run.samples? as f64,
            CpuCostUnit::Unit => cpu_s / (value * run.elapsed_s),
        };
        (cost.is_finite() && cost > 0.0).then_some(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::Candidate;
    use crate::run::RunOutcome;
    use std::time::Duration;

    /// Eight runs with this duration in seconds, this value and this CPU time.
    fn samples(elapsed: f64, value: f64, cpu_s: f64) -> SampleSet {
        let run = Run::new(Duration::from_secs_f64(elapsed), RunOutcome::measured(value)).with_cpu_s(cpu_s);
        SampleSet { runs: vec![run; 8], ..SampleSet::new(Candidate::new("any")) }
    }

    fn cost(metric: &Metric, control: &SampleSet, candidate: &SampleSet) -> Option<CpuCost> {
        CpuCost::of(control, candidate, metric, &Settings::default(), 1)
    }

    #[test]
    fn time_metric_counts_cpu_time_per_run() {
        let (control, candidate) = (samples(4.0, 4.0, 1.0), samples(1.0, 1.0, 1.5));
        let cost = cost(&Metric::wall_time(), &control, &candidate).unwrap();
        assert_eq!(
            (cost.per, cost.control_s, cost.candidate_s, cost.times.value),
            (CpuCostUnit::Run, 1.0, 1.5, 1.5)
        );
        assert_eq!(cost.price().unwrap(), "1.50 times the CPU time");
        let unclear = CpuCost { times: Ratio { lower: 0.9, ..cost.times }, ..cost };
        assert_eq!(unclear.price(), None);
        let slight = CpuCost { times: Ratio { value: 1.003, lower: 1.001, upper: 1.005 }, ..cost };
        assert_eq!(slight.price(), None);
        assert!(cost.is_within(0.51) && !cost.is_within(0.49));
        assert_eq!(CpuCost::quotient(&control, &candidate, &Metric::wall_time()), Some(1.5));
    }

    #[test]
    fn rate_metric_counts_cpu_time_per_unit_of_work() {
        // Both run for 10 s; the candidate does four times the work with three times the CPU time.
        let metric = Metric::custom("tps", "", Direction::HigherIsBetter);
        let (control, candidate) = (samples(10.0, 100.0, 4.0), samples(10.0, 400.0, 12.0));
        let cost = cost(&metric, &control, &candidate).unwrap();
        assert_eq!(cost.per, CpuCostUnit::Unit);
        assert_eq!(cost.price().unwrap(), "0.75 times the CPU time per unit of work");
        assert!((cost.times.value - 0.75).abs() < 1e-12 && cost.is_within(0.0), "{cost:?}");
    }

    /// Issue 30: a load of a fixed time.
    #[test]
    fn known_requests_count_cpu_time_per_request() {
        // The candidate serves twice the requests with the same CPU time.
        let with = |mut set: SampleSet, requests| {
            set.runs.iter_mut().for_each(|run| run.samples = Some(requests));
            set
        };
        let metric = Metric::custom("p99", "s", Direction::LowerIsBetter);
        let control = with(samples(10.0, 0.002, 4.0), 1000);
        let mut candidate = with(samples(10.0, 0.001, 4.0), 2000);
        let known = cost(&metric, &control, &candidate).unwrap();
        assert_eq!((known.per, known.control_s, known.candidate_s), (CpuCostUnit::Request, 0.004, 0.002));
        assert!((known.times.value - 0.5).abs() < 1e-12 && known.is_within(0.0), "{known:?}");
        assert_eq!(CpuCost::quotient(&control, &candidate, &metric), Some(0.5));
        candidate.runs[3].samples = None;
        let unknown = cost(&metric, &control, &candidate).unwrap();
        assert_eq!((unknown.per, unknown.times.value), (CpuCostUnit::Run, 1.0));
    }

    #[test]
    fn unknown_or_zero_cpu_time_gives_no_cost() {
        let known = samples(1.0, 1.0, 1.0);
        let mut unknown = known.clone();
        unknown.runs.iter_mut().for_each(|run| run.cpu_s = None);
        assert_eq!(cost(&Metric::wall_time(), &known, &unknown), None);
        assert_eq!(cost(&Metric::wall_time(), &known, &samples(1.0, 1.0, 0.0)), None);
    }
}
