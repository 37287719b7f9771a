//! The result: its fields are the JSON document.

use crate::comparability::{Basis, Incomparable, decide};
use crate::compared::{ComparedFigures, ComparedGain, Judged, figures, gains};
use crate::gate::Gate;
use crate::options::CompareOptions;
use crate::session::Session;
use crate::warnings::{disturbance_factor, drifts, warnings};
use crate::wording;
use serde::Serialize;
use unspin_results::{StoredBuild, StoredMachine};
use unspin_stats::independent::Drift;
use unspin_stats::{Metric, NoiseFloor, Settings};

/// The number after the slash is increased when a field changes its meaning or is removed.
pub const SCHEMA: &str = "unspin.compare/1";

/// Two sides compared.
#[derive(Clone, Debug, Serialize)]
pub struct ResultComparison {
    schema: &'static str,
    /// The build that compares.
    pub unspin: StoredBuild,
    /// The meaning of the exit code without a gate.
    pub conclusion: Conclusion,
    /// The quantity that decides.
    pub basis: Basis,
    /// The command of the first earlier session.
    pub command: Vec<String>,
    /// The control's name, in all sessions.
    pub control: String,
    /// The metric of all sessions.
    pub metric: Metric,
    /// Confidence, level and numbers of draws.
    pub settings: Settings,
    /// The earlier sessions.
    pub before: Vec<SessionSummary>,
    /// The later sessions.
    pub after: Vec<SessionSummary>,
    /// No smaller difference is ranked, a factor of at least 1: the largest of the sessions' noise floors, of what
    /// disturbed them and, for figures, of their drift. Absent if unknown, and with several sessions.
    pub floor: Option<f64>,
    /// The figures of each configuration; empty if they are not compared.
    pub figures: Vec<ComparedFigures>,
    /// The gains of each candidate.
    pub gains: Vec<ComparedGain>,
    /// What limits the comparison, and what to do about it.
    pub warnings: Vec<String>,
    /// What one session on each side does not show; absent with several.
    pub limit: Option<String>,
    /// The gate, if there is one.
    pub gate: Option<Gate>,
    /// The conclusion in a sentence.
    pub sentence: String,
    /// How certain it is, in a sentence.
    pub certainty: String,
}

/// A session, as far as a comparison shows it.
#[derive(Clone, Debug, Serialize)]
pub struct SessionSummary {
    /// The file that it was read from.
    pub file: String,
    /// Where it was measured.
    pub machine: StoredMachine,
    /// With which build.
    pub unspin: StoredBuild,
    /// The command.
    pub command: Vec<String>,
    /// Complete rounds.
    pub rounds: u32,
    /// Duration in seconds.
    pub elapsed_s: f64,
    /// What its A/A pair shows.
    pub noise_floor: Option<NoiseFloor>,
    /// Its second half against its first; absent with too few rounds.
    pub drift: Option<Drift>,
}

/// The outcome for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// At least one configuration is proven better, and none worse.
    Better,
    /// At least one configuration is proven worse.
    Worse,
    /// No difference is proven.
    NothingProven,
    /// Runs failed on the later side, or nothing could be compared.
    Failed,
}

impl ResultComparison {
    /// Compares two sides of one or more sessions. `build` is the build that compares.
    pub fn of(
        before: &[Session],
        after: &[Session],
        options: &CompareOptions,
        build: StoredBuild,
    ) -> Result<ResultComparison, Incomparable> {
        let settings = Settings { cpu_limit: None, ..Settings::default() };
        ResultComparison::with(before, after, options, build, settings)
    }

    /// With these settings.
    pub(crate) fn with(
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
        let candidates = common(all[0].candidates(), &all, options, |session, name| {
            session.candidates().any(|n| n == name)
        });
        let sides = [before, after];
        // Several sessions show themselves how much they differ.
        let noise = if has_several { Some(1.0) } else { noise_floor(&all) };
        let gains_floor = if has_several { noise } else { noise.map(|noise| above_disturbance(noise, &all)) };
        let floor = match basis {
            Basis::Figures if !has_several => {
                gains_floor.map(|floor| above_drifts(floor, &drifts, &settings))
            }
            _ => gains_floor,
        };
        let figures = match basis {
            Basis::Figures => figures(&names, sides, floor, &settings),
            Basis::Gains => Vec::new(),
        };
        let gains = gains(&candidates, sides, gains_floor, &settings);
        let metric = all[0].proof.analysis.metric.clone();
        let gate = Gate::of(&figures, metric.direction, floor, options, &settings);
        let summaries = summaries(&all, &drifts);
        let (earlier, later) = summaries.split_at(before.len());
        let mut result = ResultComparison {
            schema: SCHEMA,
            unspin: build,
            conclusion: Conclusion::NothingProven,
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
            figures,
            gains,
            gate,
            sentence: String::new(),
            certainty: String::new(),
        };
        result.conclude();
        Ok(result)
    }

    /// The comparisons that decide.
    pub(crate) fn deciding(&self) -> Vec<(&str, &Judged)> {
        match self.basis {
            Basis::Figures => {
                self.figures.iter().map(|compared| (compared.name.as_str(), &compared.judged)).collect()
            }
            Basis::Gains => {
                self.gains.iter().map(|compared| (compared.name.as_str(), &compared.judged)).collect()
            }
        }
    }

    /// Number of sessions on each side.
    pub(crate) fn sessions(&self) -> [usize; 2] {
        [self.before.len(), self.after.len()]
    }

    /// The sentences of all configurations, the figures first.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = &str> {
        let figures = self.figures.iter().map(|compared| compared.judged.sentence.as_str());
        figures.chain(self.gains.iter().map(|compared| compared.judged.sentence.as_str()))
    }

    fn conclude(&mut self) {
        self.conclusion = conclusion(&self.deciding());
        wording::write_sentences(self);
        self.sentence = wording::conclusion(self);
        self.certainty = wording::certainty(self);
    }
}

fn conclusion(deciding: &[(&str, &Judged)]) -> Conclusion {
    let any = |holds: fn(&Judged) -> bool| deciding.iter().any(|(_, judged)| holds(judged));
    let is_compared = |judged: &Judged| judged.test.is_some();
    if any(Judged::has_failed) {
        Conclusion::Failed
    } else if any(Judged::is_worse) {
        Conclusion::Worse
    } else if any(Judged::is_better) {
        Conclusion::Better
    } else if any(is_compared) || deciding.iter().any(|(_, judged)| judged.units.is_some()) {
        Conclusion::NothingProven
    } else {
        Conclusion::Failed
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
    let floors = all.iter().map(|session| session.proof.analysis.noise_floor.map(|floor| floor.factor));
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
