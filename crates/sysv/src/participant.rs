//! What the engine keeps of each participating thread in shared memory: the operation it waits for, and the
//! change it is making.
//!
//! Participants are the slots of the RCU registry; this is the engine's part of them, under the same index.

use crate::sem::Op;
use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Most operations in a call. The kernel's SEMOPM is 500 (`include/uapi/linux/sem.h`); a system that raised it
/// gets E2BIG from here on.
#[cfg(not(loom))]
pub const MAX_OPS: usize = 512;
/// Models need no more.
#[cfg(loom)]
pub const MAX_OPS: usize = 2;

/// States of [`Waiter::status`].
///
/// | from | to | by whom |
/// |---|---|---|
/// | `IDLE` | `QUEUED` | the waiter, holding the set's lock |
/// | `QUEUED` | `SLEEPING` | the waiter, without a lock: compare-and-swap |
/// | `QUEUED`, `SLEEPING` | `GRANTED`, `FAILED` | the set's lock holder |
/// | `GRANTED` | `CONFIRMED` | who granted, once the waiter is known to have been alive |
/// | `GRANTED` | `REVERTED` | who finds a waiter dead that was never confirmed, holding the set's lock |
/// | any end | `IDLE` | the waiter |
pub mod status {
    /// Not waiting. A new participant.
    pub const IDLE: u32 = 0;
    /// In the set's queue, spinning.
    pub const QUEUED: u32 = 1;
    /// In the set's queue, asleep on this word or about to be.
    pub const SLEEPING: u32 = 2;
    /// Its operation was performed by another participant.
    pub const GRANTED: u32 = 3;
    /// As `GRANTED`, and the waiter was alive at that time: if it dies now, the operation has happened.
    pub const CONFIRMED: u32 = 4;
    /// A grant to a dead waiter that was taken back.
    pub const REVERTED: u32 = 5;
    /// Ended with the error number in the upper bits.
    pub const FAILED: u32 = 6;

    /// Still to be served?
    pub fn is_waiting(status: u32) -> bool {
        matches!(status, QUEUED | SLEEPING)
    }

    /// `FAILED` with an error number.
    pub fn failed(errno: i32) -> u32 {
        FAILED | (errno as u32) << 8
    }
}

/// In which of the set's lists a waiter stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Queue {
    /// One operation that takes.
    Alter = 0,
    /// One operation that waits for zero.
    Zero = 1,
    /// Several operations, some of which change values.
    ComplexAlter = 2,
    /// Several operations that wait for zero.
    ComplexZero = 3,
}

impl Queue {
    pub(crate) fn of(ops: impl ExactSizeIterator<Item = Op> + Clone) -> Queue {
        let alters = ops.clone().any(|op| op.delta() != 0);
        match (ops.len(), alters) {
            (1, true) => Queue::Alter,
            (1, false) => Queue::Zero,
            (_, true) => Queue::ComplexAlter,
            (_, false) => Queue::ComplexZero,
        }
    }

    fn from_u32(n: u32) -> Queue {
        [Queue::Alter, Queue::Zero, Queue::ComplexAlter, Queue::ComplexZero][n as usize & 3]
    }
}

/// A thread's waiting operation. Written by the thread while `IDLE`; while it waits, read and linked by the
/// set's lock holder.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Waiter {
    /// See [`status`]. The thread sleeps on this word.
    pub status: AtomicU32,
    /// [`Queue`].
    pub queue: AtomicU32,
    /// Time-stamp counter at the last moment the spinning waiter was known to run.
    pub beat: AtomicU64,
    /// Offset of the set in the arena.
    pub set: AtomicU64,
    /// Order of arrival in that set.
    pub ticket: AtomicU64,
    /// Process, for `sempid`.
    pub pid: AtomicU32,
    /// Operations in use.
    pub nsops: AtomicU32,
    /// Neighbours in the list, as indices plus one. Protected by the set's lock.
    pub prev: AtomicU32,
    /// See `prev`.
    pub next: AtomicU32,
}

impl Waiter {
    /// The spinning waiter is about to sleep on the status; whoever ends its wait from now on wakes it. Nothing if
    /// the wait is over.
    pub fn fall_asleep(&self) {
        // Relaxed: whoever ends the wait reads no more than this word's own value; what the waiter wrote for him was
        // published under the set's lock.
        let _ = self.status.compare_exchange(
            status::QUEUED,
            status::SLEEPING,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// The status as the waiter itself looks at it.
    pub fn look(&self) -> u32 {
        // Acquire: partner of the swap in `Section::finish`: what the granting process did before is visible.
        self.status.load(Ordering::Acquire)
    }

    /// The waiter has taken note of how its wait ended.
    pub fn acknowledge(&self) {
        // Release: partner of the Acquire in `redo::is_decided`, which finds that the wait has ended; whatever
        // it ended with was read before.
        self.status.store(status::IDLE, Ordering::Release);
    }

    /// Somebody who was granted his operation was alive at that time.
    pub(crate) fn confirm(&self) {
        // Relaxed: no data goes with it. A failure means that the waiter has acknowledged already.
        let _ = self.status.compare_exchange(
            status::GRANTED,
            status::CONFIRMED,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Wakes the waiter; returns whether it slept.
    pub(crate) fn wake(&self) -> bool {
        crate::futex::wake(&self.status, 1) != 0
    }
}

/// A change of several words that is being made under a set's lock: the record that makes it all or nothing
/// even if its maker dies. See [`crate::sem::redo`].
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Redo {
    /// [`crate::sem::redo::state`].
    pub state: AtomicU32,
    /// Entries in use.
    pub count: AtomicU32,
    /// Offset of the set.
    pub set: AtomicU64,
    /// Pid to be written beside the values, or 0 to leave it.
    pub pid: AtomicU32,
    /// The participant whose status decides whether the change is to be made.
    pub whose: AtomicU32,
    /// That participant's ticket when the record was written.
    pub ticket: AtomicU64,
}

/// See the module's text. Valid when zeroed.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Participant {
    pub(crate) waiter: Waiter,
    pub(crate) redo: Redo,
    /// Locks that this participant holds or tries to take. Written by itself; read by whoever buries it.
    busy: AtomicU32,
    /// A heap block on its way to or from the free list: see [`crate::heap`].
    pub(crate) pending: AtomicU64,
    pub(crate) ops: [AtomicU64; MAX_OPS],
    pub(crate) entries: [AtomicU64; MAX_OPS],
}

#[cfg(any(test, loom))]
impl Default for Participant {
    fn default() -> Participant {
        Participant {
            waiter: Waiter::default(),
            redo: Redo::default(),
            busy: AtomicU32::default(),
            pending: AtomicU64::default(),
            ops: core::array::from_fn(|_| AtomicU64::default()),
            entries: core::array::from_fn(|_| AtomicU64::default()),
        }
    }
}

impl Participant {
    #[inline(always)]
    pub(crate) fn enter_busy(&self) {
        // Relaxed: only the thread itself writes, and it is read once the thread is dead, when all its stores up to
        // some point are in memory: the compiler fence puts this one before the lock's exchange.
        self.busy.store(self.busy.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        unspin_sync::atomic::compiler_fence(Ordering::SeqCst);
    }

    #[inline(always)]
    pub(crate) fn leave_busy(&self) {
        unspin_sync::atomic::compiler_fence(Ordering::SeqCst);
        // Relaxed: as in enter_busy.
        self.busy.store(self.busy.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }

    /// Whether the participant holds a lock or tries to take one.
    pub(crate) fn is_busy(&self) -> bool {
        // Relaxed: asked by the thread itself.
        self.busy.load(Ordering::Relaxed) != 0
    }

    /// Whether a dead participant can be forgotten without repairing anything.
    pub(crate) fn is_clean(&self) -> bool {
        // Relaxed: its thread is dead.
        self.busy.load(Ordering::Relaxed) == 0
            && self.pending.load(Ordering::Relaxed) == 0
            && self.redo.state.load(Ordering::Relaxed) == 0
            && !matches!(
                self.waiter.status.load(Ordering::Relaxed),
                status::QUEUED | status::SLEEPING | status::GRANTED
            )
    }

    /// Makes the record ready for another thread.
    pub(crate) fn forget(&self) {
        // Relaxed: nobody looks at it before the slot is claimed, which orders.
        self.waiter.status.store(status::IDLE, Ordering::Relaxed);
        self.busy.store(0, Ordering::Relaxed);
    }

    /// The waiting operations.
    pub(crate) fn ops(&self) -> impl ExactSizeIterator<Item = Op> + Clone + '_ {
        // Relaxed: written by the waiter before it entered the queue under the set's lock, which the reader
        // holds.
        let n = (self.waiter.nsops.load(Ordering::Relaxed) as usize).min(MAX_OPS);
        self.ops[..n].iter().map(|op| Op(op.load(Ordering::Relaxed)))
    }

    pub(crate) fn queue(&self) -> Queue {
        // Relaxed: as in `ops`.
        Queue::from_u32(self.waiter.queue.load(Ordering::Relaxed))
    }
}
