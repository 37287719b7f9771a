//! Random programs of several processes, on the kernel and on each engine.
//!
//! Each is a script for `c/script.c`: processes take turns, may fall asleep in a call, are woken by what others do; they fork,
//! execute themselves anew, are interrupted, end and are killed, which undoes what they did with SEM_UNDO and detaches their
//! segments. After every step all that can be observed is printed, so the first step at which an engine differs from
//! the kernel is the first line that differs, and proptest shortens the program to what is needed for it.
//!
//! `PROPTEST_CASES` says how many programs of each sort are tried.

mod steps;

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use steps::{About, script, text};
use unspin_e2e::{Outcome, Program, Run, World, assert_same, build, build_library};

/// Programs of each sort, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 20;

fn cases(otherwise: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

/// Performs programs; fails with the shortest that `check` fails for. `check` is given the script, and what the kernel makes of it.
fn search(about: About, program: &Program, cases: u32, shorten: u32, check: impl Fn(&str, &Outcome)) {
    // A failing program is printed whole, and belongs into a test of its own rather than into a seed file.
    let config = Config { cases, failure_persistence: None, max_shrink_iters: shorten, ..Config::default() };
    // The same programs each time in the gate: otherwise an old difference, found by chance, would look like a
    // regression of the change under test.
    let mut runner = match std::env::var_os("PROPTEST_CASES") {
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        Some(_) => TestRunner::new(config),
    };
    let result = runner.run(&script(about), |steps| {
        let script = text(&steps);
        let kernel = Run::new(program.path(), World::Bare).input(script.as_str()).output();
        if !kernel.status.success() {
            return Err(TestCaseError::fail(format!("the kernel itself: {kernel}")));
        }
        check(&script, &kernel);
        Ok(())
    });
    if let Err(TestError::Fail(why, steps)) = result {
        panic!("{why}\nthe shortest program found:\n{}", text(&steps));
    }
}

fn engines_follow_the_kernel(about: About) {
    let Some(program) = build("script") else { return };
    search(about, &program, cases(CASES), 1_000, |script, kernel| {
        for world in World::ENGINES {
            assert_same(script, world, kernel, &Run::new(program.path(), world).input(script).output());
        }
    });
}

#[test]
fn semaphores() {
    engines_follow_the_kernel(About::Semaphores);
}

#[test]
fn messages() {
    engines_follow_the_kernel(About::Messages);
}

#[test]
fn segments() {
    engines_follow_the_kernel(About::Segments);
}

#[test]
fn everything() {
    engines_follow_the_kernel(About::Everything);
}

/// A killed process was asleep for a semaphore that its own adjustment raises. It must not take what the adjustment
/// gives back: it counts as dead before the kernel reports it as a zombie.
#[test]
fn killed_process_does_not_take_what_its_undo_gives_back() {
    let Some(program) = build("script") else { return };
    let script = "\
0 semget 0 1 1 896
0 setval 0 0 3
0 semop 0 0 0 -2 4096
0 semop 0 0 0 -2 0
";
    let kernel = Run::new(program.path(), World::Bare).input(script).output();
    for world in World::ENGINES {
        for _ in 0..5 {
            assert_same(script, world, &kernel, &Run::new(program.path(), world).input(script).output());
        }
    }
}

/// Check of the search: it must find one rule that is broken on purpose.
fn finds(flaw: &str, about: About) {
    let (Some(program), Some(flawed)) = (build("script"), build_library("flawed")) else { return };
    let found = std::panic::catch_unwind(|| {
        search(about, &program, 500, 0, |script, kernel| {
            let spoilt = Run::new(program.path(), World::Bare).preload_before(flawed.path());
            assert_same(script, flaw, kernel, &spoilt.env("UNSPIN_FLAW", flaw).input(script).output());
        });
    });
    let why = found.expect_err(&format!("{flaw} was not found"));
    let why = why.downcast_ref::<String>().map_or("", |why| why);
    assert!(why.contains("differs from the bare run"), "{flaw} was not found, but: {why}");
}

#[test]
fn planted_flaws_are_found() {
    finds("forgets-undo", About::Semaphores);
    finds("wakes-late", About::Semaphores);
    finds("first-is-lowest", About::Messages);
    finds("never-detaches", About::Segments);
    finds("forgets-attachments", About::Everything);
}

/// The kernel's answers are the same each time: nothing that it leaves to chance is compared.
#[test]
fn the_kernel_follows_itself() {
    let Some(program) = build("script") else { return };
    for about in About::ALL {
        search(about, &program, cases(CASES) / 2, 1_000, |script, kernel| {
            assert_same(
                script,
                World::Bare,
                kernel,
                &Run::new(program.path(), World::Bare).input(script).output(),
            );
        });
    }
}
