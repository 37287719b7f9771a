//! The rows of the semantics, on the kernel and on each engine.
//!
//! One program per section of the specification; each prints one line per row.

use unspin_e2e::{Run, World, assert_same, build, build_library, conforms};

#[test]
fn semget() {
    conforms("semget", &[]);
}

#[test]
fn program_gets_every_key_under_its_number() {
    conforms("pthread/keys", &["POSIX"]);
    conforms("pthread/keys", &["C11"]);
}

#[test]
fn new_object_gets_the_id_that_is_set() {
    conforms("next_id", &[]);
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
fn undo() {
    conforms("undo", &[]);
}

#[test]
fn handler_that_forks_during_semop_leaves_adjustments_to_each_process() {
    conforms("undo_fork", &[]);
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
fn capabilities() {
    conforms("capabilities", &[]);
}

#[test]
fn limits() {
    conforms("limits", &[]);
}

#[test]
fn faults() {
    conforms("faults", &[]);
}

#[test]
fn msgget() {
    conforms("msgget", &[]);
}

#[test]
fn messages() {
    conforms("messages", &[]);
}

#[test]
fn msgwait() {
    conforms("msgwait", &[]);
}

#[test]
fn msgrules() {
    conforms("msgrules", &[]);
}

#[test]
fn msgcancel() {
    conforms("msgcancel", &[]);
}

#[test]
fn asynchronous_cancellation() {
    conforms("asynccancel", &[]);
}

#[test]
fn roads() {
    conforms("roads", &[]);
}

#[test]
fn shmget() {
    conforms("shmget", &[]);
}

#[test]
fn shmat() {
    conforms("shmat", &[]);
}

#[test]
fn shmctl() {
    conforms("shmctl", &[]);
}

#[test]
fn shared_memory_lives() {
    conforms("shmlife", &[]);
}

#[test]
fn shared_memory_permissions() {
    conforms("shmperm", &[]);
}

#[test]
fn proc() {
    conforms("proc", &[]);
}

#[test]
fn namespaces() {
    conforms("namespaces", &[]);
}

/// Check of the gate: it must fail for an engine with one wrong errno.
#[test]
#[should_panic(expected = "here:   index too large: -1 EINVAL")]
fn a_wrong_errno_is_noticed() {
    let (Some(program), Some(wrong)) = (build("semop"), build_library("wrong")) else {
        panic!("not tried without a compiler, instead of: here:   index too large: -1 EINVAL");
    };
    let kernel = Run::new(program.path(), World::Bare).output();
    let other = Run::new(program.path(), World::Bare).preload_before(wrong.path()).output();
    assert_same("semop", World::Bare, &kernel, &other);
}

/// A wrong errno of a message queue's call is noticed.
#[test]
#[should_panic(expected = "here:   too large: -1 ENOMSG")]
fn a_wrong_errno_of_messages_is_noticed() {
    let (Some(program), Some(wrong)) = (build("messages"), build_library("wrong")) else {
        panic!("not tried without a compiler, instead of: here:   too large: -1 ENOMSG");
    };
    let kernel = Run::new(program.path(), World::Bare).output();
    let other = Run::new(program.path(), World::Bare).preload_before(wrong.path()).output();
    assert_same("messages", World::Bare, &kernel, &other);
}
