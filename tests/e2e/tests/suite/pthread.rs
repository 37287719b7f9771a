//! Every pthread call answers under the meter what it answers without.
//!
//! One program per kind of lock; glibc, alone, is the oracle.

use unspin_e2e::{
    Recorder, Run, World, assert_same, build, build_library, shared_library, skip, survives_the_meter,
};
use unspin_wire::Level;

#[test]
fn mutex() {
    survives_the_meter("pthread/mutex", &[]);
}

#[test]
fn robust_mutex() {
    survives_the_meter("pthread/robust", &[]);
}

#[test]
fn rwlock() {
    survives_the_meter("pthread/rwlock", &[]);
}

#[test]
fn program_gets_every_key_under_its_number() {
    survives_the_meter("pthread/keys", &["POSIX"]);
    survives_the_meter("pthread/keys", &["C11"]);
}

#[test]
fn condition() {
    survives_the_meter("pthread/condition", &[]);
}

#[test]
fn spin() {
    survives_the_meter("pthread/spin", &[]);
}

#[test]
fn barrier() {
    survives_the_meter("pthread/barrier", &[]);
}

#[test]
fn semaphore() {
    survives_the_meter("pthread/semaphore", &[]);
}

#[test]
fn threads_of_c11() {
    survives_the_meter("pthread/c11", &[]);
}

#[test]
fn locks_of_cpp() {
    survives_the_meter("pthread/cpp", &[]);
}

/// An allocator takes locks of its own, in the middle of everything, before everything, and at each thread's end.
fn beside_an_allocator(library: &str, package: &str) {
    let Some(allocator) = shared_library(library) else {
        return skip(library, &format!("there is no {library}; install {package}"));
    };
    let first = |run: Run| run.preload_before(&allocator);
    let last = |run: Run| run.also_preload(&allocator);
    for source in ["pthread/c11", "pthread/cpp", "pthread/processes", "pthread/threads"] {
        let Some(program) = build(source) else { return };
        let run = |world| Run::new(program.path(), world);
        let bare = last(run(World::Bare)).output();
        assert!(bare.status.success(), "{source} fails beside {library}:\n{bare}");
        for (order, with_allocator) in [("first", &first as &dyn Fn(Run) -> Run), ("last", &last)] {
            let recorder = Recorder::create(Level::Full);
            let metered = with_allocator(run(World::Kernel).record(&recorder)).output();
            assert_same(source, format!("metered, {library} {order}"), &bare, &metered);
        }
    }
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn beside_jemalloc() {
    beside_an_allocator("libjemalloc.so.2", "libjemalloc2");
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn beside_tcmalloc() {
    beside_an_allocator("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4");
}

/// Check of the gate: it must fail for a lock that gives the wrong reason.
#[test]
#[should_panic(expected = "here:   trylock own: EAGAIN")]
fn a_wrong_answer_is_noticed() {
    let (Some(program), Some(wrong)) = (build("pthread/mutex"), build_library("pthread/wrong")) else {
        panic!("not tried without a compiler, instead of: here:   trylock own: EAGAIN");
    };
    let bare = Run::new(program.path(), World::Bare).output();
    let other = Run::new(program.path(), World::Bare).preload_before(wrong.path()).output();
    assert_same("mutex", "with a wrong lock", &bare, &other);
}
