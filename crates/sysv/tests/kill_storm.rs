//! Processes that use an engine are killed at random instructions, thousands of times. Afterwards nothing is
//! half-applied, nobody hangs, no place is lost, and sets can be added and removed.
//!
//! `UNSPIN_STORM=N` sets the number of kills of each test; the default is small enough for every run of the tests.

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

/// xorshift64 (Marsaglia 2003): a child of fork must not ask the system for randomness.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
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
    let mut random = Random(seed);
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

/// A set comes and goes, large enough that its memory takes the way through the work queue.
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
            body();
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(0) }
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

fn storm(kind: Kind) {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
    let id = engine.semget(0x57_0A, SEMS as i32, flag::IPC_CREAT | 0o600).unwrap();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut seed = 0u64;
    let mut worker = || {
        seed = seed.wrapping_add(0x1234_5678_9ABC_DEF1);
        let seed = seed | 1;
        spawn(move || work(&engine, id, seed))
    };
    let mut workers: Vec<i32> = (0..WORKERS).map(|_| worker()).collect();
    for _ in 0..kills() {
        std::thread::sleep(Duration::from_micros(random.below(1_500)));
        let victim = random.below(WORKERS as u64) as usize;
        kill(workers[victim]);
        workers[victim] = worker();
    }
    std::thread::sleep(Duration::from_millis(20));
    workers.into_iter().for_each(kill);
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

/// Whoever waits now is served, in order, and nobody else takes the token.
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
    engine.bury_dead().unwrap();
    assert_eq!(engine.bury_dead(), Ok(0), "after {:?} nobody is left to be buried", start.elapsed());
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

#[test]
fn rcu_survives_a_kill_storm() {
    storm(Kind::Rcu);
}

#[test]
fn global_survives_a_kill_storm() {
    storm(Kind::Global);
}
