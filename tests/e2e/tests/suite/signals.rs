//! Signal handlers of the program behave as without the trampolines.

use unspin_e2e::{conforms, survives_the_meter};

#[test]
fn dispositions() {
    conforms("dispositions", &[]);
}

/// Of a metered program SIGBUS alone has a trampoline.
#[test]
fn dispositions_of_a_metered_program() {
    survives_the_meter("dispositions", &[]);
}

#[test]
fn delivery() {
    conforms("delivery", &[]);
}

#[test]
fn handlers_and_semop() {
    conforms("handlers", &[]);
}

#[test]
fn deaths() {
    conforms("deaths", &[]);
}
