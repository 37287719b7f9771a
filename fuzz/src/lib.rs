//! What the targets share: programs are read and compared as the tests of `crates/sysv` do it.

#[path = "../../crates/sysv/tests/suite/sequential/families/mod.rs"]
pub mod families;

use families::{Family, decode};
use std::sync::OnceLock;
use unspin_sysv::{Engine, Kind, Options};

/// One arena for all inputs. Each input leaves it without objects, so damage by an earlier input shows too.
fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let dir = tempfile::tempdir().expect("a folder for temporary files");
        // The arena stays mapped when its file is gone.
        Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).expect("a new arena")
    })
}

/// The flaw that `UNSPIN_FLAW` names: `ci/fuzz.sh` demands that it is found.
fn flaw<F: Family>() -> F::Flaw {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    let Some(name) = NAME.get_or_init(|| std::env::var("UNSPIN_FLAW").ok()) else {
        return F::Flaw::default();
    };
    let mut flaws = F::FLAWS.iter().copied();
    flaws
        .find(|flaw| format!("{flaw:?}") == *name)
        .unwrap_or_else(|| panic!("UNSPIN_FLAW={name}: choose one of {:?}", F::FLAWS))
}

/// Performs the program that the bytes are with the engine `rcu` and the model.
///
/// # Panics
/// If they differ.
pub fn run<F: Family>(bytes: &[u8]) {
    if let Err(difference) = F::compare(engine(), 0x0100, &decode::<F>(bytes), flaw::<F>()) {
        panic!("{difference}");
    }
}
