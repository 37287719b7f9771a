//! Issue 30: figures that a program prints with few digits, whose true values are known.

use crate::common::{Machine, Noise};
use std::time::Duration;
use unspin_stats::{
    Analysis, Candidate, Comparison, Direction, Experiment, Metric, NotProvenReason, Run, RunOutcome,
    SampleSet, Settings, SpreadVerdict, Verdict,
};

/// Whether the statistics know how the figures were printed.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Known,
    /// The wrong method.
    Unknown,
}

const ROUNDS: usize = 8;

/// A session of a tool that prints whole milliseconds. The means are the true ones, of the control and of the candidate.
fn session(means: [f64; 2], cv: f64, seed: u64, steps: Steps) -> Analysis {
    let mut machine = Machine::new(Noise { cv, shared: 0.0, drift: 0.0 }, seed);
    let mut printed = |candidate: Candidate, mean: f64| {
        let step = (steps == Steps::Known).then_some(1.0);
        let mut run = || {
            let value = machine.run(mean).round().max(1.0);
            Run::new(Duration::from_secs(1), RunOutcome::measured(value)).with_step(step)
        };
        SampleSet { runs: (0..ROUNDS).map(|_| run()).collect(), ..SampleSet::new(candidate) }
    };
    let samples = vec![
        printed(Candidate::control("system"), means[0]),
        printed(Candidate::aa_control("system again"), means[0]),
        printed(Candidate::new("poll"), means[1]),
    ];
    let metric = Metric::custom("p99", "ms", Direction::LowerIsBetter);
    let settings = Settings { resamples: 999, draws: 999, ..Settings::default() };
    Analysis::of(&Experiment { metric, seed, samples }, &settings)
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
