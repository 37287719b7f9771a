//! semop(2) and semtimedop(2).
//!
//! A call of one operation first takes the fast paths: see `one_op`. What these refuse, and all other calls, go through
//! [`semop_slow`], whose steps are in the order of Linux 6.18 (`ipc/sem.c`: `ksys_semtimedop`, `do_semtimedop`,
//! `__do_semtimedop`):
//!
//! 1. timeout pointer (EFAULT), count (E2BIG, EINVAL);
//! 2. the operations are loaded from the program's memory, once (EFAULT): what the program writes there later has no
//!    effect. (The fast path loads its operation itself, and if it refuses, what it has loaded is not used.)
//! 3. negative id, invalid timeout (EINVAL);
//! 4. one operation without a lock, if nothing waits for the semaphore;
//! 5. under the set's lock: id (EINVAL), index (EFBIG), permission (EACCES), removal (EIDRM), then the operations;
//! 6. the wait.

use super::fast_path::{fast_path, fast_path_retry};
use super::one_op::LoadedOp;
use super::undo_record;
use crate::engine::guard::{Guard, Held};
use crate::engine::lock_names::Call;
use crate::engine::{Engine, Inner};
use crate::participant::MAX_OPS;
use crate::recovery::process::Process;
use crate::registry::Access;
use crate::rules::{Lookup, SingleOp};
use crate::sem::section::{Performed, SetSection};
use crate::sem::{Op, Set, UndoRecord};
use crate::thread::Thread;
use crate::time;
use crate::waiting::{self, CallerBuffers, WaitResult, WaitTarget};
use core::mem::MaybeUninit;
use unspin_sync::atomic::Ordering::Relaxed;
use unspin_sys::ipc::Sembuf;
use unspin_sys::limits::SemLimits;
use unspin_sys::{Errno, clock, fault, ipc};
use unspin_wire::Event;

/// The default SEMOPM. For shorter vectors the current limit need not be read.
const USUAL_SEMOPM: usize = 500;

impl Engine {
    /// semop(2) of the operation at the address `op`, which [`Engine::semop_one`] has loaded, and whose fast paths
    /// have refused it.
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    pub unsafe fn semop_after_load(&self, id: i32, op: usize, loaded: LoadedOp) -> Result<i32, Errno> {
        match self.inner {
            // SAFETY: the caller's promise is the kernel's.
            None => unsafe { ipc::semop(id, op, 1) },
            Some(inner) => semop_slow(inner, id, Vector::Loaded(loaded.0), 0).map(|()| 0),
        }
    }

    /// semop(2), with the arguments that a C program gives.
    ///
    /// # Safety
    /// As for [`Engine::semtimedop`].
    pub unsafe fn semop(&self, id: i32, ops: usize, nsops: usize) -> Result<i32, Errno> {
        let ours = |thread: &Thread| self.inner.is_some_and(|inner| thread.is_of(inner));
        // SAFETY: the caller's promise, for both.
        unsafe {
            match nsops {
                1 if Thread::fast_path_thread().is_some_and(ours) => Engine::semop_one(self, id, ops),
                _ => self.semtimedop(id, ops, nsops, 0),
            }
        }
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
            Some(inner) => semop_slow(inner, id, Vector::Foreign(ops, nsops), timeout).map(|()| 0),
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
        let Some(inner) = self.inner else {
            // SAFETY: `ops` is a live slice of structures in C's layout.
            return unsafe { ipc::semop(id, ops.as_ptr() as usize, ops.len()) }.map(drop);
        };
        // The slice is read directly. An address, as a C program gives it, would be read by a system call in a process
        // without a handler for SIGSEGV (`unspin_sys::fault`).
        let thread = Thread::fast_path_thread().filter(|thread| thread.is_of(inner));
        match (thread, ops) {
            (Some(thread), &[op]) => fast_path(thread, id, op, time::seconds())
                .unwrap_or_else(|| semop_slow(inner, id, Vector::Loaded(Op::new(op)), 0)),
            _ => semop_slow(inner, id, Vector::Own(ops), 0),
        }
    }
}

/// The operations of a call.
#[derive(Clone, Copy)]
enum Vector<'a> {
    /// One operation, which was loaded before.
    Loaded(Op),
    /// Address and count that the program has given; the address may be invalid.
    Foreign(usize, usize),
    /// A Rust slice.
    Own(&'a [Sembuf]),
}

impl Vector<'_> {
    fn len(self) -> usize {
        match self {
            Vector::Loaded(_) => 1,
            Vector::Foreign(_, n) => n,
            Vector::Own(ops) => ops.len(),
        }
    }

    /// Loads the operation with this index, which is below the length.
    fn load(self, i: usize) -> Result<Op, Errno> {
        match self {
            Vector::Loaded(op) => Ok(op),
            Vector::Foreign(at, _) => fault::load_sembuf(at + i * size_of::<Sembuf>()).map(Op::new),
            Vector::Own(ops) => Ok(Op::new(ops[i])),
        }
    }
}

/// The complete call, for everything that the fast paths do not handle: see the module's text.
fn semop_slow(inner: &'static Inner, id: i32, vector: Vector<'_>, timeout: usize) -> Result<(), Errno> {
    let timeout = read_timeout(timeout)?;
    check_count(vector.len())?;
    let thread = Thread::of(inner)?;
    match vector.len() {
        1 => perform_ops(inner, thread, id, &[vector.load(0)?], timeout),
        _ => perform_vector(inner, thread, id, vector, timeout),
    }
}

fn check_count(nsops: usize) -> Result<(), Errno> {
    match nsops {
        0 => Err(Errno::EINVAL),
        n if n > USUAL_SEMOPM && n > (SemLimits::read().ops as usize).min(MAX_OPS) => Err(Errno::E2BIG),
        _ => Ok(()),
    }
}

/// Loads several operations. Not inlined: they take 4 KiB of the stack, which calls of one operation do not need.
#[inline(never)]
fn perform_vector(
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    vector: Vector<'_>,
    timeout: Option<Timespec>,
) -> Result<(), Errno> {
    let mut ops = [const { MaybeUninit::<Op>::uninit() }; MAX_OPS];
    let ops = &mut ops[..vector.len()];
    for (i, op) in ops.iter_mut().enumerate() {
        op.write(vector.load(i)?);
    }
    // SAFETY: the loop has written each of them.
    let ops = unsafe { core::slice::from_raw_parts(ops.as_ptr().cast::<Op>(), ops.len()) };
    perform_ops(inner, thread, id, ops, timeout)
}

/// The steps after the operations are loaded.
fn perform_ops(
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    ops: &[Op],
    timeout: Option<Timespec>,
) -> Result<(), Errno> {
    if id < 0 {
        return Err(Errno::EINVAL);
    }
    let deadline = timeout.map(check_timeout).transpose()?;
    if let &[op] = ops
        && deadline.is_none()
        && inner.rules.single_op == SingleOp::CompareAndSwap
        && let Some(answer) = fast_path_retry(inner, thread, id, op)
    {
        return answer;
    }
    waiting::interrupt(thread, CallerBuffers::Gone);
    let has_undo = ops.iter().any(|op| op.has_undo());
    let wait = loop {
        let process = if has_undo { Some(inner.process_entry(thread)?) } else { None };
        let call = LockedSemop { inner, thread, id, ops, process, deadline };
        match call.attempt()? {
            LockedResult::Done => return Ok(()),
            LockedResult::OtherProcess => {}
            LockedResult::LacksWord => inner.take_participant_word(thread),
            LockedResult::Queued(wait) => break wait,
            LockedResult::NoUndoRecord(process) => inner.make_record(thread, id, process)?,
        }
    };
    thread.count(Event::Blocked, 1);
    match waiting::wait(inner, thread, wait, deadline) {
        WaitResult::Failed(errno) => Err(errno),
        WaitResult::Done(_) | WaitResult::Retry => Ok(()),
    }
}

/// A call that takes the set's lock.
struct LockedSemop<'a> {
    inner: &'static Inner,
    thread: &'static Thread,
    id: i32,
    ops: &'a [Op],
    /// The process whose adjustments change, for a call with `SEM_UNDO`.
    process: Option<Process>,
    /// When a wait ends, in nanoseconds of the monotonic clock.
    deadline: Option<u64>,
}

/// The result of an attempt.
enum LockedResult {
    Done,
    /// Queued; the number of the wait.
    Queued(u64),
    /// A signal handler has forked or unshared since the call began, and this is the child, or the thread after
    /// unshare(2): other adjustments change.
    OtherProcess,
    /// The operations must wait, and wakers could not tell by the thread's robust word whether it lives.
    LacksWord,
    /// The process has no record of adjustments for the set yet. One must be made, outside the lock.
    NoUndoRecord(Process),
}

impl LockedSemop<'_> {
    /// Performs the operations, or queues them.
    fn attempt(&self) -> Result<LockedResult, Errno> {
        let locked = self.lock_set();
        // From here to the end of the section no signal handler runs.
        if self.process.is_some() && self.thread.process.get() != self.process {
            return Ok(LockedResult::OtherProcess);
        }
        let (held, set) = locked.inspect_err(|&errno| self.note_refusal(errno))?;
        let mut guard = Guard::begin(self.inner, held, set);
        let section = guard.open();
        let undo = match self.process {
            None => None,
            Some(process) => match self.undo_record(section, process) {
                None => return Ok(LockedResult::NoUndoRecord(process)),
                found => found,
            },
        };
        match self.evaluate(section, undo.as_ref()) {
            Performed::Done => {
                section.space.set.set_otime(time::seconds());
                section.serve();
                Ok(LockedResult::Done)
            }
            Performed::Fails(errno) => Err(errno),
            Performed::Blocks(_) if self.has_timed_out() => Err(Errno::EAGAIN),
            Performed::Blocks(_) if self.thread.wants_participant_word() => Ok(LockedResult::LacksWord),
            Performed::Blocks(_) => Ok(LockedResult::Queued(self.enqueue(section, undo.as_ref()))),
        }
    }

    /// Finds the set, checks indices and permission, and takes the lock. Uses the thread's cache if the set and the
    /// permission are in it.
    #[inline(always)]
    fn lock_set(&self) -> Result<(Held<'static>, (u64, &'static Set)), Errno> {
        let exist = |sems: usize| self.ops.iter().all(|op| op.sem() < sems);
        let alters = self.ops.iter().any(|op| op.delta() != 0);
        let want = if alters { Access::Alter } else { Access::Read };
        if self.inner.rules.lookup == Lookup::Rcu {
            let _read = self.thread.read();
            let cached = self.inner.cached_set_for(self.thread, self.id, want);
            if let Some(cached) = cached.filter(|cached| exist(cached.sems().len())) {
                let set = (self.inner.arena.offset_of(cached.set()), cached.set());
                return Ok((self.inner.lock_alive(self.thread, Call::Semop, set)?, set));
            }
        }
        self.lock_uncached_set(want, &exist)
    }

    #[cold]
    #[inline(never)]
    fn lock_uncached_set(
        &self,
        want: Access,
        exist: &dyn Fn(usize) -> bool,
    ) -> Result<(Held<'static>, (u64, &'static Set)), Errno> {
        self.inner.lock_by_id(self.thread, Call::Semop, self.id, |set: &Set| {
            if !exist(set.count()) {
                return Err(Errno::EFBIG);
            }
            self.inner.permit(self.thread, &set.perm, want)
        })
    }

    /// The kernel allocates the record of adjustments before it checks indices and permission (`find_alloc_undo`), and
    /// a process with a record updates `sem_otime` when it ends.
    fn note_refusal(&self, errno: Errno) {
        if let (Errno::EFBIG | Errno::EACCES, Some(process)) = (errno, self.process) {
            let _ = self.inner.make_record(self.thread, self.id, process);
        }
    }

    /// The process's record of adjustments for the set of a section.
    fn undo_record<'a>(&self, section: &SetSection<'a>, process: Process) -> Option<UndoRecord<'a>> {
        let _read = self.thread.read();
        let cached = self.inner.cached_set_for(self.thread, self.id, Access::Alter);
        if let Some(record) = cached.and_then(|cached| section.space.record(cached.undo())) {
            return Some(record);
        }
        let record = undo_record::find(section, process)?;
        if let Some(cached) = cached {
            cached.store_undo(record.at);
        }
        Some(record)
    }

    /// Performs all operations, or none.
    fn evaluate(&self, section: &SetSection<'_>, undo: Option<&UndoRecord<'_>>) -> Performed {
        let pid = self.thread.pid();
        if let &[op] = self.ops {
            section.mark_slow(op.sem());
            return section.perform_one(op, pid, undo);
        }
        let ops = || self.ops.iter().copied();
        ops().for_each(|op| section.mark_slow(op.sem()));
        let performed = section.evaluate(ops(), undo);
        if performed == Performed::Done {
            section.commit(ops(), pid, undo);
        }
        performed
    }

    /// Whether the call must not wait. That is decided by the operations as given, because the arena may be
    /// overwritten.
    fn has_timed_out(&self) -> bool {
        self.ops.iter().all(|op| op.has_nowait())
            || self.deadline.is_some_and(|deadline| deadline <= clock::monotonic_ns())
    }

    /// Puts the operations into the thread's record, where wakers find them, and the thread into the queue. Returns the
    /// number of the wait. No signal handler runs meanwhile, so none uses the record.
    fn enqueue(&self, section: &SetSection<'_>, undo: Option<&UndoRecord<'_>>) -> u64 {
        let record = self.thread.record();
        // Relaxed (all): published by the Release in `SetSection::enqueue`; wakers read them under the set's lock.
        for (word, op) in record.op_words().zip(self.ops) {
            word.store(op.0, Relaxed);
        }
        record.waiter.nsops.store(self.ops.len() as u32, Relaxed);
        record.waiter.pid.store(self.thread.pid(), Relaxed);
        let wait = self.thread.waits.begin(WaitTarget::Operation);
        section.enqueue(undo);
        wait
    }
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
