//! Random programs of one process, performed by every engine and by a sequential model for each mechanism. The fuzz
//! targets of `fuzz/` run the same comparisons.

pub mod families;

use families::child::in_a_child;
use families::messages::Messages;
use families::segments::{self, Segments};
use families::semaphores::{self, Semaphores, ended};
use families::{Family, decode};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::io::Write as _;
use unspin_sys::Errno;
use unspin_sysv::{Engine, Kind, Options};

/// Bytes of a program at most.
const LONGEST: usize = 600;

/// An engine with an arena of its own.
fn engine(kind: Kind) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
    (dir, engine)
}

/// How a program is compared: see [`Family::compare`] and [`ended::compare`].
type Compare<F> = fn(&Engine, i32, &[<F as Family>::Call], <F as Family>::Flaw) -> Result<(), String>;

/// The first difference found, with the shortest program that shows it.
fn difference<F: Family>(
    compare: Compare<F>,
    (kind, first_key): (Kind, i32),
    cases: u32,
    flaw: F::Flaw,
) -> Result<(), String> {
    let (_dir, engine) = engine(kind);
    let try_out = |bytes: &[u8]| {
        let mut calls = decode::<F>(bytes);
        calls.retain(|call| kind != Kind::Kernel || !F::names_object_by_index(call));
        compare(&engine, first_key, &calls, flaw)
    };
    // A planted mistake needs no shortening.
    let max_shrink_iters = if flaw == F::Flaw::default() { 10_000 } else { 0 };
    let config = Config { cases, failure_persistence: None, max_shrink_iters, ..Config::default() };
    let programs = prop::collection::vec(any::<u8>(), 1..LONGEST);
    match TestRunner::new(config).run(&programs, |bytes| try_out(&bytes).map_err(TestCaseError::fail)) {
        Ok(()) => Ok(()),
        Err(TestError::Fail(_, bytes)) => try_out(&bytes),
        Err(other) => Err(other.to_string()),
    }
}

/// Keys of an arena of one's own.
const KEYS: i32 = 0x0100;

/// Keys in the kernel that no other program uses: the id of the thread in the upper bytes, which fits, as ids end at
/// 2^22.
fn kernel_keys() -> i32 {
    // SAFETY: takes nothing, cannot fail.
    (unsafe { libc::gettid() }) << 8
}

/// Both engines do what the model says.
fn engines_follow<F: Family>(compare: Compare<F>, cases: u32) {
    for kind in Kind::IN_ARENAS {
        difference::<F>(compare, (kind, KEYS), cases, F::Flaw::default())
            .unwrap_or_else(|why| panic!("engine {kind}: {why}"));
    }
}

/// The model is right about the kernel, where that has the mechanism: `ask` is a call of it.
fn the_kernel_follows<F: Family>(compare: Compare<F>, cases: u32, ask: fn(&Engine) -> Result<i32, Errno>) {
    if ask(&engine(Kind::Kernel).1) == Err(Errno::ENOSYS) {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED the kernel follows the model: it was built without System V IPC"
        );
        return;
    }
    difference::<F>(compare, (Kind::Kernel, kernel_keys()), cases, F::Flaw::default())
        .unwrap_or_else(|why| panic!("{why}"));
}

/// Check of the comparison: it must find each mistake that the model makes on purpose.
fn finds<F: Family>(compare: Compare<F>, flaws: &[F::Flaw]) {
    for &flaw in flaws {
        let found = difference::<F>(compare, (Kind::Rcu, KEYS), 4_000, flaw);
        assert!(found.is_err(), "{flaw:?} was not found");
    }
}

#[test]
fn semaphores_follow_the_model() {
    engines_follow::<Semaphores>(Semaphores::compare, 1_000);
    the_kernel_follows::<Semaphores>(Semaphores::compare, 200, |kernel| kernel.semget(KEYS, 0, 0));
}

#[test]
fn flaws_of_semaphores_are_found() {
    finds::<Semaphores>(Semaphores::compare, Semaphores::FLAWS);
}

#[test]
fn messages_follow_the_model() {
    engines_follow::<Messages>(Messages::compare, 1_000);
    the_kernel_follows::<Messages>(Messages::compare, 200, |kernel| kernel.msgget(KEYS, 0));
}

#[test]
fn flaws_of_messages_are_found() {
    finds::<Messages>(Messages::compare, Messages::FLAWS);
}

/// In a process of its own, since other tests fork, which counts as attaching.
fn compare_segments(
    engine: &Engine,
    first_key: i32,
    calls: &[segments::Call],
    flaw: segments::Flaw,
) -> Result<(), String> {
    let why = in_a_child(|| Segments::compare(engine, first_key, calls, flaw).err().unwrap_or_default());
    if why.is_empty() { Ok(()) } else { Err(why) }
}

#[test]
fn segments_follow_the_model() {
    engines_follow::<Segments>(compare_segments, 60);
    the_kernel_follows::<Segments>(compare_segments, 60, |kernel| kernel.shmget(KEYS, 0, 0));
}

#[test]
fn flaws_of_segments_are_found() {
    finds::<Segments>(compare_segments, Segments::FLAWS);
}

/// What a process leaves when it ends: with SEM_UNDO, as if some of its operations had not been.
#[test]
fn ends_follow_the_model() {
    engines_follow::<Semaphores>(ended::compare, 120);
    the_kernel_follows::<Semaphores>(ended::compare, 150, |kernel| kernel.semget(KEYS, 0, 0));
}

#[test]
fn flaws_of_ends_are_found() {
    finds::<Semaphores>(ended::compare, semaphores::FLAWS_OF_ENDS);
}
