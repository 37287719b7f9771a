//! What is recorded is what happened: every attempt, in every way of dying.

use std::collections::BTreeMap;
use unspin_e2e::{LEVELS, Outcome, Recorder, Run, World, build, scratch};
use unspin_meter::{Counts, Key, Kind, Level, Snapshot};

/// The rows of all processes and callers, by kind and address.
fn by_lock(snapshot: &Snapshot) -> BTreeMap<(Kind, u64), Counts> {
    let mut locks = BTreeMap::<_, Counts>::new();
    for (key, record) in snapshot.images.iter().flat_map(|image| &image.rows) {
        let kind = key.kind().unwrap_or_else(|| panic!("a row of no kind: {key:?}"));
        locks.entry((kind, key.address())).or_default().merge(&record.counts);
    }
    locks
}

/// One line of the truth: kind, address, attempts, refused, given up.
fn parse(line: &str) -> ((Kind, u64), [u64; 3]) {
    let words: Vec<&str> = line.split(' ').collect();
    let [kind, address, numbers @ ..] = &words[..] else { panic!("no truth: {line}") };
    let kind = match *kind {
        "mutex" => Kind::Mutex,
        "reacquired" => Kind::Reacquired,
        "read" => Kind::Read,
        "write" => Kind::Write,
        "spin" => Kind::Spin,
        "condition" => Kind::Condition,
        "barrier" => Kind::Barrier,
        "semaphore" => Kind::Semaphore,
        "init" => Kind::Init,
        _ => panic!("no kind: {line}"),
    };
    let address =
        u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address in hexadecimal");
    let numbers: Vec<u64> = numbers.iter().map(|n| n.parse().expect("a number")).collect();
    ((kind, address), numbers.try_into().expect("three numbers"))
}

#[test]
fn counts_are_exact() {
    let Some(program) = build("pthread/counts") else { return };
    for level in LEVELS {
        let recorder = Recorder::create(level);
        let outcome = Run::new(program.path(), World::Kernel).record(&recorder).output();
        assert!(outcome.status.success() && outcome.stderr.is_empty(), "{level}: {outcome}");
        let snapshot = recorder.snapshot();
        assert!(snapshot.unrecorded.is_nothing(), "{level}: {:?}", snapshot.unrecorded);
        let locks = by_lock(&snapshot);
        let truth: BTreeMap<_, _> = outcome.stdout.lines().map(parse).collect();
        assert!(truth.len() > 15, "{outcome}");
        for (lock, [attempts, refused, gave_up]) in &truth {
            let counts = locks.get(lock).copied().unwrap_or_default();
            // Without a clock nobody knows who waited before he was refused.
            let clock = u64::from(level != Level::Counts);
            let recorded = [counts.attempts(), counts.rejected, counts.gave_up];
            let expected = [*attempts, refused + gave_up, gave_up * clock];
            assert_eq!(recorded, expected, "{level}: {lock:?} in\n{outcome}");
        }
        // What the program did not do is not in the table either.
        for ((kind, address), counts) in &locks {
            let known = truth.contains_key(&(*kind, *address)) || *kind == Kind::Init;
            assert!(known, "{level}: {kind:?} at {address:#x} was not used: {counts:?}");
        }
    }
}

/// Two callers of one lock are two rows, and a child's are not its parent's.
#[test]
fn callers_and_processes_are_apart() {
    let Some(program) = build("pthread/counts") else { return };
    let recorder = Recorder::create(Level::Full);
    let outcome = Run::new(program.path(), World::Kernel).record(&recorder).output();
    let snapshot = recorder.snapshot();
    assert_eq!(snapshot.images.len(), 3, "a parent and two children: {outcome}");
    // The first line is of a lock that four threads took in two ways, 3000 times each.
    let ((kind, address), [attempts, ..]) =
        outcome.stdout.lines().map(parse).next().expect("it prints lines");
    let of_lock = |(key, record): (&Key, &unspin_meter::Record)| {
        (key.kind() == Some(kind) && key.address() == address).then(|| record.counts.attempts())
    };
    let callers: Vec<u64> = snapshot.images[0].rows.iter().filter_map(of_lock).collect();
    assert_eq!(callers, [attempts / 2, attempts / 2], "{outcome}");
    let children = snapshot.images[1..].iter().map(|child| {
        assert_eq!(child.parent, snapshot.images[0].pid);
        child.rows.values().map(|record| record.counts.attempts()).sum::<u64>()
    });
    assert_eq!(children.collect::<Vec<_>>(), [3000, 3000], "{outcome}");
}

/// Threads of `storm.c`.
const THREADS: u64 = 3;

/// The lock's address, and how often its threads say they have released it.
fn reported(file: &std::path::Path) -> (u64, u64) {
    let bytes = std::fs::read(file).expect("the program made it");
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
    (words[0], words[1..=THREADS as usize].iter().sum())
}

fn storm(how: &[&str]) {
    let Some(program) = build("pthread/storm") else { return };
    for level in LEVELS {
        let (directory, recorder) = (scratch(), Recorder::create(level));
        let file = directory.path().join("counters");
        let args = [&[file.to_str().expect("scratch paths are UTF-8")], how].concat();
        let outcome = Run::new(program.path(), World::Kernel).record(&recorder).args(args).output();
        let (address, released) = reported(&file);
        assert!(released >= 20_000, "it ended early: {outcome}");
        check_storm(
            &format!("{how:?} at level {level}"),
            &outcome,
            &recorder.snapshot(),
            (address, released),
        );
        // Without a clock no holds are followed.
        if how.contains(&"held") && level != Level::Counts {
            let held = |(key, _): &(Key, u64)| key.kind() == Some(Kind::Mutex) && key.address() == address;
            let image = &recorder.snapshot().images[0];
            // Another thread may have died right behind its unlock, before it had noted that.
            let main = image.threads.iter().find(|thread| thread.tid == image.pid);
            assert!(
                main.is_some_and(|main| main.holds.iter().any(held)),
                "{how:?} at level {level}: {image:#?}"
            );
        }
    }
}

/// Of each thread one call may be recorded and not yet reported, of the main thread the one with which it dies.
fn check_storm(name: &str, outcome: &Outcome, snapshot: &Snapshot, (address, released): (u64, u64)) {
    let counts = by_lock(snapshot).get(&(Kind::Mutex, address)).copied().unwrap_or_default();
    let possible = released..=released + THREADS + 1;
    assert!(possible.contains(&counts.attempts()), "{name}: {counts:?} is none of {possible:?}: {outcome}");
    assert!(snapshot.unrecorded.is_nothing(), "{name}: {:?}", snapshot.unrecorded);
}

#[test]
fn after_an_exit_without_handlers() {
    storm(&["_exit"]);
    storm(&["_exit", "held"]);
}

#[test]
fn after_an_abort() {
    storm(&["abort"]);
    storm(&["abort", "held"]);
}

#[test]
fn after_a_crash() {
    storm(&["crash"]);
    storm(&["crash", "held"]);
}

#[test]
fn after_a_kill() {
    storm(&["kill"]);
    storm(&["kill", "held"]);
}

#[test]
fn after_an_exec() {
    storm(&["exec"]);
}
