//! Stopping a process behind each of its instructions, and killing it there.

use crate::every_instruction::sets::{ctl, set};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use unspin_sys::ipc::flag;
use unspin_sysv::signal::{self, Policy};
use unspin_sysv::{Engine, Kind, Options};

/// Moments that a test tries unless `UNSPIN_STEPS` says otherwise.
const SAMPLE: usize = 3;

/// One at a time: a test counts the participants of its arena, not others' children.
pub static ONE: Mutex<()> = Mutex::new(());

/// Whether stepped processes take the fast paths that need trampolines, as programs under the preload library do. They
/// have no signal handlers.
static FAST_PATHS: AtomicBool = AtomicBool::new(false);

/// Ignores the answer of a stepped process's call: the process may be dead by then.
pub fn ignore<T>(_: T) {}

/// How the run of a stepped process ended.
#[derive(PartialEq, Eq, Debug)]
pub enum End {
    Killed,
    /// It ended by itself after so many steps.
    Finished(usize),
    /// It fell asleep after so many steps, and no thread was left to wake it, and was killed.
    Asleep(usize),
}

/// Runs `operation` in a child that has joined the engine, and kills it after `steps` of its instructions.
pub fn step(engine: &Engine, id: i32, steps: usize, operation: &dyn Fn()) -> End {
    let child = start(engine, id, operation);
    let end = follow(child, steps);
    finish(child, &end);
    end
}

/// A child that has joined the engine, and stops for us before it begins the operation.
pub fn start(engine: &Engine, id: i32, operation: &dyn Fn()) -> i32 {
    // SAFETY: the child makes calls of the engine and plain system calls only, and never returns.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
        }
        if FAST_PATHS.load(Relaxed) {
            signal::set_policy(Policy::Trampolines);
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

pub fn finish(child: i32, end: &End) {
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
pub fn stops(child: i32, status: &mut i32) -> bool {
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

pub fn sleeps(child: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

/// Single-steps a stopped child.
pub fn follow(child: i32, steps: usize) -> End {
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

/// As [`follow`], of a child that naps at most: what it waits for has happened, or is on its way. On a busy machine a nap
/// lasts longer than [`ASLEEP`].
pub fn follow_while_it_naps(child: i32, steps: usize) -> End {
    let (began, mut taken) = (Instant::now(), 0);
    loop {
        match follow(child, steps - taken) {
            End::Asleep(more) => taken += more,
            End::Finished(more) => return End::Finished(taken + more),
            End::Killed => return End::Killed,
        }
        assert!(began.elapsed() < Duration::from_secs(300), "it sleeps after {taken} steps");
    }
}

/// Numbers of steps to be tried, up to the end of the operation.
pub fn moments(total: usize) -> Vec<usize> {
    let sample = match std::env::var("UNSPIN_STEPS").as_deref() {
        Ok("all") => return (0..total).collect(),
        Ok(number) => number.parse().expect("UNSPIN_STEPS is a number, or all"),
        Err(_) => SAMPLE,
    };
    // In the middle of each part: before the first instruction nothing has happened.
    let parts = total.min(sample);
    (0..parts).map(|i| (2 * i + 1) * total / (2 * parts)).collect()
}

/// Steps that `operation` takes in all, with the way to it and from it.
pub fn length(engine: &Engine, id: i32, operation: &dyn Fn()) -> usize {
    match step(engine, id, 1 << 20, operation) {
        End::Finished(steps) | End::Asleep(steps) => steps,
        End::Killed => panic!("the operation does not end"),
    }
}

/// Runs `test` with each engine, and with the `rcu` engine's fast paths.
pub fn engines(test: impl Fn(&Engine)) {
    let _one = ONE.lock().unwrap_or_else(|poison| poison.into_inner());
    // If that is refused, segments of others only make for longer operations, and ours are left to them if we are
    // killed. SAFETY: takes no address; the thread is the test's own.
    unsafe { libc::unshare(libc::CLONE_NEWIPC) };
    unspin_sys::sched::stay_here();
    let with_fast_paths = core::iter::once((Kind::Rcu, true));
    for (kind, fast_paths) in Kind::IN_ARENAS.into_iter().map(|kind| (kind, false)).chain(with_fast_paths) {
        FAST_PATHS.store(fast_paths, Relaxed);
        let dir = tempfile::tempdir_in("/dev/shm").unwrap();
        let engine = Engine::open(kind, &dir.path().join("arena"), &Options::default(), None).unwrap();
        test(&engine);
        engine.recover_dead().unwrap();
        assert_eq!(engine.participants(), Ok(1), "{kind}: every dead participant was recovered");
    }
}

pub fn each_moment(
    engine: &Engine,
    operation: impl Fn(i32),
    before: impl Fn(i32),
    after: impl Fn(i32, usize),
) {
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
