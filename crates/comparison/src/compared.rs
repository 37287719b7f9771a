//! One configuration, before and after.

use crate::session::{Obstacle, Session};
use crate::units::Units;
use serde::Serialize;
use unspin_stats::independent::{IndependentSample, IndependentTest, IndependentVerdict, judge};
use unspin_stats::{Ratio, Settings, Summary};

/// The values of a configuration on one side, by session.
type SideValues<V> = Result<Vec<Vec<V>>, Obstacle>;

/// The figures of a configuration on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedFigures {
    /// The configuration's name.
    pub name: String,
    /// The earlier side.
    pub before: Option<SideFigures>,
    /// The later side.
    pub after: Option<SideFigures>,
    /// The comparison.
    #[serde(flatten)]
    pub judged: Judged,
}

/// The figures of a configuration on one side.
#[derive(Clone, Debug, Serialize)]
pub struct SideFigures {
    /// Of the runs of one session, or of the means of several sessions.
    pub summary: Summary,
    /// Every run, by session.
    pub sessions: Vec<Vec<f64>>,
}

/// The gain of a candidate over the control, on both sides.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedGain {
    /// The candidate's name.
    pub name: String,
    /// The earlier side.
    pub before: Option<SideGain>,
    /// The later side.
    pub after: Option<SideGain>,
    /// The comparison.
    #[serde(flatten)]
    pub judged: Judged,
}

/// The gain of a candidate on one side.
#[derive(Clone, Debug, Serialize)]
pub struct SideGain {
    /// How many times as good as the control; of several sessions the mean.
    pub value: f64,
    /// Of each session, with its interval.
    pub sessions: Vec<Ratio>,
}

/// The comparison of the sides.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Ratio, interval and p; none with too few runs, or if runs failed.
    pub test: Option<IndependentTest>,
    /// p after Holm's correction over the configurations.
    pub p_corrected: Option<f64>,
    /// What is proven.
    pub verdict: ConfigurationVerdict,
    /// The verdict in a sentence.
    pub sentence: String,
    #[serde(skip)]
    pub(crate) units: Option<Units>,
}

/// What is proven about a configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ConfigurationVerdict {
    /// It was tested.
    Tested(IndependentVerdict),
    /// It was not.
    Untested(Untested),
}

/// Why a configuration was not tested.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Untested {
    /// One side has too few runs, or none of several sessions differs.
    TooFew {
        /// Number of runs, rounds or sessions on each side.
        units: [u32; 2],
    },
    /// Runs of a side failed, or were ended.
    NoValues {
        /// The obstacle of the earlier side.
        before: Option<Obstacle>,
        /// The obstacle of the later side.
        after: Option<Obstacle>,
    },
}

impl Judged {
    /// Whether the later side is proven worse, or its runs were ended because they took many times as long.
    pub fn is_worse(&self) -> bool {
        match &self.verdict {
            ConfigurationVerdict::Tested(verdict) => *verdict == IndependentVerdict::ProvenWorse,
            ConfigurationVerdict::Untested(untested) => untested.has_collapsed(),
        }
    }

    /// Whether the later side is proven better.
    pub fn is_better(&self) -> bool {
        self.verdict == ConfigurationVerdict::Tested(IndependentVerdict::ProvenBetter)
    }

    /// Whether runs of the later side failed.
    pub fn has_failed(&self) -> bool {
        let failed = |obstacle: &Option<Obstacle>| matches!(obstacle, Some(Obstacle::Failed { .. }));
        matches!(&self.verdict, ConfigurationVerdict::Untested(Untested::NoValues { after, .. }) if failed(after))
    }
}

impl Untested {
    /// Whether runs were ended on the later side only.
    pub(crate) fn has_collapsed(&self) -> bool {
        matches!(self, Untested::NoValues { before: None, after: Some(Obstacle::CutOff { .. }) })
    }
}

/// Compares the figures of these configurations.
pub fn figures(
    names: &[&str],
    sides: [&[Session]; 2],
    floor: Option<f64>,
    settings: &Settings,
) -> Vec<ComparedFigures> {
    let values: Vec<[SideValues<f64>; 2]> = names
        .iter()
        .map(|name| sides.map(|side| side.iter().map(|session| session.figures(name)).collect()))
        .collect();
    let direction = sides[0][0].proof.analysis.metric.direction;
    let sample = |values: &Vec<f64>| IndependentSample::of_figures(values, direction);
    let judged = judge_all(values.iter().map(|values| units(values, sample)), floor, settings);
    let side = |values: &SideValues<f64>| {
        let sessions = values.clone().ok()?;
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
        judged,
    };
    rows.map(row).collect()
}

/// Compares the gains of these candidates.
pub fn gains(
    names: &[&str],
    sides: [&[Session]; 2],
    floor: Option<f64>,
    settings: &Settings,
) -> Vec<ComparedGain> {
    let rounds: Vec<[SideValues<(f64, f64)>; 2]> = names
        .iter()
        .map(|name| sides.map(|side| side.iter().map(|session| session.rounds(name)).collect()))
        .collect();
    let direction = sides[0][0].proof.analysis.metric.direction;
    let sample = |rounds: &Vec<(f64, f64)>| IndependentSample::of_gains(rounds, direction);
    let judged = judge_all(rounds.iter().map(|rounds| units(rounds, sample)), floor, settings);
    let side = |name: &str, side: &[Session], rounds: &SideValues<(f64, f64)>| {
        let gains: Vec<f64> = rounds.as_ref().ok()?.iter().map(|rounds| sample(rounds).value()).collect();
        let value = gains.iter().sum::<f64>() / gains.len() as f64;
        Some(SideGain { value, sessions: side.iter().filter_map(|session| session.gain(name)).collect() })
    };
    let rows = names.iter().zip(rounds).zip(judged);
    rows.map(|((name, [before, after]), judged)| ComparedGain {
        name: (*name).to_owned(),
        before: side(name, sides[0], &before),
        after: side(name, sides[1], &after),
        judged,
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
fn judge_all(
    all: impl Iterator<Item = Result<Units, Untested>>,
    floor: Option<f64>,
    settings: &Settings,
) -> Vec<Judged> {
    let mut judged: Vec<Judged> = all
        .map(|units| {
            let (units, verdict) = match units {
                Ok(units) => {
                    let few = Untested::TooFew { units: units.number() };
                    (Some(units), few)
                }
                Err(untested) => (None, untested),
            };
            let test = units.as_ref().and_then(|units| units.test(settings));
            let verdict = ConfigurationVerdict::Untested(verdict);
            Judged { test, p_corrected: None, verdict, sentence: String::new(), units }
        })
        .collect();
    let tests: Vec<IndependentTest> = judged.iter().filter_map(|judged| judged.test).collect();
    let tested = judged.iter_mut().filter(|judged| judged.test.is_some());
    for (judged, (p, verdict)) in tested.zip(judge(&tests, floor, settings)) {
        judged.p_corrected = Some(p);
        judged.verdict = ConfigurationVerdict::Tested(verdict);
    }
    judged
}
