//! What comparisons of two sessions promise, measured on simulated sessions with known true ratios.
//!
//! As in `calibration.rs`: the tests that always run use few sessions and fixed seeds, the ignored ones many. Each promise has a
//! deliberately wrong method that must violate it.

use crate::common::{LOUD_NEIGHBOUR, Machine, Noise, SHARED_MACHINE};
use rand::{RngExt, SeedableRng, rngs::ChaCha8Rng};
use unspin_stats::independent::{IndependentSample, IndependentTest, IndependentVerdict, judge};
use unspin_stats::{Direction, Ratio, Settings};

const LOWER: Direction = Direction::LowerIsBetter;

/// Runs of one configuration in one session.
#[derive(Clone, Copy, Debug)]
struct Side {
    runs: usize,
    /// Coefficient of variation of log-normal runs.
    cv: f64,
    /// Share of the runs that take three times as long: a heavy tail.
    slow_runs: f64,
    /// Standard deviation of the log of a factor that all runs of a session share.
    session: f64,
}

const QUIET: Side = Side { runs: 10, cv: 0.05, slow_runs: 0.0, session: 0.0 };
const NOISY: Side = Side { cv: 0.26, ..QUIET };
const TAILED: Side = Side { runs: 16, slow_runs: 0.1, ..NOISY };

/// Pairs of sides with equal means: equal and unequal numbers of runs, variances and tails.
const SIDES: [(&str, [Side; 2]); 7] = [
    ("quiet, 10 runs each", [QUIET, QUIET]),
    ("noisy, 6 runs each", [Side { runs: 6, ..NOISY }, Side { runs: 6, ..NOISY }]),
    ("noisy, 6 and 30 runs", [Side { runs: 6, ..NOISY }, Side { runs: 30, ..NOISY }]),
    ("30 quiet runs, 6 noisy", [Side { runs: 30, ..QUIET }, Side { runs: 6, ..NOISY }]),
    ("6 quiet runs, 30 noisy", [Side { runs: 6, ..QUIET }, Side { runs: 30, ..NOISY }]),
    ("10 quiet runs, 10 noisy", [QUIET, NOISY]),
    ("heavy tails, 16 runs each", [TAILED, TAILED]),
];

impl Side {
    /// The run times of a session with this true mean.
    fn session(self, mean: f64, seed: u64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let noise = Noise { cv: self.cv, shared: 0.0, drift: 0.0 };
        let between = Noise { cv: (self.session * self.session).exp_m1().sqrt(), ..noise };
        let shared = Machine::new(between, seed ^ 0x5e55_1011).run(1.0);
        let mut machine = Machine::new(noise, seed.wrapping_add(1 << 40));
        let mut run = || {
            let slow = if random.random::<f64>() < self.slow_runs { 3.0 } else { 1.0 };
            machine.run(mean * shared / (1.0 + 2.0 * self.slow_runs)) * slow
        };
        (0..self.runs).map(|_| run()).collect()
    }
}

/// What one comparison of two sessions shows.
type Compare = fn(&[f64], &[f64], u64) -> IndependentTest;

fn settings() -> Settings {
    Settings { resamples: 599, draws: 299, ..Settings::default() }
}

fn ours(before: &[f64], after: &[f64], seed: u64) -> IndependentTest {
    let sample = |values: &[f64]| IndependentSample::of_figures(values, LOWER);
    IndependentTest::of(&sample(before), &sample(after), &settings(), seed).expect("enough runs")
}

/// The comparisons of so many pairs of sessions, the later of which is truly so many times as good.
fn comparisons(compare: Compare, sides: [Side; 2], truth: f64, pairs: u64) -> Vec<IndependentTest> {
    let [before, after] = sides;
    let one = |seed: u64| {
        let (first, second) = (before.session(1.0, 2 * seed), after.session(1.0 / truth, 2 * seed + 1));
        compare(&first, &second, seed)
    };
    (0..pairs).map(one).collect()
}

fn share(tests: &[IndependentTest], holds: impl Fn(&IndependentTest) -> bool) -> f64 {
    tests.iter().filter(|test| holds(test)).count() as f64 / tests.len() as f64
}

fn is_proven(test: &IndependentTest, floor: f64) -> bool {
    let verdict = judge(&[*test], Some(floor), &settings())[0].1;
    matches!(verdict, IndependentVerdict::ProvenBetter | IndependentVerdict::ProvenWorse)
}

/// Four standard errors of a proportion.
fn slack(share: f64, of: usize) -> f64 {
    4.0 * (share * (1.0 - share) / of as f64).sqrt()
}

// ---- false proofs and coverage ------------------------------------------------------------------------------

/// Of equal sessions at most 5 % are proven different, without any floor; and the interval holds the truth. A true ratio other than
/// 1 only scales the runs, and the interval with them.
fn assert_holds(compare: Compare, kinds: &[(&str, [Side; 2])], pairs: u64) {
    for &(name, sides) in kinds {
        let tests = comparisons(compare, sides, 1.0, pairs);
        let (proofs, p) = (share(&tests, |test| is_proven(test, 1.0)), share(&tests, |test| test.p <= 0.05));
        let covers = share(&tests, |test| test.ratio.includes_one());
        println!(
            "{name}: {:.1} % proven, {:.1} % with p <= 0.05, the 95 % interval covers {:.1} %",
            100.0 * proofs,
            100.0 * p,
            100.0 * covers
        );
        assert!(proofs <= 0.05 + slack(0.05, tests.len()), "false proofs: {proofs} with {name}");
        assert!((0.915..=0.985).contains(&covers), "coverage {covers} with {name}");
    }
}

#[test]
fn equal_sessions_are_seldom_proven_different() {
    assert_holds(ours, &SIDES, 1_000);
}

#[test]
#[ignore = "nightly: 10000 pairs of sessions for each kind; equal_sessions_are_seldom_proven_different holds the same rule"]
fn equal_sessions_are_seldom_proven_different_long() {
    assert_holds(ours, &SIDES, 10_000);
}

/// A test of the pooled variance trusts the small noisy side as much as the large quiet one.
#[test]
#[should_panic(expected = "false proofs")]
fn planted_test_of_pooled_variance_is_detected() {
    fn pooled(before: &[f64], after: &[f64], seed: u64) -> IndependentTest {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let squares = |values: &[f64]| values.iter().map(|v| (v - mean(values)).powi(2)).sum::<f64>();
        let (n, m) = (before.len() as f64, after.len() as f64);
        let variance = (squares(before) + squares(after)) / (n + m - 2.0) * (1.0 / n + 1.0 / m);
        // t(34) = 2.03.
        let t = (mean(after) - mean(before)).abs() / variance.sqrt() / 2.03;
        let test = ours(before, after, seed);
        let log = test.ratio.value.ln();
        let (lower, upper) = ((log - (log / t).abs()).exp(), (log + (log / t).abs()).exp());
        let p = if t > 1.0 { 0.04 } else { 0.5 };
        IndependentTest { p, ratio: Ratio { lower, upper, ..test.ratio }, ..test }
    }
    assert_holds(pooled, &SIDES[3..4], 400);
}

#[test]
#[should_panic(expected = "coverage")]
fn planted_interval_of_three_quarters_of_the_width_is_detected() {
    fn narrow(before: &[f64], after: &[f64], seed: u64) -> IndependentTest {
        let test = ours(before, after, seed);
        let Ratio { value, lower, upper } = test.ratio;
        let narrowed = |end: f64| value * (end / value).powf(0.75);
        IndependentTest { ratio: Ratio { value, lower: narrowed(lower), upper: narrowed(upper) }, ..test }
    }
    assert_holds(narrow, &SIDES[..1], 1_000);
}

// ---- power --------------------------------------------------------------------------------------------------

#[test]
fn effect_that_is_called_detectable_is_found_in_four_of_five() {
    let found = |sides: [Side; 2], truth: f64| {
        share(&comparisons(ours, sides, truth, 500), |test| is_proven(test, 1.0))
    };
    // Ten runs each of 5 %: 6.6 % are called detectable.
    let detectable = comparisons(ours, [QUIET, QUIET], 1.0, 200);
    let mean = detectable.iter().map(|test| test.minimum_detectable_effect).sum::<f64>() / 200.0;
    let power = found([QUIET, QUIET], mean);
    println!("{:.1} % are called detectable, and found with power {power}", 100.0 * (mean - 1.0));
    assert!((0.72..0.88).contains(&power), "{power}");
    assert!(found([QUIET, QUIET], 1.1) > 0.95);
    assert!(found([NOISY, NOISY], 1.1) < 0.4, "noise hides it");
}

// ---- gains --------------------------------------------------------------------------------------------------

/// Two machines with these kinds of noise, the second seven times as slow: the gain of the first is 1.3.
fn gains(noises: [Noise; 2], rounds: [usize; 2], truth: f64, pairs: u64) -> Vec<IndependentTest> {
    let one = |seed: u64| {
        let mut first = Machine::new(noises[0], 2 * seed);
        let mut second = Machine::new(noises[1], 2 * seed + 1);
        let before = IndependentSample::of_gains(&first.pairs(rounds[0], 1.3, 1.0), LOWER);
        let after = IndependentSample::of_gains(&second.pairs(rounds[1], 9.1 * truth, 7.0), LOWER);
        IndependentTest::of(&before, &after, &settings(), seed).expect("enough rounds")
    };
    (0..pairs).map(one).collect()
}

fn assert_gains_compare(pairs: u64) {
    for (noises, rounds) in [
        ([LOUD_NEIGHBOUR, LOUD_NEIGHBOUR], [10, 10]),
        ([LOUD_NEIGHBOUR, SHARED_MACHINE], [30, 6]),
        ([SHARED_MACHINE, LOUD_NEIGHBOUR], [6, 20]),
    ] {
        let equal = gains(noises, rounds, 1.0, pairs);
        let proofs = share(&equal, |test| is_proven(test, 1.0));
        let covers = share(&equal, |test| test.ratio.includes_one());
        println!(
            "{rounds:?} rounds: {:.1} % of equal gains proven different, {:.1} % covered",
            100.0 * proofs,
            100.0 * covers
        );
        assert!(proofs <= 0.05 + slack(0.05, equal.len()), "false proofs: {proofs}");
        assert!((0.92..=0.99).contains(&covers), "coverage {covers}");
        let half = share(&gains(noises, rounds, 2.5, pairs / 4), |test| is_proven(test, 1.0));
        assert!(half > 0.8, "power {half}");
    }
}

#[test]
fn gains_of_two_machines_compare() {
    assert_gains_compare(600);
}

#[test]
#[ignore = "nightly: 10000 pairs of sessions for each kind; gains_of_two_machines_compare holds the same rule"]
fn gains_of_two_machines_compare_long() {
    assert_gains_compare(10_000);
}

// ---- sessions -----------------------------------------------------------------------------------------------

/// Sessions that differ by 5 % for no reason of the program's.
const MOODY: Side = Side { session: 0.05, ..QUIET };

/// What docs/compare.md says: two sessions cannot tell a program from a mood of the machine.
#[test]
fn one_session_on_each_side_proves_moods_of_the_machine() {
    let tests = comparisons(ours, [MOODY, MOODY], 1.0, 500);
    let proofs = share(&tests, |test| is_proven(test, 1.0));
    println!("sessions that differ by 5 %: {:.0} % are proven different", 100.0 * proofs);
    assert!(proofs > 0.25, "{proofs}");
}

#[test]
fn several_sessions_on_each_side_do_not() {
    for sessions in [2u64, 3, 5] {
        let one = |truth: f64, seed: u64| {
            let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
            let side = |mean_s: f64, first: u64| -> Vec<f64> {
                (first..first + sessions).map(|seed| mean(MOODY.session(mean_s, seed))).collect()
            };
            let (before, after) = (side(1.0, 100 * seed), side(1.0 / truth, 100 * seed + 50));
            IndependentTest::of_sessions(&before, &after, LOWER, &settings()).expect("several sessions")
        };
        let tests: Vec<IndependentTest> = (0..1_000).map(|seed| one(1.0, seed)).collect();
        let proofs = share(&tests, |test| is_proven(test, 1.0));
        let found: Vec<IndependentTest> = (0..300).map(|seed| one(1.2, seed)).collect();
        let power = share(&found, |test| is_proven(test, 1.0));
        println!(
            "{sessions} sessions each: {:.1} % are proven different, a gain of 20 % is found in {:.0} %",
            100.0 * proofs,
            100.0 * power
        );
        assert!(proofs <= 0.05 + slack(0.05, 1_000), "false proofs: {proofs}");
        assert!(power > [0.1, 0.25, 0.9][sessions.min(4) as usize - 2], "{power}");
    }
}
