//! Other code between the program and libc: a plugin whose calls bypass the hooks shares mutexes and conditions with the
//! program; a library that wraps the lock functions sees each call.

use std::path::Path;
use unspin_e2e::{
    Run, WaitMode, World, assert_same, build, build_library, compile, find_tool, scratch, shared_library,
    skip, survives_polling, survives_replacement, survives_the_meter,
};
use unspin_locks::{LockKind, RwLockKind};

/// A lock for each way in which threads wait: those that sleep and spin, those in a queue, and libc's own.
const KINDS: [LockKind; 4] = [LockKind::Adaptive, LockKind::Fair, LockKind::RtSteal, LockKind::Pi];

fn survives(how: &str) {
    let Some(plugin) = build_library("pthread/deep_plugin") else { return };
    let args = [plugin.path().to_str().expect("scratch paths are UTF-8"), how];
    survives_the_meter("pthread/deep_bind", &args);
    survives_replacement("pthread/deep_bind", &args, &KINDS);
    survives_polling("pthread/deep_bind", &args);
}

#[test]
fn plugin_bound_to_libc_shares_a_mutex_and_a_condition() {
    survives("deep");
}

#[test]
fn plugin_in_a_namespace_of_its_own_shares_a_mutex_and_a_condition() {
    survives("apart");
}

#[test]
fn thread_that_waits_while_the_plugin_is_loaded_is_signalled_by_it() {
    survives("deep in a wait");
}

/// A read-write lock that the program uses before, while and after it loads the plugin.
fn survives_with_read_write_locks(how: &str) {
    let (Some(program), Some(plugin)) =
        (build("pthread/rwlock_deep_bind"), build_library("pthread/rwlock_plugin"))
    else {
        return;
    };
    let plugin = plugin.path().to_str().expect("scratch paths are UTF-8");
    let run = |world| Run::new(program.path(), world).args([plugin, how]);
    let bare = run(World::Bare).output();
    assert!(bare.stdout.contains("with the plugin: 12000, torn 0"), "{bare}");
    for kind in RwLockKind::ALL {
        let replaced = run(World::Kernel).mutexes(&format!("rwlock\t{kind}\tall")).output();
        assert_same("rwlock_deep_bind", kind, &bare, &replaced);
    }
}

#[test]
fn plugin_bound_to_libc_shares_a_read_write_lock() {
    survives_with_read_write_locks("deep");
}

#[test]
fn plugin_in_a_namespace_of_its_own_shares_a_read_write_lock() {
    survives_with_read_write_locks("apart");
}

/// It has released its mutex and is not yet in libc's wait when the hooks give up.
#[test]
fn thread_about_to_wait_for_a_shared_condition_is_woken() {
    for signals in ["through the hook", "bypassing"] {
        survives_replacement("pthread/between", &[signals], &KINDS);
    }
}

/// The way in which `taken.c` finds libc's functions.
fn survives_lookup(how: &str) {
    survives_lookup_beside("pthread/next_plugin", how);
}

fn survives_lookup_beside(plugin: &str, how: &str) {
    let Some(plugin) = build_library(plugin) else { return };
    let args = [how, plugin.path().to_str().expect("scratch paths are UTF-8")];
    survives_the_meter("pthread/taken", &args);
    survives_replacement("pthread/taken", &args, &KINDS);
    survives_polling("pthread/taken", &args);
}

#[test]
fn functions_from_a_handle_of_libc_share_a_mutex_and_a_condition() {
    survives_lookup("handle");
}

#[test]
fn functions_that_are_looked_up_while_the_mutex_is_held_share_it() {
    survives_lookup_beside("pthread/local_plugin", "held");
}

#[test]
fn functions_are_looked_up_while_a_plugin_is_closed() {
    survives_lookup("closing");
}

#[test]
fn programs_own_wait_finds_libcs_while_the_mutex_is_held() {
    survives_replacement("pthread/own_wait", &[], &KINDS);
    survives_polling("pthread/own_wait", &[]);
}

#[test]
fn functions_of_an_old_version_share_a_mutex() {
    survives_lookup("old");
}

#[test]
fn functions_next_to_a_plugin_share_a_mutex_and_a_condition() {
    survives_lookup("next");
}

#[test]
fn lookups_of_other_functions_find_the_same() {
    survives_lookup("others");
}

/// A foreign-function interface has a handle of libc, and one of the program.
#[test]
fn python_signals_by_a_handle_of_libc() {
    const PROGRAM: &str = "
import ctypes, threading
program, libc = ctypes.CDLL(None), ctypes.CDLL('libc.so.6')
mutex, condition = ctypes.create_string_buffer(40), ctypes.create_string_buffer(48)
turn = [0]
def take_turns(me, functions):
    for i in range(100):
        program.pthread_mutex_lock(mutex)
        while turn[0] != me: functions.pthread_cond_wait(condition, mutex)
        turn[0] = 1 - me
        functions.pthread_cond_signal(condition)
        program.pthread_mutex_unlock(mutex)
threads = [threading.Thread(target=take_turns, args=a) for a in ((0, program), (1, libc))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print('turns taken')
";
    let Some(python) = find_tool("python3") else {
        return skip("a condition used by ctypes", "there is no python3");
    };
    let run = |world| Run::new(&python, world).args(["-c", PROGRAM]);
    let bare = run(World::Bare).output();
    assert_eq!(bare.stdout, "turns taken\n", "{bare}");
    for kind in KINDS {
        let replaced = run(World::Kernel).mutexes(&format!("{kind}\tall")).output();
        assert_same("python", kind, &bare, &replaced);
    }
    assert_same("python", "polling", &bare, &run(World::Kernel).waits(WaitMode::Forced).output());
}

#[test]
fn mutexes_that_libc_takes_over_check_their_owners_and_are_released() {
    survives_replacement("pthread/deep_types", &[], &KINDS);
}

#[test]
fn functions_are_found_by_their_versions() {
    survives_the_meter("pthread/versions", &[]);
    survives_replacement("pthread/versions", &[], &KINDS);
    survives_polling("pthread/versions", &[]);
}

#[test]
fn library_that_wraps_lock_functions_sees_each_call() {
    let (Some(program), Some(wrapper)) = (build("pthread/wrapped"), build_library("pthread/lock_wrapper"))
    else {
        return;
    };
    let behind = |world| Run::new(program.path(), world).also_preload(wrapper.path());
    let before = |world| Run::new(program.path(), world).preload_before(wrapper.path());
    let bare = behind(World::Bare).output();
    assert_eq!(bare.stdout, "locks: 10\nwait: ETIMEDOUT, calls: 12\nsignal: 14\n", "{bare}");
    assert_same("wrapped", "the control", &bare, &behind(World::Kernel).output());
    for kind in KINDS {
        let plan = format!("{kind}\tall");
        let outcomes = [behind(World::Kernel), before(World::Kernel)].map(|run| run.mutexes(&plan).output());
        outcomes.iter().for_each(|outcome| assert_same("wrapped", kind, &bare, outcome));
    }
    for waits in WaitMode::ALL {
        let outcomes = [behind(World::Kernel), before(World::Kernel)].map(|run| run.waits(waits).output());
        outcomes.iter().for_each(|outcome| assert_same("wrapped", waits, &bare, outcome));
    }
}

/// ThreadSanitizer reports a race, and its exit code says so, if it does not see that a mutex or a barrier was used.
#[test]
fn thread_sanitizer_reports_no_race_that_is_none() {
    let program = scratch();
    let program = program.path().join("races");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/pthread/races.c");
    if shared_library("libtsan.so.2").is_none() {
        return skip("races under ThreadSanitizer", "there is no libtsan; install it with the compiler");
    }
    if !compile(&source, &["-O1", "-g", "-pthread", "-fsanitize=thread"], &program) {
        return;
    }
    let run = |world| Run::new(&program, world);
    let bare = run(World::Bare).output();
    assert_eq!(bare.stdout, "counter 400\n", "{bare}");
    for kind in [LockKind::Adaptive, LockKind::Steal, LockKind::Fair] {
        let replaced = run(World::Kernel).mutexes(&format!("{kind}\tall")).output();
        assert_same("races", kind, &bare, &replaced);
    }
    assert_same("races", "polling", &bare, &run(World::Kernel).waits(WaitMode::Forced).output());
}
