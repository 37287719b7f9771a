//! Arenas that are overwritten word by word while threads use them: lists that lead to themselves, offsets beyond the
//! end, huge counts, locks that name some living participant. In all cases every call returns, no process crashes, no
//! call writes outside the memory that it was given, and no kernel object of another program is changed.
#![no_main]

#[path = "../../crates/sysv/tests/suite/hostile/caller.rs"]
mod caller;
#[path = "../../crates/sysv/tests/suite/hostile/flaw.rs"]
mod flaw;
#[path = "../../crates/sysv/tests/suite/hostile/program.rs"]
mod program;
#[path = "../../crates/sysv/tests/suite/hostile/scene.rs"]
mod scene;
#[path = "../../crates/sysv/tests/suite/hostile/strangers.rs"]
mod strangers;

use flaw::Flaw;
use libfuzzer_sys::fuzz_target;
use scene::Stage;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;
use unspin_sysv::Kind;

static STAGE: LazyLock<Mutex<Stage>> = LazyLock::new(|| {
    std::thread::spawn(watch);
    Mutex::new(Stage::new())
});
static FLAW: LazyLock<Flaw> = LazyLock::new(flaw);
/// Programs begun and ended: odd while one is under way.
static TURN: AtomicU64 = AtomicU64::new(0);

/// A program that takes longer contains a call that does not return. The slowest call that returns takes some seconds.
const RUN_TIMEOUT: Duration = Duration::from_secs(40);

fn watch() {
    loop {
        let before = TURN.load(SeqCst);
        std::thread::sleep(RUN_TIMEOUT);
        if before % 2 == 1 && TURN.load(SeqCst) == before {
            eprintln!("hostile: a call does not come back");
            std::process::abort();
        }
    }
}

/// The flaw that `UNSPIN_FLAW` names: `ci/fuzz.sh` demands that it is found.
fn flaw() -> Flaw {
    let Ok(name) = std::env::var("UNSPIN_FLAW") else { return Flaw::None };
    Flaw::FLAWS
        .into_iter()
        .find(|flaw| format!("{flaw:?}") == name)
        .unwrap_or_else(|| panic!("UNSPIN_FLAW={name}: choose one of {:?}", Flaw::FLAWS))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else { return };
    let kind = Kind::IN_ARENAS.into_iter().rev().cycle().nth(first.into()).expect("a cycle has no end");
    TURN.fetch_add(1, SeqCst);
    let result = STAGE.lock().expect("no panic before").perform(kind, &program::decode(rest), *FLAW);
    TURN.fetch_add(1, SeqCst);
    if let Err(harm) = result {
        panic!("{harm}");
    }
});
