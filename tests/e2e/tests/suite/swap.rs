//! A program whose mutexes are replaced answers what it answers without.
//!
//! The programs of the meter's conformance, and those for what is new, under every kind; glibc, alone, is the oracle.

use unspin_e2e::{
    Recorder, Run, World, assert_same, build, build_library, shared_library, size, skip, survives_polling,
    survives_replacement,
};
use unspin_locks::LockKind;
use unspin_wire::Level;

/// One kind of each implementation: libc's, the locks that sleep in a queue or in the kernel, and those that inherit.
const IMPLEMENTATIONS: [LockKind; 4] = [LockKind::Pi, LockKind::Fair, LockKind::Adaptive, LockKind::RtSteal];

/// The kinds with waiters that sleep, and libc's own: [`IMPLEMENTATIONS`], and in the nightly tier all.
fn sleeping() -> Vec<LockKind> {
    let all = LockKind::ALL.into_iter().filter(|kind| !kind.is_experimental()).collect();
    size(IMPLEMENTATIONS.into(), all)
}

/// The kinds with waiters that spin. They are slow with more threads than CPUs.
fn spinning() -> Vec<LockKind> {
    let all = LockKind::ALL.into_iter().filter(|kind| kind.is_experimental()).collect();
    size(vec![LockKind::Mcs], all)
}

fn without(left_out: &[LockKind]) -> Vec<LockKind> {
    sleeping().into_iter().filter(|kind| !left_out.contains(kind)).collect()
}

#[test]
fn mutex() {
    survives_replacement("pthread/mutex", &[], &sleeping());
    survives_replacement("pthread/mutex", &["50"], &spinning());
}

#[test]
fn condition() {
    survives_replacement("pthread/condition", &[], &sleeping());
    survives_replacement("pthread/condition", &["20"], &spinning());
}

#[test]
fn robust_mutex() {
    survives_replacement("pthread/robust", &[], &[LockKind::Adaptive, LockKind::RtAdaptive, LockKind::Pi]);
}

#[test]
fn other_locks() {
    for source in ["pthread/rwlock", "pthread/semaphore", "pthread/barrier"] {
        survives_replacement(source, &[], &[LockKind::Adaptive]);
    }
}

#[test]
fn threads_of_c11() {
    survives_replacement("pthread/c11", &[], &sleeping());
}

#[test]
fn program_gets_every_key_under_its_number() {
    for interface in ["POSIX", "C11"] {
        survives_replacement("pthread/keys", &[interface], &[LockKind::Adaptive, LockKind::Pi]);
        survives_polling("pthread/keys", &[interface]);
    }
}

#[test]
fn locks_of_cpp() {
    survives_replacement("pthread/cpp", &[], &sleeping());
}

/// libc's inheriting mutexes count otherwise, and only their owners release them when threads wait: what a program gets that
/// asks for them.
#[test]
fn misuse() {
    survives_replacement("pthread/misuse", &[], &without(&[LockKind::Pi]));
    survives_replacement("pthread/misuse", &[], &spinning());
}

/// Every kind, whatever libc keeps under it. Under `pi` the kernel refuses a wait with the mutex of another thread.
#[test]
fn destroy_during_condition_wait_answers_as_glibc() {
    let kinds: Vec<_> = LockKind::ALL.into_iter().filter(|&kind| kind != LockKind::Pi).collect();
    survives_replacement("pthread/destroy", &[], &kinds);
    survives_replacement("pthread/destroy", &["own mutexes"], &[LockKind::Pi]);
}

#[test]
fn old_names() {
    survives_replacement("pthread/aliases", &[], &sleeping());
}

#[test]
fn cancellation_and_jumps() {
    survives_replacement("pthread/jumps", &[], &without(&[LockKind::Fair]));
    // Strict order is kept for a waiter that a jump has taken away.
    survives_replacement("pthread/jumps", &["no jumps"], &[LockKind::Fair]);
}

#[test]
fn shared_conditions_with_mutexes_of_ours() {
    survives_replacement("pthread/mixed", &[], &sleeping());
}

#[test]
fn forks_among_waiters() {
    survives_replacement("pthread/children", &[], &sleeping());
}

#[test]
fn life_and_death() {
    for source in ["pthread/threads", "pthread/processes", "pthread/handlers"] {
        survives_replacement(source, &[], &sleeping());
    }
}

#[test]
fn a_sandbox() {
    for threads in ["known", "new"] {
        survives_replacement(
            "pthread/sandbox",
            &[threads, "kills", "prctl"],
            &[LockKind::Adaptive, LockKind::RtAdaptive],
        );
    }
}

/// The allocator's mutexes are replaced too, those of its constructor among them.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn beside_jemalloc() {
    let Some(allocator) = shared_library("libjemalloc.so.2") else {
        return skip("libjemalloc.so.2", "there is no libjemalloc.so.2; install libjemalloc2");
    };
    for source in ["pthread/c11", "pthread/cpp", "pthread/processes", "pthread/threads", "pthread/condition"]
    {
        let Some(program) = build(source) else { return };
        let bare = Run::new(program.path(), World::Bare).also_preload(&allocator).output();
        for kind in [LockKind::Adaptive, LockKind::RtSteal] {
            let run = || Run::new(program.path(), World::Kernel).mutexes(&format!("{kind}\tall"));
            assert_same(
                source,
                format!("{kind}, allocator last"),
                &bare,
                &run().also_preload(&allocator).output(),
            );
            assert_same(
                source,
                format!("{kind}, allocator first"),
                &bare,
                &run().preload_before(&allocator).output(),
            );
        }
    }
}

/// The constructor of a library that is loaded after ours runs before ours. What it uses then depends on the implementation, not
/// on the kind.
#[test]
fn a_library_that_is_there_earlier() {
    let Some(early) = build_library("pthread/early") else { return };
    for source in ["pthread/threads", "pthread/processes", "pthread/cpp"] {
        let Some(program) = build(source) else { return };
        let run = |world| Run::new(program.path(), world).also_preload(early.path());
        let bare = run(World::Bare).output();
        for kind in [LockKind::Pi, LockKind::Adaptive, LockKind::RtSteal] {
            let replaced = || run(World::Kernel).mutexes(&format!("{kind}\tall"));
            assert_same(source, kind, &bare, &replaced().output());
            let recorder = Recorder::create(Level::Full);
            assert_same(source, format!("{kind}, metered"), &bare, &replaced().record(&recorder).output());
        }
    }
}

#[test]
fn waits_that_poll_first() {
    for source in ["pthread/condition", "pthread/semaphore", "pthread/jumps", "pthread/mixed", "pthread/c11"]
    {
        let Some(program) = build(source) else { return };
        let bare = Run::new(program.path(), World::Bare).output();
        for lines in
            ["waits\tpoll", "adaptive\tall\nwaits\tpoll\nforce\tpolls", "rt-adaptive\tall\nwaits\tpoll"]
        {
            let replaced = || Run::new(program.path(), World::Kernel).mutexes(lines);
            assert_same(source, lines, &bare, &replaced().output());
            let recorder = Recorder::create(Level::Full);
            assert_same(source, format!("{lines}, metered"), &bare, &replaced().record(&recorder).output());
        }
    }
}

/// The waiter tells the meter how it waited: time spent spinning is not counted as sleep. In the program some threads wait until they
/// sleep, or have spun for longer than any lock lets a thread spin that shall sleep.
#[test]
fn the_meter_is_told_how_was_waited() {
    let Some(program) = build("pthread/misuse") else { return };
    for kind in [LockKind::Ttas, LockKind::Fair] {
        let recorder = Recorder::create(Level::Full);
        let run = Run::new(program.path(), World::Kernel).mutexes(&format!("{kind}\tall"));
        let outcome = run.record(&recorder).output();
        assert!(outcome.status.success(), "{outcome}");
        let (mut spun, mut slept) = (0, 0);
        for (key, record) in recorder.snapshot().images.iter().flat_map(|image| &image.rows) {
            if key.kind() == Some(unspin_wire::RecordKind::Mutex) {
                spun += record.counts.spun;
                slept += record.counts.slept;
            }
        }
        // Four threads wait so. Another one that reaches the FIFO queue just as the lock becomes free has spun for some
        // instructions, and got it.
        let is_right = if kind == LockKind::Ttas { slept == 0 && spun >= 4 } else { slept >= 4 };
        assert!(is_right, "{kind}: {spun} spun, {slept} slept");
    }
}

/// Check of the gate: it must fail for a lock that gives the wrong reason and takes precedence over unspin's.
#[test]
#[should_panic(expected = "here:   trylock own: EAGAIN")]
fn a_wrong_answer_is_noticed() {
    let (Some(program), Some(wrong)) = (build("pthread/mutex"), build_library("pthread/wrong")) else {
        panic!("not tried without a compiler, instead of: here:   trylock own: EAGAIN");
    };
    let bare = Run::new(program.path(), World::Bare).output();
    let run = Run::new(program.path(), World::Kernel).mutexes("adaptive\tall");
    assert_same("mutex", "with a wrong lock", &bare, &run.preload_before(wrong.path()).output());
}

/// A lock that has two owners, because one of its names was forgotten, is noticed.
#[test]
#[should_panic(expected = "here:   __trylock: 0")]
fn a_lock_with_two_owners_is_noticed() {
    let (Some(program), Some(split)) = (build("pthread/aliases"), build_library("pthread/split")) else {
        panic!("not tried without a compiler, instead of: here:   __trylock: 0");
    };
    let bare = Run::new(program.path(), World::Bare).output();
    let run = Run::new(program.path(), World::Kernel).mutexes("adaptive\tall");
    assert_same("aliases", "with two owners", &bare, &run.preload_before(split.path()).output());
}
