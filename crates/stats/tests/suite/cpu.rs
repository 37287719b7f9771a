//! The cost of a gain in CPU time, from runs with known CPU times.

use std::time::Duration;
use unspin_stats::{
    Analysis, Candidate, Conclusion, CpuCostUnit, Direction, Experiment, Metric, Run, RunOutcome, SampleSet,
    Settings, Verdict,
};

const PATTERN: [f64; 12] = [0.3, -0.8, 1.4, -0.2, 0.9, -1.5, 0.1, 1.1, -0.6, -1.0, 0.7, -0.4];

/// Twelve runs around these means of the metric, of wall time and of CPU time. `shift` rotates the noise pattern, so
/// that two sets are not in step.
fn samples(candidate: Candidate, value: f64, elapsed_s: f64, cpu_s: f64, shift: usize) -> SampleSet {
    let noise = |i: usize| 1.0 + 0.02 * PATTERN[(i + shift) % 12];
    let run = |i: usize| {
        let elapsed = Duration::from_secs_f64(elapsed_s);
        Run::new(elapsed, RunOutcome::measured(value * noise(i))).with_cpu_s(cpu_s * noise(i + 7))
    };
    SampleSet { runs: (0..12).map(run).collect(), ..SampleSet::new(candidate) }
}

fn limited(percent: f64) -> Settings {
    Settings { cpu_limit: Some(percent / 100.0), ..Settings::default() }
}

/// One candidate that is four times as fast and uses three times the CPU time, and one that is twice as fast and uses
/// as much CPU time as the control.
fn planted(settings: &Settings) -> Analysis {
    let samples = vec![
        samples(Candidate::control("system"), 4.0, 4.0, 1.0, 0),
        samples(Candidate::aa_control("system (again)"), 4.0, 4.0, 1.0, 5),
        samples(Candidate::new("poll"), 1.0, 1.0, 3.0, 3),
        samples(Candidate::new("frugal"), 2.0, 2.0, 1.0, 8),
    ];
    Analysis::of(&Experiment { metric: Metric::wall_time(), seed: 1, samples }, settings)
}

#[test]
fn sentence_states_threefold_cpu_time_of_a_faster_candidate() {
    let analysis = planted(&Settings::default());
    let poll = &analysis.comparisons[1];
    let cpu = poll.cpu.unwrap();
    assert!(cpu.times.lower < 3.0 && cpu.times.upper > 3.0, "{cpu:?}");
    assert!((cpu.control_s - 1.0).abs() < 0.02 && (cpu.candidate_s - 3.0).abs() < 0.06, "{cpu:?}");
    assert_eq!(cpu.per, CpuCostUnit::Run);
    assert!(poll.sentence.starts_with("poll is 4.0"), "{}", poll.sentence);
    assert!(poll.sentence.contains("), with 3.0"), "{}", poll.sentence);
    assert!(poll.sentence.contains(" times the CPU time (2.9"), "{}", poll.sentence);
    assert!(poll.sentence.ends_with(": difference proven."), "{}", poll.sentence);
    assert_eq!(
        poll.recommended().map(|ratio| ratio.value > 3.9),
        Some(true),
        "without a limit nothing is withheld"
    );
    assert_eq!(analysis.conclusion(), Conclusion::Faster);
}

#[test]
fn candidate_over_the_limit_is_proven_but_not_recommended() {
    let analysis = planted(&limited(50.0));
    let [_, poll, frugal] = &analysis.comparisons[..] else { panic!("three comparisons") };
    assert!(matches!(poll.verdict, Verdict::ProvenFaster { .. }));
    assert!(poll.over_cpu_limit && poll.recommended().is_none());
    assert!(
        poll.sentence.contains(": difference proven. It is not recommended: it may take 3.0"),
        "{}",
        poll.sentence
    );
    assert!(
        poll.sentence.ends_with(" times the control's CPU time, and the limit is 50 % more."),
        "{}",
        poll.sentence
    );
    assert!(!frugal.over_cpu_limit && frugal.recommended().is_some(), "{}", frugal.sentence);
    assert_eq!(analysis.conclusion(), Conclusion::Faster, "the frugal one is within the limit");
}

#[test]
fn upper_end_of_the_interval_decides() {
    // Three times as much is 200 % more. The interval's upper end lies above that.
    assert!(planted(&limited(200.0)).comparisons[1].over_cpu_limit);
    assert!(!planted(&limited(210.0)).comparisons[1].over_cpu_limit);
}

#[test]
fn only_winners_over_the_limit_is_a_conclusion_of_its_own() {
    let mut analysis = planted(&limited(50.0));
    analysis.comparisons.truncate(2);
    assert_eq!(analysis.conclusion(), Conclusion::OverCpuLimit);
}

#[test]
fn unknown_cpu_time_is_not_within_a_limit() {
    let mut samples = vec![
        samples(Candidate::control("system"), 4.0, 4.0, 1.0, 0),
        samples(Candidate::new("poll"), 1.0, 1.0, 1.0, 3),
    ];
    samples[1].runs.iter_mut().for_each(|run| run.cpu_s = None);
    let experiment = Experiment { metric: Metric::wall_time(), seed: 1, samples };
    let poll = &Analysis::of(&experiment, &limited(50.0)).comparisons[0];
    assert!(poll.over_cpu_limit && poll.cpu.is_none());
    assert!(poll.sentence.contains("It is not recommended: its CPU time is unknown"), "{}", poll.sentence);
}

/// Ten seconds each: four times the rate with three times the CPU time is less CPU time per unit of work.
#[test]
fn rate_metric_states_cpu_time_per_unit_of_work() {
    let metric = Metric::custom("tps", "", Direction::HigherIsBetter);
    let samples = vec![
        samples(Candidate::control("system"), 100.0, 10.0, 2.0, 0),
        samples(Candidate::new("poll"), 400.0, 10.0, 6.0, 3),
    ];
    let analysis = Analysis::of(&Experiment { metric, seed: 1, samples }, &limited(0.0));
    let poll = &analysis.comparisons[0];
    assert_eq!(poll.cpu.unwrap().per, CpuCostUnit::Unit);
    assert!((poll.cpu.unwrap().times.value - 0.75).abs() < 0.02, "{:?}", poll.cpu);
    assert!(poll.sentence.contains(", with 0.7"), "{}", poll.sentence);
    assert!(poll.sentence.contains(" times the CPU time per unit of work (0.7"), "{}", poll.sentence);
    assert_eq!(analysis.conclusion(), Conclusion::Faster);
}

#[test]
fn metric_cpu_time_is_not_stated_twice() {
    let samples = vec![
        samples(Candidate::control("system"), 4.0, 4.0, 4.0, 0),
        samples(Candidate::new("poll"), 1.0, 1.0, 1.0, 3),
    ];
    let analysis =
        Analysis::of(&Experiment { metric: Metric::cpu_time(), seed: 1, samples }, &Settings::default());
    let sentence = &analysis.comparisons[0].sentence;
    assert_eq!(sentence.matches("CPU time").count(), 1, "{sentence}");
}
