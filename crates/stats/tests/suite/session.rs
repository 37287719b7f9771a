//! The schedule: order, pairs, stopping, excluding candidates.

use std::time::Duration;
use unspin_stats::{
    Candidate, Conclusion, Metric, NextStep, Role, Run, RunLimit, RunOutcome, Schedule, SessionPhase,
    SessionPlan, SessionPlanError, StopReason, Verdict, rounds_for_proof,
};

const SECOND: Duration = Duration::from_secs(1);

fn plan(judged: &[&str]) -> SessionPlan {
    let mut candidates = vec![Candidate::control("kernel"), Candidate::aa_control("kernel again")];
    candidates.extend(judged.iter().map(|name| Candidate::new(*name)));
    SessionPlan::new(candidates, Metric::wall_time(), 11)
}

fn ended(value: f64) -> Run {
    Run::new(SECOND, RunOutcome::measured(value))
}

/// Runs a session in which each run takes a second; `outcome` gets candidate and phase. Returns all steps.
fn sit(
    schedule: &mut Schedule,
    outcome: impl Fn(usize, SessionPhase) -> RunOutcome,
) -> (Vec<(usize, SessionPhase)>, StopReason) {
    let (mut steps, mut clock) = (Vec::new(), Duration::ZERO);
    loop {
        match schedule.next(clock) {
            NextStep::Stop(reason) => return (steps, reason),
            NextStep::Run { candidate, phase, .. } => {
                steps.push((candidate, phase));
                clock += SECOND;
                schedule.record(candidate, Run::new(SECOND, outcome(candidate, phase)));
            }
        }
    }
}

/// Values that never agree, so that no interval becomes narrow.
fn noisy(candidate: usize, phase: SessionPhase) -> RunOutcome {
    let round = match phase {
        SessionPhase::WarmUp => 0,
        SessionPhase::Round(round) => round as usize,
    };
    RunOutcome::measured(1.0 + ((round * 7 + candidate * 5) % 11) as f64)
}

#[test]
fn each_round_runs_every_candidate_once_in_random_order() {
    let mut schedule =
        Schedule::new(SessionPlan { rounds_max: 40, budget: Duration::MAX, ..plan(&["global", "rcu"]) })
            .unwrap();
    let (steps, reason) = sit(&mut schedule, noisy);
    assert_eq!(reason, StopReason::RoundsMax);
    let rounds: Vec<&[(usize, SessionPhase)]> = steps.chunks(4).collect();
    assert_eq!(rounds.len(), 41);
    assert_eq!(rounds[0], [0, 1, 2, 3].map(|candidate| (candidate, SessionPhase::WarmUp)));
    let mut orders = Vec::new();
    for (number, round) in rounds.iter().enumerate().skip(1) {
        assert!(round.iter().all(|(_, phase)| *phase == SessionPhase::Round(number as u32)));
        let order: Vec<usize> = round.iter().map(|(candidate, _)| *candidate).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3]);
        orders.push(order);
    }
    // Each of four candidates comes first about ten times in forty.
    for candidate in 0..4 {
        let first = orders.iter().filter(|order| order[0] == candidate).count();
        assert!((3..=20).contains(&first), "candidate {candidate} came first {first} times of 40");
    }
    orders.dedup();
    assert!(orders.len() > 30);
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let order = |seed| {
        let plan = SessionPlan { seed, rounds_max: 8, budget: Duration::MAX, ..plan(&["global", "rcu"]) };
        sit(&mut Schedule::new(plan).unwrap(), noisy).0
    };
    assert_eq!(order(1), order(1));
    assert_ne!(order(1), order(2));
}

#[test]
fn next_stays_the_same_until_the_run_is_recorded() {
    let mut schedule = Schedule::new(plan(&["rcu"])).unwrap();
    assert_eq!(schedule.next(Duration::ZERO), schedule.next(SECOND));
}

#[test]
#[should_panic(expected = "record() must follow next()")]
fn recording_another_candidate_is_a_mistake() {
    let mut schedule = Schedule::new(plan(&["rcu"])).unwrap();
    schedule.next(Duration::ZERO);
    schedule.record(1, ended(1.0));
}

#[test]
fn the_minimum_of_rounds_allows_a_proof_and_outranks_the_budget() {
    for judged in [&["a"][..], &["a", "b"], &["a", "b", "c", "d", "e"]] {
        let mut schedule = Schedule::new(SessionPlan { budget: Duration::ZERO, ..plan(judged) }).unwrap();
        let (_, reason) = sit(&mut schedule, noisy);
        assert_eq!(reason, StopReason::BudgetSpent);
        assert_eq!(schedule.rounds(), rounds_for_proof(judged.len(), 0.05).max(6));
    }
}

/// Runs a session in which the runs of a candidate take so many seconds. Returns the number of runs of each candidate
/// and the time of the session.
fn sit_long(schedule: &mut Schedule, seconds: &[f64]) -> (Vec<u32>, f64) {
    let (mut runs, mut clock) = (vec![0; seconds.len()], 0.0);
    while let NextStep::Run { candidate, limit, .. } = schedule.next(Duration::from_secs_f64(clock)) {
        // A little noise, so that no interval becomes narrow at once.
        let value = seconds[candidate] * (1.0 + 0.01 * f64::from(runs[candidate] * 7 % 5));
        let (took, outcome) = match limit {
            Some(limit) if value > limit.after().as_secs_f64() => (limit.after(), limit.outcome()),
            _ => (Duration::from_secs_f64(value), RunOutcome::measured(value)),
        };
        runs[candidate] += 1;
        clock += took.as_secs_f64();
        schedule.record(candidate, Run::new(took, outcome));
    }
    (runs, clock)
}

/// A budget as `prove` sets it: no run begins after the deadline.
fn within(seconds: u64, judged: &[&str]) -> SessionPlan {
    let time = Duration::from_secs(seconds);
    SessionPlan { budget: time, deadline: time, ..plan(judged) }
}

#[test]
fn no_session_exceeds_its_deadline_by_more_than_one_run() {
    for seconds in [0, 1, 3, 5, 10, 20, 40, 60, 300] {
        for slow in [0.2, 1.0, 2.0, 3.5, 10.0, 19.0, 1000.0] {
            let mut schedule = Schedule::new(within(seconds, &["a", "slow"])).unwrap();
            let (runs, clock) = sit_long(&mut schedule, &[1.0, 1.0, 0.9, slow]);
            let longest = (slow * 1.04).clamp(1.04, 20.0 * 1.04);
            assert!(clock <= seconds as f64 + longest, "{seconds} s, {slow}: {clock} s, {runs:?}");
            let may_win = schedule.analyse().comparisons.iter().any(|c| c.recommended().is_some());
            assert!(!may_win || schedule.rounds() >= 7, "{seconds} s, {slow}");
        }
    }
}

#[test]
fn rounds_of_a_proof_that_does_not_fit_are_run_until_the_deadline() {
    let mut schedule = Schedule::new(within(10, &["rcu"])).unwrap();
    let (runs, clock) = sit_long(&mut schedule, &[1.0, 1.0, 1.0]);
    assert!((9.0..=11.1).contains(&clock), "{clock} {runs:?}");
    assert!(matches!(schedule.next(Duration::from_secs(11)), NextStep::Stop(StopReason::BudgetSpent)));
    let mut schedule = Schedule::new(within(10, &["rcu"])).unwrap();
    assert_eq!(schedule.time_for_proof(), None, "the control has not run");
    schedule.next(Duration::ZERO);
    schedule.record(0, ended(1.0));
    assert_eq!(schedule.time_for_proof(), Some(20 * SECOND), "seven rounds of three with the warm-up");
}

/// Six rounds of it would take a minute.
#[test]
fn slow_candidate_is_proven_slower_by_few_stopped_runs() {
    let mut schedule = Schedule::new(within(30, &["slow"])).unwrap();
    let (runs, clock) = sit_long(&mut schedule, &[1.0, 1.0, 10.0]);
    assert_eq!(runs, [3, 3, 3], "the warm-up and two rounds");
    assert!(clock < 20.0, "{clock}");
    let analysis = schedule.analyse();
    assert_eq!((analysis.stop, analysis.conclusion()), (Some(StopReason::NoneLeft), Conclusion::Slower));
    let comparison = &analysis.comparisons[1];
    assert!(
        matches!(comparison.verdict, Verdict::GivenUp { stopped: 3, proven: true, .. }),
        "{comparison:?}"
    );
    assert!(
        comparison
            .sentence
            .starts_with("slow is proven slower and was given up early: each of its 3 runs took more than "),
        "{}",
        comparison.sentence
    );
}

/// With enough time its runs are measured, and it is left out after the rounds of a proof.
#[test]
fn slow_candidate_is_measured_where_there_is_time() {
    let mut schedule = Schedule::new(within(300, &["slow"])).unwrap();
    let (runs, _) = sit_long(&mut schedule, &[1.0, 1.0, 10.0]);
    assert_eq!(runs, [7, 7, 7]);
    assert!(matches!(schedule.analyse().comparisons[1].verdict, Verdict::ProvenSlower { .. }));
}

#[test]
fn one_stopped_run_withholds_the_rank_and_proves_nothing() {
    let mut schedule = Schedule::new(within(30, &["a", "b"])).unwrap();
    let (mut clock, mut stopped) = (Duration::ZERO, 0);
    while let NextStep::Run { candidate, phase, limit } = schedule.next(clock) {
        let value = if candidate == 3 { 0.5 } else { 1.0 };
        let run = match (candidate, phase, limit) {
            (3, SessionPhase::Round(2), Some(limit @ RunLimit::Stop(after))) => {
                stopped += 1;
                Run::new(after, limit.outcome())
            }
            _ => Run::new(Duration::from_secs_f64(value), RunOutcome::measured(value)),
        };
        clock += Duration::from_secs_f64(run.elapsed_s);
        schedule.record(candidate, run);
    }
    assert_eq!(stopped, 1);
    let verdict = &schedule.analyse().comparisons[2].verdict;
    assert!(matches!(verdict, Verdict::GivenUp { stopped: 1, proven: false, p: None, .. }), "{verdict:?}");
    assert!(!verdict.is_slower());
}

/// The program without the preload library is compared, and does not make a proof about the candidate harder.
#[test]
fn unjudged_candidate_counts_for_no_rounds() {
    let plan = SessionPlan { unjudged: vec![2], budget: Duration::ZERO, ..plan(&["no preload", "rcu"]) };
    let mut schedule = Schedule::new(plan).unwrap();
    sit(&mut schedule, noisy);
    assert_eq!(schedule.rounds(), 6);
    let plan = SessionPlan { unjudged: vec![2], ..self::plan(&["no preload", "rcu"]) };
    let mut schedule = Schedule::new(plan).unwrap();
    let (_, reason) = sit(&mut schedule, |candidate, phase| match candidate {
        3 => RunOutcome::Collapsed { limit_s: 20.0 },
        _ => noisy(candidate, phase),
    });
    assert_eq!(reason, StopReason::NoneLeft);
}

#[test]
fn no_round_begins_that_exceeds_the_budget() {
    // Rounds of three seconds after a warm-up of three: 3 + 9·3 = 30; a tenth round would end at 33.
    let budget = Duration::from_secs(32);
    let mut schedule = Schedule::new(SessionPlan { budget, ..plan(&["rcu"]) }).unwrap();
    let (_, reason) = sit(&mut schedule, noisy);
    assert_eq!((reason, schedule.rounds()), (StopReason::BudgetSpent, 9));
}

#[test]
fn progress_goes_from_nothing_to_all() {
    for budget in [Duration::from_secs(10), Duration::from_secs(60), Duration::MAX] {
        let mut schedule = Schedule::new(SessionPlan { budget, rounds_max: 30, ..plan(&["rcu"]) }).unwrap();
        let (mut clock, mut before) = (Duration::ZERO, 0.0);
        assert_eq!(schedule.progress(clock), 0.0);
        while let NextStep::Run { candidate, phase, .. } = schedule.next(clock) {
            let now = schedule.progress(clock);
            assert!((before..1.0).contains(&now), "{before} then {now} at {clock:?}");
            before = now;
            clock += SECOND;
            schedule.record(candidate, Run::new(SECOND, noisy(candidate, phase)));
        }
        assert_eq!(schedule.progress(clock), 1.0);
    }
}

#[test]
fn narrow_intervals_end_the_session() {
    let mut schedule = Schedule::new(plan(&["rcu"])).unwrap();
    let (_, reason) = sit(&mut schedule, |_, _| RunOutcome::measured(2.0));
    assert_eq!((reason, schedule.rounds()), (StopReason::NarrowEnough, 6));
    assert_eq!(schedule.advice().unwrap().rounds_more, 0);
}

#[test]
fn advised_rounds_are_close_to_the_rounds_needed() {
    // Follows the advice given after eight rounds of constant noise: then the interval is narrow.
    let value = |candidate: usize, phase: SessionPhase| {
        let SessionPhase::Round(round) = phase else { return RunOutcome::measured(1.0) };
        RunOutcome::measured(1.0 + 0.1 * f64::from((round + candidate as u32) % 2))
    };
    let base =
        SessionPlan { budget: Duration::MAX, rounds_max: 8, half_width_target: 0.02, ..plan(&["rcu"]) };
    let mut short = Schedule::new(base.clone()).unwrap();
    sit(&mut short, value);
    let advice = short.advice().unwrap();
    assert!(advice.half_width > 0.02 && advice.rounds_more > 0);
    assert!((advice.time_more_s - 3.0 * f64::from(advice.rounds_more)).abs() < 1e-9);

    let mut long = Schedule::new(SessionPlan { rounds_max: 100_000, ..base }).unwrap();
    let (_, reason) = sit(&mut long, value);
    assert_eq!(reason, StopReason::NarrowEnough);
    let foretold = f64::from(8 + advice.rounds_more);
    let took = f64::from(long.rounds());
    assert!((took / foretold).ln().abs() < 0.25, "foretold {foretold}, took {took}");
}

#[test]
fn a_collapsed_candidate_drops_out_and_stays_in_the_results() {
    let mut schedule =
        Schedule::new(SessionPlan { rounds_max: 8, budget: Duration::MAX, ..plan(&["global", "rcu"]) })
            .unwrap();
    let (steps, reason) = sit(&mut schedule, |candidate, phase| match (candidate, phase) {
        (2, SessionPhase::Round(3 | 5)) => RunOutcome::Collapsed { limit_s: 20.0 },
        _ => noisy(candidate, phase),
    });
    assert_eq!(reason, StopReason::RoundsMax);
    let runs = |candidate| steps.iter().filter(|step| step.0 == candidate).count();
    assert_eq!((runs(0), runs(1), runs(2), runs(3)), (9, 9, 6, 9));
    let analysis = schedule.analyse();
    assert_eq!(analysis.comparisons[1].runs.len(), 5);
    assert!(matches!(analysis.comparisons[1].verdict, Verdict::Collapsed { .. }));
    assert_eq!(analysis.comparisons[2].rounds, 8);
}

/// Issue 25: one stall of the machine removed a candidate, or the control, for all rounds.
#[test]
fn one_run_that_is_cut_off_removes_no_configuration() {
    for stalled in 0..4 {
        let plan = SessionPlan { rounds_max: 8, budget: Duration::MAX, ..plan(&["global", "rcu"]) };
        let mut schedule = Schedule::new(plan).unwrap();
        let (steps, reason) = sit(&mut schedule, |candidate, phase| match phase {
            SessionPhase::Round(3) if candidate == stalled => RunOutcome::Hung { limit_s: 20.0 },
            _ => noisy(candidate, phase),
        });
        assert_eq!(reason, StopReason::RoundsMax);
        // A round without a baseline is made up for.
        let rounds = if stalled < 2 { 9 } else { 8 };
        for candidate in 0..4 {
            let runs = steps.iter().filter(|step| step.0 == candidate).count();
            assert_eq!(runs, rounds + 1, "candidate {candidate}, {stalled} stalled");
        }
        let verdicts = schedule.analyse().comparisons;
        let is_withheld = |candidate: usize| matches!(verdicts[candidate - 1].verdict, Verdict::Withheld(_));
        assert_eq!([1, 2, 3].map(is_withheld), [1, 2, 3].map(|candidate| candidate == stalled));
        assert_ne!(schedule.analyse().conclusion(), Conclusion::Failed);
    }
}

#[test]
fn run_that_was_cut_off_is_not_repeated_at_once() {
    for seed in 0..40 {
        let plan = SessionPlan { seed, rounds_max: 12, budget: Duration::MAX, ..plan(&["a", "b"]) };
        let mut schedule = Schedule::new(plan).unwrap();
        let (steps, _) = sit(&mut schedule, |candidate, phase| match phase {
            SessionPhase::Round(round) if round % 2 == 1 && candidate == 0 => {
                RunOutcome::Collapsed { limit_s: 20.0 }
            }
            _ => noisy(candidate, phase),
        });
        let is_cut_off = |step: (usize, SessionPhase)| {
            step.0 == 0 && matches!(step.1, SessionPhase::Round(round) if round % 2 == 1)
        };
        assert!(steps.windows(2).all(|pair| !is_cut_off(pair[0]) || pair[1].0 != 0), "{seed}: {steps:?}");
    }
}

/// The program itself hangs: nothing can be compared.
#[test]
fn control_that_is_cut_off_again_and_again_has_failed() {
    let mut schedule = Schedule::new(plan(&["rcu"])).unwrap();
    let (steps, reason) = sit(&mut schedule, |candidate, phase| match (candidate, phase) {
        (0, SessionPhase::Round(_)) => RunOutcome::Hung { limit_s: 20.0 },
        _ => noisy(candidate, phase),
    });
    assert_eq!(reason, StopReason::ControlFailed);
    assert_eq!(steps.iter().filter(|step| step.0 == 0).count(), 4);
    let analysis = schedule.analyse();
    assert_eq!(analysis.conclusion(), Conclusion::Failed);
    let sentence = &analysis.comparisons[1].sentence;
    assert!(sentence.contains("(first: it hung: no thread ran any more after 20.0 s)"), "{sentence}");
}

#[test]
fn a_candidate_that_keeps_failing_is_not_run_for_ever() {
    let mut schedule = Schedule::new(plan(&["rcu"])).unwrap();
    let (steps, reason) = sit(&mut schedule, |candidate, phase| match candidate {
        2 => RunOutcome::Failed { reason: "signal 11".into() },
        _ => noisy(candidate, phase),
    });
    assert_eq!(reason, StopReason::NoneLeft);
    assert_eq!(steps.iter().filter(|step| step.0 == 2).count(), 3);
    let analysis = schedule.analyse();
    assert!(matches!(analysis.comparisons[1].verdict, Verdict::Failed { failed: 3, runs: 3, .. }));
}

#[test]
fn a_failing_control_ends_the_session_at_once() {
    for (culprit, role) in [(0, Role::Control), (1, Role::AaControl)] {
        let mut schedule = Schedule::new(plan(&["rcu"])).unwrap();
        let (steps, reason) = sit(&mut schedule, |candidate, phase| match (candidate == culprit, phase) {
            // No ratio can be formed with zero: recorded as a failure.
            (true, SessionPhase::Round(2)) => RunOutcome::Ok { value: 0.0 },
            _ => noisy(candidate, phase),
        });
        assert_eq!(reason, StopReason::ControlFailed, "{role:?}");
        assert_eq!(*steps.last().unwrap(), (culprit, SessionPhase::Round(2)));
    }
}

#[test]
fn the_limit_comes_from_the_controls_runs() {
    let mut schedule = Schedule::new(plan(&["rcu"])).unwrap();
    assert!(matches!(schedule.next(Duration::ZERO), NextStep::Run { candidate: 0, limit: None, .. }));
    schedule.record(0, ended(1.0));
    let NextStep::Run { candidate: 1, limit, .. } = schedule.next(SECOND) else {
        panic!("the A/A control is next")
    };
    assert_eq!(limit, Some(RunLimit::Collapse(20 * SECOND)));
}

#[test]
fn impossible_plans_are_refused_with_a_reason() {
    let with = |candidates: Vec<Candidate>| SessionPlan { candidates, ..plan(&[]) };
    let (control, rcu) = (|| Candidate::control("kernel"), || Candidate::new("rcu"));
    let aa_control = |name: &str| Candidate::aa_control(name);
    let cases = [
        (with(vec![]), SessionPlanError::Control),
        (with(vec![rcu(), control()]), SessionPlanError::Control),
        (with(vec![control(), Candidate::control("b")]), SessionPlanError::Control),
        (with(vec![control(), aa_control("b"), aa_control("c")]), SessionPlanError::AaControl),
        (with(vec![control()]), SessionPlanError::NothingToCompare),
        (with(vec![control(), rcu(), rcu()]), SessionPlanError::NameTwice("rcu".into())),
        (SessionPlan { rounds_min: 4, ..plan(&["rcu"]) }, SessionPlanError::Rounds { min: 4, max: 100 }),
        (SessionPlan { rounds_max: 5, ..plan(&["rcu"]) }, SessionPlanError::Rounds { min: 6, max: 5 }),
        (SessionPlan { half_width_target: 0.0, ..plan(&["rcu"]) }, SessionPlanError::Target(0.0)),
    ];
    for (plan, error) in cases {
        assert_eq!(Schedule::new(plan).unwrap_err(), error);
        assert!(!error.to_string().is_empty());
    }
}
