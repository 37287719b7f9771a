//! A recording contains every attempt, however the process ends.

use std::collections::BTreeMap;
use unspin_e2e::{
    LEVELS, Outcome, Recorder, Run, World, build, build_library, scratch, shared_library, skip,
};
use unspin_locks::RwLockKind;
use unspin_wire::{Counts, Event, Key, Level, RecordKind, Snapshot};

/// The rows of all processes and callers, by kind and address; joins and descriptors, which have none, are left out.
fn by_lock(snapshot: &Snapshot) -> Locks {
    let mut locks = Locks::new();
    for (key, record) in snapshot.images.iter().flat_map(|image| &image.rows) {
        let kind = key.kind().unwrap_or_else(|| panic!("a row of no kind: {key:?}"));
        if kind.has_object() {
            locks.entry((kind, key.address())).or_default().merge(&record.counts);
        }
    }
    locks
}

/// One line of the truth: kind, address, attempts, refused, given up.
fn parse(line: &str) -> ((RecordKind, u64), [u64; 3]) {
    let words: Vec<&str> = line.split(' ').collect();
    let [kind, address, numbers @ ..] = &words[..] else { panic!("no truth: {line}") };
    let kind = match *kind {
        "mutex" => RecordKind::Mutex,
        "reacquired" => RecordKind::Reacquired,
        "read" => RecordKind::Read,
        "write" => RecordKind::Write,
        "spin" => RecordKind::Spin,
        "condition" => RecordKind::Condition,
        "signal" => RecordKind::Signal,
        "barrier" => RecordKind::Barrier,
        "semaphore" => RecordKind::Semaphore,
        "init" => RecordKind::Init,
        _ => panic!("no kind: {line}"),
    };
    let address =
        u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address in hexadecimal");
    let numbers: Vec<u64> = numbers.iter().map(|n| n.parse().expect("a number")).collect();
    ((kind, address), numbers.try_into().expect("three numbers"))
}

type Locks = BTreeMap<(RecordKind, u64), Counts>;
type Truth = BTreeMap<(RecordKind, u64), [u64; 3]>;

/// Runs a program that knows the truth, and compares it with the recording; `prepare` makes its surroundings. Answers what was
/// recorded at the level `full`.
fn assert_exact(source: &str, prepare: impl Fn(Run) -> Run, others: Others) -> Option<Snapshot> {
    let program = build(source)?;
    let mut last = None;
    for level in LEVELS {
        let recorder = Recorder::create(level);
        let outcome = prepare(Run::new(program.path(), World::Kernel).record(&recorder)).output();
        assert!(outcome.status.success() && outcome.stderr.is_empty(), "{level}: {outcome}");
        let snapshot = recorder.snapshot();
        let (locks, truth) = (by_lock(&snapshot), outcome.stdout.lines().map(parse).collect::<Truth>());
        assert!(truth.len() > 15, "{outcome}");
        let missing = missing(&truth, &locks);
        assert_eq!(missing, snapshot.unrecorded.overflowed, "{source}, {level}: what is missing is not said");
        assert!(missing == 0 || others == Others::Handlers, "{source}, {level}: {missing} are missing");
        assert_eq!(snapshot.unrecorded.threads, 0, "{source}, {level}");
        let wrong = differences(&truth, &locks, level, others);
        assert!(wrong.is_empty(), "{source}, {level}: {} wrong, such as {}", wrong.len(), wrong[0]);
        last = Some(snapshot);
    }
    last
}

/// Attempts that were made and not recorded.
fn missing(truth: &Truth, locks: &Locks) -> u64 {
    let recorded = |lock| locks.get(lock).map_or(0, Counts::attempts);
    truth.iter().map(|(lock, [attempts, ..])| attempts.saturating_sub(recorded(lock))).sum()
}

/// What is wrong, beyond what may be missing.
fn differences(truth: &Truth, locks: &Locks, level: Level, others: Others) -> Vec<String> {
    let unlike_truth = |(lock, [attempts, refused, gave_up]): (&(RecordKind, u64), &[u64; 3])| {
        let counts = locks.get(lock).copied().unwrap_or_default();
        // Without a clock the meter cannot tell which attempts waited before they were refused.
        let clock = u64::from(level != Level::Counts);
        let recorded = [counts.attempts(), counts.rejected, counts.gave_up];
        let expected = [*attempts, refused + gave_up, gave_up * clock];
        let missing = others == Others::Handlers && recorded[0] < expected[0];
        let wrong = recorded != expected && !missing;
        wrong.then(|| format!("{lock:?}: recorded {recorded:?}, in truth {expected:?}"))
    };
    let unheard_of = |((kind, address), counts): (&(RecordKind, u64), &Counts)| {
        // The program cannot know which call has woken a thread, nor how long it waited.
        let unknowable = matches!(
            kind,
            RecordKind::Init
                | RecordKind::WokenBySignal
                | RecordKind::WokenByBroadcast
                | RecordKind::Inverted
        ) || kind.is_holder();
        let known = truth.contains_key(&(*kind, *address)) || unknowable;
        let wrong = !known && others != Others::Libraries;
        wrong.then(|| format!("{kind:?} at {address:#x} was not used: {counts:?}"))
    };
    truth.iter().filter_map(unlike_truth).chain(locks.iter().filter_map(unheard_of)).collect()
}

/// What locks besides the program's own code.
#[derive(Clone, Copy, PartialEq)]
enum Others {
    /// Nothing.
    None,
    /// An allocator, or another library: what these do is not part of the truth.
    Libraries,
    /// Handlers that interrupt it, also while a row is added: a new lock that a handler uses is then counted as not
    /// recorded.
    Handlers,
}

#[test]
fn counts_are_exact() {
    assert_exact("pthread/counts", |run| run, Others::None);
}

#[test]
fn counts_of_replaced_read_write_locks_are_exact() {
    for kind in [RwLockKind::Fair, RwLockKind::Biased] {
        assert_exact("pthread/counts", |run| run.mutexes(&format!("rwlock\t{kind}\tall")), Others::None);
    }
}

/// Ten thousand locks, two hundred of them held at once, locks that are handed over or wiped, and handlers that
/// interrupt the recording.
#[test]
fn unusual_uses_are_counted() {
    let Some(snapshot) = assert_exact("pthread/unusual", |run| run, Others::Handlers) else { return };
    // Two of these locks had owners that had ended.
    assert_eq!(snapshot.event(Event::ForeignUnlock), 5 + 2);
    // Of 200 locks held at once, twice, some are not followed; but going from lock to lock is no crowd.
    let crowded = snapshot.event(Event::HeldListFull);
    assert!(crowded < 2 * 200, "{crowded} holds were not followed");
    // A hold that was not followed, or not recorded, has no match when the lock is released.
    assert_eq!(snapshot.event(Event::Unmatched), 3 + crowded + snapshot.unrecorded.overflowed);
}

#[test]
fn counts_are_exact_beside_others() {
    for (library, package) in
        [("libjemalloc.so.2", "libjemalloc2"), ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4")]
    {
        let Some(allocator) = shared_library(library) else {
            skip(library, &format!("there is no {library}; install {package}"));
            continue;
        };
        assert_exact("pthread/counts", |run| run.also_preload(&allocator), Others::Libraries);
    }
    let Some(early) = build_library("pthread/early") else { return };
    assert_exact("pthread/counts", |run| run.also_preload(early.path()), Others::Libraries);
}

/// Another library that stands before some of these functions, and passes them on to ours or gets them from ours.
#[test]
fn counts_are_exact_beside_another_tracer() {
    let Some(wrapper) = build_library("pthread/wrapper") else { return };
    assert_exact("pthread/counts", |run| run.preload_before(wrapper.path()), Others::None);
    assert_exact("pthread/counts", |run| run.also_preload(wrapper.path()), Others::None);
}

/// Check of the gate: it must fail if some calls bypass the meter.
#[test]
#[should_panic(expected = "what is missing is not said")]
fn calls_that_are_not_counted_are_noticed() {
    let Some(bypass) = build_library("pthread/bypass") else {
        panic!("not tried without a compiler, instead of: what is missing is not said");
    };
    assert_exact("pthread/counts", |run| run.preload_before(bypass.path()), Others::None);
}

/// A wait with a deadline ends by itself: it is no deadlock.
#[test]
fn waits_with_a_deadline_are_recorded_as_such() {
    let Some(program) = build("pthread/deadlines") else { return };
    let recorder = Recorder::create(Level::Full);
    let outcome = Run::new(program.path(), World::Kernel).record(&recorder).output();
    let snapshot = recorder.snapshot();
    let threads = snapshot.images.iter().flat_map(|image| &image.threads);
    let waits: BTreeMap<u32, bool> = threads
        .filter(|thread| thread.waits.is_some_and(|(key, _)| key.kind() != Some(RecordKind::Join)))
        .map(|thread| (thread.tid, thread.wait_may_time_out))
        .collect();
    let truth = outcome.stdout.lines().map(|line| {
        let (id, limit) = line.split_once(' ').expect("two words");
        (id.parse().expect("an id"), limit == "deadline")
    });
    assert_eq!(waits, truth.collect::<BTreeMap<u32, bool>>(), "{outcome}");
    assert_eq!(waits.len(), 13);
}

/// A hold begins and ends at one semaphore, not at two that have lain at one address.
#[test]
fn token_of_a_semaphore_is_not_given_back_to_its_successor() {
    let Some(program) = build("pthread/successors") else { return };
    let recorder = Recorder::create(Level::Full);
    let outcome = Run::new(program.path(), World::Kernel).record(&recorder).output();
    let locks = by_lock(&recorder.snapshot());
    let semaphores = locks.iter().filter(|((kind, _), _)| *kind == RecordKind::Semaphore);
    let holds: Vec<(u64, u64)> = semaphores.map(|(_, counts)| (counts.nowait, counts.timed)).collect();
    assert_eq!(holds, [(20, 10)], "{outcome}");
}

/// A mutex that raises its owner's priority to that of the waiting thread prevents priority inversion.
#[test]
fn mutex_with_a_protocol_is_not_inverted() {
    let Some(program) = build("pthread/protocols") else { return };
    for plan in [None, Some("pi\tall"), Some("rt-adaptive\tall")] {
        let recorder = Recorder::create(Level::Full);
        let run = Run::new(program.path(), World::Kernel).record(&recorder);
        let outcome = match plan {
            Some(plan) => run.mutexes(plan).output(),
            None => run.output(),
        };
        if outcome.status.code() == Some(77) {
            return skip("mutex_with_a_protocol_is_not_inverted", "no real-time priority: run it as root");
        }
        let locks = by_lock(&recorder.snapshot());
        let inverted: Vec<u64> = locks
            .keys()
            .filter(|(kind, _)| *kind == RecordKind::Inverted)
            .map(|(_, address)| *address)
            .collect();
        let without = u64::from_str_radix(outcome.stdout.trim().trim_start_matches("0x"), 16);
        let without = without.expect("an address in hexadecimal");
        assert_eq!(inverted, plan.map_or(vec![without], |_| vec![]), "{plan:?} {outcome}");
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
    let of_lock = |(key, record): (&Key, &unspin_wire::Record)| {
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

/// A child that shares the memory of its parent is no process of its own to the meter.
#[test]
fn a_child_of_vfork_records_as_its_parent() {
    let Some(program) = build("pthread/vfork") else { return };
    for level in LEVELS {
        let recorder = Recorder::create(level);
        let outcome = Run::new(program.path(), World::Kernel).record(&recorder).output();
        let snapshot = recorder.snapshot();
        assert_eq!((snapshot.images.len(), snapshot.images[0].rows.len()), (1, 40), "{level}: {outcome}");
    }
}

/// Which holds are timed does not follow the turns in which locks are taken.
#[test]
fn locks_that_take_turns_are_both_sampled() {
    let Some(program) = build("pthread/turns") else { return };
    let recorder = Recorder::create(Level::SAMPLED);
    let outcome = Run::new(program.path(), World::Kernel).record(&recorder).output();
    let locks = by_lock(&recorder.snapshot());
    // Of 10,000 holds of each 625 are timed on average; far fewer would be a pattern, not chance.
    let timed: Vec<u64> = locks.values().map(|counts| counts.timed).collect();
    assert!(timed.len() == 2 && timed.iter().all(|n| (300..1_200).contains(n)), "{timed:?}: {outcome}");
}

/// Whether level `auto` has sampled the thread of `pairs.c`; and of its outer and its inner lock the attempts, the timed holds,
/// and those for which these stand beside themselves.
fn pairs_at_level_auto(pairs: u64, more: u64) -> Option<(bool, [[u64; 3]; 2])> {
    let program = build("pthread/pairs")?;
    let recorder = Recorder::create(Level::Auto);
    let args = [pairs.to_string(), more.to_string()];
    let outcome = Run::new(program.path(), World::Kernel).record(&recorder).args(args).output();
    let snapshot = recorder.snapshot();
    let locks = by_lock(&snapshot);
    let counts = outcome.stdout.split_whitespace().map(|address| {
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address");
        let counts = &locks[&(RecordKind::Mutex, address)];
        [counts.attempts(), counts.timed, counts.implied]
    });
    let counts: Vec<[u64; 3]> = counts.collect();
    let counts = counts.try_into().unwrap_or_else(|_| panic!("two locks: {outcome}"));
    Some((snapshot.event(Event::Sampled) == 1, counts))
}

#[test]
fn level_auto_times_every_hold_of_thread_with_few_locks() {
    let Some(found) = pairs_at_level_auto(10_000, 0) else { return };
    assert_eq!(found, (false, [[1, 1, 0], [10_000, 10_000, 0]]));
}

/// The thread does nothing but take a lock, so the timing is a large share of its time on any machine.
#[test]
fn level_auto_samples_thread_that_does_nothing_but_take_locks() {
    let Some((is_sampled, [outer, inner])) = pairs_at_level_auto(1_000_000, 0) else { return };
    assert!(is_sampled);
    assert_eq!(outer, [1, 1, 0], "this hold was not chosen at random, so it stands for itself");
    // One hold in 16 is timed, and stands for 16.
    let [attempts, timed, implied] = inner;
    assert_eq!(attempts, 1_000_000);
    assert!((900_000..1_100_000).contains(&(timed + implied)) && timed < attempts, "{inner:?}");
    assert_eq!(implied % 15, 0, "{inner:?}");
}

/// What makes a thread sampled is the frequent lock. A lock that the thread takes seldom is never sampled.
#[test]
fn level_auto_times_every_hold_of_rare_lock_in_sampled_thread() {
    for more in [12, 1_000] {
        let Some((is_sampled, [outer, inner])) = pairs_at_level_auto(200_000, more) else { return };
        assert!(is_sampled && inner[1] < inner[0], "{inner:?}");
        assert_eq!(outer, [1 + more, 1 + more, 0]);
    }
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
            let held =
                |(key, _): &(Key, u64)| key.kind() == Some(RecordKind::Mutex) && key.address() == address;
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
    let counts = by_lock(snapshot).get(&(RecordKind::Mutex, address)).copied().unwrap_or_default();
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
