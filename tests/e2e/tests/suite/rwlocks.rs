//! A program whose read-write locks are replaced answers what it answers without.
//!
//! The programs of `c/rwlock` know the right answers themselves, and fail for a wrong one; glibc, alone, is the oracle for
//! all that they print.

use unspin_e2e::{
    LEVELS, Recorder, Run, World, build, build_library, find_tool, scratch, size, skip,
    survives_rwlock_replacement,
};
use unspin_locks::RwLockKind;
use unspin_wire::plan::LockFamily;
use unspin_wire::{Image, RecordKind, Tally, TallyCount, TallyRow, environment};

#[test]
fn every_call_answers_as_glibc() {
    survives_rwlock_replacement("rwlock/calls", &[]);
}

#[test]
fn reader_reads_again_while_writers_wait() {
    survives_rwlock_replacement("rwlock/recursive", &[]);
}

/// A thread that releases what another thread has acquired still holds what it holds itself.
#[test]
fn reader_that_releases_for_others_reads_again_while_a_writer_waits() {
    survives_rwlock_replacement("rwlock/recursive", &["others release"]);
}

/// A reader waits for a thread that has yet to acquire the lock for reading: glibc's default kind lets that one in, although a
/// writer waits.
#[test]
fn new_reader_for_which_a_reader_waits_is_let_in() {
    survives_rwlock_replacement("rwlock/recursive", &["new readers"]);
}

#[test]
fn random_programs_find_no_second_writer() {
    for seed in 0..size(3, 40) {
        survives_rwlock_replacement("rwlock/random", &[&seed.to_string(), "4", "2000"]);
    }
    survives_rwlock_replacement("rwlock/random", size(&["100", "12", "600"], &["100", "40", "20000"]));
}

#[test]
fn child_has_the_state_of_the_locks() {
    survives_rwlock_replacement("rwlock/fork", &[]);
}

#[test]
fn threads_are_cancelled_and_end_with_locks() {
    survives_rwlock_replacement("rwlock/ends", &[]);
}

/// glibc's locks bear what POSIX leaves undefined: they are made anew while they are held, and used by signal handlers.
#[test]
fn locks_are_made_anew_and_used_by_handlers() {
    survives_rwlock_replacement("rwlock/interrupted", size(&["2000"], &["100000"]));
}

#[test]
fn thousands_of_threads() {
    survives_rwlock_replacement("rwlock/crowd", &["2000"]);
}

#[test]
fn lock_is_unmapped_after_the_last_release() {
    survives_rwlock_replacement("rwlock/destroy", size(&["200"], &["20000"]));
}

#[test]
fn shared_mutexes_of_cpp() {
    survives_rwlock_replacement("rwlock/shared_mutex", &[]);
}

/// Without this the other tests would show nothing: the locks of the programs are replaced, but for those that processes share.
#[test]
fn locks_of_the_programs_are_replaced() {
    let Some(program) = build("rwlock/calls") else { return };
    for kind in RwLockKind::ALL {
        let directory = scratch();
        let path = directory.path().join("tally");
        let tally = Tally::create(&path, 0o600).expect("the scratch directory takes a file");
        let run = Run::new(program.path(), World::Kernel).rwlocks(kind).env(environment::TALLY, &path);
        let outcome = run.output();
        let count = |count: fn(LockFamily, TallyRow) -> TallyCount| {
            tally.get(count(LockFamily::RwLock, TallyRow::All))
        };
        let (replaced, kept) = (count(TallyCount::Replaced), count(TallyCount::Kept));
        // Shared locks are libc's: nothing else happens to them under libc's kind.
        assert!(replaced > 20, "{kind}: {replaced} replaced: {outcome}");
        assert_eq!(kept > 0, kind != RwLockKind::System, "{kind}: {kept} kept: {outcome}");
    }
}

/// The process that initialises the lock and the one in which a thread waits for it record that processes share it.
#[test]
fn lock_that_processes_share_is_recorded_as_shared() {
    let Some(program) = build("rwlock/shared") else { return };
    for level in LEVELS {
        for plan in [None, Some(RwLockKind::Biased)] {
            let recorder = Recorder::create(level);
            let run = Run::new(program.path(), World::Kernel).record(&recorder);
            let outcome = match plan {
                Some(kind) => run.rwlocks(kind),
                None => run,
            }
            .output();
            assert!(outcome.status.success() && outcome.stderr.is_empty(), "{level}: {outcome}");
            let address = u64::from_str_radix(outcome.stdout.trim().trim_start_matches("0x"), 16).unwrap();
            let snapshot = recorder.snapshot();
            let marked = |image: &Image| {
                let marks = image.rows.keys().filter(|key| key.kind() == Some(RecordKind::SharedRwLock));
                marks.map(|key| key.address()).collect::<Vec<_>>()
            };
            let marked: Vec<_> = snapshot.images.iter().map(marked).collect();
            assert_eq!(marked, [[address], [address]], "{level}, {plan:?}");
        }
    }
}

/// Each program checks itself, and its data.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn kyoto_cabinet() {
    for (tool, args) in [
        ("kccachetest", &["wicked", "-th", "4", "-it", "2", "4000"][..]),
        ("kccachetest", &["tran", "-th", "4", "-it", "2", "2000"]),
        ("kchashtest", &["wicked", "-th", "4", "-it", "2", "casket.kch", "4000"]),
        ("kcgrasstest", &["wicked", "-th", "4", "-it", "2", "4000"]),
    ] {
        let Some(program) = find_tool(tool) else {
            skip(tool, &format!("there is no {tool}; install kyotocabinet-utils"));
            continue;
        };
        for kind in RwLockKind::ALL {
            let directory = scratch();
            let run = Run::new(&program, World::Kernel).args(args).rwlocks(kind);
            let outcome = run.current_dir(directory.path()).output();
            assert!(outcome.is_clean() && outcome.stdout.ends_with("ok\n\n"), "{tool}, {kind}: {outcome}");
        }
    }
}

/// Check of the gate: a program must fail for a lock with this flaw.
fn notices(flaw: &str, source: &str, args: &[&str]) {
    let (Some(program), Some(flawed)) = (build(source), build_library("rwlock/flawed")) else { return };
    let run = |flaw| {
        let run = Run::new(program.path(), World::Bare).args(args).env("UNSPIN_FLAW", flaw);
        run.preload_before(flawed.path()).output()
    };
    let without = run("none");
    assert!(without.status.success(), "{source} fails without a flaw: {without}");
    let with = run(flaw);
    assert!(!with.status.success(), "{source} does not notice {flaw}: {with}");
}

#[test]
fn planted_flaws_are_noticed() {
    notices("wrong-error", "rwlock/calls", &[]);
    notices("readers-exclude", "rwlock/calls", &[]);
    notices("forgets-the-kind", "rwlock/calls", &[]);
    notices("writers-share", "rwlock/calls", &[]);
    notices("writers-share", "rwlock/random", &["1", "4", "2000"]);
    notices("writers-share", "rwlock/crowd", &["200"]);
    notices("writers-share", "rwlock/shared_mutex", &[]);
    notices("late-touch", "rwlock/destroy", &["2000"]);
}
