//! Properties that hold for any runs.

use proptest::prelude::*;
use std::time::Duration;
use unspin_stats::bootstrap::ratio_of_means;
use unspin_stats::distribution::student_cdf;
use unspin_stats::permutation::sign_flip;
use unspin_stats::random::{Purpose, stream};
use unspin_stats::spread::brown_forsythe;
use unspin_stats::{
    Analysis, Candidate, Direction, Experiment, Metric, Moments, PValue, Ratio, Run, RunOutcome, SampleSet,
    Settings, Summary, Verdict, holm, variance_ratio, welch, welch_ratio,
};

const LOWER: Direction = Direction::LowerIsBetter;

fn is_close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs()).max(1e-9)
}

fn pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0.01f64..100.0, 0.01f64..100.0), 2..24)
}

fn values() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.01f64..100.0, 5..12)
}

fn interval(pairs: &[(f64, f64)]) -> Ratio {
    ratio_of_means(pairs, LOWER, 0.95, 499, &mut stream(1, Purpose::Bootstrap)).unwrap()
}

fn difference(pairs: &[(f64, f64)]) -> PValue {
    let differences: Vec<f64> = pairs.iter().map(|(control, candidate)| (control / candidate).ln()).collect();
    sign_flip(&differences, 199, &mut stream(1, Purpose::SignFlip)).unwrap()
}

fn samples(candidate: Candidate, outcomes: &[RunOutcome]) -> SampleSet {
    let run = |outcome: &RunOutcome| Run::new(Duration::from_secs(1), outcome.clone());
    SampleSet { runs: outcomes.iter().map(run).collect(), ..SampleSet::new(candidate) }
}

fn outcome() -> impl Strategy<Value = RunOutcome> {
    prop_oneof![
        8 => (0.01f64..100.0).prop_map(RunOutcome::measured),
        1 => Just(RunOutcome::Failed { reason: "signal 11".into() }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ratio_and_p_do_not_depend_on_the_unit(pairs in pairs(), scale in 0.001f64..1000.0) {
        let scaled: Vec<_> = pairs.iter().map(|(a, b)| (a * scale, b * scale)).collect();
        let (plain, scaled_interval) = (interval(&pairs), interval(&scaled));
        prop_assert!(is_close(plain.value, scaled_interval.value));
        prop_assert!(is_close(plain.lower, scaled_interval.lower) && is_close(plain.upper, scaled_interval.upper));
        prop_assert_eq!(difference(&pairs).p, difference(&scaled).p);
    }

    #[test]
    fn swapping_the_sides_inverts_the_ratio_and_keeps_p(pairs in pairs()) {
        let swapped: Vec<_> = pairs.iter().map(|&(a, b)| (b, a)).collect();
        let (plain, inverse) = (interval(&pairs), interval(&swapped));
        prop_assert!(is_close(plain.value, 1.0 / inverse.value));
        prop_assert!(is_close(plain.lower, 1.0 / inverse.upper) && is_close(plain.upper, 1.0 / inverse.lower));
        prop_assert_eq!(difference(&pairs).p, difference(&swapped).p);
    }

    #[test]
    fn the_other_direction_inverts_the_ratio(pairs in pairs()) {
        let random = || stream(1, Purpose::Bootstrap);
        let higher = ratio_of_means(&pairs, Direction::HigherIsBetter, 0.95, 499, &mut random()).unwrap();
        let lower = interval(&pairs);
        prop_assert!(is_close(higher.value, 1.0 / lower.value) && is_close(higher.lower, 1.0 / lower.upper));
    }

    #[test]
    fn result_does_not_depend_on_the_order_of_rounds(mut pairs in pairs(), rotate in 0usize..24) {
        pairs.truncate(16); // up to here the test is exact
        let before = (interval(&pairs).value, difference(&pairs).p);
        let middle = rotate % pairs.len();
        pairs.rotate_left(middle);
        pairs.reverse();
        prop_assert!(is_close(before.0, interval(&pairs).value));
        prop_assert_eq!(before.1, difference(&pairs).p);
    }

    #[test]
    fn p_lies_between_the_smallest_attainable_and_one(pairs in pairs()) {
        let value = difference(&pairs);
        prop_assert!(value.p >= value.smallest_attainable && value.p <= 1.0);
        prop_assert!(value.smallest_attainable > 0.0);
    }

    #[test]
    fn the_ends_enclose_the_ratio_if_all_rounds_agree_on_the_side(pairs in pairs()) {
        let ratio = interval(&pairs);
        prop_assert!(ratio.lower <= ratio.upper);
        let extremes = pairs.iter().map(|(a, b)| a / b);
        let (low, high) = extremes.fold((f64::MAX, 0.0f64), |(low, high), r| (low.min(r), high.max(r)));
        // A ratio of sums lies between the extreme ratios of the summands, for any resample.
        prop_assert!(ratio.lower >= low * (1.0 - 1e-9) && ratio.upper <= high * (1.0 + 1e-9));
    }

    #[test]
    fn spread_is_symmetric_and_scale_free(left in values(), right in values(), scale in 0.01f64..100.0) {
        let p = |left: &[f64], right: &[f64]| {
            brown_forsythe(left, right, 199, &mut stream(1, Purpose::Spread)).unwrap()
        };
        let plain = p(&left, &right);
        let scaled = p(&left, &right.iter().map(|x| x * scale).collect::<Vec<_>>());
        prop_assert!(is_close(plain.statistic.unwrap(), scaled.statistic.unwrap()));
        prop_assert!(is_close(plain.p.p, scaled.p.p));
        let swapped = p(&right, &left);
        prop_assert!(is_close(plain.statistic.unwrap(), swapped.statistic.unwrap()));
        if left.len() + right.len() <= 16 {
            prop_assert!(is_close(plain.p.p, swapped.p.p));
        }
    }

    #[test]
    fn holm_lies_between_the_plain_p_and_bonferroni(p in prop::collection::vec(0.0f64..=1.0, 1..8)) {
        let corrected = holm(&p);
        for (i, (plain, corrected_i)) in p.iter().zip(&corrected).enumerate() {
            prop_assert!(plain <= corrected_i && *corrected_i <= 1.0);
            // The order of the p values is preserved: no pair is swapped.
            for (other, corrected_other) in p.iter().zip(&corrected).skip(i + 1) {
                prop_assert!((plain - other) * (corrected_i - corrected_other) >= 0.0);
            }
        }
        let smallest = (0..p.len()).min_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        prop_assert!(is_close(corrected[smallest], (p[smallest] * p.len() as f64).min(1.0)));
    }

    #[test]
    fn a_summary_is_ordered(values in values()) {
        let summary = Summary::of(&values, LOWER).unwrap();
        prop_assert!(summary.min <= summary.median && summary.median <= summary.max);
        prop_assert!(summary.min <= summary.mean * (1.0 + 1e-12) && summary.mean <= summary.max * (1.0 + 1e-12));
        prop_assert!(summary.mean_of_best_n_minus_1.unwrap() <= summary.mean * (1.0 + 1e-12));
        let higher = Summary::of(&values, Direction::HigherIsBetter).unwrap();
        prop_assert!(higher.mean_of_best_n_minus_1.unwrap() >= summary.mean * (1.0 - 1e-12));
    }

    #[test]
    fn any_outcomes_give_an_analysis_and_failures_are_never_proven_faster(
        control in prop::collection::vec(outcome(), 0..12),
        aa_control in prop::collection::vec(outcome(), 0..12),
        first in prop::collection::vec(outcome(), 0..12),
        second in prop::collection::vec(outcome(), 0..12),
    ) {
        let settings = Settings { resamples: 199, draws: 199, ..Settings::default() };
        let sets = |order: [usize; 2]| {
            let candidates = [samples(Candidate::new("first"), &first), samples(Candidate::new("second"), &second)];
            let mut sets = vec![
                samples(Candidate::control("control"), &control),
                samples(Candidate::aa_control("control again"), &aa_control),
            ];
            sets.extend(order.map(|i| candidates[i].clone()));
            Experiment { metric: Metric::wall_time(), seed: 5, samples: sets }
        };
        let analysis = Analysis::of(&sets([0, 1]), &settings);
        let failed = |outcomes: &[RunOutcome]| outcomes.iter().any(|o| !matches!(o, RunOutcome::Ok { .. }));
        for (comparison, outcomes) in analysis.comparisons.iter().zip([&aa_control, &first, &second]) {
            let faster = matches!(comparison.verdict, Verdict::ProvenFaster { .. });
            prop_assert!(!(faster && (failed(outcomes) || failed(&control) || failed(&aa_control))));
            prop_assert!(comparison.sentence.ends_with('.'));
        }
        // The order of the candidates changes only the order of the results.
        let turned = Analysis::of(&sets([1, 0]), &settings);
        prop_assert_eq!(&turned.comparisons[1], &analysis.comparisons[2]);
        prop_assert_eq!(&turned.comparisons[2], &analysis.comparisons[1]);
        // The result is unchanged after storing and loading.
        let json = serde_json::to_string(&analysis).unwrap();
        prop_assert_eq!(serde_json::from_str::<Analysis>(&json).unwrap(), analysis);
    }
}

fn moments() -> impl Strategy<Value = Moments> {
    (2u32..40, 0.01f64..1000.0, 0.0001f64..0.5).prop_map(|(count, mean, relative)| Moments {
        count,
        mean,
        standard_deviation: relative * mean,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Which side is called the first, and the unit, do not matter.
    #[test]
    fn tests_of_moments_do_not_depend_on_order_or_unit(a in moments(), b in moments(), unit in 0.001f64..1000.0) {
        let scaled = |m: &Moments| Moments {
            mean: unit * m.mean,
            standard_deviation: unit * m.standard_deviation,
            ..*m
        };
        let test = welch(&a, &b).unwrap();
        let swapped = welch(&b, &a).unwrap();
        prop_assert!(is_close(test.t, -swapped.t) && is_close(test.p, swapped.p) && is_close(test.freedom, swapped.freedom));
        let same = welch(&scaled(&a), &scaled(&b)).unwrap();
        prop_assert!((test.t - same.t).abs() <= 1e-6 * test.t.abs().max(1e-6));
        let f = variance_ratio(&a, &b).unwrap();
        prop_assert!((f.p - variance_ratio(&b, &a).unwrap().p).abs() < 1e-9);
        prop_assert!((f.p - variance_ratio(&scaled(&a), &scaled(&b)).unwrap().p).abs() < 1e-6);
    }

    /// Welch and Satterthwaite's degrees of freedom lie between those of the smaller side and those of both.
    #[test]
    fn degrees_of_freedom_are_bounded(a in moments(), b in moments()) {
        let test = welch(&a, &b).unwrap();
        let (small, all) = (a.count.min(b.count) - 1, a.count + b.count - 2);
        prop_assert!(test.freedom >= f64::from(small) - 1e-9 && test.freedom <= f64::from(all) + 1e-9);
        prop_assert!((0.0..=1.0).contains(&test.p));
    }

    /// The p value of Student's t is that of the crate's own sums, where those apply: equal sides.
    #[test]
    fn whole_degrees_of_freedom_agree_with_the_finite_sums(count in 2u32..20, difference in 0.0f64..8.0) {
        let a = Moments { count, mean: 10.0, standard_deviation: 1.0 };
        let b = Moments { mean: 10.0 + difference, ..a };
        let test = welch(&a, &b).unwrap();
        let sum = 2.0 * (1.0 - student_cdf(test.t, 2 * (count - 1)));
        prop_assert!((test.p - sum).abs() < 1e-9, "{} {sum}", test.p);
    }

    #[test]
    fn ratio_has_its_value_inside_and_inverts_with_the_direction(a in moments(), b in moments()) {
        let higher = welch_ratio(&a, &b, Direction::HigherIsBetter, 0.95).unwrap();
        let lower = welch_ratio(&a, &b, LOWER, 0.95).unwrap();
        prop_assert!(higher.lower <= higher.value && higher.value <= higher.upper);
        prop_assert!((higher.lower * lower.upper - 1.0).abs() < 1e-9);
        prop_assert!(welch_ratio(&a, &b, LOWER, 0.99).unwrap().upper >= lower.upper);
    }
}
