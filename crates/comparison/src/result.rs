//! From two sides to a result.

use crate::comparability::{Incomparable, decide};
use crate::compared::{figures, gains};
use crate::gate::gate;
use crate::options::CompareOptions;
use crate::session::Session;
use crate::warnings::{disturbance_factor, drifts, warnings};
use crate::wording;
use unspin_results::{
    Basis, COMPARE_SCHEMA, ComparisonConclusion, ConfigurationVerdict, Judged, ResultComparison,
    SessionSummary, StoredBuild,
};
use unspin_stats::Settings;
use unspin_stats::independent::Drift;

/// Compares two sides of one or more sessions. `build` is the build that compares.
pub fn compare(
    before: &[Session],
    after: &[Session],
    options: &CompareOptions,
    build: StoredBuild,
) -> Result<ResultComparison, Incomparable> {
    let settings = Settings { cpu_limit: None, ..Settings::default() };
    compare_with(before, after, options, build, settings)
}

/// With these settings.
pub fn compare_with(
    before: &[Session],
    after: &[Session],
    options: &CompareOptions,
    build: StoredBuild,
    settings: Settings,
) -> Result<ResultComparison, Incomparable> {
    let basis = decide(before, after, options)?;
    let all: Vec<&Session> = before.iter().chain(after).collect();
    let drifts = drifts(&all, &settings);
    let has_several = before.len() > 1;
    let names = common(all[0].names(), &all, options, |session, name| session.names().any(|n| n == name));
    let candidates =
        common(all[0].candidates(), &all, options, |session, name| session.candidates().any(|n| n == name));
    let sides = [before, after];
    // Several sessions show themselves how much they differ, but not what all of one side have in common: other programs. (What the
    // digits of figures hide, which they have in common, too, is a floor of each configuration of its own.)
    let noise = if has_several { Some(1.0) } else { noise_floor(&all) };
    let gains_floor = noise.map(|noise| above_disturbance(noise, &all));
    let floor = match basis {
        Basis::Figures if !has_several => gains_floor.map(|floor| above_drifts(floor, &drifts, &settings)),
        _ => gains_floor,
    };
    let figures = match basis {
        Basis::Figures => figures(&names, sides, floor, &settings),
        Basis::Gains => Vec::new(),
    };
    let metric = all[0].proof.analysis.metric.clone();
    let gate = gate(&figures, metric.direction, floor, options, &settings, has_several);
    let summaries = summaries(&all, &drifts);
    let (earlier, later) = summaries.split_at(before.len());
    let mut result = ResultComparison {
        schema: COMPARE_SCHEMA.into(),
        unspin: build,
        conclusion: ComparisonConclusion::NothingProven,
        basis,
        command: all[0].proof.command.clone(),
        control: all[0].control().to_owned(),
        warnings: warnings(&all, basis, &drifts, &settings),
        limit: (!has_several).then(|| wording::limit(basis).to_owned()),
        metric,
        settings,
        before: earlier.to_vec(),
        after: later.to_vec(),
        floor: floor.filter(|floor| *floor > 1.0),
        gains_floor: gains_floor.filter(|floor| *floor > 1.0),
        figures: figures.into_iter().map(|(compared, _)| compared).collect(),
        gains: gains(&candidates, sides, gains_floor, &settings),
        gate,
        repeat: None,
        compared: String::new(),
        sentence: String::new(),
        certainty: String::new(),
    };
    result.conclusion = conclusion(&result.deciding());
    wording::write_sentences(&mut result);
    Ok(result)
}

fn conclusion(deciding: &[(&str, &Judged)]) -> ComparisonConclusion {
    let any = |holds: fn(&Judged) -> bool| deciding.iter().any(|(_, judged)| holds(judged));
    let is_tested = |judged: &Judged| matches!(judged.verdict, ConfigurationVerdict::Tested(_));
    if any(Judged::has_failed) {
        ComparisonConclusion::Failed
    } else if any(Judged::is_worse) {
        ComparisonConclusion::Worse
    } else if any(Judged::is_better) {
        ComparisonConclusion::Better
    } else if any(is_tested) {
        ComparisonConclusion::NothingProven
    } else {
        ComparisonConclusion::Failed
    }
}

/// The names that all sessions have, and that are chosen.
fn common<'a>(
    names: impl Iterator<Item = &'a str>,
    all: &[&Session],
    options: &CompareOptions,
    has: fn(&Session, &str) -> bool,
) -> Vec<&'a str> {
    let is_chosen =
        |name: &str| options.configurations.is_empty() || options.configurations.iter().any(|n| n == name);
    names.filter(|name| is_chosen(name) && all.iter().all(|session| has(session, name))).collect()
}

/// The largest floor of the sessions; none if one is unknown.
fn noise_floor(all: &[&Session]) -> Option<f64> {
    let floors = all.iter().map(|session| session.proof.analysis.noise_floor.map(|floor| floor.of_noise()));
    floors.collect::<Option<Vec<f64>>>().map(|floors| floors.into_iter().fold(1.0, f64::max))
}

/// The floor of sessions that were disturbed. Of gains too: a wake-up on a busy machine is cheap, and some locks are contended only
/// there, so the same program gains more or less.
fn above_disturbance(noise: f64, all: &[&Session]) -> f64 {
    all.iter().map(|session| disturbance_factor(session)).fold(noise, f64::max)
}

/// The floor of figures, which also contain what changes within a session.
fn above_drifts(floor: f64, drifts: &[Option<Drift>], settings: &Settings) -> f64 {
    drifts.iter().flatten().filter_map(|drift| drift.factor(settings.alpha)).fold(floor, f64::max)
}

fn summaries(all: &[&Session], drifts: &[Option<Drift>]) -> Vec<SessionSummary> {
    let summary = |(session, drift): (&&Session, &Option<Drift>)| SessionSummary {
        file: session.file.clone(),
        machine: session.proof.machine.clone(),
        unspin: session.proof.unspin.clone(),
        command: session.proof.command.clone(),
        rounds: session.proof.rounds,
        elapsed_s: session.proof.elapsed_s,
        noise_floor: session.proof.analysis.noise_floor,
        drift: *drift,
    };
    all.iter().zip(drifts).map(summary).collect()
}
