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

#[test]
fn cancellation_at_any_moment_ends_the_thread_at_cancellation_points() {
    survives_polling("waits/cancelled", &[]);
}

#[test]
fn jump_out_of_a_handler_leaves_the_wait_usable() {
    survives_polling("waits/jumps", &[]);
}

#[test]
fn mask_opens_and_blocks_signals_during_the_wait() {
    survives_polling("waits/masks", &[]);
}

#[test]
fn limit_is_never_cut_short() {
    survives_polling("waits/limits", &[]);
}

#[test]
fn invalid_arguments_are_refused_alike() {
    survives_polling("waits/arguments", &[]);
}

#[test]
fn short_reads_ends_and_flags_are_alike() {
    survives_polling("waits/streams", &[]);
}
