//! The rows of the semantics, on the kernel and on each engine.
//!
//! One program per section of the specification; each prints one line per row.

use unspin_e2e::conforms;

#[test]
fn semget() {
    conforms("semget", &[]);
}

#[test]
fn semop() {
    conforms("semop", &[]);
}

#[test]
fn sleeping() {
    conforms("sleeping", &[]);
}

#[test]
fn fairness() {
    conforms("fairness", &[]);
}

#[test]
fn semctl() {
    conforms("semctl", &[]);
}

#[test]
fn permissions() {
    conforms("permissions", &[]);
}

#[test]
fn limits() {
    conforms("limits", &[]);
}

#[test]
fn faults() {
    conforms("faults", &[]);
}
