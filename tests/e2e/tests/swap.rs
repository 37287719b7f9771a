//! A program whose mutexes are replaced answers what it answers without.
//!
//! The programs of the meter's conformance, under every kind; glibc, alone, is the oracle.

use unspin_e2e::survives_replacement;
use unspin_locks::Kind;

#[test]
fn mutex() {
    survives_replacement("pthread/mutex", &[], &Kind::ALL);
}

#[test]
fn robust_mutex() {
    survives_replacement("pthread/robust", &[], &[Kind::Adaptive, Kind::RtAdaptive]);
}

#[test]
fn condition() {
    survives_replacement("pthread/condition", &[], &Kind::ALL);
}

#[test]
fn threads_of_c11() {
    survives_replacement("pthread/c11", &[], &Kind::ALL);
}

#[test]
fn locks_of_cpp() {
    survives_replacement("pthread/cpp", &[], &Kind::ALL);
}
