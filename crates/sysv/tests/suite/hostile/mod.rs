//! Arenas that are overwritten word by word while threads use them, by random programs. The fuzzer generates such
//! programs guided by coverage (`fuzz/fuzz_targets/arena.rs`).

mod caller;
mod flaw;
mod program;
mod scene;
mod strangers;

use flaw::Flaw;
use proptest::collection::vec;
use proptest::prelude::{Strategy, any};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use scene::Stage;
use std::sync::{Mutex, MutexGuard};
use unspin_sysv::Kind;

/// Programs for each engine.
const PROGRAMS: usize = 60;

/// One test at a time: a scene ends with the removal of all segments that this process has made for scenes.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(|poison| poison.into_inner())
}

#[test]
fn calls_on_overwritten_arena_return_without_outside_damage() {
    let _one = one_at_a_time();
    let mut runner = runner();
    let mut stage = Stage::new();
    for kind in Kind::IN_ARENAS {
        for bytes in (0..PROGRAMS).map(|_| bytes(&mut runner)) {
            let program = program::decode(&bytes);
            if let Err(harm) = stage.perform(kind, &program, Flaw::None) {
                panic!("{kind}: {harm}: {program:#?}");
            }
        }
    }
}

#[test]
fn planted_flaws_are_noticed() {
    let _one = one_at_a_time();
    for flaw in Flaw::FLAWS {
        let (mut runner, mut stage) = (runner(), Stage::new());
        let noticed = (0..5000).any(|n| {
            let program = program::decode(&bytes(&mut runner));
            stage
                .perform(Kind::Rcu, &program, flaw)
                .inspect_err(|it| println!("{flaw:?}, program {n}: {it}"))
                .is_err()
        });
        assert!(noticed, "{flaw:?}");
    }
}

fn runner() -> TestRunner {
    TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn bytes(runner: &mut TestRunner) -> Vec<u8> {
    use proptest::strategy::ValueTree;
    vec(any::<u8>(), 5..300).new_tree(runner).expect("no condition").current()
}
