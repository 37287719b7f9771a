//! What the later side of a configuration costs in CPU time.

use crate::session::Session;
use crate::units::Units;
use unspin_results::CpuChange;
use unspin_stats::independent::IndependentSample;
use unspin_stats::{CpuCostUnit, Direction, Run, Settings};

/// A factor below which nothing is said: sessions of one program differ by some per cent, which runs of one session do not show.
const WORTH_SAYING: f64 = 1.05;

/// Treats more as better: then the ratio is the later side's CPU time divided by the earlier side's.
const DIRECTION: Direction = Direction::HigherIsBetter;

/// Of a configuration: its CPU time against that before. None if it is unknown of a run, or if CPU time is the metric.
pub fn of_figures(name: &str, sides: [&[Session]; 2], settings: &Settings) -> Option<CpuChange> {
    let per = unit(&[name], sides)?;
    let costs = |session: &Session| costs(session, name, per);
    let sample = |costs: &Vec<f64>| IndependentSample::of_figures(costs, DIRECTION);
    change(per, all_sessions(sides, costs)?, sample, settings)
}

/// Of a candidate: its CPU time divided by that of the control of its own session, against that before.
pub fn of_gains(name: &str, sides: [&[Session]; 2], settings: &Settings) -> Option<CpuChange> {
    let per = unit(&[sides[0][0].control(), name], sides)?;
    let rounds = |session: &Session| {
        let control = costs(session, session.control(), per)?;
        Some(control.into_iter().zip(costs(session, name, per)?).collect::<Vec<(f64, f64)>>())
    };
    let sample = |rounds: &Vec<(f64, f64)>| IndependentSample::of_gains(rounds, DIRECTION);
    change(per, all_sessions(sides, rounds)?, sample, settings)
}

/// The unit of work that all runs of these configurations have; none if CPU time is the metric.
fn unit(names: &[&str], sides: [&[Session]; 2]) -> Option<CpuCostUnit> {
    let metric = &sides[0][0].proof.analysis.metric;
    let sessions = || sides.into_iter().flatten();
    let runs = names.iter().flat_map(|name| sessions().flat_map(|session| session.measured_runs(name)));
    (!metric.is_cpu_time()).then(|| CpuCostUnit::of_runs(metric, runs))
}

/// What each run costs; none if that is unknown of one.
fn costs(session: &Session, name: &str, per: CpuCostUnit) -> Option<Vec<f64>> {
    session.measured_runs(name).iter().map(|run: &Run| per.cost(run)).collect()
}

/// The costs of all sessions, by side; none if those of one are unknown.
fn all_sessions<V>(sides: [&[Session]; 2], of: impl Fn(&Session) -> Option<V>) -> Option<[Vec<V>; 2]> {
    let side = |side: &[Session]| side.iter().map(&of).collect::<Option<Vec<V>>>();
    Some([side(sides[0])?, side(sides[1])?])
}

fn change<V>(
    per: CpuCostUnit,
    sides: [Vec<V>; 2],
    sample: impl Fn(&V) -> IndependentSample,
    settings: &Settings,
) -> Option<CpuChange> {
    let sides = sides.map(|side| side.iter().map(&sample).collect::<Vec<IndependentSample>>());
    let mean = |side: &[IndependentSample]| {
        side.iter().map(IndependentSample::value).sum::<f64>() / side.len() as f64
    };
    let [before, after] = [&sides[0], &sides[1]].map(|side| mean(side));
    let test = Units::new(sides).test(settings)?;
    let is_worth_saying = test.ratio.value.ln().abs() >= WORTH_SAYING.ln();
    let differs = is_worth_saying && test.p <= settings.alpha && !test.ratio.includes_one();
    Some(CpuChange { per, before, after, times: test.ratio, differs })
}
