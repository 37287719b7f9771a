//! The complete analysis of a fleet: from the hosts' rounds to verdicts.

use super::{Combined, FleetVerdict, Heterogeneity, HostSide, Stratum, no_difference_anywhere};
use crate::floor::NoiseFloor;
use crate::holm::holm;
use crate::interval::Ratio;
use crate::p_value::PValue;
use crate::random::{Purpose, stream};
use crate::rounding::RoundingBounds;
use crate::settings::Settings;
use serde::{Deserialize, Serialize};

/// The rounds of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRounds {
    /// The host's number.
    pub host: usize,
    /// The log ratio to the control of each round: positive where the candidate was better.
    pub log_ratios: Vec<f64>,
    /// What the digits of printed figures hide. None if the figures were not printed.
    pub rounding: Option<RoundingBounds>,
}

impl HostRounds {
    /// The host's mean; none with too few rounds.
    pub fn stratum(&self) -> Option<Stratum> {
        Stratum::of(&self.log_ratios, self.rounding.map(|rounding| rounding.factor))
    }
}

/// A candidate and the hosts that measured it.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetCandidate {
    /// Its name.
    pub name: String,
    /// The hosts. One with fewer rounds than [`super::HOST_ROUNDS_AT_LEAST`] is passed over.
    pub hosts: Vec<HostRounds>,
}

/// The verdicts on all candidates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetAnalysis {
    /// The seed of all random decisions.
    pub seed: u64,
    /// The levels of confidence and significance.
    pub settings: Settings,
    /// The fleet's noise floor: the A/A pairs of the hosts, combined as a candidate is. None if fewer than two hosts have one.
    pub noise_floor: Option<NoiseFloor>,
    /// The candidates, in their order.
    pub comparisons: Vec<FleetComparison>,
}

/// One candidate in the fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetComparison {
    /// Its name.
    pub name: String,
    /// The hosts that measured it.
    pub hosts: Vec<HostComparison>,
    /// The mean over hosts; none with fewer than two.
    pub combined: Option<Combined>,
    /// By which factor the rounding of the figures can have moved a host's ratio away from 1, the largest of all hosts. No difference within it is
    /// proven, and the intervals have all values before rounding. Absent if no figure was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<f64>,
    /// [`Combined::p`] after Holm's correction over the candidates.
    pub p_corrected: Option<f64>,
    /// The sign-flip test of "no difference on any host".
    pub anywhere: Option<PValue>,
    /// Its p value after Holm's correction over the candidates.
    pub anywhere_p_corrected: Option<f64>,
    /// Whether the effect differs between hosts; none with fewer than two. Its p is 1 where rounding alone can have made the differences.
    pub heterogeneity: Option<Heterogeneity>,
    /// What is proven.
    pub verdict: FleetVerdict,
}

/// One candidate on one host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostComparison {
    /// The host's number.
    pub host: usize,
    /// Number of rounds.
    pub rounds: u32,
    /// How many times as good as the control: the geometric mean of the rounds' ratios.
    pub ratio: Ratio,
    /// The p value of the paired t test.
    pub p: f64,
    /// The same after Holm's correction over the hosts.
    pub p_corrected: f64,
    /// What the host proves by itself.
    pub side: HostSide,
    /// The host's share of the mean; none if there is no mean.
    pub weight: Option<f64>,
}

impl FleetAnalysis {
    /// Analyses a fleet. `pairs` are the A/A pairs of the hosts that have one. Pure: the same rounds and seed give the same result.
    pub fn of(
        candidates: &[FleetCandidate],
        pairs: &[HostRounds],
        settings: &Settings,
        seed: u64,
    ) -> FleetAnalysis {
        let mut comparisons: Vec<FleetComparison> =
            candidates.iter().map(|candidate| compare(candidate, settings, seed)).collect();
        correct(&mut comparisons);
        let noise_floor = noise_floor(pairs, settings);
        for comparison in &mut comparisons {
            let floor = noise_floor.map(|floor| floor.factor);
            comparison.verdict = FleetVerdict::of(comparison, floor, settings.alpha);
        }
        FleetAnalysis { seed, settings: *settings, noise_floor, comparisons }
    }
}

impl FleetComparison {
    /// Whether the effect is proven to differ between hosts.
    pub fn differs_between_hosts(&self, alpha: f64) -> bool {
        self.heterogeneity.is_some_and(|found| found.p <= alpha)
            || matches!(self.verdict, FleetVerdict::DependsOnHost { .. })
    }
}

/// The strata of the hosts that have enough rounds, with the hosts.
fn strata(hosts: &[HostRounds]) -> Vec<(&HostRounds, Stratum)> {
    hosts.iter().filter_map(|host| Some((host, host.stratum()?))).collect()
}

/// All figures that do not depend on the other candidates.
fn compare(candidate: &FleetCandidate, settings: &Settings, seed: u64) -> FleetComparison {
    let measured = strata(&candidate.hosts);
    let strata: Vec<Stratum> = measured.iter().map(|(_, stratum)| *stratum).collect();
    let rounding = widest(measured.iter().map(|(host, _)| *host));
    let combined = Combined::of(&strata, settings.confidence, settings.power);
    let combined = match rounding {
        Some(rounding) => combined.map(|combined| combined.rounded(rounding)),
        None => combined,
    };
    let corrected = holm(&strata.iter().map(Stratum::p).collect::<Vec<_>>());
    let hosts = measured.iter().enumerate().map(|(index, (host, stratum))| HostComparison {
        host: host.host,
        rounds: stratum.rounds,
        ratio: stratum.ratio(settings.confidence),
        p: stratum.p(),
        p_corrected: corrected[index],
        side: match corrected[index] <= settings.alpha {
            true if stratum.mean > 0.0 => HostSide::Faster,
            true => HostSide::Slower,
            false => HostSide::Undecided,
        },
        weight: combined.as_ref().map(|combined| combined.weights[index]),
    });
    let rounds = measured.iter().map(|(host, _)| host.log_ratios.as_slice());
    let random = &mut stream(seed, Purpose::SignFlip);
    FleetComparison {
        name: candidate.name.clone(),
        hosts: hosts.collect(),
        anywhere: no_difference_anywhere(rounds, settings.draws, random),
        heterogeneity: Heterogeneity::of(&strata).map(|found| match is_rounding(&measured) {
            true => Heterogeneity { p: 1.0, ..found },
            false => found,
        }),
        combined,
        rounding: rounding.map(|rounding| rounding.factor),
        // Replaced once all comparisons exist, because the correction needs all of them.
        p_corrected: None,
        anywhere_p_corrected: None,
        verdict: FleetVerdict::NothingProven { could_hide: None, doubt: super::FleetDoubt::TooFewHosts },
    }
}

/// Whether the hosts' means may be one mean before rounding: then no difference between hosts is shown. Hosts that print alike round
/// alike, so the errors of those on one side of a boundary do not cancel.
fn is_rounding(measured: &[(&HostRounds, Stratum)]) -> bool {
    let ends = measured.iter().filter_map(|(host, stratum)| {
        let RoundingBounds { smaller, larger, .. } = host.rounding?;
        Some((stratum.mean - smaller.ln(), stratum.mean + larger.ln()))
    });
    let ends: Vec<(f64, f64)> = ends.collect();
    let (lower, upper) =
        ends.iter().fold((f64::MIN, f64::MAX), |all, end| (all.0.max(end.0), all.1.min(end.1)));
    ends.len() == measured.len() && lower <= upper
}

/// Fills in Holm's corrections, one family for each test.
fn correct(comparisons: &mut [FleetComparison]) {
    let judged = |c: &&mut FleetComparison| c.combined.is_some();
    let means: Vec<f64> = comparisons.iter().filter_map(|c| Some(c.combined.as_ref()?.p)).collect();
    for (comparison, corrected) in comparisons.iter_mut().filter(judged).zip(holm(&means)) {
        comparison.p_corrected = Some(corrected);
    }
    let judged = |c: &&mut FleetComparison| c.anywhere.is_some();
    let flips: Vec<f64> = comparisons.iter().filter_map(|c| Some(c.anywhere?.p)).collect();
    for (comparison, corrected) in comparisons.iter_mut().filter(judged).zip(holm(&flips)) {
        comparison.anywhere_p_corrected = Some(corrected);
    }
}

/// What rounding can do to the mean over these hosts: all print alike, so that their errors of rounding do not cancel, and the mean
/// is as uncertain as that of the host whose digits hide most.
fn widest<'a>(hosts: impl Iterator<Item = &'a HostRounds>) -> Option<RoundingBounds> {
    hosts.filter_map(|host| host.rounding).reduce(RoundingBounds::widest)
}

fn noise_floor(pairs: &[HostRounds], settings: &Settings) -> Option<NoiseFloor> {
    let measured = strata(pairs);
    let rounds = measured.iter().map(|(_, stratum)| stratum.rounds).sum();
    let rounding = widest(measured.iter().map(|(host, _)| *host));
    let strata: Vec<Stratum> = measured.into_iter().map(|(_, stratum)| stratum).collect();
    let combined = Combined::of(&strata, settings.confidence, settings.power)?;
    let ratio = rounding.map_or(combined.ratio, |rounding| rounding.widen(combined.ratio));
    let floor = NoiseFloor::new(rounds, ratio, combined.minimum_detectable_effect);
    Some(floor.above_rounding(rounding.map(|rounding| rounding.factor)))
}
