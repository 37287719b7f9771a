//! Each verdict, from runs constructed to lead to it, and the sentence that states it.

use std::time::Duration;
use unspin_stats::{
    Analysis, Candidate, Conclusion, Direction, Experiment, Metric, NoiseFloor, NotProvenReason, Ratio, Run,
    RunOutcome, SampleSet, Settings, SpreadVerdict, Verdict,
};

/// Runs of one candidate with these values; every run took one second.
fn samples(candidate: Candidate, values: &[f64]) -> SampleSet {
    let run = |&value: &f64| Run::new(Duration::from_secs(1), RunOutcome::measured(value));
    SampleSet { runs: values.iter().map(run).collect(), ..SampleSet::new(candidate) }
}

/// Twelve runs around a mean. The pattern is fixed; `shift` rotates it so that two sets are not in step.
fn around(mean: f64, spread: f64, shift: usize) -> Vec<f64> {
    const PATTERN: [f64; 12] = [0.3, -0.8, 1.4, -0.2, 0.9, -1.5, 0.1, 1.1, -0.6, -1.0, 0.7, -0.4];
    (0..12).map(|i| mean * (1.0 + spread * PATTERN[(i + shift) % 12])).collect()
}

fn analyse(metric: Metric, candidate: &[f64]) -> Analysis {
    let samples = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.02, 0)),
        samples(Candidate::aa_control("kernel again"), &around(3.0, 0.02, 5)),
        samples(Candidate::new("rcu"), candidate),
    ];
    Analysis::of(&Experiment { metric, seed: 1, samples }, &Settings::default())
}

fn rcu(analysis: &Analysis) -> &unspin_stats::Comparison {
    &analysis.comparisons[1]
}

#[test]
fn faster() {
    let analysis = analyse(Metric::wall_time(), &around(1.0, 0.02, 3));
    assert_eq!(analysis.conclusion(), Conclusion::Faster);
    assert_eq!(
        rcu(&analysis).sentence,
        "rcu is 3.00 times as fast as kernel (95 % interval 2.95–3.05, p = 0.00049, 12 rounds): \
         difference proven."
    );
}

#[test]
fn slower() {
    let analysis = analyse(Metric::wall_time(), &around(6.0, 0.02, 3));
    assert_eq!(analysis.conclusion(), Conclusion::Slower);
    assert!(matches!(rcu(&analysis).verdict, Verdict::ProvenSlower { ratio } if ratio.value < 1.0));
    assert!(rcu(&analysis).sentence.starts_with("rcu takes 2.00 times as long as kernel (95 % interval 1."));
}

#[test]
fn a_metric_where_more_is_better() {
    let metric = Metric::custom("throughput", "TPS", Direction::HigherIsBetter);
    let analysis = analyse(metric, &around(6.0, 0.02, 3));
    assert_eq!(analysis.conclusion(), Conclusion::Faster);
    let sentence = &rcu(&analysis).sentence;
    assert!(sentence.starts_with("rcu's throughput is 2.00 times kernel's (95 % interval 1."), "{sentence}");
    assert!(sentence.ends_with("difference proven, for the better."), "{sentence}");
}

/// Issue 25: the table said 2, and the sentence 0.5.
#[test]
fn metric_where_less_is_better_has_one_direction() {
    let metric = Metric::custom("latency", "", Direction::LowerIsBetter);
    let analysis = analyse(metric, &around(1.5, 0.02, 3));
    assert_eq!(analysis.conclusion(), Conclusion::Faster);
    let sentence = &rcu(&analysis).sentence;
    assert!(
        sentence.starts_with("rcu is 2.00 times as good as kernel by latency (95 % interval "),
        "{sentence}"
    );
    assert!(sentence.ends_with("difference proven, for the better."), "{sentence}");
}

#[test]
fn cpu_time_is_stated_as_a_share() {
    let analysis = analyse(Metric::cpu_time(), &around(1.5, 0.02, 3));
    let sentence = &rcu(&analysis).sentence;
    assert!(sentence.starts_with("rcu's CPU time is 0.500 times kernel's (95 % interval 0.4"), "{sentence}");
    assert!(sentence.ends_with("difference proven, for the better."), "{sentence}");
}

#[test]
fn nothing_proven_states_the_largest_hidden_effect() {
    let analysis = analyse(Metric::wall_time(), &around(3.0, 0.02, 3));
    let sentence = &rcu(&analysis).sentence;
    assert!(sentence.starts_with("rcu against kernel: 1.00 times as "), "{sentence}");
    assert_eq!(analysis.conclusion(), Conclusion::NothingProven);
    let comparison = rcu(&analysis);
    let Verdict::NothingProven { could_hide: Some(hidden), doubt: NotProvenReason::NotSignificant } =
        comparison.verdict
    else {
        panic!("{}", comparison.sentence)
    };
    assert_eq!(hidden, comparison.ratio.unwrap().farthest_factor(), "the interval and the bound agree");
    assert!(
        comparison.sentence.contains("no difference proven; a difference of up to "),
        "{}",
        comparison.sentence
    );
}

/// The A/A pair is noisier than the candidate: "95 % interval 0.97–1.03" and "up to 40 % either way" contradicted each other.
#[test]
fn bound_of_a_difference_is_that_of_the_printed_interval() {
    let samples = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.02, 0)),
        samples(Candidate::aa_control("kernel again"), &around(3.0, 0.5, 5)),
        samples(Candidate::new("rcu"), &around(3.0, 0.02, 3)),
    ];
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
    let analysis = Analysis::of(&experiment, &Settings::default());
    assert!(analysis.noise_floor.unwrap().factor > 1.3);
    let comparison = rcu(&analysis);
    let (lower, upper) = comparison.ratio.unwrap().ends(2);
    let [lower, upper] = [lower, upper].map(|end| end.parse::<f64>().unwrap());
    let (_, bound) = comparison.sentence.split_once("a difference of up to ").unwrap();
    let bound: f64 = bound.split(' ').next().unwrap().parse().unwrap();
    let printed = 100.0 * (upper.max(1.0 / lower) - 1.0);
    assert!((bound - printed).abs() <= 1.0, "{}", comparison.sentence);
}

/// Two rounds gave "95 % interval 2.53–2.54" and "a difference of up to a factor of 90109 could still hide".
#[test]
fn few_rounds_have_no_interval() {
    let values = |mean: f64| around(mean, 0.02, 3).into_iter().take(2).collect::<Vec<_>>();
    let samples = vec![
        samples(Candidate::control("kernel"), &values(3.0)),
        samples(Candidate::new("rcu"), &values(1.2)),
    ];
    let experiment = Experiment { metric: Metric::wall_time(), seed: 7, samples };
    let analysis = Analysis::of(&experiment, &Settings::default());
    let sentence = &analysis.comparisons[0].sentence;
    assert!(!sentence.contains("interval"), "{sentence}");
    assert!(
        sentence.contains("2 rounds cannot prove one")
            && sentence.contains("after 2 rounds the difference may have any size"),
        "{sentence}"
    );
}

#[test]
fn nothing_is_ranked_below_the_noise_floor() {
    // The A/A configuration differs from the control by 20 % throughout: the session was disturbed. A candidate that is
    // 10 % faster has the smallest possible p, and is still not ranked.
    let control = around(3.0, 0.001, 0);
    let samples = vec![
        samples(Candidate::control("kernel"), &control),
        samples(Candidate::aa_control("kernel again"), &around(2.5, 0.001, 5)),
        samples(Candidate::new("rcu"), &around(2.7, 0.001, 3)),
    ];
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
    let analysis = Analysis::of(&experiment, &Settings::default());
    let floor = analysis.noise_floor.unwrap();
    assert!(floor.differs && floor.factor >= 1.2, "{floor:?}");
    let comparison = rcu(&analysis);
    assert!(comparison.difference_p_corrected.unwrap() < 0.001);
    assert!(matches!(
        comparison.verdict,
        Verdict::NothingProven { doubt: NotProvenReason::BelowFloor { .. }, .. }
    ));
    assert!(comparison.sentence.contains("below the noise floor of 20 %"), "{}", comparison.sentence);
    let sentence = analysis.noise_floor_sentence.unwrap();
    assert!(
        sentence.starts_with("Noise floor: kernel measured twice seems to differ from itself"),
        "{sentence}"
    );
}

/// Issue 28: "no difference proven" had a p below 0.05 beside an interval that includes 1.
#[test]
fn small_p_is_not_printed_beside_an_interval_that_includes_one() {
    let analysis = analyse(Metric::wall_time(), &around(2.878, 0.08, 8));
    let comparison = rcu(&analysis);
    assert!(comparison.difference.unwrap().p < 0.05 && comparison.ratio.unwrap().includes_one());
    assert!(matches!(
        comparison.verdict,
        Verdict::NothingProven { doubt: NotProvenReason::NotSignificant, .. }
    ));
    assert_eq!(comparison.shown_p(&analysis.settings), None);
    assert_eq!(
        comparison.sentence,
        "rcu against kernel: 1.04 times as fast as kernel in these runs (95 % interval 1.00–1.09, 12 rounds), no difference \
         proven; a difference of up to 8.7 % either way could still hide."
    );
    let undecided = analyse(Metric::wall_time(), &around(2.95, 0.08, 8));
    let p = rcu(&undecided).shown_p(&undecided.settings);
    assert!(p.is_some_and(|p| p > 0.05), "both say that nothing is proven: {p:?}");
}

#[test]
fn noise_floor_of_the_session_holds_for_a_part_without_the_pair() {
    let part = |floor| {
        let samples = vec![
            samples(Candidate::control("global"), &around(3.0, 0.001, 0)),
            samples(Candidate::new("rcu"), &around(2.7, 0.001, 3)),
        ];
        let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
        Analysis::above_floor(&experiment, &Settings::default(), floor).comparisons.remove(0).verdict
    };
    assert!(matches!(part(None), Verdict::ProvenFaster { .. }));
    let floor = NoiseFloor::new(12, Ratio { value: 1.2, lower: 1.19, upper: 1.21 }, 1.02);
    assert!(matches!(
        part(Some(floor)),
        Verdict::NothingProven { doubt: NotProvenReason::BelowFloor { .. }, .. }
    ));
}

#[test]
fn too_few_rounds_prove_nothing() {
    let cut = |set: &mut SampleSet| set.runs.truncate(5);
    let mut sets = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.01, 0)),
        samples(Candidate::new("rcu"), &around(0.1, 0.01, 3)),
    ];
    sets.iter_mut().for_each(cut);
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: sets };
    let analysis = Analysis::of(&experiment, &Settings::default());
    let comparison = &analysis.comparisons[0];
    assert!(matches!(
        comparison.verdict,
        Verdict::NothingProven { doubt: NotProvenReason::TooFewRounds { needed: 6 }, .. }
    ));
    assert!(
        comparison.sentence.contains("(5 rounds cannot prove one, 6 are the least that can)"),
        "{}",
        comparison.sentence
    );
    assert_eq!(comparison.difference.unwrap().smallest_attainable, 0.0625);
}

#[test]
fn no_runs_at_all() {
    let sets = vec![samples(Candidate::control("kernel"), &[]), samples(Candidate::new("rcu"), &[])];
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: sets };
    let analysis = Analysis::of(&experiment, &Settings::default());
    let sentence = &analysis.comparisons[0].sentence;
    assert!(sentence.contains("after no complete round the difference may have any size: "), "{sentence}");
    assert_eq!(analysis.conclusion(), Conclusion::NothingProven);
}

#[test]
fn one_failed_run_is_enough_not_to_be_ranked() {
    let mut sets = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.01, 0)),
        samples(Candidate::new("rcu"), &around(0.1, 0.01, 3)),
    ];
    sets[1].runs[7].outcome = RunOutcome::Failed { reason: "exit status 139".into() };
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: sets };
    let analysis = Analysis::of(&experiment, &Settings::default());
    let comparison = &analysis.comparisons[0];
    assert_eq!(comparison.sentence, "rcu failed in 1 of 12 runs (first: exit status 139); it is not ranked.");
    assert_eq!((comparison.failed_runs, comparison.rounds, comparison.runs.len()), (1, 11, 12));
    // The failed run's rank counts against the candidate: all 12 rounds take part in the test.
    assert!(comparison.difference.unwrap().p > 2.0 / 4096.0);
    assert_eq!(analysis.conclusion(), Conclusion::Failed);
}

#[test]
fn with_a_failing_control_nothing_is_ranked() {
    let mut sets = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.01, 0)),
        samples(Candidate::new("rcu"), &around(0.1, 0.01, 3)),
    ];
    sets[0].warm_up = Some(Run::new(Duration::ZERO, RunOutcome::Failed { reason: "not found".into() }));
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: sets };
    let analysis = Analysis::of(&experiment, &Settings::default());
    assert_eq!(
        analysis.comparisons[0].sentence,
        "kernel failed in 1 of 13 runs (first: not found); nothing can be compared with it, and rcu is not \
         ranked."
    );
    assert_eq!(analysis.conclusion(), Conclusion::Failed);
}

#[test]
fn an_a_a_pair_alone_proves_nothing_and_fails_with_its_control() {
    let mut sets = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.02, 0)),
        samples(Candidate::aa_control("kernel again"), &around(3.0, 0.02, 5)),
    ];
    let conclusion = |samples: &[SampleSet]| {
        let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: samples.to_vec() };
        Analysis::of(&experiment, &Settings::default()).conclusion()
    };
    assert_eq!(conclusion(&sets), Conclusion::NothingProven);
    sets[1].runs[0].outcome = RunOutcome::Collapsed { limit_s: 20.0 };
    assert_eq!(conclusion(&sets), Conclusion::NothingProven, "one stall of the machine");
    sets[1].runs[0].outcome = RunOutcome::Failed { reason: "signal 11".into() };
    assert_eq!(conclusion(&sets), Conclusion::Failed);
}

/// The sentence and the conclusion on a candidate whose warm-up and first rounds have these outcomes. `control` is that of
/// the control's first round, if it is another than the usual.
fn cut_off(outcomes: &[RunOutcome], control: Option<RunOutcome>) -> (String, Conclusion) {
    let mut sets = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.01, 0)),
        samples(Candidate::new("global"), &[]),
    ];
    let mut runs = outcomes.iter().map(|outcome| Run::new(Duration::from_secs(20), outcome.clone()));
    (sets[1].warm_up, sets[1].runs) = (runs.next(), runs.collect());
    if let Some(outcome) = control {
        sets[0].runs[0].outcome = outcome;
    }
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: sets };
    let analysis = Analysis::of(&experiment, &Settings::default());
    (analysis.comparisons[0].sentence.clone(), analysis.conclusion())
}

/// Issue 25: "collapsed" was said after one run.
#[test]
fn candidate_collapses_with_its_second_run_that_is_cut_off() {
    let collapsed = RunOutcome::Collapsed { limit_s: 20.0 };
    let (ended, hung) = (RunOutcome::measured(1.0), RunOutcome::Hung { limit_s: 20.0 });
    let case = |outcomes: &[&RunOutcome], control: Option<&RunOutcome>| {
        let outcomes: Vec<RunOutcome> = outcomes.iter().map(|outcome| (*outcome).clone()).collect();
        cut_off(&outcomes, control.cloned())
    };
    let (sentence, conclusion) = case(&[&collapsed, &ended, &collapsed], None);
    assert_eq!(
        sentence,
        "global collapsed: stopped after 20 s in 2 of its 3 runs, when kernel's slowest run had taken 1 s; it is not ranked."
    );
    assert_eq!(conclusion, Conclusion::Slower);
    let (sentence, conclusion) = case(&[&hung, &hung], None);
    assert_eq!(
        sentence,
        "global hangs: 2 of its 2 runs were stopped after 20 s, when kernel's slowest run had taken 1 s, and no thread of them \
         ran in the second half of that time; it is not ranked."
    );
    assert_eq!(conclusion, Conclusion::Slower);
    let (sentence, conclusion) = case(&[&ended, &collapsed, &ended], None);
    assert_eq!(
        sentence,
        "global is not ranked: 1 of its 3 runs was stopped after 20 s, when kernel's slowest run had taken 1 s. Measure again on \
         a quiet machine: one such run does not tell whether global or the machine was the cause."
    );
    assert_eq!(conclusion, Conclusion::NothingProven);
    let (sentence, conclusion) = case(&[&hung, &hung], Some(&collapsed));
    assert!(sentence.contains("is not ranked: 2 of its 2 runs were stopped after 20 s"), "{sentence}");
    assert!(sentence.contains(", and hung: no thread ran in the second half of that time. "), "{sentence}");
    assert!(
        sentence
            .ends_with("a run of another configuration was stopped too, so the machine may be the cause.")
    );
    assert_eq!(conclusion, Conclusion::NothingProven);
    // The control takes 1 s.
    let short = RunOutcome::Hung { limit_s: 9.0 };
    let (sentence, conclusion) = case(&[&short, &short], None);
    assert_eq!(
        sentence,
        "global is not ranked: 2 of its 2 runs were stopped after 9 s, which proves nothing, because a run of kernel took 1 s \
         later. Measure again on a quiet machine, with a larger --time-budget."
    );
    assert_eq!(conclusion, Conclusion::NothingProven);
}

/// A stall of the machine hits the control: its round counts for nothing, and the verdict rests on the others.
#[test]
fn round_in_which_the_control_was_cut_off_is_left_out() {
    let mut sets = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.01, 0)),
        samples(Candidate::new("rcu"), &around(1.0, 0.01, 3)),
    ];
    sets[0].runs[4].outcome = RunOutcome::Collapsed { limit_s: 20.0 };
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: sets };
    let comparison = Analysis::of(&experiment, &Settings::default()).comparisons.remove(0);
    assert_eq!(comparison.rounds, 11);
    assert!(matches!(comparison.verdict, Verdict::ProvenFaster { .. }), "{comparison:?}");
}

#[test]
fn several_candidates_are_corrected_for() {
    let sets = vec![
        samples(Candidate::control("kernel"), &around(3.0, 0.02, 0)),
        samples(Candidate::aa_control("kernel again"), &around(3.0, 0.02, 5)),
        samples(Candidate::new("global"), &around(6.0, 0.02, 4)),
        samples(Candidate::new("rcu"), &around(1.0, 0.02, 3)),
    ];
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples: sets };
    let analysis = Analysis::of(&experiment, &Settings::default());
    let [aa_control, global, rcu] = &analysis.comparisons[..] else { panic!("three comparisons") };
    assert_eq!(aa_control.difference_p_corrected, None);
    assert_eq!(rcu.difference.unwrap().p, 2.0 / 4096.0);
    assert_eq!(rcu.difference_p_corrected, Some(2.0 * rcu.difference.unwrap().p));
    assert!(
        rcu.sentence.contains(", p = 0.00098 corrected for 2 candidates, 12 rounds)"),
        "{}",
        rcu.sentence
    );
    assert!(matches!(global.verdict, Verdict::ProvenSlower { .. }));
    assert!(matches!(rcu.verdict, Verdict::ProvenFaster { .. }));
    assert_eq!(analysis.conclusion(), Conclusion::Faster);
}

#[test]
fn larger_and_smaller_spreads_are_proven() {
    let analysis = analyse(Metric::wall_time(), &around(1.0, 0.3, 3));
    assert_eq!(rcu(&analysis).spread.unwrap().verdict, SpreadVerdict::ProvenMoreErratic);
    let sentence = rcu(&analysis).spread_sentence.as_ref().unwrap();
    assert!(
        sentence.starts_with("rcu is more erratic than kernel (standard deviation 54 → 272 ms, 1.8 %"),
        "{sentence}"
    );
}

/// The halves of the A/A pair differ as much as control and candidate do: the runs scatter by chance, not by the candidate.
#[test]
fn a_a_pair_bounds_a_difference_of_spread() {
    let verdict = |again: &[f64]| {
        let samples = vec![
            samples(Candidate::control("kernel"), &around(3.0, 0.3, 0)),
            samples(Candidate::aa_control("kernel again"), again),
            samples(Candidate::new("rcu"), &around(3.0, 0.02, 3)),
        ];
        let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
        let comparison = Analysis::of(&experiment, &Settings::default()).comparisons.remove(1);
        let spread = comparison.spread.unwrap();
        assert!(spread.difference_p_corrected.unwrap() < 0.01, "the test alone finds a difference");
        (spread.verdict, comparison.spread_sentence.unwrap())
    };
    let (alike, sentence) = verdict(&around(3.0, 0.3, 5));
    assert_eq!(alike, SpreadVerdict::ProvenSteadier, "{sentence}");
    // The second half is as steady as the candidate, or even lies beyond it.
    for steady in [around(3.0, 0.02, 5), around(3.0, 0.019, 5), around(3.0, 0.021, 5)] {
        let (differs, sentence) = verdict(&steady);
        assert_eq!(differs, SpreadVerdict::NothingProven, "{sentence}");
        let bound = "no difference of spread proven (two sets of runs of one program have 27 % and 1.";
        assert!(sentence.contains(bound), "{sentence}");
    }
}

#[test]
fn spread_of_the_session_s_pair_holds_for_a_part_without_the_pair() {
    let verdict = |pair| {
        let samples = vec![
            samples(Candidate::control("global"), &around(3.0, 0.3, 0)),
            samples(Candidate::new("rcu"), &around(3.0, 0.02, 3)),
        ];
        let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
        let floor = NoiseFloor::new(12, Ratio { value: 1.0, lower: 0.99, upper: 1.01 }, 1.02);
        let floor = NoiseFloor { coefficients_of_variation: pair, ..floor };
        let part = Analysis::above_floor(&experiment, &Settings::default(), Some(floor));
        part.comparisons[0].spread.unwrap().verdict
    };
    // The candidate's spread is a fifteenth of the control's.
    assert_eq!(verdict(None), SpreadVerdict::ProvenSteadier);
    assert_eq!(verdict(Some([0.01, 0.14])), SpreadVerdict::ProvenSteadier);
    assert_eq!(verdict(Some([0.01, 0.16])), SpreadVerdict::NothingProven);
    assert_eq!(verdict(Some([0.0, 0.16])), SpreadVerdict::NothingProven, "one half does not vary at all");
}

#[test]
fn an_analysis_survives_json() {
    let analysis = analyse(Metric::wall_time(), &around(1.0, 0.02, 3));
    let json = serde_json::to_string_pretty(&analysis).unwrap();
    assert_eq!(serde_json::from_str::<Analysis>(&json).unwrap(), analysis);
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rcu = &value["comparisons"][1];
    assert_eq!(rcu["verdict"]["kind"], "proven_faster");
    assert_eq!(rcu["verdict"]["ratio"], rcu["ratio"]);
    assert_eq!(rcu["runs"][0]["outcome"], "ok");
    assert_eq!(rcu["difference"]["method"], "exact");
    assert_eq!(value["metric"]["direction"], "lower_is_better");
}

/// Issue 30: below a ratio of 1.00 (0.97–1.02) the sentence said 1.00 times as long (0.98–1.03).
#[test]
fn time_whose_direction_is_open_is_stated_as_in_the_table() {
    let analysis = analyse(Metric::wall_time(), &around(3.01, 0.1, 3));
    let comparison = rcu(&analysis);
    let ratio = comparison.ratio.unwrap();
    assert!(ratio.value < 1.0 && ratio.includes_one(), "{ratio:?}");
    let (value, [lower, upper]) = ratio.shown();
    let expected = format!(
        "rcu against kernel: {value} times as fast as kernel in these runs (95 % interval {lower}–{upper}, "
    );
    assert!(comparison.sentence.starts_with(&expected), "{}", comparison.sentence);
}
