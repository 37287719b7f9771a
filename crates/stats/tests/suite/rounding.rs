//! Issue 30: figures that a program prints with few digits, whose true values are known.

use crate::common::{Machine, Noise};
use std::time::Duration;
use unspin_stats::fleet::{FleetAnalysis, FleetCandidate, FleetDoubt, FleetVerdict, HostRounds};
use unspin_stats::independent::{IndependentSample, IndependentTest, IndependentVerdict, judge};
use unspin_stats::{
    Analysis, Candidate, Comparison, Direction, Experiment, Metric, NotProvenReason, Pairs, Ratio,
    RoundedMean, RoundingBounds, Run, RunOutcome, SampleSet, Settings, SpreadVerdict, Verdict,
};

/// Whether the statistics know how the figures were printed.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Known,
    /// The wrong method.
    Unknown,
}

const ROUNDS: usize = 8;
const DIRECTION: Direction = Direction::LowerIsBetter;

/// A session of a tool that prints whole milliseconds. The means are the true ones, of the control and of the candidate.
fn session(means: [f64; 2], cv: f64, seed: u64, steps: Steps) -> Analysis {
    let metric = Metric::custom("p99", "ms", DIRECTION);
    let settings = Settings { resamples: 999, draws: 999, ..Settings::default() };
    let samples = samples(means, cv, seed, steps).to_vec();
    Analysis::of(&Experiment { metric, seed, samples }, &settings)
}

/// The control, again, and the candidate.
fn samples(means: [f64; 2], cv: f64, seed: u64, steps: Steps) -> [SampleSet; 3] {
    let mut machine = Machine::new(Noise { cv, shared: 0.0, drift: 0.0 }, seed);
    let mut printed = |candidate: Candidate, mean: f64| {
        let step = (steps == Steps::Known).then_some(1.0);
        let mut run = || {
            let value = machine.run(mean).round().max(1.0);
            Run::new(Duration::from_secs(1), RunOutcome::measured(value)).with_step(step)
        };
        SampleSet { runs: (0..ROUNDS).map(|_| run()).collect(), ..SampleSet::new(candidate) }
    };
    [
        printed(Candidate::control("system"), means[0]),
        printed(Candidate::aa_control("system again"), means[0]),
        printed(Candidate::new("poll"), means[1]),
    ]
}

fn poll(analysis: &Analysis) -> &Comparison {
    &analysis.comparisons[1]
}

fn is_proven(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Verdict::ProvenFaster { .. } | Verdict::ProvenSlower { .. })
}

/// A candidate that is 4 % worse, on both sides of a boundary between two printed figures.
fn around(boundary: f64) -> [f64; 2] {
    [boundary / 1.02, boundary * 1.02]
}

#[test]
fn difference_that_rounding_makes_is_never_proven() {
    for boundary in [1.5, 2.5, 4.5, 9.5] {
        for cv in [0.0005, 0.002, 0.01, 0.03] {
            for seed in 0..8 {
                let [control, candidate] = around(boundary);
                for means in [[control, candidate], [candidate, control]] {
                    let analysis = session(means, cv, seed, Steps::Known);
                    assert!(!is_proven(poll(&analysis)), "{means:?} {cv} {seed}: {:?}", poll(&analysis));
                    assert!(analysis.noise_floor.unwrap().factor > 1.05, "{:?}", analysis.noise_floor);
                }
            }
        }
    }
    let wrong = session(around(1.5), 0.002, 1, Steps::Unknown);
    assert!(is_proven(poll(&wrong)) && wrong.noise_floor.unwrap().factor == 1.0, "{wrong:?}");
}

/// 12 to 13 ms are 8 % apart if they are printed so, and 0.1 % if they are not.
#[test]
fn interval_has_the_true_ratio() {
    let share = |means: [f64; 2], cv, steps| {
        let holds = |seed: &u64| {
            let ratio = poll(&session(means, cv, *seed, steps)).ratio.unwrap();
            (ratio.lower..=ratio.upper).contains(&(means[0] / means[1]))
        };
        (0..60).filter(holds).count()
    };
    for boundary in [1.5, 2.5, 12.5, 40.5] {
        for cv in [0.0005, 0.01, 0.1] {
            let means = [boundary - 0.006, boundary + 0.006];
            assert!(share(means, cv, Steps::Known) >= 55, "{means:?} {cv}");
        }
        assert!(share(around(boundary), 0.0005, Steps::Known) == 60);
    }
    assert_eq!(share([12.494, 12.506], 0.0001, Steps::Unknown), 0);
}

#[test]
fn difference_beyond_the_steps_is_proven() {
    for (means, is_better) in
        [([12.0, 4.0], true), ([4.0, 12.0], false), ([3.0, 9.0], false), ([2.2, 7.1], false)]
    {
        let analysis = session(means, 0.01, 7, Steps::Known);
        match (&poll(&analysis).verdict, is_better) {
            (Verdict::ProvenFaster { ratio }, true) | (Verdict::ProvenSlower { ratio }, false) => {
                assert!(ratio.lower < ratio.value && ratio.value < ratio.upper, "{ratio:?}");
            }
            (other, _) => panic!("{means:?}: {other:?}"),
        }
    }
}

#[test]
fn sentence_names_the_rounding_and_never_zero_percent() {
    let analysis = session(around(2.5), 0.001, 3, Steps::Known);
    let poll = poll(&analysis);
    let Verdict::NothingProven { could_hide: Some(hidden), doubt: NotProvenReason::BelowFloor { floor } } =
        poll.verdict
    else {
        panic!("{:?}", poll.verdict)
    };
    assert!(hidden >= floor && floor >= 1.5, "{poll:?}");
    assert!(
        poll.sentence.contains(
            "no difference proven (it is below the noise floor of 67 %); the figures have too few digits"
        ),
        "{}",
        poll.sentence
    );
    assert!(
        analysis
            .noise_floor_sentence
            .as_ref()
            .unwrap()
            .contains("below 67 % is not ranked, because the figures are rounded"),
        "{analysis:?}"
    );
    // Equal figures: what the digits hide is stated.
    let equal = session([12.0, 12.1], 0.001, 3, Steps::Known);
    let sentence = &equal.comparisons[1].sentence;
    assert!(sentence.contains("a difference of up to 8.7 % either way could still hide"), "{sentence}");
}

#[test]
fn spread_that_rounding_makes_is_not_proven() {
    let spread = |steps| {
        let of = |seed| poll(&session([4.3, 4.5], 0.01, seed, steps)).spread.unwrap().verdict;
        (0..40).filter(|&seed| of(seed) != SpreadVerdict::NothingProven).count()
    };
    assert_eq!(spread(Steps::Known), 0);
    assert!(spread(Steps::Unknown) >= 5, "{}", spread(Steps::Unknown));
}

// ---- several hosts --------------------------------------------------------------------------------------

const HOSTS: usize = 8;

/// Hosts whose true values are these. One host may print more digits than the others.
fn fleet(means: [f64; 2], cv: f64, seed: u64, steps: Steps) -> FleetAnalysis {
    fleet_of(seed, |host| samples(means, cv, seed * 100 + host, steps))
}

fn fleet_of(seed: u64, samples: impl Fn(u64) -> [SampleSet; 3]) -> FleetAnalysis {
    let (mut hosts, mut pairs) = (Vec::new(), Vec::new());
    for host in 0..HOSTS {
        let [control, again, candidate] = samples(host as u64);
        let rounds = |with: &SampleSet, rounding| HostRounds {
            host,
            log_ratios: Pairs::of(&control, with, DIRECTION).log_ratios(),
            rounding,
        };
        hosts.push(rounds(&candidate, RoundingBounds::of_rounds(&control, &candidate, DIRECTION)));
        pairs.push(rounds(&again, RoundingBounds::of_rounds_of_pair(&control, &again, DIRECTION)));
    }
    let settings = Settings { draws: 499, ..Settings::default() };
    FleetAnalysis::of(&[FleetCandidate { name: "poll".into(), hosts }], &pairs, &settings, seed)
}

fn fleet_proves(analysis: &FleetAnalysis) -> bool {
    let verdict = analysis.comparisons[0].verdict;
    !matches!(verdict, FleetVerdict::NothingProven { .. })
}

/// All hosts round alike, so that more hosts prove no more.
#[test]
fn fleet_proves_no_difference_that_rounding_makes() {
    for boundary in [1.5, 2.5, 4.5, 9.5] {
        for cv in [0.0005, 0.01, 0.03] {
            for seed in 0..4 {
                let [one, other] = around(boundary);
                for means in [[one, other], [other, one]] {
                    let analysis = fleet(means, cv, seed, Steps::Known);
                    assert!(!fleet_proves(&analysis), "{means:?} {cv} {seed}: {:?}", analysis.comparisons);
                    let combined = analysis.comparisons[0].combined.as_ref().unwrap();
                    let holds = |ratio: Ratio| (ratio.lower..ratio.upper).contains(&(means[0] / means[1]));
                    assert!(holds(combined.ratio) && holds(combined.prediction.unwrap()), "{combined:?}");
                }
            }
        }
    }
    assert!(fleet_proves(&fleet(around(2.5), 0.002, 1, Steps::Unknown)));
    // The candidate's digits hide more than the control's.
    let FleetVerdict::NothingProven { doubt: FleetDoubt::BelowFloor { floor }, .. } =
        fleet([3.0, 2.0], 0.001, 1, Steps::Known).comparisons[0].verdict
    else {
        panic!("the digits are the reason")
    };
    assert!((floor - 1.5).abs() < 1e-6, "{floor}");
}

/// A round in which another program ran is large on both sides, and hides nothing of how the others were rounded.
#[test]
fn disturbed_round_does_not_let_a_fleet_prove_rounding() {
    for seed in 0..4 {
        let disturbed = |host| {
            let mut samples = samples([1.495, 1.505], 0.0005, seed * 100 + host, Steps::Known);
            samples.iter_mut().for_each(|side| side.runs[3].outcome = RunOutcome::measured(50.0));
            samples
        };
        let analysis = fleet_of(seed, disturbed);
        assert!(!fleet_proves(&analysis), "{:?}", analysis.comparisons);
    }
}

/// Half of the hosts print 2 and 1, the others 1 and 2, and all values may be 1.5.
#[test]
fn rounding_is_no_difference_between_hosts() {
    let fleet = |steps| {
        fleet_of(1, |host| {
            let [mut control, mut candidate] = [1.495, 1.505];
            if host % 2 == 0 {
                std::mem::swap(&mut control, &mut candidate);
            }
            samples([control, candidate], 0.0005, 100 + host, steps)
        })
    };
    assert!(!fleet(Steps::Known).comparisons[0].differs_between_hosts(0.05));
    assert!(fleet(Steps::Unknown).comparisons[0].differs_between_hosts(0.05));
}

#[test]
fn fleet_proves_a_difference_beyond_the_steps() {
    for means in [[12.0, 4.0], [4.0, 12.0], [3.0, 9.0], [9.0, 3.0]] {
        let analysis = fleet(means, 0.01, 3, Steps::Known);
        match (analysis.comparisons[0].verdict, means[0] > means[1]) {
            (FleetVerdict::ProvenFaster { ratio }, true) | (FleetVerdict::ProvenSlower { ratio }, false) => {
                assert!((ratio.lower..ratio.upper).contains(&(means[0] / means[1])), "{ratio:?}");
            }
            (other, _) => panic!("{means:?}: {other:?}"),
        }
    }
}

// ---- two sides ------------------------------------------------------------------------------------------

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    Figures,
    /// Over a control of 12 ms.
    Gains,
}

const QUANTITIES: [Quantity; 2] = [Quantity::Figures, Quantity::Gains];

/// Sides of so many sessions each, with these true values of a configuration.
fn sides(
    [before, after]: [f64; 2],
    sessions: u64,
    cv: f64,
    (seed, steps): (u64, Steps),
    quantity: Quantity,
) -> IndependentTest {
    let sample = |mean: f64, seed: u64| {
        let [control, _, candidate] = samples([12.0, mean], cv, seed, steps);
        let printed = |samples: &SampleSet| RoundedMean::of(&samples.runs).unwrap();
        match quantity {
            Quantity::Figures => IndependentSample::of_figures(&candidate.values(), DIRECTION)
                .with_printed_figures(printed(&candidate)),
            Quantity::Gains => {
                let rounds: Vec<(f64, f64)> = control.values().into_iter().zip(candidate.values()).collect();
                IndependentSample::of_gains(&rounds, DIRECTION)
                    .with_printed_gains(printed(&control), printed(&candidate))
            }
        }
    };
    let side = |mean, first: u64| (first..first + sessions).map(|seed| sample(mean, seed)).collect();
    let [before, after]: [Vec<IndependentSample>; 2] =
        [side(before, 1000 * seed), side(after, 1000 * seed + 500)];
    let settings = Settings { resamples: 499, draws: 499, ..Settings::default() };
    if sessions == 1 {
        return IndependentTest::of(&before[0], &after[0], &settings, seed).unwrap();
    }
    let values = |side: &[IndependentSample]| side.iter().map(IndependentSample::value).collect::<Vec<_>>();
    let mean = |side: &[IndependentSample]| {
        let of = |part: fn(&Ratio) -> f64| {
            side.iter().map(|session| part(&session.before_rounding())).sum::<f64>() / side.len() as f64
        };
        Ratio { value: of(|s| s.value), lower: of(|s| s.lower), upper: of(|s| s.upper) }
    };
    // Values are "times as good", of which more is better.
    IndependentTest::of_sessions(&values(&before), &values(&after), Direction::HigherIsBetter, &settings)
        .unwrap()
        .rounded([mean(&before), mean(&after)])
}

fn verdict(test: IndependentTest) -> IndependentVerdict {
    judge(&[test], Some(1.0), &Settings::default())[0].1
}

fn is_proven_apart(test: IndependentTest) -> bool {
    matches!(verdict(test), IndependentVerdict::ProvenBetter | IndependentVerdict::ProvenWorse)
}

#[test]
fn two_sides_prove_no_difference_that_rounding_makes() {
    for quantity in QUANTITIES {
        for sessions in [1, 3] {
            for boundary in [1.5, 2.5, 4.5, 9.5] {
                for (cv, seed) in [(0.0005, 1), (0.01, 2), (0.03, 3)] {
                    let [one, other] = around(boundary);
                    for means in [[one, other], [other, one]] {
                        let test = sides(means, sessions, cv, (seed, Steps::Known), quantity);
                        assert!(!is_proven_apart(test), "{quantity:?} {sessions} {means:?} {cv}: {test:?}");
                        let truth = means[0] / means[1];
                        assert!((test.ratio.lower..test.ratio.upper).contains(&truth), "{test:?}");
                    }
                }
            }
            let wrong = sides(around(2.5), sessions, 0.001, (1, Steps::Unknown), quantity);
            assert!(is_proven_apart(wrong), "{quantity:?} {sessions}: {wrong:?}");
            let below = verdict(sides([3.0, 2.0], sessions, 0.001, (1, Steps::Known), quantity));
            assert!(
                matches!(below, IndependentVerdict::BelowFloor { floor, .. } if floor >= 1.5 - 1e-6),
                "{quantity:?} {sessions}: {below:?}"
            );
        }
    }
}

#[test]
fn two_sides_prove_a_difference_beyond_the_steps() {
    for quantity in QUANTITIES {
        for sessions in [1, 3] {
            for (means, expected) in [
                ([12.0, 4.0], IndependentVerdict::ProvenBetter),
                ([3.0, 9.0], IndependentVerdict::ProvenWorse),
                ([9.0, 3.0], IndependentVerdict::ProvenBetter),
            ] {
                let test = sides(means, sessions, 0.01, (1, Steps::Known), quantity);
                assert_eq!(verdict(test), expected, "{quantity:?} {sessions} {means:?}: {test:?}");
            }
        }
    }
}

/// The p99 in us of docs/guide.md's redis, which redis-benchmark counts in buckets of 8 us.
#[test]
fn gain_of_the_guide_is_larger_than_its_buckets() {
    let system =
        [79, 79, 79, 79, 79, 71, 79, 87, 79, 79, 79, 95, 87, 95, 71, 79, 79, 79, 79, 95, 87, 95, 87, 87, 95];
    let again =
        [79, 79, 79, 79, 79, 79, 71, 79, 111, 79, 95, 95, 87, 95, 79, 95, 79, 87, 79, 79, 87, 79, 87, 87, 87];
    let poll =
        [63, 55, 55, 47, 55, 55, 47, 71, 63, 55, 55, 63, 63, 63, 47, 55, 55, 55, 63, 79, 55, 63, 63, 55, 55];
    let of = |candidate, values: [u32; 25]| {
        let run = |value: u32| {
            Run::new(Duration::from_secs(1), RunOutcome::measured(1e-6 * f64::from(value)))
                .with_step(Some(8e-6))
        };
        SampleSet { runs: values.map(run).to_vec(), ..SampleSet::new(candidate) }
    };
    let samples = vec![
        of(Candidate::control("system"), system),
        of(Candidate::aa_control("system (again)"), again),
        of(Candidate::new("redis.toml"), poll),
    ];
    let experiment = Experiment { metric: Metric::custom("p99", "s", DIRECTION), seed: 1, samples };
    let analysis = Analysis::of(&experiment, &Settings::default());
    println!("{:?}", analysis.noise_floor);
    println!("{}", analysis.comparisons[1].sentence);
    let Verdict::ProvenFaster { ratio } = analysis.comparisons[1].verdict else { panic!("{analysis:?}") };
    assert!(ratio.lower > 1.15 && ratio.upper < 1.8, "{ratio:?}");
    assert!(analysis.noise_floor.unwrap().is_of_digits());
}
