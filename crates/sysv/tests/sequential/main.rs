//! Random programs of one process, performed by every engine and by a sequential model: answers, errors, values, pids.
//! The fuzz target of `fuzz/` runs the same comparison.

mod compare;
mod model;
mod program;

use compare::compare;
use model::Flaw;
use program::{Call, Command};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use unspin_sysv::{Engine, Kind, Options};

/// An engine with an arena of its own.
fn engine(kind: Kind) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
    (dir, engine)
}

/// The first difference found, with the shortest program that shows it.
fn difference(kind: Kind, cases: u32, first_key: i32, flaw: Flaw) -> Result<(), String> {
    let (_dir, engine) = engine(kind);
    let program = |bytes: &[u8]| {
        let mut calls = program::decode(bytes);
        // The kernel has other programs' sets too, at whatever indices.
        calls.retain(|call| kind != Kind::Kernel || !asks_by_index(call));
        calls
    };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&prop::collection::vec(any::<u8>(), 1..400), |bytes| {
        compare(&engine, first_key, &program(&bytes), flaw).map_err(TestCaseError::fail)
    });
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(_, bytes)) => compare(&engine, first_key, &program(&bytes), flaw),
        Err(other) => Err(other.to_string()),
    }
}

fn asks_by_index(call: &Call) -> bool {
    matches!(call, Call::Control { command: Command::StatIndex, .. })
}

#[test]
fn engines_follow_the_model() {
    for kind in [Kind::Global, Kind::Rcu] {
        difference(kind, 1_000, 0x0100, Flaw::None).unwrap_or_else(|why| panic!("engine {kind}: {why}"));
    }
}

/// The model is right about the kernel, where that has semaphores.
#[test]
fn the_kernel_follows_the_model() {
    let (_dir, kernel) = engine(Kind::Kernel);
    if let Err(errno) = kernel.semget(0x0100, 0, 0)
        && errno == unspin_sys::Errno::ENOSYS
    {
        eprintln!("SKIPPED the_kernel_follows_the_model: this kernel has no System V semaphores");
        return;
    }
    // Nobody else's keys: the process id in the upper bytes, which fits, as ids end at 2^22.
    let first_key = (std::process::id() as i32) << 8;
    difference(Kind::Kernel, 200, first_key, Flaw::None).unwrap_or_else(|why| panic!("{why}"));
}

/// A comparison that finds no mistake proves nothing unless it finds one that is there.
#[test]
fn every_planted_flaw_is_found() {
    for flaw in Flaw::ALL {
        let found = difference(Kind::Rcu, 4_000, 0x0100, flaw);
        assert!(found.is_err(), "{flaw:?} was not found");
    }
}
