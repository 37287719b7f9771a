//! Basic calls of an engine from one process.

use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::{Engine, Kind, Options};

fn op(sem_num: u16, sem_op: i16, sem_flg: i32) -> Sembuf {
    Sembuf { sem_num, sem_op, sem_flg: sem_flg as i16 }
}

fn engines() -> Vec<(tempfile::TempDir, Engine)> {
    Kind::IN_ARENAS
        .map(|kind| {
            let dir = tempfile::tempdir().unwrap();
            let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
            (dir, engine)
        })
        .into()
}

fn get(engine: &Engine, id: i32, sem: i32, cmd: i32) -> i32 {
    // SAFETY: these commands take no address.
    unsafe { engine.semctl(id, sem, cmd, 0) }.unwrap()
}

#[test]
fn typed_values_waiters_and_removal() {
    for (_dir, engine) in engines() {
        let id = engine.semget(flag::IPC_PRIVATE, 3, 0o600).unwrap();
        engine.semop_ops(id, &[op(0, 2, 0), op(1, 1, 0)]).unwrap();
        assert_eq!((get(&engine, id, 0, flag::GETVAL), get(&engine, id, 1, flag::GETVAL)), (2, 1));
        assert_eq!(engine.semop_ops(id, &[op(0, -3, flag::IPC_NOWAIT)]), Err(Errno::EAGAIN));
        let waiter = std::thread::spawn(move || engine.semop_ops(id, &[op(2, -1, 0)]));
        while get(&engine, id, 2, flag::GETNCNT) == 0 {
            std::thread::yield_now();
        }
        engine.semop_ops(id, &[op(2, 1, 0)]).unwrap();
        assert_eq!(get(&engine, id, 2, flag::GETVAL), 0, "handed over");
        assert_eq!(waiter.join().unwrap(), Ok(()));
        let waiter = std::thread::spawn(move || engine.semop_ops(id, &[op(1, 0, 0), op(2, -1, 0)]));
        while get(&engine, id, 1, flag::GETZCNT) == 0 {
            std::thread::yield_now();
        }
        engine.semop_ops(id, &[op(1, -1, 0)]).unwrap();
        assert_eq!((get(&engine, id, 1, flag::GETZCNT), get(&engine, id, 2, flag::GETNCNT)), (0, 1));
        get(&engine, id, 0, flag::IPC_RMID);
        assert_eq!(waiter.join().unwrap(), Err(Errno::EIDRM));
        assert_eq!(engine.semop_ops(id, &[op(0, 1, 0)]), Err(Errno::EINVAL));
    }
}

#[test]
fn creating_and_removing_many_sets_reuses_memory() {
    for (_dir, engine) in engines() {
        let mut seen = std::collections::HashSet::new();
        for round in 0..3 {
            let ids: Vec<i32> =
                (0..700).map(|i| engine.semget(1 + i, 5, flag::IPC_CREAT | 0o600).unwrap()).collect();
            for (i, &id) in ids.iter().enumerate() {
                assert!(seen.insert(id), "id {id} was seen before round {round}");
                assert_eq!(engine.semget(1 + i as i32, 5, 0), Ok(id));
                engine.semop_ops(id, &[op(4, i as i16, 0)]).unwrap();
            }
            for (i, &id) in ids.iter().enumerate() {
                assert_eq!(get(&engine, id, 4, flag::GETVAL), i as i32);
                get(&engine, id, 0, flag::IPC_RMID);
                assert_eq!(engine.semget(1 + i as i32, 0, 0), Err(Errno::ENOENT));
            }
        }
    }
}

#[test]
fn tokens_are_conserved() {
    for (_dir, engine) in engines() {
        let id = engine.semget(flag::IPC_PRIVATE, 2, 0o600).unwrap();
        engine.semop_ops(id, &[op(0, 2, 0)]).unwrap();
        let threads: Vec<_> = (0..6)
            .map(|_| {
                std::thread::spawn(move || {
                    for _ in 0..5_000 {
                        engine.semop_ops(id, &[op(0, -1, 0)]).unwrap();
                        engine.semop_ops(id, &[op(1, 1, 0), op(0, 1, 0)]).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        let values = (get(&engine, id, 0, flag::GETVAL), get(&engine, id, 1, flag::GETVAL));
        assert_eq!(values, (2, 30_000));
    }
}

/// More waiters than the list of wake-ups holds, some of them dead: dead waiters take no token.
#[test]
fn waiters_are_served_when_some_are_dead() {
    for (_dir, engine) in engines() {
        let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600).unwrap();
        let children: Vec<i32> = (0..24)
            .map(|_| {
                // SAFETY: the child makes one call of the engine and ends without returning into the harness.
                match unsafe { libc::fork() } {
                    0 => {
                        let done = engine.semop_ops(id, &[op(0, -1, 0)]);
                        // SAFETY: ends the child.
                        unsafe { libc::_exit(done.is_err() as i32) }
                    }
                    child => child,
                }
            })
            .collect();
        while get(&engine, id, 0, flag::GETNCNT) < 24 {
            std::thread::yield_now();
        }
        let wait = |child| {
            let mut status = 0;
            // SAFETY: a child of ours, reaped once.
            unsafe { libc::waitpid(child, &mut status, 0) };
            status
        };
        for &victim in children.iter().step_by(2) {
            // SAFETY: a child of ours that has not been reaped.
            unsafe { libc::kill(victim, libc::SIGKILL) };
            wait(victim);
        }
        engine.semop_ops(id, &[op(0, 12, 0)]).unwrap();
        for &child in children.iter().skip(1).step_by(2) {
            assert_eq!(wait(child), 0);
        }
        assert_eq!(get(&engine, id, 0, flag::GETVAL), 0);
    }
}
