//! SEM_UNDO: the operations of a dead process are undone completely and once.

use crate::every_instruction::sets::{Holder, ctl, op, set, undoable, values};
use crate::every_instruction::stepping::{
    End, each_moment, engines, finish, follow, follow_while_it_naps, ignore, moments, start,
};
use std::sync::Mutex;
use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::Engine;

/// Operations with SEM_UNDO are undone, at whatever instruction the process dies. Operations without it have happened
/// entirely or not at all.
#[test]
fn sigkill_in_semop_with_undo_undoes_whole_operation() {
    engines(|engine| {
        each_moment(
            engine,
            |id| {
                ignore(engine.semop_ops(id, &[undoable(0, 2), op(1, 3), undoable(2, -4), undoable(0, 1)]));
                ignore(engine.semop_ops(id, &[undoable(0, -1)]));
                // The path of one operation of a process that has a record of adjustments.
                for op in [undoable(0, -1), undoable(0, 1)] {
                    // SAFETY: the address of a live operation.
                    ignore(unsafe { engine.semop(id, &raw const op as usize, 1) });
                }
            },
            |id| engine.semop_ops(id, &[op(2, 4)]).unwrap(),
            |id, steps| {
                let now = values(engine, id);
                assert!(now == [0, 0, 4] || now == [0, 3, 4], "{now:?} after {steps} steps");
            },
        );
    });
}

/// The thread that applies the adjustments of a dead process dies as well: the next thread finds them applied exactly
/// once.
#[test]
fn sigkill_of_thread_applying_undo_leaves_undo_complete() {
    engines(|engine| {
        each_moment(
            engine,
            |id| ignore(ctl(engine, id, 0, flag::GETVAL, 0)),
            |id| {
                engine.semop_ops(id, &[op(0, 5), op(1, 5)]).unwrap();
                let taken = [undoable(0, -1), undoable(1, -2), undoable(2, 3)];
                Holder::of(engine, id, &taken).kill();
            },
            |id, steps| assert_eq!(values(engine, id), [5, 5, 0], "after {steps} steps"),
        );
    });
}

/// The number of steps of a sleeper from its wake-up by the death of the holder it waits for, until it is killed or its
/// call ends.
fn awakened(engine: &Engine, steps: usize) -> usize {
    let id = set(engine);
    engine.semop_ops(id, &[op(0, 1), op(1, 5)]).unwrap();
    let holder = Holder::of(engine, id, &[undoable(0, -1), undoable(1, -2), undoable(2, 3)]);
    let sleeper = start(engine, id, &|| ignore(engine.semop_ops(id, &[undoable(0, -1)])));
    assert!(matches!(follow(sleeper, 1 << 20), End::Asleep(_)), "the token is taken");
    holder.kill();
    let end = follow_while_it_naps(sleeper, steps);
    finish(sleeper, &end);
    assert_eq!(values(engine, id), [1, 5, 0], "{end:?} after {steps} steps");
    ctl(engine, id, 0, flag::IPC_RMID, 0).unwrap();
    match end {
        End::Finished(taken) => taken,
        End::Killed => steps,
        End::Asleep(_) => unreachable!("the token is its own, or on its way"),
    }
}

/// A sleeper that is woken by a death applies the adjustments and serves itself. It may die at each instruction of
/// that, too.
#[test]
fn sigkill_of_waiter_applying_undo_leaves_undo_complete() {
    engines(|engine| {
        let total = awakened(engine, 1 << 20);
        eprintln!("{total} instructions");
        // Half as many as elsewhere: each sleeper has to fall asleep first.
        moments(total).into_iter().step_by(2).for_each(|steps| ignore(awakened(engine, steps)));
    });
}

/// SETVAL and SETALL write a value and drop the adjustments for it, or do neither.
#[test]
fn sigkill_in_setval_drops_adjustments_or_changes_nothing() {
    static NEW: [u16; 3] = [7, 8, 9];
    engines(|engine| {
        for (command, arg) in [(flag::SETVAL, 7), (flag::SETALL, NEW.as_ptr() as usize)] {
            let holder = Mutex::new(None);
            each_moment(
                engine,
                |id| ignore(ctl(engine, id, 0, command, arg)),
                |id| {
                    let held = Holder::of(engine, id, &[undoable(0, 2), undoable(1, 3)]);
                    if let Some(last) = holder.lock().unwrap().replace(held) {
                        last.kill();
                    }
                },
                |id, steps| {
                    let before = values(engine, id);
                    holder.lock().unwrap().take().unwrap().kill();
                    let now = values(engine, id);
                    let happened = before[0] == 7;
                    let expected = match (happened, command == flag::SETALL) {
                        (false, _) => [0, 0, 0],
                        (true, false) => [7, 0, 0],
                        (true, true) => [7, 8, 9],
                    };
                    assert_eq!(now, expected, "{before:?} before, after {steps} steps");
                },
            );
        }
    });
}

/// A poster dies while it grants an operation with SEM_UNDO: the waiter's adjustment goes with the grant.
#[test]
fn grant_changes_adjustment_of_waiter() {
    static WANTS: [Sembuf; 2] = [
        Sembuf { sem_num: 0, sem_op: -1, sem_flg: flag::SEM_UNDO as i16 },
        Sembuf { sem_num: 1, sem_op: -1, sem_flg: 0 },
    ];
    engines(|engine| {
        let waiting = Mutex::new(None);
        each_moment(
            engine,
            |id| ignore(engine.semop_ops(id, &[op(0, 1), op(1, 1)])),
            |id| {
                // SAFETY: the child makes calls of the engine and plain system calls only, and never returns.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let done = engine.semop_ops(id, &WANTS);
                    // SAFETY: ends the child.
                    unsafe { libc::_exit(i32::from(done.is_err())) };
                }
                while ctl(engine, id, 0, flag::GETNCNT, 0).unwrap() == 0 {
                    std::thread::yield_now();
                }
                if let Some(last) = waiting.lock().unwrap().replace(child) {
                    Holder { pid: last }.kill();
                }
            },
            |id, steps| {
                if ctl(engine, id, 0, flag::GETNCNT, 0).unwrap() == 1 {
                    engine.semop_ops(id, &[op(0, 1), op(1, 1)]).unwrap();
                }
                let child = waiting.lock().unwrap().take().unwrap();
                let mut status = 0;
                // SAFETY: our child, a live int.
                assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
                assert_eq!(status, 0, "after {steps} steps");
                assert_eq!(values(engine, id), [1, 0, 0], "one token is back, after {steps} steps");
            },
        );
    });
}
