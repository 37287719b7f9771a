//! Programs live and die under the meter as they do without.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use unspin_e2e::{
    LEVELS, Recorder, Run, WaitMode, World, assert_same, assert_same_metered, build, build_library,
    survives_the_meter,
};
use unspin_wire::{Config, Level};

#[test]
fn thousands_of_threads_and_their_ends() {
    survives_the_meter("pthread/threads", &[]);
}

#[test]
fn forks_and_other_programs() {
    survives_the_meter("pthread/processes", &[]);
}

#[test]
fn signal_handlers_and_odd_stacks() {
    survives_the_meter("pthread/handlers", &[]);
}

#[test]
fn child_of_a_handler_returns_into_the_hook() {
    survives_the_meter("pthread/handler_forks", &[]);
}

#[test]
fn plugins_come_and_go() {
    let Some(plugin) = build_library("pthread/plugin") else { return };
    survives_the_meter("pthread/plugins", &[plugin.path().to_str().expect("scratch paths are UTF-8")]);
}

#[test]
fn a_sandbox() {
    for threads in ["known", "new"] {
        for others in ["fails", "kills"] {
            for how in ["seccomp", "prctl"] {
                survives_the_meter("pthread/sandbox", &[threads, others, how]);
            }
        }
    }
}

/// The recording is a sparse file with gigabytes of room, which a program that locks all its memory must not fill.
#[test]
fn memory_is_locked_without_the_recording() {
    survives_the_meter("pthread/locked", &[]);
    let Some(program) = build("pthread/locked") else { return };
    let recorder = Recorder::create(Level::Full);
    let outcome = Run::new(program.path(), World::Kernel).record(&recorder).output();
    let bytes = 512 * std::fs::metadata(recorder.path()).expect("it is there").blocks();
    assert!(bytes < 16 << 20, "{bytes} bytes are in use: {outcome}");
    assert!(recorder.snapshot().total().attempts() > 800, "{outcome}");
}

/// A program that limits its address space means its own.
#[test]
fn address_space_is_limited_without_the_recording() {
    survives_the_meter("pthread/limited", &[]);
}

/// Records that do not fit are counted as dropped; the program goes on.
#[test]
fn a_recording_that_is_full() {
    for (source, pages) in [("pthread/condition", 8), ("pthread/condition", 50), ("pthread/processes", 100)] {
        let Some(program) = build(source) else { return };
        let bare = Run::new(program.path(), World::Bare).output();
        let recorder = Recorder::with(Config { bytes: pages * 4096, ..Config::default() });
        let metered = Run::new(program.path(), World::Kernel).record(&recorder).output();
        assert_same(source, format!("metered in {pages} pages"), &bare, &metered);
        assert!(!recorder.snapshot().unrecorded.is_nothing(), "{source} fits into {pages} pages");
    }
}

/// An access beyond the end of a mapped file raises SIGBUS. The program goes on, its own SIGBUS is its own, and a program
/// that it executes inherits that SIGBUS is ignored.
#[test]
fn a_recording_that_is_truncated() {
    let source = "pthread/shrinks";
    let Some(program) = build(source) else { return };
    let run = |world, left| Run::new(program.path(), world).args([left, "again"]);
    let bare = run(World::Bare, "0").output();
    assert_eq!(bare.status.code(), Some(7), "{bare}");
    for level in LEVELS {
        for left in ["0", "4096", "40000", "other"] {
            let recorder = Recorder::create(level);
            let whole = size(&recorder);
            let metered = run(World::Kernel, left).record(&recorder).output();
            assert_same(source, format!("metered at level {level}, {left} left"), &bare, &metered);
            assert!(size(&recorder) < whole, "{metered}");
        }
    }
    let recorder = Recorder::create(Level::Full);
    let polling = run(World::Kernel, "0").waits(WaitMode::Forced).record(&recorder).output();
    assert_same(source, "metered, with waits that poll", &bare, &polling);
    // Under an engine SIGBUS has the default action in a program that is executed.
    let run = |world| Run::new(program.path(), world).args(["0"]);
    let bare = run(World::Bare).output();
    for world in World::ENGINES {
        let recorder = Recorder::create(Level::Full);
        assert_same(source, format!("metered on {world}"), &bare, &run(world).record(&recorder).output());
    }
}

fn size(recorder: &Recorder) -> u64 {
    std::fs::metadata(recorder.path()).expect("it is there").len()
}

/// The constructor of a library that is loaded after ours runs before ours, and its destructor behind ours.
/// `counts_are_exact_beside_others` runs such a library at the other levels.
#[test]
fn a_library_that_is_there_earlier() {
    let Some(early) = build_library("pthread/early") else { return };
    for source in ["pthread/barrier", "pthread/spin", "pthread/threads", "pthread/processes", "pthread/cpp"] {
        let Some(program) = build(source) else { return };
        let run = |world| Run::new(program.path(), world).also_preload(early.path());
        let bare = run(World::Bare).output();
        assert!(bare.status.success() && !bare.stdout.is_empty(), "{bare}");
        assert_same(source, "unmetered", &bare, &run(World::Kernel).output());
        let recorder = Recorder::create(Level::Full);
        assert_same(source, "metered", &bare, &run(World::Kernel).record(&recorder).output());
    }
}

#[test]
fn every_ending() {
    let Some(program) = build("pthread/endings") else { return };
    for (how, code, signal) in [
        ("return", Some(10), None),
        ("_exit", Some(11), None),
        ("exit in a thread", Some(12), None),
        ("handled crash", Some(13), None),
        ("quick_exit", Some(14), None),
        ("pthread_exit", Some(0), None),
        ("abort", None, Some(libc::SIGABRT)),
        ("crash", None, Some(libc::SIGSEGV)),
        ("kill", None, Some(libc::SIGKILL)),
        ("term", None, Some(libc::SIGTERM)),
    ] {
        let bare = assert_same_metered(how, |world| Run::new(program.path(), world).args([how]));
        assert_eq!((bare.status.code(), bare.status.signal()), (code, signal), "{how}: {bare}");
    }
}
