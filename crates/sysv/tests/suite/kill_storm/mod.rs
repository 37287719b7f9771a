//! Processes that use an engine are killed at random instructions, thousands of times. Afterwards no operation is
//! half-applied, no thread hangs, no slot is lost, and sets can be added and removed.
//!
//! `UNSPIN_STORM=N` sets the number of kills of each test; the default is small enough for every run of the tests.

mod messages;

use crate::common::child;
use crate::common::noise::Noise;
use std::time::{Duration, Instant};
use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::{Engine, Kind, Options};

const WORKERS: usize = 6;
const SEMS: u16 = 4;

fn kills() -> usize {
    std::env::var("UNSPIN_STORM").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

fn op(sem_num: u16, sem_op: i16) -> Sembuf {
    Sembuf { sem_num, sem_op, sem_flg: 0 }
}

fn timed(engine: &Engine, id: i32, ops: &[Sembuf], ms: i64) -> Result<i32, Errno> {
    let timeout = [ms / 1000, ms % 1000 * 1_000_000];
    // SAFETY: both addresses are live arrays in C's layout.
    unsafe { engine.semtimedop(id, ops.as_ptr() as usize, ops.len(), timeout.as_ptr() as usize) }
}

fn get(engine: &Engine, id: i32, sem: i32, cmd: i32) -> i32 {
    // SAFETY: these commands take no address.
    unsafe { engine.semctl(id, sem, cmd, 0) }.unwrap()
}

/// Semaphores 0 and 1 change together only; 2 and 3 singly.
fn work(engine: &Engine, id: i32, seed: u64) -> ! {
    let mut random = Noise(seed);
    loop {
        let _ = match random.below(12) {
            0..=2 => timed(engine, id, &[op(0, 1), op(1, 1)], 1),
            3..=5 => timed(engine, id, &[op(1, -1), op(0, -1)], 1),
            6 => timed(engine, id, &[op(2, 1)], 1),
            7 => timed(engine, id, &[op(2, -1)], 1),
            8 => timed(engine, id, &[op(3, 1), op(3, -1), op(2, 0)], 1),
            9 => {
                let values = [3u16, 3, 1, 0];
                // SAFETY: the array has a value for each semaphore.
                unsafe { engine.semctl(id, 0, flag::SETALL, values.as_ptr() as usize) }
            }
            10 => churn(engine, random.below(4_000) as i32 + 1),
            _ => {
                let mut values = [0u16; SEMS as usize];
                // SAFETY: the array has room for each semaphore.
                let done = unsafe { engine.semctl(id, 0, flag::GETALL, values.as_mut_ptr() as usize) };
                if done.is_ok() && values[0] != values[1] {
                    std::process::abort(); // Half-applied: the parent finds out by the exit status.
                }
                done
            }
        };
    }
}

/// A set is created and removed. It is so large that its memory is freed through the work queue.
fn churn(engine: &Engine, nsems: i32) -> Result<i32, Errno> {
    let id = engine.semget(flag::IPC_PRIVATE, nsems, 0o600)?;
    // SAFETY: IPC_RMID takes no address.
    unsafe { engine.semctl(id, 0, flag::IPC_RMID, 0) }
}

fn spawn(body: impl FnOnce()) -> i32 {
    // SAFETY: the child runs `body`, which never returns into the test harness.
    match unsafe { libc::fork() } {
        0 => {
            // SAFETY: a plain call in the child. Should the test be killed, so is the child.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            child::end_with(|| {
                body();
                0
            })
        }
        child => child,
    }
}

fn reap(child: i32) -> i32 {
    let mut status = 0;
    // SAFETY: `child` is a child of ours, reaped once.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status
}

fn kill(child: i32) {
    // SAFETY: `child` is a child of ours that has not been reaped.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let status = reap(child);
    assert!(
        libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL,
        "a worker saw half a change"
    );
}

/// Workers, each begun by `worker` from a seed of its own, of which one after the other is killed and replaced; in the
/// end all are.
fn kill_at_random(worker: impl Fn(u64) -> i32) {
    let mut moment = Noise(0x9E37_79B9_7F4A_7C15);
    let mut seed = 0u64;
    let mut next = || {
        seed = seed.wrapping_add(0x1234_5678_9ABC_DEF1);
        worker(seed | 1)
    };
    let mut workers: Vec<i32> = (0..WORKERS).map(|_| next()).collect();
    for _ in 0..kills() {
        std::thread::sleep(Duration::from_micros(moment.below(1_500)));
        let victim = moment.below(WORKERS as u64) as usize;
        kill(workers[victim]);
        workers[victim] = next();
    }
    std::thread::sleep(Duration::from_millis(20));
    workers.into_iter().for_each(kill);
}

fn storm(kind: Kind) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
    let id = engine.semget(0x57_0A, SEMS as i32, flag::IPC_CREAT | 0o600).unwrap();
    kill_at_random(|seed| spawn(|| work(&engine, id, seed)));
    check_set(&engine, id);
    check_waiters(&engine, id);
    check_places(&engine);
    check_tables(&engine);
}

fn check_set(engine: &Engine, id: i32) {
    for sem in 0..SEMS as i32 {
        let waiting = (get(engine, id, sem, flag::GETNCNT), get(engine, id, sem, flag::GETZCNT));
        assert_eq!(waiting, (0, 0), "the dead do not wait");
    }
    assert_eq!(get(engine, id, 0, flag::GETVAL), get(engine, id, 1, flag::GETVAL), "half a change");
}

/// Present waiters are served in order, and no other thread takes the token.
fn check_waiters(engine: &Engine, id: i32) {
    for sem in [0, 2] {
        // SAFETY: SETVAL takes a number.
        unsafe { engine.semctl(id, sem, flag::SETVAL, 0) }.unwrap();
        let waiters: Vec<i32> = (0..5)
            .map(|i| {
                let child = spawn(|| {
                    let done = engine.semop_ops(id, &[op(sem as u16, -1)]);
                    std::process::exit(if done.is_ok() { 0 } else { 1 });
                });
                while get(engine, id, sem, flag::GETNCNT) <= i {
                    std::thread::yield_now();
                }
                child
            })
            .collect();
        for child in waiters {
            engine.semop_ops(id, &[op(sem as u16, 1)]).unwrap();
            assert_eq!(reap(child), 0);
        }
        assert_eq!(get(engine, id, sem, flag::GETVAL), 0);
    }
}

fn check_places(engine: &Engine) {
    let start = Instant::now();
    engine.recover_dead().unwrap();
    assert_eq!(engine.recover_dead(), Ok(0), "after {:?} no dead participant is left", start.elapsed());
    assert_eq!(engine.participants().unwrap(), 1, "only this thread takes part");
}

fn check_tables(engine: &Engine) {
    // Private sets that workers did not live to remove: all but ours.
    let ids = |engine: &Engine| -> Vec<i32> {
        (0..32_768)
            .filter_map(|index| {
                let mut status = unspin_sys::ipc::SemidDs::default();
                // SAFETY: the structure is a semid_ds.
                unsafe { engine.semctl(index, 0, flag::SEM_STAT, &raw mut status as usize) }.ok()
            })
            .collect()
    };
    for id in ids(engine) {
        get(engine, id, 0, flag::IPC_RMID);
    }
    let many: Vec<i32> =
        (1..3_000).map(|key| engine.semget(key, 2, flag::IPC_CREAT | 0o600).unwrap()).collect();
    for (&id, key) in many.iter().zip(1..) {
        assert_eq!(engine.semget(key, 0, 0), Ok(id));
        get(engine, id, 0, flag::IPC_RMID);
    }
    assert_eq!(ids(engine), []);
    let mut info = unspin_sys::ipc::Seminfo::default();
    // SAFETY: the structure is a seminfo.
    assert_eq!(unsafe { engine.semctl(0, 0, flag::SEM_INFO, &raw mut info as usize) }, Ok(0));
    assert_eq!((info.semusz, info.semaem), (0, 0), "sets and semaphores are counted right");
}

fn undoable(sem_num: u16, sem_op: i16) -> Sembuf {
    Sembuf { sem_flg: flag::SEM_UNDO as i16, ..op(sem_num, sem_op) }
}

/// The initial value of each semaphore, to which it must return.
const TOKENS: [u16; SEMS as usize] = [1, 2, 7, 0];

/// Takes tokens, returns them, and waits for tokens that other processes have taken, always with SEM_UNDO. It never
/// returns more than it took, so that no undo is clamped.
fn borrow(engine: &Engine, id: i32, seed: u64) -> ! {
    let mut random = Noise(seed);
    let mut held = [0i16; SEMS as usize];
    loop {
        let (a, b) = (random.below(3) as usize, random.below(3) as usize);
        match random.below(8) {
            0 | 1 => change(engine, id, &mut held, &[(a, -1)]),
            2 if a != b => change(engine, id, &mut held, &[(a, -1), (b, -1)]),
            3 | 4 if held[a] > 0 => give_back(engine, id, &mut held, a),
            // Forth and back within one call, and a wait for zero that carries the flag.
            5 => change(engine, id, &mut held, &[(3, 1), (a, -1), (a, 1), (3, -1), (3, 0)]),
            6 => {
                let _ = churn(engine, random.below(600) as i32 + 1);
            }
            _ => {
                get(engine, id, a as i32, flag::GETVAL);
            }
        }
        // No process keeps a contended token for long.
        if held[0] > 0 && random.below(4) == 0 {
            give_back(engine, id, &mut held, 0);
        }
    }
}

type Held = [i16; SEMS as usize];

fn change(engine: &Engine, id: i32, held: &mut Held, ops: &[(usize, i16)]) {
    let flagged: Vec<Sembuf> = ops.iter().map(|&(sem, by)| undoable(sem as u16, by)).collect();
    if timed(engine, id, &flagged, 2).is_ok() {
        ops.iter().for_each(|&(sem, by)| held[sem] -= by);
    }
}

fn give_back(engine: &Engine, id: i32, held: &mut Held, sem: usize) {
    change(engine, id, held, &[(sem, held[sem])]);
}

/// All tokens that dead processes had taken are back, each exactly once.
fn check_tokens(engine: &Engine, id: i32) {
    let mut values = [9u16; SEMS as usize];
    // SAFETY: the array has room for each semaphore.
    unsafe { engine.semctl(id, 0, flag::GETALL, values.as_mut_ptr() as usize) }.unwrap();
    assert_eq!(values, TOKENS, "all processes are dead, and their operations undone");
}

/// As [`storm`], of processes that borrow. From time to time all of them are killed at once.
fn undo_storm(kind: Kind, work: fn(&Engine, i32, u64) -> !) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
    let id = engine.semget(flag::IPC_PRIVATE, SEMS as i32, 0o600).unwrap();
    // SAFETY: the array has a value for each semaphore.
    unsafe { engine.semctl(id, 0, flag::SETALL, TOKENS.as_ptr() as usize) }.unwrap();
    let mut random = Noise(0x2545_F491_4F6C_DD1D);
    let mut worker = || {
        let seed = random.below(u64::MAX) | 1;
        spawn(move || work(&engine, id, seed))
    };
    let mut workers: Vec<i32> = (0..WORKERS).map(|_| worker()).collect();
    let mut moment = Noise(0x9E37_79B9_7F4A_7C15);
    for n in 0..kills() {
        std::thread::sleep(Duration::from_micros(moment.below(1_500)));
        if n % 50 == 49 {
            workers.drain(..).for_each(kill);
            check_tokens(&engine, id);
            workers.extend((0..WORKERS).map(|_| worker()));
            continue;
        }
        let victim = moment.below(WORKERS as u64) as usize;
        kill(workers[victim]);
        workers[victim] = worker();
    }
    workers.into_iter().for_each(kill);
    check_tokens(&engine, id);
    for sem in 0..SEMS as i32 {
        let waiting = (get(&engine, id, sem, flag::GETNCNT), get(&engine, id, sem, flag::GETZCNT));
        assert_eq!(waiting, (0, 0), "the dead do not wait");
    }
    get(&engine, id, 0, flag::IPC_RMID);
    check_places(&engine);
    check_tables(&engine);
}

#[test]
fn engines_undo_what_a_storm_leaves() {
    Kind::IN_ARENAS.into_iter().for_each(|kind| undo_storm(kind, borrow));
}

/// Check of the storm itself: with a worker that sometimes omits the flag it must fail.
#[test]
#[should_panic(expected = "all processes are dead, and their operations undone")]
fn planted_operation_without_undo() {
    fn careless(engine: &Engine, id: i32, seed: u64) -> ! {
        let _ = timed(engine, id, &[op(2, -1)], 2);
        borrow(engine, id, seed)
    }
    undo_storm(Kind::Rcu, careless);
}

#[test]
fn engines_survive_a_kill_storm() {
    Kind::IN_ARENAS.into_iter().for_each(storm);
}
