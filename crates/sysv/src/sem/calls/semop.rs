//! semop(2) and semtimedop(2).
//!
//! The checks are in the order of Linux 6.18 (`ipc/sem.c`: `ksys_semtimedop`, `do_semtimedop`, `__do_semtimedop`):
//! timeout pointer (EFAULT), count (E2BIG, EINVAL), vector (EFAULT), negative id, invalid time (EINVAL), id (EINVAL),
//! index (EFBIG), permission (EACCES), removal (EIDRM), then the operations.

use super::fast_path::{patient, quick};
use super::undo_fast_path::flagged;
use super::undo_record as record;
use crate::engine::guard::{Guard, Held};
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::kind::Kind;
use crate::participant::{MAX_OPS, ParticipantRecord};
use crate::recovery::process::Process;
use crate::registry::Access;
use crate::sem::section::{Performed, SetSection};
use crate::sem::{Op, Set, UndoRecord};
use crate::thread::Thread;
use crate::time;
use crate::waiting::{self, CallerBuffers, WaitResult, WaitTarget};
use unspin_meter::Event;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::ipc::Sembuf;
use unspin_sys::limits::SemLimits;
use unspin_sys::{Errno, clock, fault, ipc};

/// The default SEMOPM. For shorter vectors the current limit need not be read.
const USUAL_SEMOPM: usize = 500;

impl Engine {
    /// semop(2) of one operation, whose address a C program gives, if a few instructions suffice. Otherwise returns
    /// `None`, nothing has happened, and the caller must call [`Engine::semtimedop`].
    ///
    /// It uses the engine that the calling thread joined last, so it is for processes with only one engine. It is meant
    /// to be inlined into a hook: it calls nothing but the clock, so that few registers have to be saved.
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    #[inline(always)]
    pub unsafe fn try_semop(id: i32, op: usize) -> Option<Result<i32, Errno>> {
        let thread = Thread::fast_path_thread()?;
        // The clock is read here because few values are in registers yet that the call would make the compiler save. It
        // is not read after the exchange, because what follows the exchange must wait for it.
        let now = time::seconds();
        let answer = quick(thread, id, fault::load_plain_sembuf(op), now)?;
        Some(answer.map(|()| 0))
    }

    /// Like [`Engine::try_semop`], for an operation that it has refused because of `SEM_UNDO`.
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    pub unsafe fn try_semop_undo(id: i32, op: usize) -> Option<Result<i32, Errno>> {
        let thread = Thread::fast_path_thread()?;
        let op = fault::load_sembuf(op).ok()?;
        Some(flagged(thread, id, Op::new(op))?.map(|()| 0))
    }

    /// Whether the calling thread has a fast path at all. If not, [`Engine::try_semop`] and [`Engine::try_semop_undo`]
    /// return `None`.
    #[inline(always)]
    pub fn has_fast_path() -> bool {
        Thread::fast_path_thread().is_some()
    }

    /// semop(2), with the arguments that a C program gives.
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    pub unsafe fn semop(&self, id: i32, ops: usize, nsops: usize) -> Result<i32, Errno> {
        let ours = |thread: &&Thread| self.inner.is_some_and(|inner| thread.is_of(inner));
        if nsops == 1
            && Thread::fast_path_thread().filter(ours).is_some()
            // SAFETY: the caller's promise.
            && let Some(answer) = unsafe { Engine::try_semop(id, ops).or_else(|| Engine::try_semop_undo(id, ops)) }
        {
            return answer;
        }
        // SAFETY: the caller's promise.
        unsafe { self.semtimedop(id, ops, nsops, 0) }
    }

    /// semtimedop(2), with the arguments that a C program gives. With `timeout` 0 it waits without limit, as semop(2)
    /// does.
    ///
    /// # Safety
    /// If `ops` is readable for `nsops` structures, and `timeout` for one, no thread may write to them during the call.
    /// For any other address the call fails with `EFAULT`.
    pub unsafe fn semtimedop(&self, id: i32, ops: usize, nsops: usize, timeout: usize) -> Result<i32, Errno> {
        match self.inner {
            // SAFETY: the caller's promise is the kernel's.
            None if timeout == 0 => unsafe { ipc::semop(id, ops, nsops) },
            // SAFETY: as above.
            None => unsafe { ipc::semtimedop(id, ops, nsops, timeout) },
            Some(inner) => slow(inner, id, Vector::Foreign(ops, nsops), timeout).map(|()| 0),
        }
    }

    /// semop(2) from Rust.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use unspin_sys::ipc::{Sembuf, flag};
    /// use unspin_sysv::{Engine, Kind, Options};
    ///
    /// let dir = tempfile::tempdir()?;
    /// let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None)?;
    /// let id = engine.semget(flag::IPC_PRIVATE, 1, 0o600)?;
    /// let op = |sem_op| [Sembuf { sem_num: 0, sem_op, sem_flg: flag::IPC_NOWAIT as i16 }];
    /// engine.semop_ops(id, &op(1))?;
    /// engine.semop_ops(id, &op(-1))?;
    /// assert_eq!(engine.semop_ops(id, &op(-1)), Err(unspin_sys::Errno::EAGAIN));
    /// # Ok(())
    /// # }
    /// ```
    pub fn semop_ops(&self, id: i32, ops: &[Sembuf]) -> Result<(), Errno> {
        match self.inner {
            // SAFETY: `ops` is a live slice of structures in C's layout.
            None => unsafe { ipc::semop(id, ops.as_ptr() as usize, ops.len()) }.map(drop),
            Some(inner) => {
                let thread = Thread::fast_path_thread().filter(|thread| thread.is_of(inner));
                let answer = match (thread, ops) {
                    (Some(thread), [op]) => quick(thread, id, *op, time::seconds()),
                    _ => None,
                };
                answer.unwrap_or_else(|| slow(inner, id, Vector::Own(ops), 0))
            }
        }
    }
}

/// A vector of operations that has not been read yet.
#[derive(Clone, Copy)]
enum Vector<'a> {
    /// Address and count that the program has given; the address may be invalid.
    Foreign(usize, usize),
    /// A Rust slice.
    Own(&'a [Sembuf]),
}

impl Vector<'_> {
    fn first(self) -> Result<Sembuf, Errno> {
        match self {
            Vector::Foreign(at, _) => fault::load_sembuf(at),
            Vector::Own(ops) => Ok(ops[0]),
        }
    }

    fn len(self) -> usize {
        match self {
            Vector::Foreign(_, n) => n,
            Vector::Own(ops) => ops.len(),
        }
    }

    /// Copies the operations to the participant's record, where a waker finds them. Returns whether the call may wait.
    /// That is decided by the operations as given, because the arena may be overwritten.
    fn read(self, into: &ParticipantRecord) -> Result<Delay, Errno> {
        let mut delay = Delay::Never;
        for (i, to) in into.op_words().enumerate().take(self.len()) {
            let op = match self {
                Vector::Own(ops) => Op::new(ops[i]),
                Vector::Foreign(at, _) => Op::new(fault::load_sembuf(at + i * size_of::<Sembuf>())?),
            };
            // Relaxed: published by the Release in `SetSection::enqueue`.
            to.store(op.0, Relaxed);
            if !op.nowait() {
                delay = Delay::Allowed;
            }
        }
        into.waiter.nsops.store(self.len() as u32, Relaxed);
        Ok(delay)
    }
}

/// The complete call, for everything that the fast path does not handle.
fn slow(inner: &'static Inner, id: i32, vector: Vector<'_>, timeout: usize) -> Result<(), Errno> {
    let timeout = read_timeout(timeout)?;
    if vector.len() > USUAL_SEMOPM && vector.len() > (SemLimits::read().ops as usize).min(MAX_OPS) {
        return Err(Errno::E2BIG);
    }
    if vector.len() == 0 {
        return Err(Errno::EINVAL);
    }
    let thread = Thread::of(inner)?;
    if vector.len() == 1
        && timeout.is_none()
        && inner.kind == Kind::Rcu
        && let Ok(op) = vector.first()
        && let Some(answer) = patient(inner, thread, id, Op::new(op))
    {
        return answer;
    }
    waiting::interrupt(thread, CallerBuffers::Gone);
    let mut deadline = None;
    loop {
        thread.calls.set(thread.calls.get() + 1);
        let call = thread.calls.get();
        let record = thread.record();
        let delay = vector.read(record)?;
        if id < 0 {
            return Err(Errno::EINVAL);
        }
        if let (None, Some(timeout)) = (deadline, timeout) {
            deadline = Some(check_timeout(timeout)?);
        }
        let until = if delay == Delay::Never { Some(0) } else { deadline };
        // Relaxed: wakers read it under the lock of the set whose queue this thread enters.
        record.waiter.pid.store(thread.pid(), Relaxed);

        let flagged = record.ops().any(|op| op.undo());
        let process = if flagged { Some(inner.process_entry(thread)?) } else { None };
        let step = perform(inner, thread, (id, process), call, until);
        if let (Err(Errno::EFBIG | Errno::EACCES), Some(process)) = (&step, process) {
            // The kernel allocates the record before these checks (`find_alloc_undo`), and a process with a record
            // updates `sem_otime` when it ends.
            let _ = inner.make_record(thread, id, process);
        }
        match step? {
            Step::Done => return Ok(()),
            Step::Queued(wait) => {
                thread.count(Event::Blocked, 1);
                return match waiting::wait(inner, thread, wait, deadline) {
                    WaitResult::Failed(errno) => Err(errno),
                    WaitResult::Done(_) | WaitResult::Retry => Ok(()),
                };
            }
            Step::Again(process) => process.map_or(Ok(()), |it| inner.make_record(thread, id, it))?,
        }
    }
}

/// Whether a call may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Delay {
    /// Each of its operations has `IPC_NOWAIT`.
    Never,
    Allowed,
}

enum Step {
    Done,
    /// Queued; the number of the wait.
    Queued(u64),
    /// To be done again. Without a process: a signal handler has called the engine meanwhile, and its operations have
    /// overwritten this call's. With a process: the process has no record of adjustments for the set yet, and one must
    /// be made.
    Again(Option<Process>),
}

/// `process` is the process whose adjustments change, for a call with `SEM_UNDO`.
fn perform(
    inner: &'static Inner,
    thread: &'static Thread,
    (id, process): (i32, Option<Process>),
    call: u64,
    deadline: Option<u64>,
) -> Result<Step, Errno> {
    let record = thread.record();
    let held = hold(inner, thread, id, record);
    // From here to the end of the section no signal handler runs.
    if thread.calls.get() != call {
        return Ok(Step::Again(None));
    }
    let (held, set) = held?;
    let mut guard = Guard::unopened(inner, held, set);
    let section = guard.open();
    let undo = match process {
        Some(process) => match recorded(inner, thread, section, (id, process)) {
            Some(record) => Some(record),
            None => return Ok(Step::Again(Some(process))),
        },
        None => None,
    };
    let undo = undo.as_ref();
    record.ops().for_each(|op| section.mark_slow(op.sem()));
    let single = record.ops().next().filter(|_| record.ops().len() == 1);
    let performed = match single {
        Some(op) => section.perform_one(op, thread.pid(), undo),
        None => section.evaluate(record.ops(), undo),
    };
    match performed {
        Performed::Fails(errno) => Err(errno),
        Performed::Blocks(_) if deadline.is_some_and(|d| d <= clock::monotonic_ns()) => Err(Errno::EAGAIN),
        Performed::Blocks(_) => {
            let wait = thread.waits.begin(WaitTarget::Operation);
            section.enqueue(undo);
            Ok(Step::Queued(wait))
        }
        Performed::Done => {
            if single.is_none() {
                section.commit(record.ops(), thread.pid(), undo);
            }
            section.space.set.operated_at(time::seconds());
            section.serve();
            Ok(Step::Done)
        }
    }
}

/// Takes the lock of the set of `id`. Uses the thread's cache if the set and the permission are in it.
#[inline(always)]
fn hold(
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    record: &ParticipantRecord,
) -> Result<(Held<'static>, (u64, &'static Set)), Errno> {
    let exist = |sems: usize| record.ops().all(|op| op.sem() < sems);
    let want = if record.ops().any(|op| op.delta() != 0) { Access::Alter } else { Access::Read };
    if inner.kind == Kind::Rcu {
        let _read = thread.read();
        if let Some(cached) =
            inner.cached_set_for(thread, id, want).filter(|cached| exist(cached.sems().len()))
        {
            let set = (inner.arena.offset_of(cached.set()), cached.set());
            return Ok((inner.hold_alive(thread, Call::Semop, set)?, set));
        }
    }
    hold_unknown(inner, thread, id, (want, &exist))
}

/// The slow path of `hold`: finds the set in the table and checks the permission.
#[cold]
#[inline(never)]
fn hold_unknown(
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    (want, exist): (Access, &dyn Fn(usize) -> bool),
) -> Result<(Held<'static>, (u64, &'static Set)), Errno> {
    inner.hold_id(thread, Call::Semop, id, |set: &Set| {
        if !exist(set.count()) {
            return Err(Errno::EFBIG);
        }
        inner.permit(thread, &set.perm, want)
    })
}

/// The process's record for the set of a section; `id` is the set's id.
fn recorded<'a>(
    inner: &'static Inner,
    thread: &'static Thread,
    section: &SetSection<'a>,
    (id, process): (i32, Process),
) -> Option<UndoRecord<'a>> {
    let _read = thread.read();
    let cached = inner.cached_set_for(thread, id, Access::Alter);
    if let Some(record) = cached.and_then(|cached| section.space.record(cached.undo())) {
        return Some(record);
    }
    let record = record::find(section, process)?;
    if let Some(cached) = cached {
        cached.store_undo(record.at);
    }
    Some(record)
}

/// Seconds and nanoseconds of a `struct timespec`.
type Timespec = (i64, i64);

fn read_timeout(address: usize) -> Result<Option<Timespec>, Errno> {
    if address == 0 {
        return Ok(None);
    }
    let mut bytes = [0u8; 16];
    fault::copy_in(address, &mut bytes)?;
    let [low, high] =
        [0, 8].map(|i| i64::from_ne_bytes(bytes[i..i + 8].try_into().expect("eight of sixteen")));
    Ok(Some((low, high)))
}

/// The time on the monotonic clock, in nanoseconds, at which a relative timeout ends; 0 for a timeout of zero.
/// `EINVAL` if the timeout is not valid (`timespec64_valid`).
fn check_timeout((seconds, nanoseconds): Timespec) -> Result<u64, Errno> {
    if seconds < 0 || !(0..1_000_000_000).contains(&nanoseconds) {
        return Err(Errno::EINVAL);
    }
    let ns = (seconds as u64).saturating_mul(1_000_000_000).saturating_add(nanoseconds as u64);
    Ok(if ns == 0 { 0 } else { clock::monotonic_ns().saturating_add(ns) })
}
