//! What the analysis of fleets promises, measured on simulated fleets with known true values.
//!
//! Hosts differ in speed, noise and number of rounds. The tests that always run have fixed seeds and a few hundred fleets;
//! the ignored one has more. For each promise there is a deliberately wrong method that must violate it.

use crate::common::{Machine, Noise};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use unspin_stats::fleet::{
    FleetAnalysis, FleetCandidate, FleetComparison, FleetDoubt, FleetVerdict, Heterogeneity, HostRounds,
    HostSide, Stratum,
};
use unspin_stats::{Ratio, Settings};

/// A kind of fleet.
#[derive(Clone, Copy)]
struct FleetModel {
    hosts: usize,
    /// The mean over hosts of the true log ratio.
    effect: f64,
    /// Its standard deviation between hosts.
    tau: f64,
}

/// One simulated fleet.
struct Fleet {
    candidates: Vec<FleetCandidate>,
    pairs: Vec<HostRounds>,
    /// The true log ratio of a host that was not measured.
    further: f64,
}

/// Each host has a speed, a noise and a number of rounds of its own.
fn simulate(model: FleetModel, seed: u64) -> Fleet {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut truths = Machine::new(Noise { cv: 0.0, shared: model.tau, drift: 0.0 }, seed ^ 0x5eed);
    let mut truth = || {
        truths.next_round();
        truths.run(model.effect.exp()).ln()
    };
    let (mut hosts, mut pairs) = (Vec::new(), Vec::new());
    for host in 0..model.hosts {
        // cv and shared are multiplied by the square of a uniform number: many quiet hosts, a few loud ones.
        let loudness: f64 = random.random();
        let noise = Noise { cv: 0.01 + 0.2 * loudness.powi(2), shared: 0.1, drift: 0.005 };
        let mut machine = Machine::new(noise, random.random());
        let (speed, rounds) = (0.5 + 4.0 * random.random::<f64>(), random.random_range(6..=40));
        let better = truth().exp();
        let (mut log_ratios, mut same) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            machine.next_round();
            let control = machine.run(speed);
            log_ratios.push((control / machine.run(speed / better)).ln());
            same.push((control / machine.run(speed)).ln());
        }
        hosts.push(HostRounds { host, log_ratios, rounding: None });
        pairs.push(HostRounds { host, log_ratios: same, rounding: None });
    }
    let candidates = vec![FleetCandidate { name: "poll".into(), hosts }];
    Fleet { candidates, pairs, further: truth() }
}

/// Rates over many fleets of one kind.
#[derive(Debug)]
struct Rates {
    /// A difference of the mean was proven.
    proven: f64,
    /// The p value of the mean alone was at most 0.05.
    mean_p: f64,
    /// The verdict was that it depends on the host.
    depends: f64,
    /// Heterogeneity was found.
    heterogeneous: f64,
    /// The interval held the true mean.
    covers: f64,
    /// The prediction interval held the further host's true ratio.
    predicts: f64,
}

fn rates(model: FleetModel, fleets: u64) -> Rates {
    // As many draws as the level needs.
    let settings = Settings { draws: 399, ..Settings::default() };
    // In the order of the fields of `Rates`.
    let mut counts = [0u32; 6];
    for seed in 0..fleets {
        let fleet = simulate(model, seed);
        let analysis = FleetAnalysis::of(&fleet.candidates, &fleet.pairs, &settings, seed);
        let comparison: &FleetComparison = &analysis.comparisons[0];
        let combined = comparison.combined.as_ref().unwrap();
        let holds = |ratio: Ratio, truth: f64| ratio.lower.ln() <= truth && truth <= ratio.upper.ln();
        let verdict = comparison.verdict;
        let found = [
            matches!(verdict, FleetVerdict::ProvenFaster { .. } | FleetVerdict::ProvenSlower { .. }),
            combined.p <= 0.05,
            matches!(verdict, FleetVerdict::DependsOnHost { .. }),
            comparison.heterogeneity.unwrap().p <= 0.05,
            holds(combined.ratio, model.effect),
            combined.prediction.is_none_or(|ratio| holds(ratio, fleet.further)),
        ];
        counts.iter_mut().zip(found).for_each(|(count, found)| *count += u32::from(found));
    }
    let [proven, mean_p, depends, heterogeneous, covers, predicts] =
        counts.map(|count| f64::from(count) / fleets as f64);
    let rates = Rates { proven, mean_p, depends, heterogeneous, covers, predicts };
    let FleetModel { hosts, effect, tau } = model;
    println!("{fleets} fleets of {hosts} hosts, effect {effect}, tau {tau}: {rates:.3?}");
    rates
}

const SIZES: [usize; 4] = [2, 3, 5, 20];

/// Four standard errors of a proportion near 5 %.
fn slack(fleets: u64) -> f64 {
    4.0 * (0.05 * 0.95 / fleets as f64).sqrt()
}

fn assert_calibrated(fleets: u64, taus: &[f64]) {
    for hosts in SIZES {
        for &tau in taus {
            let found = rates(FleetModel { hosts, effect: 0.0, tau }, fleets);
            assert!(found.proven <= 0.05, "{found:?}");
            assert!(found.mean_p <= 0.05 + slack(fleets), "{found:?}");
            assert!(found.covers >= 0.95 - slack(fleets), "{found:?}");
            // Welch's F of twenty hosts with few rounds is a little too large: 7 % where 5 % are promised. It decides which
            // table is printed, and no verdict.
            assert!(
                tau > 0.0 || found.depends <= 0.05 && found.heterogeneous <= 0.07 + slack(fleets),
                "{found:?}"
            );
        }
    }
}

#[test]
fn equal_fleets_are_not_called_different() {
    assert_calibrated(200, &[0.0, 0.1]);
}

#[test]
#[ignore = "nightly: 4000 fleets of each kind; equal_fleets_are_not_called_different holds the same rule"]
fn equal_fleets_are_not_called_different_long() {
    assert_calibrated(4_000, &[0.0, 0.02, 0.05, 0.1, 0.3]);
}

/// Power is stated, not promised: only that five hosts show 10 %, and that the intervals hold the truth.
fn assert_finds(fleets: u64, sizes: &[usize]) {
    for &hosts in sizes {
        for (effect, tau) in [(0.1, 0.0), (0.1, 0.03), (0.3, 0.1)] {
            let found = rates(FleetModel { hosts, effect, tau }, fleets);
            assert!(found.covers >= 0.95 - slack(fleets), "{found:?}");
            assert!(found.predicts >= 0.95 - 1.5 * slack(fleets), "{found:?}");
            assert!(hosts < 5 || found.proven > 0.8, "{found:?}");
        }
    }
}

#[test]
fn differences_are_found() {
    assert_finds(100, &[5]);
}

#[test]
#[ignore = "nightly: 1000 fleets of each kind; differences_are_found holds the same rule"]
fn differences_are_found_long() {
    assert_finds(1_000, &SIZES);
}

/// The share of equal fleets that a wrong method calls different.
fn false_rate(model: FleetModel, wrong: fn(&[Stratum]) -> bool) -> f64 {
    const FLEETS: u64 = 300;
    let is_false = |seed: &u64| {
        let fleet = simulate(model, *seed);
        let of = |host: &HostRounds| host.stratum();
        wrong(&fleet.candidates[0].hosts.iter().filter_map(of).collect::<Vec<_>>())
    };
    (0..FLEETS).filter(is_false).count() as f64 / FLEETS as f64
}

/// The fixed-effect mean claims something about the measured hosts only.
#[test]
fn planted_fixed_effect_mean_calls_equal_fleets_different() {
    let rate = false_rate(FleetModel { hosts: 5, effect: 0.0, tau: 0.1 }, |strata| {
        let sum: f64 = strata.iter().map(|stratum| 1.0 / stratum.variance).sum();
        let mean = strata.iter().map(|stratum| stratum.mean / stratum.variance).sum::<f64>() / sum;
        mean.abs() * sum.sqrt() > 1.96
    });
    assert!(rate > 0.3, "{rate}");
}

/// 30.14 is the 95 % point of χ² with 19 degrees of freedom.
#[test]
fn planted_chi_squared_test_finds_differences_between_equal_hosts() {
    let rate = false_rate(FleetModel { hosts: 20, effect: 0.0, tau: 0.0 }, |strata| {
        Heterogeneity::of(strata).is_some_and(|found| found.q > 30.14)
    });
    assert!(rate > 0.08, "{rate}");
}

/// Simpson's paradox: the candidate is 10 % slower on every host. The fast host has many rounds of the candidate's runs that count,
/// the slow host has few, and its control failed in most rounds. The pooled means show the candidate faster.
#[test]
fn pooled_means_show_faster_where_every_host_is_slower() {
    // Speed of the host, rounds, rounds in which only one side has a value.
    let hosts = [(1.0, 8, 30, 0), (10.0, 8, 0, 30)];
    let (mut pooled, mut rounds) = ([(0.0, 0); 2], Vec::new());
    for (host, (speed, pairs, candidates_only, controls_only)) in hosts.into_iter().enumerate() {
        let mut machine = Machine::new(Noise { cv: 0.01, shared: 0.0, drift: 0.0 }, host as u64);
        let measured = machine.pairs(pairs, speed, 1.1 * speed);
        let mut add = |side: usize, value: f64| pooled[side] = (pooled[side].0 + value, pooled[side].1 + 1);
        measured.iter().for_each(|&(control, candidate)| {
            add(0, control);
            add(1, candidate);
        });
        (0..candidates_only).for_each(|_| add(1, machine.run(1.1 * speed)));
        (0..controls_only).for_each(|_| add(0, machine.run(speed)));
        let log_ratios = measured.iter().map(|(control, candidate)| (control / candidate).ln()).collect();
        rounds.push(HostRounds { host, log_ratios, rounding: None });
    }
    let [control, candidate] = pooled.map(|(sum, count)| sum / f64::from(count));
    assert!(candidate < 0.5 * control, "pooled, the candidate takes {candidate} and the control {control}");
    let candidates = [FleetCandidate { name: "poll".into(), hosts: rounds }];
    let analysis = FleetAnalysis::of(&candidates, &[], &Settings::default(), 1);
    let comparison = &analysis.comparisons[0];
    assert!(comparison.hosts.iter().all(|host| host.side == HostSide::Slower), "{comparison:?}");
    let ratio = comparison.combined.as_ref().unwrap().ratio;
    assert!(ratio.upper < 1.0 && (ratio.value - 1.0 / 1.1).abs() < 0.01, "{ratio:?}");
    assert!(matches!(comparison.verdict, FleetVerdict::ProvenSlower { .. }), "{comparison:?}");
}

/// A fleet of hosts with exactly these ratios, up to a scatter of half a percent.
fn exact(ratios: &[f64]) -> FleetCandidate {
    let host = |(host, ratio): (usize, &f64)| {
        let log_ratios = (0..8).map(|round| ratio.ln() + 0.005 * (f64::from(round * 5 % 8) - 3.5) / 2.5);
        HostRounds { host, log_ratios: log_ratios.collect(), rounding: None }
    };
    FleetCandidate { name: "poll".into(), hosts: ratios.iter().enumerate().map(host).collect() }
}

fn verdicts(candidates: &[FleetCandidate]) -> Vec<FleetVerdict> {
    let analysis = FleetAnalysis::of(candidates, &exact(&[1.0; 4]).hosts, &Settings::default(), 1);
    analysis.comparisons.iter().map(|comparison| comparison.verdict).collect()
}

#[test]
fn verdict_tells_where_the_difference_depends_on_the_host() {
    let of = |ratios: &[f64]| verdicts(&[exact(ratios)]).remove(0);
    assert!(matches!(of(&[1.5, 1.6, 1.4, 1.5]), FleetVerdict::ProvenFaster { .. }));
    assert!(matches!(of(&[0.7, 0.6, 0.65, 0.7]), FleetVerdict::ProvenSlower { .. }));
    let mixed = of(&[1.5, 1.6, 1.4, 1.5, 1.5, 0.8, 0.7]);
    assert_eq!(mixed, FleetVerdict::DependsOnHost { faster: 5, slower: 2 });
    // Better on average, and still worse on one host of fifteen.
    let mut one_worse = vec![1.5; 14];
    one_worse.push(0.9);
    assert_eq!(of(&one_worse), FleetVerdict::DependsOnHost { faster: 14, slower: 1 });
    let FleetVerdict::NothingProven { could_hide: None, doubt } = of(&[1.5]) else { panic!("one host") };
    assert_eq!(doubt, FleetDoubt::TooFewHosts);
    let FleetVerdict::NothingProven { could_hide: Some(hidden), .. } = of(&[1.0, 1.0, 1.001]) else {
        panic!("equal hosts")
    };
    assert!(hidden < 1.02, "{hidden}");
}

#[test]
fn candidates_are_corrected_for_each_other() {
    let one = verdicts(&[exact(&[1.3, 1.4, 1.5])]);
    assert!(matches!(one[0], FleetVerdict::ProvenFaster { .. }), "{one:?}");
    let others = std::iter::repeat_n(exact(&[1.0; 3]), 4);
    let many: Vec<FleetCandidate> = std::iter::once(exact(&[1.3, 1.4, 1.5])).chain(others).collect();
    let FleetVerdict::NothingProven { doubt: FleetDoubt::NotSignificant, .. } = verdicts(&many)[0] else {
        panic!("p is multiplied by five")
    };
}

#[test]
fn differences_below_the_noise_of_the_fleet_are_not_ranked() {
    let candidate = [exact(&[1.01, 1.011, 1.012, 1.011])];
    let settings = Settings::default();
    let quiet = FleetAnalysis::of(&candidate, &exact(&[1.0; 4]).hosts, &settings, 1);
    assert!(matches!(quiet.comparisons[0].verdict, FleetVerdict::ProvenFaster { .. }), "{quiet:?}");
    // The program differs from itself by 3 % on every host.
    let loud = FleetAnalysis::of(&candidate, &exact(&[1.03, 1.031, 1.032, 1.031]).hosts, &settings, 1);
    let verdict = loud.comparisons[0].verdict;
    let FleetVerdict::NothingProven { doubt: FleetDoubt::BelowFloor { floor }, .. } = verdict else {
        panic!("{verdict:?}")
    };
    assert!(floor > 1.03);
}
