//! Sets: an operation has happened or it has not, and so have making and removing.

use crate::every_instruction::sets::{ctl, op, set, values, waiter};
use crate::every_instruction::stepping::{ONE, each_moment, engines, ignore, length, moments, step};
use std::sync::Mutex;
use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::{Engine, Kind, Options};

#[test]
fn sigkill_in_semop_vector_applies_all_or_nothing() {
    engines(|engine| {
        each_moment(
            engine,
            |id| ignore(engine.semop_ops(id, &[op(0, 2), op(1, 3), op(2, 4), op(0, 1)])),
            |_| {},
            |id, steps| {
                let now = values(engine, id);
                assert!(now == [0, 0, 0] || now == [3, 3, 4], "{now:?} after {steps} steps");
                engine.semop_ops(id, &[op(0, 1), op(1, 1)]).unwrap();
            },
        );
    });
}

#[test]
fn setall_is_all_or_nothing() {
    engines(|engine| {
        let all = [7u16, 8, 9];
        each_moment(
            engine,
            |id| ignore(ctl(engine, id, 0, flag::SETALL, all.as_ptr() as usize)),
            |_| {},
            |id, steps| {
                let now = values(engine, id);
                assert!(now == [0, 0, 0] || now == [7, 8, 9], "{now:?} after {steps} steps");
            },
        );
    });
}

/// The poster dies. Either the waiter has the token, or it still waits and gets the next one.
#[test]
fn sigkill_of_poster_leaves_waiter_served_or_queued() {
    static WANTS: [Sembuf; 2] =
        [Sembuf { sem_num: 0, sem_op: -1, sem_flg: 0 }, Sembuf { sem_num: 1, sem_op: -1, sem_flg: 0 }];
    engines(|engine| {
        let waiting = Mutex::new(None);
        each_moment(
            engine,
            |id| ignore(engine.semop_ops(id, &[op(0, 1), op(1, 1)])),
            |id| *waiting.lock().unwrap() = Some(waiter(engine, id, &WANTS)),
            |id, steps| {
                let waits = ctl(engine, id, 0, flag::GETNCNT, 0).unwrap() == 1;
                assert_eq!(values(engine, id), [0, 0, 0], "nothing is left over after {steps} steps");
                if waits {
                    engine.semop_ops(id, &[op(0, 1), op(1, 1)]).unwrap();
                }
                let waiter = waiting.lock().unwrap().take().unwrap();
                assert_eq!(waiter.join().unwrap(), Ok(()), "after {steps} steps");
                assert_eq!(values(engine, id), [0, 0, 0], "one token each, after {steps} steps");
            },
        );
    });
}

/// A waiter dies on its way into the queue or out of it (by a timeout): no other thread is kept from the token.
#[test]
fn sigkill_of_waiter_leaves_queue_linked() {
    engines(|engine| {
        each_moment(
            engine,
            |id| {
                let (ops, timeout) = ([op(2, -1)], [0i64, 200_000]);
                // SAFETY: both addresses are live arrays in C's layout.
                ignore(unsafe { engine.semtimedop(id, ops.as_ptr() as usize, 1, timeout.as_ptr() as usize) });
            },
            |_| {},
            |id, steps| {
                engine.semop_ops(id, &[op(2, 1)]).unwrap();
                assert_eq!(values(engine, id), [0, 0, 1], "the dead took nothing, after {steps} steps");
                assert_eq!(ctl(engine, id, 2, flag::GETNCNT, 0), Ok(0), "after {steps} steps");
            },
        );
    });
}

/// Adding and removing sets, with growth of the table: every set is there or not, and the counts are right.
#[test]
fn sigkill_in_semget_keeps_registry_consistent() {
    engines(|engine| {
        let sets = || {
            let mut info = unspin_sys::ipc::Seminfo::default();
            ctl(engine, 0, 0, flag::SEM_INFO, &raw mut info as usize).unwrap();
            (info.semusz, info.semaem)
        };
        each_moment(
            engine,
            |_| {
                if let Ok(id) = engine.semget(0xBEEF, 2, flag::IPC_CREAT | 0o600) {
                    let _ = ctl(engine, id, 0, flag::IPC_RMID, 0);
                }
            },
            |_| {},
            |_, steps| {
                engine.recover_dead().unwrap();
                let (count, sems) = sets();
                let left = engine.semget(0xBEEF, 0, 0);
                let there = left.is_ok() as i32;
                assert_eq!((count, sems), (1 + there, 3 + 2 * there), "after {steps} steps");
                let id = engine.semget(0xBEEF, 2, flag::IPC_CREAT | 0o600).unwrap();
                assert!(left.is_err() || left == Ok(id), "after {steps} steps");
                ctl(engine, id, 0, flag::IPC_RMID, 0).unwrap();
                assert_eq!(engine.semget(0xBEEF, 0, 0), Err(Errno::ENOENT), "after {steps} steps");
            },
        );
    });
}

/// The process that removes the set dies. Either the set exists and works, or it is gone and its waiter has been told.
#[test]
fn sigkill_in_semctl_rmid_removes_set_or_not() {
    static WANTS: [Sembuf; 1] = [Sembuf { sem_num: 1, sem_op: -1, sem_flg: 0 }];
    let _one = ONE.lock().unwrap_or_else(|poison| poison.into_inner());
    for kind in Kind::IN_ARENAS {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let engine = &Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let id = set(engine);
        let total = length(engine, id, &|| ignore(ctl(engine, id, 0, flag::IPC_RMID, 0)));
        for steps in moments(total) {
            let id = set(engine);
            let waiter = waiter(engine, id, &WANTS);
            step(engine, id, steps, &|| ignore(ctl(engine, id, 0, flag::IPC_RMID, 0)));
            engine.recover_dead().unwrap();
            match engine.semop_ops(id, &[op(1, 1)]) {
                Ok(()) => {
                    assert_eq!(waiter.join().unwrap(), Ok(()), "{kind}, after {steps} steps");
                    ctl(engine, id, 0, flag::IPC_RMID, 0).unwrap();
                }
                Err(errno) => {
                    assert_eq!(errno, Errno::EINVAL, "{kind}, after {steps} steps");
                    assert_eq!(waiter.join().unwrap(), Err(Errno::EIDRM), "{kind}, after {steps} steps");
                }
            }
        }
    }
}
