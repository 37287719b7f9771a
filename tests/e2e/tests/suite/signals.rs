//! Signal handlers of the program behave as without the trampolines.

use unspin_e2e::conforms;

#[test]
fn dispositions() {
    conforms("dispositions", &[]);
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
