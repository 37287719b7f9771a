//! One configuration, before and after.

use crate::cpu_change;
use crate::session::{Figures, Rounds, Session};
use crate::units::Units;
use unspin_results::{
    ComparedFigures, ComparedGain, ConfigurationVerdict, Judged, Obstacle, SideFigures, SideGain, Untested,
};
use unspin_stats::independent::{IndependentSample, IndependentTest, judge};
use unspin_stats::{Settings, Summary};

/// What a configuration has on one side, by session.
type SideValues<V> = Result<Vec<V>, Obstacle>;

/// Compares the figures of these configurations. The units of each, for further tests; none if runs failed.
pub fn figures(
    names: &[&str],
    sides: [&[Session]; 2],
    floor: Option<f64>,
    settings: &Settings,
) -> Vec<(ComparedFigures, Option<Units>)> {
    let values: Vec<[SideValues<Figures>; 2]> = names
        .iter()
        .map(|name| sides.map(|side| side.iter().map(|session| session.figures(name)).collect()))
        .collect();
    let direction = sides[0][0].proof.analysis.metric.direction;
    let sample = |figures: &Figures| {
        IndependentSample::of_figures(&figures.values, direction).with_printed_figures(figures.mean)
    };
    let units: Vec<Result<Units, Untested>> = values.iter().map(|values| units(values, sample)).collect();
    let judged = judge_all(&units, floor, settings);
    let side = |figures: &SideValues<Figures>| {
        let sessions: Vec<Vec<f64>> =
            figures.as_ref().ok()?.iter().map(|figures| figures.values.clone()).collect();
        let means =
            || sessions.iter().filter_map(|values| Some(Summary::of(values, direction)?.mean)).collect();
        let of: Vec<f64> = if sessions.len() == 1 { sessions[0].clone() } else { means() };
        Some(SideFigures { summary: Summary::of(&of, direction)?, sessions })
    };
    let rows = names.iter().zip(values).zip(judged);
    let row = |((name, [before, after]), judged): ((&&str, [_; 2]), Judged)| ComparedFigures {
        name: (*name).to_owned(),
        before: side(&before),
        after: side(&after),
        judged: Judged { cpu: cpu_change::of_figures(name, sides, settings), ..judged },
    };
    rows.map(row).zip(units.into_iter().map(Result::ok)).collect()
}

/// Compares the gains of these candidates.
pub fn gains(
    names: &[&str],
    sides: [&[Session]; 2],
    floor: Option<f64>,
    settings: &Settings,
) -> Vec<ComparedGain> {
    let rounds: Vec<[SideValues<Rounds>; 2]> = names
        .iter()
        .map(|name| sides.map(|side| side.iter().map(|session| session.rounds(name)).collect()))
        .collect();
    let direction = sides[0][0].proof.analysis.metric.direction;
    let sample = |rounds: &Rounds| {
        let [control, candidate] = rounds.means;
        IndependentSample::of_gains(&rounds.values, direction).with_printed_gains(control, candidate)
    };
    let units: Vec<Result<Units, Untested>> = rounds.iter().map(|rounds| units(rounds, sample)).collect();
    let judged = judge_all(&units, floor, settings);
    let side = |name: &str, side: &[Session], rounds: &SideValues<Rounds>| {
        let gains: Vec<f64> = rounds.as_ref().ok()?.iter().map(|rounds| sample(rounds).value()).collect();
        let value = gains.iter().sum::<f64>() / gains.len() as f64;
        Some(SideGain { value, sessions: side.iter().filter_map(|session| session.gain(name)).collect() })
    };
    let rows = names.iter().zip(rounds).zip(judged);
    rows.map(|((name, [before, after]), judged)| ComparedGain {
        name: (*name).to_owned(),
        before: side(name, sides[0], &before),
        after: side(name, sides[1], &after),
        judged: Judged { cpu: cpu_change::of_gains(name, sides, settings), ..judged },
    })
    .collect()
}

/// The units of a configuration; or what is in the way.
fn units<V>(
    [before, after]: &[Result<Vec<V>, Obstacle>; 2],
    sample: impl Fn(&V) -> IndependentSample,
) -> Result<Units, Untested> {
    match (before, after) {
        (Ok(before), Ok(after)) => {
            Ok(Units::new([before, after].map(|side| side.iter().map(&sample).collect())))
        }
        _ => Err(Untested::NoValues {
            before: before.as_ref().err().cloned(),
            after: after.as_ref().err().cloned(),
        }),
    }
}

/// Tests all configurations, and corrects p for those that were tested. The sentences are written later.
fn judge_all(all: &[Result<Units, Untested>], floor: Option<f64>, settings: &Settings) -> Vec<Judged> {
    let untested = |units: &Result<Units, Untested>| {
        let (test, verdict) = match units {
            Ok(units) => (units.test(settings), Untested::TooFew { units: units.number() }),
            Err(untested) => (None, untested.clone()),
        };
        let verdict = ConfigurationVerdict::Untested(verdict);
        Judged { test, p_corrected: None, verdict, cpu: None, sentence: String::new() }
    };
    let mut judged: Vec<Judged> = all.iter().map(untested).collect();
    let tests: Vec<IndependentTest> = judged.iter().filter_map(|judged| judged.test).collect();
    let tested = judged.iter_mut().filter(|judged| judged.test.is_some());
    for (judged, (p, verdict)) in tested.zip(judge(&tests, floor, settings)) {
        judged.p_corrected = Some(p);
        judged.verdict = ConfigurationVerdict::Tested(verdict);
    }
    judged
}
