//! Code whose calls bypass the hooks shares mutexes and conditions with the program.

use unspin_e2e::{build_library, survives_polling, survives_replacement, survives_the_meter};
use unspin_locks::LockKind;

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

#[test]
fn functions_are_found_by_their_versions() {
    survives_the_meter("pthread/versions", &[]);
    survives_replacement("pthread/versions", &[], &KINDS);
    survives_polling("pthread/versions", &[]);
}
