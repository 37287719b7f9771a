//! Random programs of several threads and descriptors, natively and behind the preload with each way to wait.
//!
//! `c/waits/tokens.c` reads the description of a graph: threads take tokens from inboxes (pipes, sockets, eventfds, semaphores,
//! conditions, futexes) and pass them on, with random limits, work and signals. No token may be lost or doubled, and every
//! program must end, so each prints the same in all worlds. proptest shortens a program that does not.
//!
//! `PROPTEST_CASES` says how many programs are tried.

mod graph;

use graph::{Graph, graph, text};
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};
use unspin_e2e::{Program, Run, WaitMode, World, assert_same, build, build_library};

/// Programs, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 30;
/// After so many seconds without a hop a program says that it is stuck.
const PATIENCE: &str = "60";

/// Runs programs; fails with the shortest that `check` fails for.
fn search(cases: u32, shorten: u32, check: impl Fn(&Graph)) {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: shorten, ..Config::default() };
    // The same ones each time, unless a number of programs is asked for.
    let mut runner = match std::env::var_os("PROPTEST_CASES") {
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        Some(_) => TestRunner::new(config),
    };
    let result = runner.run(&graph(), |graph| {
        check(&graph);
        Ok(())
    });
    if let Err(TestError::Fail(why, graph)) = result {
        panic!("{why}\nthe shortest program found:\n{}", text(&graph));
    }
}

fn run(program: &Program, world: World, graph: &Graph) -> Run {
    Run::new(program.path(), world).args([PATIENCE]).input(text(graph))
}

#[test]
fn tokens_are_neither_lost_nor_doubled() {
    let Some(program) = build("waits/tokens") else { return };
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    search(cases, 60, |graph| {
        let bare = run(&program, World::Bare, graph).output();
        assert!(bare.status.success(), "{} fails by itself:\n{bare}", text(graph));
        for waits in WaitMode::ALL {
            let other = run(&program, World::Kernel, graph).waits(waits).output();
            assert_same(&text(graph), waits, &bare, &other);
        }
    });
}

/// Check of the search: it must find a wait that loses a token, and one that doubles a token.
fn finds(flaw: &str) {
    let (Some(program), Some(flawed)) = (build("waits/tokens"), build_library("waits/flawed")) else {
        return;
    };
    let found = std::panic::catch_unwind(|| {
        search(100, 0, |graph| {
            let bare = run(&program, World::Bare, graph).output();
            // A program that has lost a token makes no hop any more, or ends with fewer hops. A short time limit is
            // enough for it.
            let spoilt = Run::new(program.path(), World::Bare).args(["3"]).input(text(graph));
            let spoilt = spoilt.preload_before(flawed.path()).env("UNSPIN_FLAW", flaw).output();
            assert_same(&text(graph), flaw, &bare, &spoilt);
        });
    });
    let why = found.expect_err(&format!("{flaw} was not found"));
    let why = why.downcast_ref::<String>().map_or("", |why| why);
    assert!(why.contains("differs from the bare run"), "{flaw} was not found, but: {why}");
}

#[test]
fn lost_token_is_found() {
    finds("loses");
}

#[test]
fn doubled_token_is_found() {
    finds("doubles");
}
