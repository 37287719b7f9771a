//! Every wait answers behind the preload what it answers without, whether its thread polls first or sleeps at once.
//!
//! One program per rule; each goes through all waits that the rule concerns. The kernel and glibc are the oracle.

use unspin_e2e::{has_landing_pads, size, survives_polling};

#[test]
fn ended_at_any_moment_answers_the_same() {
    // Rounds, each of which tries every moment.
    survives_polling("waits/ends", size(&["1"], &["2"]));
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
    // Rounds, each of which tries every moment.
    survives_polling("waits/jumps", size(&["1"], &["4"]));
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

#[test]
fn event_of_a_shared_set_is_reported_once() {
    survives_polling("waits/sets", &[]);
}

#[test]
fn descriptor_closed_during_the_wait_is_seen_as_by_the_kernel() {
    survives_polling("waits/closed", &[]);
}

#[test]
fn barrier_has_one_serial_thread_and_may_be_destroyed_at_once() {
    survives_polling("waits/barriers", &[]);
}

#[test]
fn mutex_of_every_type_is_given_to_one_and_outlives_its_owner() {
    survives_polling("waits/mutexes", &[]);
}

#[test]
fn thread_that_is_cancelled_while_it_is_woken_returns_or_is_cancelled() {
    survives_polling("waits/raced", &[]);
}

#[test]
fn handler_may_end_its_thread_in_any_call() {
    // Then the hooks of signal(3) have functions in between that must not be unwound.
    survives_polling("waits/departs", if has_landing_pads() { &["5"] } else { &["7"] });
}

#[test]
fn join_yields_the_value_of_the_thread() {
    survives_polling("waits/joins", &[]);
}

#[test]
fn sleeping_waiters_are_woken_in_order() {
    survives_polling("waits/order", &[]);
}

#[test]
fn futex_wakes_moves_and_times_out_alike() {
    survives_polling("waits/futexes", &[]);
}

#[test]
fn objects_are_shared_with_processes_that_sleep_at_once() {
    survives_polling("waits/shared", &[]);
}

#[test]
fn fork_and_exec_during_polls_leave_waits_usable() {
    survives_polling("waits/forks", &[]);
}

#[test]
fn sandbox_of_one_call_is_not_left() {
    survives_polling("waits/sandboxed", &["prctl", "kills"]);
}

#[test]
fn sandbox_installed_through_syscall_is_not_left() {
    survives_polling("waits/sandboxed", &["syscall", "fails"]);
}
