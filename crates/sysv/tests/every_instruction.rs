//! A process is killed after each single instruction of an operation, and everybody else goes on.
//!
//! A kill at a random moment hardly ever meets the few hundred instructions that matter. So the operation is
//! single-stepped by ptrace(2), the process killed after n steps, and what it leaves behind checked, for every n from
//! its first instruction to its last (a system call is one step). `UNSPIN_STEPS=all` does that; the default takes a
//! sample of [`SAMPLE`] values of n, evenly spread, of each script.

use std::sync::Mutex;
use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::{Engine, Kind, Options};

const SAMPLE: usize = if cfg!(debug_assertions) { 16 } else { 80 };

/// One at a time: a test counts the participants of its arena, not others' children.
static ONE: Mutex<()> = Mutex::new(());

fn op(sem_num: u16, sem_op: i16) -> Sembuf {
    Sembuf { sem_num, sem_op, sem_flg: 0 }
}

fn ctl(engine: &Engine, id: i32, sem: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: every address that is given below is a live object of the command's type.
    unsafe { engine.semctl(id, sem, cmd, arg) }
}

fn values(engine: &Engine, id: i32) -> [i32; 3] {
    [0, 1, 2].map(|sem| ctl(engine, id, sem, flag::GETVAL, 0).unwrap())
}

/// What a stepped process is answered matters to nobody: it may be dead by then.
fn ignore<T>(_: T) {}

/// What a stepped process came to.
#[derive(PartialEq, Eq, Debug)]
enum End {
    Killed,
    /// It ended by itself after so many steps.
    Finished(usize),
}

/// Runs `operation` in a child that has joined the engine, and kills it after `steps` of its instructions.
fn step(engine: &Engine, id: i32, steps: usize, operation: &dyn Fn()) -> End {
    // SAFETY: the child makes calls of the engine and plain system calls only, and never returns.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
        }
        let _ = ctl(engine, id, 0, flag::GETPID, 0); // joins
        // SAFETY: stops for the parent; then ends without running what belongs to the parent.
        unsafe {
            libc::kill(libc::getpid(), libc::SIGSTOP);
            operation();
            libc::_exit(0);
        }
    }
    let end = follow(child, steps);
    if end == End::Killed {
        // SAFETY: a child of ours that has not been reaped.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, core::ptr::null_mut(), 0);
        }
    }
    end
}

/// Single-steps a stopped child.
fn follow(child: i32, steps: usize) -> End {
    let mut status = 0;
    for n in 0..=steps {
        // SAFETY: `child` is ours and traced by us.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, libc::__WALL) }, child);
        if libc::WIFEXITED(status) {
            return End::Finished(n);
        }
        assert!(libc::WIFSTOPPED(status), "stopped after step {n}: {status:#x}");
        if n < steps {
            // SAFETY: as above; no signal is passed on.
            unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, child, 0, 0) };
        }
    }
    End::Killed
}

/// Numbers of steps to be tried, up to the end of the operation.
fn moments(total: usize) -> Vec<usize> {
    match std::env::var("UNSPIN_STEPS").as_deref() {
        Ok("all") => (0..total).collect(),
        _ => (0..SAMPLE.min(total)).map(|i| i * total / SAMPLE.min(total)).collect(),
    }
}

/// Steps that `operation` takes in all, with the way to it and from it.
fn length(engine: &Engine, id: i32, operation: &dyn Fn()) -> usize {
    match step(engine, id, 1 << 20, operation) {
        End::Finished(steps) => steps,
        End::Killed => panic!("the operation does not end"),
    }
}

fn engines(test: impl Fn(&Engine)) {
    let _one = ONE.lock().unwrap_or_else(|poison| poison.into_inner());
    for kind in [Kind::Rcu, Kind::Global] {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
        test(&engine);
        engine.bury_dead().unwrap();
        assert_eq!(engine.participants(), Ok(1), "{kind}: every dead participant was buried");
    }
}

fn set(engine: &Engine) -> i32 {
    engine.semget(flag::IPC_PRIVATE, 3, 0o600).unwrap()
}

/// A thread of this process that waits with `ops`, and is in the queue.
fn waiter(engine: &Engine, id: i32, ops: &'static [Sembuf]) -> std::thread::JoinHandle<Result<(), Errno>> {
    let engine = *engine;
    let thread = std::thread::spawn(move || engine.semop_ops(id, ops));
    let sem = ops[0].sem_num as i32;
    while ctl(&engine, id, sem, flag::GETNCNT, 0).unwrap() + ctl(&engine, id, sem, flag::GETZCNT, 0).unwrap()
        == 0
    {
        std::thread::yield_now();
    }
    thread
}

fn each_moment(engine: &Engine, operation: impl Fn(i32), before: impl Fn(i32), after: impl Fn(i32, usize)) {
    let total = {
        let id = set(engine);
        before(id);
        let total = length(engine, id, &|| operation(id));
        eprintln!("{total} instructions");
        ctl(engine, id, 0, flag::IPC_RMID, 0).unwrap();
        total
    };
    for steps in moments(total) {
        let id = set(engine);
        before(id);
        step(engine, id, steps, &|| operation(id));
        after(id, steps);
        ctl(engine, id, 0, flag::IPC_RMID, 0).unwrap();
    }
}

#[test]
fn a_vector_is_all_or_nothing() {
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

/// The poster dies: the waiter has the token, or still waits and gets the next one. Never both, never neither.
#[test]
fn a_poster_leaves_the_waiter_served_or_waiting() {
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

/// A waiter dies on its way into the queue or out of it (by a timeout): nobody else is kept from the token.
#[test]
fn a_waiter_leaves_the_queue_in_order() {
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
fn the_registry_survives() {
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
                engine.bury_dead().unwrap();
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

/// The remover dies: the set is there and works, or is gone and its waiter knows.
#[test]
fn a_removal_is_all_or_nothing() {
    static WANTS: [Sembuf; 1] = [Sembuf { sem_num: 1, sem_op: -1, sem_flg: 0 }];
    let _one = ONE.lock().unwrap_or_else(|poison| poison.into_inner());
    for kind in [Kind::Rcu, Kind::Global] {
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let engine = &Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let id = set(engine);
        let total = length(engine, id, &|| ignore(ctl(engine, id, 0, flag::IPC_RMID, 0)));
        for steps in moments(total) {
            let id = set(engine);
            let waiter = waiter(engine, id, &WANTS);
            step(engine, id, steps, &|| ignore(ctl(engine, id, 0, flag::IPC_RMID, 0)));
            engine.bury_dead().unwrap();
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
