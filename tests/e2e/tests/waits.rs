//! Every wait answers behind the preload what it answers without, whether its thread polls first or sleeps at once.
//!
//! One program per rule; each goes through all waits that the rule concerns. The kernel and glibc are the oracle.

use unspin_e2e::survives_polling;

#[test]
fn ended_at_any_moment_answers_the_same() {
    survives_polling("waits/ends", &["2"]);
}

#[test]
fn signal_at_any_moment_interrupts_or_restarts() {
    survives_polling("waits/interrupted", &[]);
}
