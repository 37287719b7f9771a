//! Sequences of semaphore calls, performed by the engine `rcu` and by the sequential model that
//! `crates/sysv/tests/sequential` compares all engines with.
#![no_main]

#[path = "../../crates/sysv/tests/sequential/compare.rs"]
mod compare;
#[path = "../../crates/sysv/tests/sequential/model.rs"]
mod model;
#[path = "../../crates/sysv/tests/sequential/program.rs"]
mod program;

use libfuzzer_sys::fuzz_target;
use model::Flaw;
use std::sync::OnceLock;
use unspin_sysv::{Engine, Kind, Options};

static ENGINE: OnceLock<Engine> = OnceLock::new();
static FLAW: OnceLock<Flaw> = OnceLock::new();

/// One arena for all inputs: each leaves it without sets, so whatever an earlier one may have broken shows too.
fn engine() -> Engine {
    let dir = tempfile::tempdir().expect("a folder for temporary files");
    // The arena stays mapped when its file is gone.
    Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).expect("a new arena")
}

/// The flaw that `UNSPIN_FLAW` names: `ci/fuzz.sh` demands that it is found.
fn flaw() -> Flaw {
    let Ok(name) = std::env::var("UNSPIN_FLAW") else { return Flaw::None };
    Flaw::ALL
        .into_iter()
        .find(|flaw| format!("{flaw:?}") == name)
        .unwrap_or_else(|| panic!("UNSPIN_FLAW={name}: choose one of {:?}", Flaw::ALL))
}

fuzz_target!(|bytes: &[u8]| {
    let calls = program::decode(bytes);
    let result = compare::compare(ENGINE.get_or_init(engine), 0x0100, &calls, *FLAW.get_or_init(flaw));
    if let Err(difference) = result {
        panic!("{difference}");
    }
});
