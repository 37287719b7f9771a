//! A process is killed after each single instruction of an operation, and everybody else goes on.
//!
//! A kill at a random moment hardly ever meets the few hundred instructions that matter. So the operation is
//! single-stepped by ptrace(2), the process killed after n steps, and what it leaves behind checked, for every n from
//! its first instruction to its last (a system call is one step). `UNSPIN_STEPS=all` does that; the default takes a
//! sample of [`SAMPLE`] values of n, evenly spread, of each script.

#[path = "every_instruction/messages.rs"]
mod messages;
#[path = "every_instruction/served.rs"]
mod served;

use std::sync::Mutex;
use std::time::{Duration, Instant};
use unspin_sys::Errno;
use unspin_sys::ipc::{self, Sembuf, flag};
use unspin_sysv::{Engine, Kind, Options};

const SAMPLE: usize = if cfg!(debug_assertions) { 8 } else { 40 };

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
    /// It fell asleep after so many steps, with nobody to wake it, and was killed.
    Asleep(usize),
}

/// Runs `operation` in a child that has joined the engine, and kills it after `steps` of its instructions.
fn step(engine: &Engine, id: i32, steps: usize, operation: &dyn Fn()) -> End {
    let child = start(engine, id, operation);
    let end = follow(child, steps);
    finish(child, &end);
    end
}

/// A child that has joined the engine, and stops for us before it begins the operation.
fn start(engine: &Engine, id: i32, operation: &dyn Fn()) -> i32 {
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
    child
}

fn finish(child: i32, end: &End) {
    if !matches!(end, End::Finished(_)) {
        // SAFETY: a child of ours that has not been reaped.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, core::ptr::null_mut(), 0);
        }
    }
}

/// Longer than the scripts' own timeouts; a sleeper's first nap takes 50 ms.
const ASLEEP: Duration = Duration::from_millis(30);

/// Waits for the next stop of a child, or its end; `false` if it sleeps instead.
fn stops(child: i32, status: &mut i32) -> bool {
    let start = Instant::now();
    loop {
        // SAFETY: `child` is ours and traced by us.
        match unsafe { libc::waitpid(child, status, libc::__WALL | libc::WNOHANG) } {
            0 if start.elapsed() > ASLEEP && sleeps(child) => return false,
            0 => std::thread::yield_now(),
            reaped => {
                assert_eq!(reaped, child);
                return true;
            }
        }
    }
}

fn sleeps(child: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

/// Single-steps a stopped child.
fn follow(child: i32, steps: usize) -> End {
    let mut status = 0;
    for n in 0..=steps {
        if !stops(child, &mut status) {
            return End::Asleep(n);
        }
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
        End::Finished(steps) | End::Asleep(steps) => steps,
        End::Killed => panic!("the operation does not end"),
    }
}

fn engines(test: impl Fn(&Engine)) {
    let _one = ONE.lock().unwrap_or_else(|poison| poison.into_inner());
    // If that is refused, segments of others only make for longer operations, and ours are left to them if we are killed.
    // SAFETY: takes no address; the thread is the test's own.
    unsafe { libc::unshare(libc::CLONE_NEWIPC) };
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

fn undoable(sem_num: u16, sem_op: i16) -> Sembuf {
    Sembuf { sem_flg: flag::SEM_UNDO as i16, ..op(sem_num, sem_op) }
}

/// A process that has performed `ops`, and stays until it is told to end.
struct Holder {
    pid: i32,
}

impl Holder {
    fn of(engine: &Engine, id: i32, ops: &[Sembuf]) -> Holder {
        let before = values(engine, id);
        // SAFETY: the child makes calls of the engine and plain system calls only, and never returns.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: as above.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let done = engine.semop_ops(id, ops);
            // SAFETY: as above.
            unsafe { if done.is_ok() { libc::pause() } else { 0 } };
            std::process::abort();
        }
        while values(engine, id) == before {
            std::thread::yield_now();
        }
        Holder { pid }
    }

    fn kill(self) {
        // SAFETY: a child of ours that has not been reaped.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, core::ptr::null_mut(), 0);
        }
    }
}

/// What was flagged is undone, at whatever instruction the process dies; what was not has happened or has not.
#[test]
fn an_operation_is_undone_as_a_whole() {
    engines(|engine| {
        each_moment(
            engine,
            |id| {
                ignore(engine.semop_ops(id, &[undoable(0, 2), op(1, 3), undoable(2, -4), undoable(0, 1)]));
                ignore(engine.semop_ops(id, &[undoable(0, -1)]));
            },
            |id| engine.semop_ops(id, &[op(2, 4)]).unwrap(),
            |id, steps| {
                let now = values(engine, id);
                assert!(now == [0, 0, 4] || now == [0, 3, 4], "{now:?} after {steps} steps");
            },
        );
    });
}

/// Whoever undoes for a dead process dies as well: the next one finds everything undone, once.
#[test]
fn an_undoer_leaves_nothing_half_undone() {
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

/// Steps that a sleeper takes, from its awakening by the death of whoever held what it waits for, until it is killed, or
/// until its call is over.
fn awakened(engine: &Engine, steps: usize) -> usize {
    let id = set(engine);
    engine.semop_ops(id, &[op(0, 1), op(1, 5)]).unwrap();
    let holder = Holder::of(engine, id, &[undoable(0, -1), undoable(1, -2), undoable(2, 3)]);
    let sleeper = start(engine, id, &|| ignore(engine.semop_ops(id, &[undoable(0, -1)])));
    assert!(matches!(follow(sleeper, 1 << 20), End::Asleep(_)), "the token is taken");
    holder.kill();
    let end = follow(sleeper, steps);
    finish(sleeper, &end);
    assert_eq!(values(engine, id), [1, 5, 0], "{end:?} after {steps} steps");
    ctl(engine, id, 0, flag::IPC_RMID, 0).unwrap();
    match end {
        End::Finished(taken) => taken,
        End::Killed => steps,
        End::Asleep(_) => panic!("the token is its own, or on its way"),
    }
}

/// A sleeper that is woken by a death undoes, and serves itself: it may die at each instruction of that, too.
#[test]
fn a_sleeper_that_undoes_leaves_nothing_half_undone() {
    engines(|engine| {
        let total = awakened(engine, 1 << 20);
        eprintln!("{total} instructions");
        // Half as many as elsewhere: each sleeper has to fall asleep first.
        moments(total).into_iter().step_by(2).for_each(|steps| ignore(awakened(engine, steps)));
    });
}

/// SETVAL and SETALL write a value and drop the adjustments for it, or do neither.
#[test]
fn overwriting_drops_adjustments_or_does_not_happen() {
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
fn a_grant_brings_its_adjustment() {
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

/// Segments in the kernel that are this large, which others' are not.
fn kernel_segments(size: usize) -> Vec<i32> {
    let (highest, _) = ipc::shm_limits().unwrap();
    let segments = (0..=highest).filter_map(|index| ipc::shm_stat_any(index).ok());
    segments.filter(|(_, status)| status.shm_segsz == size as u64).map(|(id, _)| id).collect()
}

fn segment_size() -> usize {
    1_000_000 + std::process::id() as usize
}

fn removed(engine: &Engine, id: i32) -> Result<i32, Errno> {
    // SAFETY: the command takes no address.
    unsafe { engine.shmctl(id, flag::IPC_RMID, 0) }
}

/// The maker of a segment dies: it has its name, or the kernel has it no more. Nothing is left in the kernel.
#[test]
fn a_segment_is_made_or_not() {
    let size = segment_size();
    engines(|engine| {
        each_moment(
            engine,
            |_| ignore(engine.shmget(0xBEEF, size, flag::IPC_CREAT | 0o600)),
            |_| {
                let left = engine.shmget(0xBEEF, 0, 0);
                left.iter().for_each(|&id| ignore(removed(engine, id)));
                assert_eq!(kernel_segments(size), []);
            },
            |_, steps| {
                engine.bury_dead().unwrap();
                let named: Vec<i32> = engine.shmget(0xBEEF, 0, 0).into_iter().collect();
                assert_eq!(kernel_segments(size), named, "after {steps} steps");
                let id = engine.shmget(0xBEEF, size, flag::IPC_CREAT | 0o600).unwrap();
                assert!(named.is_empty() || named == [id], "after {steps} steps");
                removed(engine, id).unwrap();
                assert_eq!(engine.shmget(0xBEEF, 0, 0), Err(Errno::ENOENT), "after {steps} steps");
            },
        );
        assert_eq!(kernel_segments(size), []);
    });
}

/// The remover of a segment dies: it is there under its key and in the kernel, or under neither, attached or not.
#[test]
fn a_segment_is_removed_or_not() {
    let size = segment_size() + (1 << 22);
    let attached = Mutex::new(None);
    // SAFETY: nothing refers to it.
    let detach = || attached.lock().unwrap().take().map(|at| unsafe { ipc::shmdt(at) });
    let segment = |engine: &Engine| engine.shmget(0xFEED, size, flag::IPC_CREAT | 0o600).unwrap();
    engines(|engine| {
        for attaches in [None, Some(())] {
            each_moment(
                engine,
                |_| ignore(removed(engine, engine.shmget(0xFEED, 0, 0).unwrap())),
                |_| {
                    detach();
                    let id = segment(engine);
                    // SAFETY: mapped where there is room.
                    *attached.lock().unwrap() = attaches.map(|()| unsafe { engine.shmat(id, 0, 0) }.unwrap());
                },
                |_, steps| {
                    let named: Vec<i32> = engine.shmget(0xFEED, 0, 0).into_iter().collect();
                    let there = kernel_segments(size);
                    assert!(
                        attaches.is_some() || there == named,
                        "{there:?}, not {named:?}, after {steps} steps"
                    );
                    let id = segment(engine);
                    assert!(named.is_empty() || named == [id], "after {steps} steps");
                    assert!(!named.is_empty() || !there.contains(&id), "another one, after {steps} steps");
                    removed(engine, id).unwrap();
                    detach();
                    assert_eq!(kernel_segments(size), [], "after {steps} steps");
                },
            );
        }
    });
}

/// What the two above look for would be found.
#[test]
fn a_segment_without_a_name_is_noticed() {
    let size = segment_size() + (1 << 23);
    let id = ipc::shmget(flag::IPC_PRIVATE, size, 0o600).unwrap();
    assert_eq!(kernel_segments(size), [id]);
    ipc::shm_remove(id).unwrap();
    assert_eq!(kernel_segments(size), []);
}
