//! The cost of the wait policy to a program, always compared with the same program that sleeps at once, measured in the
//! same minute. The thresholds are generous: they hold on a machine that compiles something else meanwhile. Figures are
//! the benchmark's.

use std::collections::BTreeMap;
use unspin_e2e::{Program, Run, WaitMode, World, build, build_library};

/// Rounds of an interleaved comparison.
const ROUNDS: usize = 9;
/// A policy that leaves less of the throughput than this where there is more to do than CPUs takes CPUs from threads that need
/// them. Blind polling leaves a thirtieth of the throughput; sleeping at once, by definition, all of it.
const LEAST_OF_CROWDED: f64 = 0.5;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Hand-overs a second of four pairs of threads for each CPU.
fn crowded(program: &Program, prepare: impl Fn(Run) -> Run, world: World) -> f64 {
    let outcome = prepare(Run::new(program.path(), world).args(["4", "5", "100"])).output();
    assert!(outcome.status.success(), "{outcome}");
    outcome.stdout.trim().parse().unwrap_or_else(|_| panic!("no figure: {outcome}"))
}

/// How much of the throughput is left, in the median of rounds in each of which both are measured.
fn left(base: impl Fn() -> f64, other: impl Fn() -> f64) -> f64 {
    median((0..ROUNDS).map(|_| (base(), other())).map(|(base, other)| other / base).collect())
}

#[test]
#[ignore = "nightly: measures times; the unit tests of crates/waiting have the policy's rules with made-up times"]
fn polling_leaves_the_cpu_to_threads_that_need_it() {
    let Some(program) = build("waits/crowded") else { return };
    let rate = |waits: WaitMode| crowded(&program, |run| run.waits(waits), World::Kernel);
    let left = left(|| rate(WaitMode::System), || rate(WaitMode::Poll));
    assert!(left > LEAST_OF_CROWDED, "polling leaves {left:.2} of the throughput");
}

/// Check of the gate above: it must fail for a policy that polls blindly.
#[test]
#[ignore = "nightly: measures times; the unit tests of crates/waiting have the policy's rules with made-up times"]
fn blind_polling_is_a_loss() {
    let (Some(program), Some(blind)) = (build("waits/crowded"), build_library("waits/blind")) else { return };
    let base = || crowded(&program, |run| run, World::Bare);
    let polled = || crowded(&program, |run| run.preload_before(blind.path()), World::Bare);
    let left = left(base, polled);
    assert!(
        left < LEAST_OF_CROWDED,
        "blind polling leaves {left:.2} of the throughput: the gate above sees nothing"
    );
}

/// By how many microseconds a wait with a limit of 40 ms is late, by call.
fn lateness(program: &Program, prepare: impl Fn(Run) -> Run, world: World) -> Vec<(String, f64)> {
    let outcome = prepare(Run::new(program.path(), world).args(["late"])).output();
    assert!(outcome.status.success(), "{outcome}");
    let parse = |line: &str| {
        let (name, us) = line.rsplit_once(": ").unwrap_or_else(|| panic!("no figure: {line}"));
        (name.to_owned(), us.parse().unwrap_or_else(|_| panic!("no figure: {line}")))
    };
    outcome.stdout.lines().map(parse).collect()
}

/// A poll may make a wait late by its own time, and by a tick where the kernel counts the limit in ticks, but never by
/// the limit itself: then the thread would have slept twice. On a busy machine any wait is late at times, so a call
/// fails only if it is late in every round.
#[test]
#[ignore = "nightly: measures times; the unit tests of crates/waiting have the policy's rules with made-up times"]
fn no_wait_lasts_for_its_limit_twice() {
    const HALF_THE_LIMIT_US: f64 = 20_000.0;
    const MOST_ROUNDS: usize = 8;
    let Some(program) = build("waits/limits") else { return };
    let mut least: BTreeMap<String, f64> = BTreeMap::new();
    let is_late = |&(_, &us): &(&String, &f64)| us > HALF_THE_LIMIT_US;
    for _ in 0..MOST_ROUNDS {
        let bare = lateness(&program, |run| run, World::Bare);
        let polled = lateness(&program, |run| run.waits(WaitMode::Forced), World::Kernel);
        for ((name, bare), (_, polled)) in bare.into_iter().zip(polled) {
            let excess = polled - bare;
            least.entry(name).and_modify(|least| *least = excess.min(*least)).or_insert(excess);
        }
        if !least.iter().any(|row| is_late(&row)) {
            break;
        }
    }
    let late: Vec<_> = least.iter().filter(is_late).collect();
    assert!(late.is_empty(), "later than without polling, in us: {late:?}");
    assert!(!least.is_empty(), "no wait was measured");
}
