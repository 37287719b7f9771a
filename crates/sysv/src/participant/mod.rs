//! The engine's record of each participating thread in shared memory: the operation that it waits for, and the change
//! that it is making.
//!
//! A participant is a slot of the RCU registry. Its record here has the same index.

mod monitored;
pub(crate) mod wakes;

pub(crate) use monitored::{MAX_MONITORED, MonitoredProcesses};

use crate::class::Class;
use crate::sync::lock_count::LockCount;
use std::sync::OnceLock;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Most operations in a call. The kernel's default for SEMOPM is 500 (`include/uapi/linux/sem.h`). On a system with a
/// higher limit, vectors longer than this fail with E2BIG.
#[cfg(not(loom))]
pub const MAX_OPS: usize = 512;
/// The models need no more.
#[cfg(loom)]
pub const MAX_OPS: usize = 2;

/// Number of processes that can have adjustments (`SEM_UNDO`) at the same time. A process keeps its entry across
/// `exec`.
pub const MAX_PROCESSES: u32 = 16_384;

/// States of [`Waiter::status`].
///
/// | from | to | set by |
/// |---|---|---|
/// | `IDLE` | `QUEUED` | the waiter, holding the object's lock |
/// | `QUEUED` | `SLEEPING` | the waiter, without a lock: compare-and-swap |
/// | `SLEEPING` | `QUEUED` | the set's lock holder, which has extended the waiter's list of monitored processes, and wakes it |
/// | `QUEUED`, `SLEEPING` | `GRANTED`, `FAILED`, `RETRY` | the object's lock holder |
/// | `GRANTED` | `CONFIRMED` | the thread that made the grant, once it knows that the waiter was alive |
/// | `QUEUED`, `SLEEPING` | `FAILED` | the waiter, without a lock, if no other thread can end the wait |
/// | `GRANTED` | `REVERTED` | an object's lock holder that finds the waiter dead and the grant unconfirmed |
/// | `GRANTED`, `CONFIRMED` | `REVERTED` | a receiver that gives its message back, holding the queue's lock |
/// | any end | `IDLE` | the waiter |
/// | any, of a dead waiter | `IDLE` | the object's lock holder that recovers it |
pub mod status {
    /// Not waiting. Zero, so that a new participant has it.
    pub const IDLE: u32 = 0;
    /// In the object's queue, spinning.
    pub const QUEUED: u32 = 1;
    /// In the object's queue, asleep on this word or about to be.
    pub const SLEEPING: u32 = 2;
    /// Another participant performed its operation. The upper bits tell this grant from later ones: see [`grant`].
    pub const GRANTED: u32 = 3;
    /// As `GRANTED`, and the waiter was alive at that time: if it dies now, the operation counts as done.
    pub const CONFIRMED: u32 = 4;
    /// A grant to a dead waiter that was taken back.
    pub const REVERTED: u32 = 5;
    /// The wait ended with the error number in the upper bits.
    pub const FAILED: u32 = 6;
    /// The wait ended without a result: the waiter must try again, and other waiters depend on that.
    pub const RETRY: u32 = 7;

    /// Whether a waiter that dies in this status leaves work for other participants.
    pub fn concerns_others(status: u32) -> bool {
        // REVERTED: the participant that took the grant back may also have died, before it finished. The next holder of
        // the object's lock finishes that, from this waiter's record.
        matches!(status & 0xFF, QUEUED | SLEEPING | GRANTED | REVERTED | RETRY)
    }

    /// Whether a thread that sleeps on this status has to be woken: its wait has ended, or it is to look again.
    pub fn is_news(status: u32) -> bool {
        matches!(status & 0xFF, QUEUED | GRANTED | CONFIRMED | FAILED | RETRY)
    }

    /// Whether the wait has not ended yet.
    pub fn is_waiting(status: u32) -> bool {
        matches!(status, QUEUED | SLEEPING)
    }

    /// `GRANTED`, for the wait with this ticket on the object at this offset. The thread that confirms a grant found
    /// its waiter alive some time ago. Since then the waiter may have waited again and died, and have been granted that
    /// second operation, which must be taken back. So the confirmation names the grant that it is for, by 24 bits of a
    /// hash (Fibonacci hashing: Knuth, vol. 3, 6.4).
    pub fn grant(ticket: u64, object: u64) -> u32 {
        let hash = (ticket ^ object.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        GRANTED | (hash >> 40 << 8) as u32
    }

    /// Whether the status is `GRANTED`, for any wait.
    pub fn is_granted(status: u32) -> bool {
        status & 0xFF == GRANTED
    }

    /// `FAILED` with an error number.
    pub fn failure(errno: i32) -> u32 {
        FAILED | (errno as u32) << 8
    }
}

/// The list of the object in which a waiter is linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum WaitList {
    /// One operation that changes the value.
    Alter = 0,
    /// One operation that waits for zero.
    Zero = 1,
    /// Several operations, at least one of which changes a value.
    ComplexAlter = 2,
    /// Several operations that only wait for zero.
    ComplexZero = 3,
    /// Waits for a message to arrive.
    Receive = 4,
    /// Waits for room for a message.
    Send = 5,
}

impl WaitList {
    fn from_u32(n: u32) -> WaitList {
        match n {
            1 => WaitList::Zero,
            2 => WaitList::ComplexAlter,
            3 => WaitList::ComplexZero,
            4 => WaitList::Receive,
            5 => WaitList::Send,
            _ => WaitList::Alter,
        }
    }

    /// The class of objects that have such a list.
    pub(crate) fn class(self) -> Class {
        match self {
            WaitList::Receive | WaitList::Send => Class::Msg,
            _ => Class::Sem,
        }
    }
}

/// The operation that a thread waits for. The thread writes it while `IDLE`. While the thread waits, the holder of the
/// object's lock reads it and links it into lists.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Waiter {
    /// The state of the wait: see [`status`]. The thread sleeps on this word.
    pub status: AtomicU32,
    /// A [`WaitList`], as a number.
    pub queue: AtomicU32,
    /// Offset of the object in the arena: a set or a message queue, depending on [`WaitList`].
    pub object: AtomicU64,
    /// Order of arrival at that object.
    pub ticket: AtomicU64,
    /// Pid of the waiter's process, for `sempid`.
    pub pid: AtomicU32,
    /// Number of operations in use.
    pub nsops: AtomicU32,
    /// Neighbours in the list, as indices plus one. Protected by the object's lock.
    pub prev: AtomicU32,
    /// See `prev`.
    pub next: AtomicU32,
    /// Offset of the process's record of adjustments if an operation has `SEM_UNDO`, else 0.
    pub undo: AtomicU64,
    /// Number of processes whose exit the waiter monitors: see [`MonitoredProcesses`]. It is here because every sleeper
    /// reads it.
    monitored_count: AtomicU32,
    /// Position among the waiters: see [`MonitoredProcesses`].
    position: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Waiter>() == 64, "a cache line: the waker's miss, and the sleeper's");

impl Waiter {
    /// The spinning waiter is about to sleep on the status. From now on the thread that ends its wait wakes it. No
    /// effect if the wait is over.
    pub fn mark_sleeping(&self) {
        // SeqCst: ordered before the waiter's read of its list of monitored processes; see `rouse`. The thread that
        // ends the wait reads only this word's value from this store. It sees what the waiter wrote for it by the
        // object's lock.
        let _ = self.status.compare_exchange(
            status::QUEUED,
            status::SLEEPING,
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
    }

    /// Returns a sleeping waiter to `QUEUED`, so that it reads its list of monitored processes again. The caller has
    /// changed that list, and holds the set's lock. Returns whether the waiter was in `SLEEPING`, and has to be woken.
    ///
    /// If the waiter was not in `SLEEPING` when this exchange ran, it sees the change: its [`mark_sleeping`] comes
    /// after the exchange, and its read of the list after that.
    ///
    /// [`mark_sleeping`]: Waiter::mark_sleeping
    pub(crate) fn rouse(&self) -> bool {
        // SeqCst: ordered between the caller's change and the waiter's read.
        self.status
            .compare_exchange(status::SLEEPING, status::QUEUED, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// The status, as the waiter itself reads it.
    pub fn load_status(&self) -> u32 {
        // Acquire: partner of the swap in `WakeList::finish`: what the granting process did before is visible.
        self.status.load(Ordering::Acquire)
    }

    /// Ends the caller's own wait with `EIDRM`, whichever thread was to end it.
    pub fn end_as_removed(&self) {
        // Release: as in `acknowledge`.
        self.status.store(status::failure(unspin_sys::Errno::EIDRM.0), Ordering::Release);
    }

    /// The waiter has read how its wait ended, and returns to `IDLE`.
    pub fn acknowledge(&self) {
        // Release: partner of the Acquire in `redo::is_decided`, which finds that the wait has ended. The waiter has
        // read its end status before this store.
        self.status.store(status::IDLE, Ordering::Release);
    }

    /// The caller ends its own wait.
    pub(crate) fn end_own(&self, end: u32) {
        // AcqRel: as in `WakeList::finish`.
        self.status.swap(end, Ordering::AcqRel);
        self.confirm(end);
    }

    /// Confirms a grant: the waiter was alive when the grant was made. No effect if `grant` is not a grant, or is no
    /// longer the status.
    pub(crate) fn confirm(&self, grant: u32) {
        if status::is_granted(grant) {
            // Relaxed: no data is published with it. A failure means that the waiter has already acknowledged.
            let _ =
                self.status.compare_exchange(grant, status::CONFIRMED, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Wakes the waiter; returns whether it was asleep.
    pub(crate) fn wake(&self) -> bool {
        crate::sync::futex::wake(&self.status, 1) != 0
    }
}

/// What a thread that waits for a message, or for room for one, waits for, and the memory that it provides. The thread
/// writes it while `IDLE`. While the thread waits, the holder of the queue's lock reads it.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct MsgWait {
    /// Which messages a receiver wants. [`MsgWait::selector`] decodes it.
    pub(crate) mode: AtomicU32,
    /// See `mode`.
    pub(crate) mtype: AtomicI64,
    /// In bytes: for a receiver the most that it takes, for a sender the size of its message.
    pub bytes: AtomicU64,
    /// Offset of a slab with one cell, or 0. A sender hands a message over to this receiver in it; a sender keeps a
    /// message in it that waits for room. It belongs to the participant slot, and so to whichever thread has this
    /// index.
    pub mailbox: AtomicU64,
    /// The queue's last receiver (pid) before this hand-over, to be restored if the message is taken back.
    pub prev_receiver: AtomicU32,
    /// The participant that the message is being handed to instead, as an index plus one, or 0.
    pub next_receiver: AtomicU32,
    /// The time that goes with `prev_receiver`.
    pub prev_received_at: AtomicI64,
    /// The ticket of the participant in `next_receiver`.
    pub next_receiver_ticket: AtomicU64,
}

/// A change of several words under a set's lock: the record that makes the change atomic even if its writer dies. See
/// [`crate::sem::redo`].
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Redo {
    /// One of [`crate::sem::redo::state`].
    pub state: AtomicU32,
    /// Number of entries in use.
    pub count: AtomicU32,
    /// Offset of the set.
    pub set: AtomicU64,
    /// Offset of the record whose adjustments change together with the values, or 0.
    pub undo: AtomicU64,
    /// Pid to be written with the values, or 0: each semaphore then keeps its pid, or gets back the pid from before the
    /// grant.
    pub pid: AtomicU32,
    /// Index of the participant whose status decides whether the change is made.
    pub decider: AtomicU32,
    /// That participant's ticket when the record was written.
    pub ticket: AtomicU64,
}

/// The engine's record of one participant: see the module's text. All-zero bytes are a valid record.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct ParticipantRecord {
    pub(crate) waiter: Waiter,
    pub(crate) redo: Redo,
    pub(crate) msg_wait: MsgWait,
    /// Locks that this participant holds or tries to take. Written by the participant itself. Read by a thread that
    /// recovers it when it is dead, and by threads that wait for a lock that names it.
    pub(crate) lock_count: LockCount,
    /// A heap block that the participant is moving to or from the free list: see [`crate::store::heap`].
    pub(crate) pending: AtomicU64,
    pub(crate) lines: [Line; MAX_OPS],
    pub(crate) monitored: [AtomicU64; MAX_MONITORED],
    /// The program image that the thread belongs to (`unspin_sys::process::image`). The thread writes it when it has
    /// joined.
    pub(crate) image: AtomicU64,
}

/// One of the operations that the thread waits for, and one of the changes that it is making. They lie side by side, so
/// that the used part of a participant with few operations fits in one page: a thread that has slept finds few of its
/// pages and lines in a cache.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Line {
    pub(crate) op: AtomicU64,
    /// An entry of the thread's own change ([`Redo`]). Also in use while the thread waits, as it may then recover dead
    /// participants.
    entry: AtomicU64,
}

impl Default for ParticipantRecord {
    fn default() -> ParticipantRecord {
        ParticipantRecord {
            waiter: Waiter::default(),
            redo: Redo::default(),
            msg_wait: MsgWait::default(),
            lock_count: LockCount::default(),
            pending: AtomicU64::default(),
            lines: core::array::from_fn(|_| Line::default()),
            monitored: core::array::from_fn(|_| AtomicU64::default()),
            image: AtomicU64::default(),
        }
    }
}

impl ParticipantRecord {
    /// Whether a dead participant's slot can be reused without any repair.
    pub(crate) fn is_clean(&self) -> bool {
        // Relaxed: its thread is dead.
        self.lock_count.of_dead().is_none()
            && self.pending.load(Ordering::Relaxed) == 0
            && self.redo.state.load(Ordering::Relaxed) == 0
            && !status::concerns_others(self.waiter.status.load(Ordering::Relaxed))
    }

    /// Prepares the record for another thread.
    pub(crate) fn forget(&self) {
        // Relaxed: no thread reads the record before the slot is claimed, and the claim orders.
        self.waiter.status.store(status::IDLE, Ordering::Relaxed);
        // Otherwise the next thread, when it waits for a message, would monitor the dead one's processes for good.
        self.monitored_processes().clear();
        self.lock_count.renew();
    }

    /// A dummy record in no arena. Lookups return it for a record that a damaged arena no longer has.
    #[cold]
    pub(crate) fn dummy() -> &'static ParticipantRecord {
        static DUMMY: OnceLock<ParticipantRecord> = OnceLock::new();
        DUMMY.get_or_init(ParticipantRecord::default)
    }

    /// The words in which the thread writes its operations before it enters a queue. A granting thread adds the pids
    /// that the grant displaces.
    pub(crate) fn op_words(&self) -> impl Iterator<Item = &AtomicU64> {
        self.lines.iter().map(|line| &line.op)
    }

    /// The entries of the change that the thread is making: see [`crate::sem::redo`].
    pub(crate) fn entries(&self) -> impl Iterator<Item = &AtomicU64> {
        self.lines.iter().map(|line| &line.entry)
    }

    /// The first of the entries.
    #[cfg(not(loom))]
    #[inline(always)]
    pub(crate) fn first_entry(&self) -> &AtomicU64 {
        &self.lines[0].entry
    }

    /// The processes whose exit it monitors.
    pub(crate) fn monitored_processes(&self) -> MonitoredProcesses<'_> {
        MonitoredProcesses {
            count: &self.waiter.monitored_count,
            position: &self.waiter.position,
            processes: &self.monitored,
        }
    }

    pub(crate) fn queue(&self) -> WaitList {
        // Relaxed: as in `ops`.
        WaitList::from_u32(self.waiter.queue.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The next owner of the slot finds no state of the previous one that would affect it.
    #[test]
    fn forget_clears_monitored_processes() {
        let participant = ParticipantRecord::default();
        participant.waiter.status.store(status::QUEUED, Ordering::Relaxed);
        assert!(
            participant.monitored_processes().add(7)
                && !participant.monitored_processes().is_empty()
                && !participant.is_clean()
        );
        participant.forget();
        assert!(participant.monitored_processes().is_empty() && participant.is_clean());
    }
}
