//! Programs that fork, exec, start threads early, bring another allocator, change their user.

use unspin_e2e::{Run, World, assert_same, build, build_library, conforms, shared_library, size, skip};

#[test]
fn processes_and_threads() {
    let Some(library) = build_library("early") else { return };
    conforms("life", &[library.path().to_str().expect("scratch paths are UTF-8")]);
}

#[test]
fn what_is_passed_on() {
    conforms("others", &[]);
}

/// The constructor of a library that is loaded after ours runs before ours.
#[test]
fn a_constructor_that_is_earlier_than_ours() {
    let (Some(library), Some(program)) = (build_library("early"), build("semop")) else { return };
    let run = |world| Run::new(program.path(), world).also_preload(library.path()).output();
    let kernel = run(World::Bare);
    for world in World::PRELOADED {
        for _ in 0..5 {
            assert_same("semop with an early library", world, &kernel, &run(world));
        }
    }
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn beside_another_allocator() {
    let Some(jemalloc) = shared_library("libjemalloc.so.2") else {
        return skip("beside_another_allocator", "there is no libjemalloc.so.2; install libjemalloc2");
    };
    let Some(early) = build_library("early") else { return };
    for source in ["semop", "sleeping", "handlers", "others", "life"] {
        let Some(program) = build(source) else { return };
        let kernel = Run::new(program.path(), World::Bare).output();
        for world in World::PRELOADED {
            let run = Run::new(program.path(), world).also_preload(&jemalloc).also_preload(early.path());
            assert_same(source, world, &kernel, &run.output());
        }
    }
}

/// Grants to a crowd of dead waiters, a handler between the halves of a call, cancellation, a file size limit.
#[test]
fn crowds_of_the_dead_and_handlers_in_between() {
    // How many signals interrupt a process.
    conforms("crowd", size(&["20000"], &["200000"]));
}
