//! The calling threads, with buffers between canaries.

use super::program::Call;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;
use unspin_sys::Errno;
use unspin_sys::ipc::{Sembuf, flag};
use unspin_sysv::{Class, Engine, arena_parts};

/// Bytes of the segments that a scene makes, which others have not.
pub const SEGMENT: usize = 54_321;

/// What a scene's objects are called.
#[derive(Clone, Debug)]
pub struct Ids {
    pub sets: Vec<i32>,
    pub queues: Vec<i32>,
    pub segments: Vec<i32>,
}

impl Ids {
    fn of(&self, class: Class, n: u8) -> i32 {
        let ids = match class {
            Class::Sem => &self.sets,
            Class::Msg => &self.queues,
            Class::Shm => &self.segments,
        };
        // One that there is, or its index, which the commands that list want.
        match n < 192 {
            true => ids.get(n as usize % ids.len().max(1)).copied().unwrap_or(0),
            false => n as i32 % 4,
        }
    }
}

const CANARY: u64 = 0x00C0_FFEE_0DDB_A115;

/// Memory that a call may write, and what lies beside it, which it may not.
#[repr(C)]
struct Buffer<const N: usize> {
    before: [u64; 8],
    room: [u64; N],
    after: [u64; 8],
}

impl<const N: usize> Buffer<N> {
    fn new() -> Self {
        Buffer { before: [CANARY; 8], room: [1; N], after: [CANARY; 8] }
    }

    fn at(&mut self) -> usize {
        self.room.as_mut_ptr() as usize
    }

    fn is_intact(&self) -> bool {
        // By `black_box`: otherwise the compiler assumes that no thread writes here.
        let buffer = core::hint::black_box(self);
        buffer.before == [CANARY; 8] && buffer.after == [CANARY; 8]
    }
}

/// Semaphores of a scene's first set: what GETALL writes.
pub const SEMS: usize = 4;

/// Makes a call. Any answer is right, but the call must not write outside the memory that it was given.
pub fn make(engine: &Engine, ids: &Ids, call: &Call) -> Result<(), String> {
    let nowait = flag::IPC_NOWAIT;
    let op =
        |sem: u8, sem_op, flags: i32| Sembuf { sem_num: u16::from(sem) % 5, sem_op, sem_flg: flags as i16 };
    let mut large = Buffer::<32>::new();
    let mut values = Buffer::<1>::new();
    let mut received = Buffer::<9>::new();
    // SAFETY: each address is that of a live buffer which has the size that is said, or that the command writes.
    unsafe {
        match *call {
            Call::Operate { set, sem, delta, undo } => {
                let undo = if undo { flag::SEM_UNDO } else { 0 };
                let _ = engine.semop_ops(ids.of(Class::Sem, set), &[op(sem, delta.into(), nowait | undo)]);
            }
            Call::Vector { set, sem } => {
                let ops = [op(sem, 1, nowait), op(sem / 8, -1, nowait | flag::SEM_UNDO), op(sem, 0, nowait)];
                let _ = engine.semop_ops(ids.of(Class::Sem, set), &ops);
            }
            Call::Wait { set, sem } => {
                let ops = [op(sem, -7, 0)];
                let timeout = [0i64, 1_000_000];
                let (ops, timeout) = (ops.as_ptr() as usize, timeout.as_ptr() as usize);
                let _ = engine.semtimedop(ids.of(Class::Sem, set), ops, 1, timeout);
            }
            Call::Control { class: Class::Sem, object, command, number } => {
                let id = ids.of(Class::Sem, object);
                let sem = i32::from(number % 5);
                match command % 12 {
                    0 => drop(engine.semctl(id, 0, flag::GETALL, values.at())),
                    1 => drop(engine.semctl(id, 0, flag::SETALL, values.at())),
                    2 => drop(engine.semctl(id, sem, flag::SETVAL, usize::from(number))),
                    3 => drop(engine.semctl(id, sem, flag::GETNCNT, 0)),
                    4 => drop(engine.semctl(id, sem, flag::GETZCNT, 0)),
                    5 => drop(engine.semctl(id, 0, flag::IPC_STAT, large.at())),
                    6 => drop(engine.semctl(id, 0, flag::SEM_STAT_ANY, large.at())),
                    7 => drop(engine.semctl(id, 0, flag::SEM_INFO, large.at())),
                    8 => drop(engine.semctl(id, 0, flag::IPC_SET, large.at())),
                    9 => drop(engine.semctl(id, 0, flag::IPC_RMID, 0)),
                    _ => drop(engine.semctl(id, sem, flag::GETPID, 0)),
                }
            }
            Call::Control { class: Class::Msg, object, command, .. } => {
                let id = ids.of(Class::Msg, object);
                match command % 5 {
                    0 => drop(engine.msgctl(id, flag::IPC_STAT, large.at())),
                    1 => drop(engine.msgctl(id, flag::MSG_STAT_ANY, large.at())),
                    2 => drop(engine.msgctl(id, flag::MSG_INFO, large.at())),
                    3 => drop(engine.msgctl(id, flag::IPC_SET, large.at())),
                    _ => drop(engine.msgctl(id, flag::IPC_RMID, 0)),
                }
            }
            Call::Control { class: Class::Shm, object, command, .. } => {
                let id = ids.of(Class::Shm, object);
                match command % 4 {
                    0 => drop(engine.shmctl(id, flag::IPC_STAT, large.at())),
                    1 => drop(engine.shmctl(id, flag::SHM_STAT_ANY, large.at())),
                    2 => drop(engine.shmctl(id, flag::SHM_INFO, large.at())),
                    _ => drop(engine.shmctl(id, flag::IPC_RMID, 0)),
                }
            }
            Call::Get { class: Class::Sem, key } => {
                let _ = engine.semget(i32::from(key % 4), 3, flag::IPC_CREAT | 0o600);
            }
            Call::Get { class: Class::Msg, key } => {
                let _ = engine.msgget(i32::from(key % 4), flag::IPC_CREAT | 0o600);
            }
            Call::Get { class: Class::Shm, key } => {
                let _ = engine.shmget(i32::from(key % 4), SEGMENT, flag::IPC_CREAT | 0o600);
            }
            Call::Send { queue, kind, size } => {
                let size = usize::from(size);
                large.room[0] = u64::from(kind) % 5;
                let _ = engine.msgsnd(ids.of(Class::Msg, queue), large.at(), size.min(31 * 8), nowait);
            }
            Call::Receive { queue, kind, size, flags } => {
                let size = usize::from(size) % 65;
                let more = [0, flag::MSG_NOERROR, flag::MSG_COPY, flag::MSG_EXCEPT][usize::from(flags) % 4];
                let id = ids.of(Class::Msg, queue);
                if let Ok(bytes) = engine.msgrcv(id, received.at(), size, kind.into(), nowait | more)
                    && bytes > size
                {
                    return Err(format!("hostile: {call:?} received {bytes} bytes"));
                }
            }
            Call::Show { class } => drop(engine.proc_text(class)),
            Call::RecoverDead => drop(engine.recover_dead()),
            Call::Leave => engine.leave(),
        }
    }
    match large.is_intact() && values.is_intact() && received.is_intact() {
        true => Ok(()),
        false => Err(format!("hostile: {call:?} wrote beside the memory that it was given")),
    }
}

/// What a thread is asked to do, and the engine that it is done with.
type Job = (Engine, Box<dyn FnOnce() -> Result<(), String> + Send>);

/// How long a calling thread is idle, or waits for another thread, before it writes its count of held locks into the
/// arena.
///
/// Suppose that a lock names a participant, and that the participant's own count was overwritten too, so that it says
/// that the participant holds a lock. A waiter cannot tell this participant from a stopped owner. The wait ends when
/// the participant next takes or releases a lock (docs/semantics.md). Here the participant may never take a lock again,
/// so it writes its count as that would. If its count is correct, the write changes nothing, and the waiter has to
/// detect the wrong owner.
const SILENCE: Duration = Duration::from_millis(100);

/// What the other end of a channel sends, whenever that is; `None` when it is gone. Meanwhile the calling thread writes
/// its count of locks into the arena of `engine`.
fn await_next<T>(from: &Receiver<T>, engine: Option<Engine>) -> Option<T> {
    loop {
        match from.recv_timeout(SILENCE) {
            Ok(it) => return Some(it),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) => {
                engine.inspect(arena_parts::renew_lock_count);
            }
        }
    }
}

/// A thread that calls.
pub struct Caller {
    jobs: Sender<Job>,
    answers: Receiver<Result<(), String>>,
    /// What is under way is done with this engine.
    under_way: Option<Engine>,
    thread: libc::pthread_t,
}

impl Caller {
    pub fn new() -> Caller {
        let (jobs, mine) = channel::<Job>();
        let (answer, answers) = channel();
        let (tell, told) = channel();
        thread::spawn(move || {
            // SAFETY: asks for the calling thread.
            tell.send(unsafe { libc::pthread_self() }).expect("somebody has made this thread");
            let mut last = None;
            while let Some((engine, job)) = await_next(&mine, last) {
                last = Some(engine);
                if answer.send(job()).is_err() {
                    return;
                }
            }
        });
        Caller { jobs, answers, under_way: None, thread: told.recv().expect("the thread begins") }
    }

    /// Has the thread do something with an engine, after what it is doing.
    pub fn begin(
        &mut self,
        engine: Engine,
        job: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) -> Result<(), String> {
        self.end()?;
        self.under_way = Some(engine);
        self.jobs.send((engine, Box::new(job))).map_err(|_| "hostile: a thread has ended".to_owned())
    }

    /// Waits until the thread has done what it was asked to do.
    pub fn end(&mut self) -> Result<(), String> {
        match self.under_way.take() {
            None => Ok(()),
            engine => await_next(&self.answers, engine).ok_or("hostile: a thread has ended")?,
        }
    }

    /// As [`end`](Caller::end), and sends the thread signals until then: it may be asleep.
    pub fn wake(&mut self) -> Result<(), String> {
        while let Some(engine) = self.under_way {
            if let Ok(answer) = self.answers.recv_timeout(Duration::from_millis(1)) {
                self.under_way = None;
                return answer;
            }
            arena_parts::renew_lock_count(&engine);
            // SAFETY: the thread lives as long as its channel. The signal has a handler that does nothing.
            unsafe { libc::pthread_kill(self.thread, libc::SIGUSR1) };
        }
        Ok(())
    }
}

/// Sends a message of each of these lengths.
pub fn fill(engine: &Engine, queue: i32, sizes: &[usize]) -> Result<(), Errno> {
    sizes.iter().zip(1..).try_for_each(|(&size, kind)| engine.send(queue, kind, &vec![7; size], 0))
}
