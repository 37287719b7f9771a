//! A sleeper is served by other threads after each single instruction of its periodic check.

use crate::every_instruction::sets::{Holder, ctl, op, set, undoable, values};
use crate::every_instruction::stepping::{End, ONE, finish, follow, ignore, moments, start};
use unspin_sys::ipc::flag;
use unspin_sysv::{Engine, Kind, Options};

/// Lets a stopped child go on to its end.
fn go_on(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `child` is ours, stopped by us, and has not been reaped; no signal is passed on.
    unsafe {
        libc::ptrace(libc::PTRACE_CONT, child, 0, 0);
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
    }
    status
}

/// The number of steps from a sleeper's periodic check until it sleeps again. It is served after `steps` of them.
///
/// The sleeper waits on one set. Its periodic check finds a dead waiter of another set, and recovers it. It also finds
/// a dead process that has adjustments for that set. So it changes three semaphores there, while the thread that serves
/// it holds another lock.
fn served(engine: &Engine, steps: usize) -> usize {
    let (here, there) = (set(engine), set(engine));
    engine.semop_ops(there, &[op(0, 5), op(1, 5)]).unwrap();
    let holder = Holder::of(engine, there, &[undoable(0, -1), undoable(1, -2), undoable(2, 3)]);
    let sleeper = start(engine, here, &|| ignore(engine.semop_ops(here, &[op(0, -1)])));
    let waiter = start(engine, there, &|| ignore(engine.semop_ops(there, &[op(0, -9)])));
    assert!(matches!(follow(waiter, 1 << 20), End::Asleep(_)), "there is not so much");
    finish(waiter, &End::Killed);
    // A thread that counts the waiters finds this one dead, and leaves its recovery to others.
    assert_eq!(ctl(engine, there, 0, flag::GETNCNT, 0), Ok(0));
    holder.kill();
    assert!(matches!(follow(sleeper, 1 << 20), End::Asleep(_)), "the token is to come");
    let end = follow(sleeper, steps);
    if end == End::Killed {
        engine.semop_ops(here, &[op(0, 1)]).unwrap();
        assert_eq!(go_on(sleeper), 0, "it is served after {steps} steps");
    } else {
        finish(sleeper, &end);
    }
    assert_eq!(values(engine, there), [5, 5, 0], "{end:?} after {steps} steps");
    [here, there].into_iter().for_each(|id| ignore(ctl(engine, id, 0, flag::IPC_RMID, 0)));
    match end {
        End::Asleep(taken) => taken,
        _ => steps,
    }
}

#[test]
fn waiter_that_recovers_dead_is_served_meanwhile() {
    let _one = ONE.lock().unwrap_or_else(|poison| poison.into_inner());
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    // With one lock for all objects no waiter is served meanwhile.
    let engine = &Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
    let total = served(engine, 1 << 20);
    eprintln!("{total} instructions");
    moments(total).into_iter().for_each(|steps| ignore(served(engine, steps)));
}
