//! Sets of semaphores, their waiters and lock holders.

use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::Engine;

pub fn op(sem_num: u16, sem_op: i16) -> Sembuf {
    Sembuf { sem_num, sem_op, sem_flg: 0 }
}

pub fn undoable(sem_num: u16, sem_op: i16) -> Sembuf {
    Sembuf { sem_flg: flag::SEM_UNDO as i16, ..op(sem_num, sem_op) }
}

pub fn ctl(engine: &Engine, id: i32, sem: i32, cmd: i32, arg: usize) -> Result<i32, Errno> {
    // SAFETY: every address that is given below is a live object of the command's type.
    unsafe { engine.semctl(id, sem, cmd, arg) }
}

pub fn values(engine: &Engine, id: i32) -> [i32; 3] {
    [0, 1, 2].map(|sem| ctl(engine, id, sem, flag::GETVAL, 0).unwrap())
}

pub fn set(engine: &Engine) -> i32 {
    engine.semget(flag::IPC_PRIVATE, 3, 0o600).unwrap()
}

/// A thread of this process that waits with `ops`, and is in the queue.
pub fn waiter(
    engine: &Engine,
    id: i32,
    ops: &'static [Sembuf],
) -> std::thread::JoinHandle<Result<(), Errno>> {
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

/// A process that has performed `ops`, and lives until it is told to end.
pub struct Holder {
    pub pid: i32,
}

impl Holder {
    pub fn of(engine: &Engine, id: i32, ops: &[Sembuf]) -> Holder {
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

    pub fn kill(self) {
        // SAFETY: a child of ours that has not been reaped.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, core::ptr::null_mut(), 0);
        }
    }
}
