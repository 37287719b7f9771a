//! What the engine keeps of each participating thread in shared memory: the operation it waits for, and the
//! change it is making.
//!
//! Participants are the slots of the RCU registry; this is the engine's part of them, under the same index.

use crate::busy::Busy;
use crate::ipc::Class;
#[cfg(not(loom))]
use crate::msg::Wanted;
use crate::sem::Op;
use std::sync::OnceLock;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

/// Most operations in a call. The kernel's SEMOPM is 500 (`include/uapi/linux/sem.h`); a system that raised it
/// gets E2BIG from here on.
#[cfg(not(loom))]
pub const MAX_OPS: usize = 512;
/// Models need no more.
#[cfg(loom)]
pub const MAX_OPS: usize = 2;

/// Processes at once that have adjustments (`SEM_UNDO`), whatever programs they execute.
pub const MAX_PROCESSES: u32 = 16_384;

/// States of [`Waiter::status`].
///
/// | from | to | by whom |
/// |---|---|---|
/// | `IDLE` | `QUEUED` | the waiter, holding the object's lock |
/// | `QUEUED` | `SLEEPING` | the waiter, without a lock: compare-and-swap |
/// | `SLEEPING` | `QUEUED` | the set's lock holder, who has given it more to watch, and wakes it |
/// | `QUEUED`, `SLEEPING` | `GRANTED`, `FAILED`, `RETRY` | the object's lock holder |
/// | `GRANTED` | `CONFIRMED` | who granted, once the waiter is known to have been alive |
/// | `GRANTED` | `REVERTED` | who finds a waiter dead that was never confirmed, holding the object's lock |
/// | any end | `IDLE` | the waiter |
pub mod status {
    /// Not waiting. A new participant.
    pub const IDLE: u32 = 0;
    /// In the set's queue, spinning.
    pub const QUEUED: u32 = 1;
    /// In the set's queue, asleep on this word or about to be.
    pub const SLEEPING: u32 = 2;
    /// Its operation was performed by another participant. The upper bits tell this grant from the next ones: see [`granted`].
    pub const GRANTED: u32 = 3;
    /// As `GRANTED`, and the waiter was alive at that time: if it dies now, the operation has happened.
    pub const CONFIRMED: u32 = 4;
    /// A grant to a dead waiter that was taken back.
    pub const REVERTED: u32 = 5;
    /// Ended with the error number in the upper bits.
    pub const FAILED: u32 = 6;
    /// Ended without an answer: the waiter is to try again, and others rely on its doing so.
    pub const RETRY: u32 = 7;

    /// Whether a waiter that dies in this status leaves something to be done.
    pub fn concerns_others(status: u32) -> bool {
        // REVERTED: whoever took the grant back may have died as well, before he was done. Who has the object's lock finishes
        // it, by what this waiter's record says.
        matches!(status & 0xFF, QUEUED | SLEEPING | GRANTED | REVERTED | RETRY)
    }

    /// Still to be served?
    pub fn is_waiting(status: u32) -> bool {
        matches!(status, QUEUED | SLEEPING)
    }

    /// `GRANTED`, to the wait that has this ticket at the object at this offset. Whoever confirms a grant has found its waiter
    /// alive some time ago. Since then the waiter may have waited again, died, and been granted that as well, which is to be
    /// taken back: so he confirms the one that he means, by 24 bits of a hash (Fibonacci's: Knuth, vol. 3, 6.4).
    pub fn granted(ticket: u64, object: u64) -> u32 {
        let hash = (ticket ^ object.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        GRANTED | (hash >> 40 << 8) as u32
    }

    /// Whether it is `GRANTED`, to whatever wait.
    pub fn is_granted(status: u32) -> bool {
        status & 0xFF == GRANTED
    }

    /// `FAILED` with an error number.
    pub fn failed(errno: i32) -> u32 {
        FAILED | (errno as u32) << 8
    }
}

/// In which of the object's lists a waiter stands.
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
    /// A message to arrive.
    Receive = 4,
    /// Room for a message.
    Send = 5,
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
        match n {
            1 => Queue::Zero,
            2 => Queue::ComplexAlter,
            3 => Queue::ComplexZero,
            4 => Queue::Receive,
            5 => Queue::Send,
            _ => Queue::Alter,
        }
    }

    /// The class of the object that has such a list.
    pub(crate) fn class(self) -> Class {
        match self {
            Queue::Receive | Queue::Send => Class::Msg,
            _ => Class::Sem,
        }
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
    /// Offset of the object in the arena: a set or a message queue, as [`Queue`] says.
    pub object: AtomicU64,
    /// Order of arrival at that object.
    pub ticket: AtomicU64,
    /// Process, for `sempid`.
    pub pid: AtomicU32,
    /// Operations in use.
    pub nsops: AtomicU32,
    /// Neighbours in the list, as indices plus one. Protected by the set's lock.
    pub prev: AtomicU32,
    /// See `prev`.
    pub next: AtomicU32,
    /// Offset of its process's record of adjustments, if an operation has `SEM_UNDO`; else 0.
    pub undo: AtomicU64,
    /// Processes that it watches: see [`Watch`]. Here, as every sleeper asks whether there is any.
    watched: AtomicU32,
    /// See [`Watch`].
    place: AtomicU32,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Waiter>() == 64, "a cache line: the waker's miss, and the sleeper's");

impl Waiter {
    /// The spinning waiter is about to sleep on the status; whoever ends its wait from now on wakes it. Nothing if
    /// the wait is over.
    pub fn fall_asleep(&self) {
        // SeqCst: before the look at what there is to watch; see `rouse`. Whoever ends the wait reads no more than this
        // word's own value; what the waiter wrote for him was published under the set's lock.
        let _ = self.status.compare_exchange(
            status::QUEUED,
            status::SLEEPING,
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
    }

    /// Makes the waiter look again at what it has to watch, which the caller has changed. Under the set's lock.
    ///
    /// If it was not asleep, or about to be, when this came, then it finds the change: its [`fall_asleep`] comes after
    /// this, and its look after that.
    ///
    /// [`fall_asleep`]: Waiter::fall_asleep
    pub(crate) fn rouse(&self) {
        // SeqCst: between the change and the waiter's look.
        let roused = self.status.compare_exchange(
            status::SLEEPING,
            status::QUEUED,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        if roused.is_ok() {
            self.wake();
        }
    }

    /// The status as the waiter itself looks at it.
    pub fn look(&self) -> u32 {
        // Acquire: partner of the swap in `Section::finish`: what the granting process did before is visible.
        self.status.load(Ordering::Acquire)
    }

    /// The wait ends with `EIDRM`, whoever else was to end it.
    pub fn give_up(&self) {
        // Release: as in `acknowledge`.
        self.status.store(status::failed(unspin_sys::Errno::EIDRM.0), Ordering::Release);
    }

    /// The waiter has taken note of how its wait ended.
    pub fn acknowledge(&self) {
        // Release: partner of the Acquire in `redo::is_decided`, which finds that the wait has ended; whatever
        // it ended with was read before.
        self.status.store(status::IDLE, Ordering::Release);
    }

    /// The caller ends its own wait.
    pub(crate) fn end_own(&self, end: u32) {
        // AcqRel: as in `Wakes::finish`.
        self.status.swap(end, Ordering::AcqRel);
        self.confirm(end);
    }

    /// Somebody who was granted his operation was alive at that time. Nothing if his wait has ended in another way.
    pub(crate) fn confirm(&self, grant: u32) {
        if status::is_granted(grant) {
            // Relaxed: no data goes with it. A failure means that the waiter has acknowledged already.
            let _ =
                self.status.compare_exchange(grant, status::CONFIRMED, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Wakes the waiter; returns whether it slept.
    pub(crate) fn wake(&self) -> bool {
        crate::futex::wake(&self.status, 1) != 0
    }
}

/// What a thread waits for that waits for a message or for room, and the memory that it lends. Written by the thread while
/// `IDLE`; while it waits, read by the queue's lock holder.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Errand {
    /// Which messages it wants, as [`Errand::wanted`] reads it.
    mode: AtomicU32,
    kind: AtomicI64,
    /// Most bytes that a receiver takes; the bytes that a sender has.
    pub most: AtomicU64,
    /// Offset of a slab with one cell, or 0: where a message is handed over to a receiver, and where a sender keeps one that
    /// waits for room. Belongs to whoever has this index.
    pub mailbox: AtomicU64,
    /// Who had received a message before it was handed this one, and when: should that be taken back.
    pub before: AtomicU32,
    /// Who is being handed the message in its place, as an index plus one, or 0.
    pub heir: AtomicU32,
    /// See `before`.
    pub before_at: AtomicI64,
    /// The heir's ticket.
    pub heir_ticket: AtomicU64,
}

#[cfg(not(loom))]
impl Errand {
    // Relaxed: written by the waiter before it entered the queue under the queue's lock, which the reader holds.

    /// Which messages the receiver wants.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted::unpack((self.mode.load(Ordering::Relaxed), self.kind.load(Ordering::Relaxed)))
    }

    /// Notes which messages the thread wants.
    pub(crate) fn want(&self, wanted: Wanted) {
        let (mode, kind) = wanted.pack();
        self.mode.store(mode, Ordering::Relaxed);
        self.kind.store(kind, Ordering::Relaxed);
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
    /// Offset of the record of adjustments that change with the values, or 0.
    pub undo: AtomicU64,
    /// Pid to be written beside the values, or 0 to leave it.
    pub pid: AtomicU32,
    /// The participant whose status decides whether the change is to be made.
    pub whose: AtomicU32,
    /// That participant's ticket when the record was written.
    pub ticket: AtomicU64,
}

/// The processes whose death a waiter has to notice, because it may let the waiter proceed, or somebody behind it. Written
/// under the lock of the set that it waits for, read by the waiter without it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch<'a> {
    count: &'a AtomicU32,
    /// How many wait before it, as far as that matters: see [`Watch::is_in_front`].
    place: &'a AtomicU32,
    processes: &'a [AtomicU64; WATCHED],
}

/// As many words as a thread can sleep on, but for its own status.
#[cfg(not(loom))]
const WATCHED: usize = unspin_sys::futex::any::MOST - 1;
/// Models need no more.
#[cfg(loom)]
const WATCHED: usize = 2;

impl<'a> Watch<'a> {
    /// Nobody.
    pub(crate) fn clear(self) {
        // SeqCst: as in `add`.
        self.count.store(0, Ordering::SeqCst);
    }

    /// Adds a process, unless it is watched; `false` if there is no room.
    pub(crate) fn add(self, process: u64) -> bool {
        if self.iter().any(|it| it == process) {
            return true;
        }
        // Relaxed: written under the lock only.
        let count = self.count.load(Ordering::Relaxed);
        let Some(place) = self.processes.get(count as usize) else { return false };
        // Relaxed: published by the count.
        place.store(process, Ordering::Relaxed);
        // SeqCst: before the status is looked at in `Waiter::rouse`. Release: partner of the Acquire in `iter`.
        self.count.store(count + 1, Ordering::SeqCst);
        true
    }

    /// Notes how many wait before it, of those next to it.
    pub(crate) fn stand_behind(self, others: usize) {
        // Relaxed: read by the waiter itself, which finds it as it was at one of its looks.
        self.place.store(others as u32, Ordering::Relaxed);
    }

    /// Whether it is the first of those who wait, or the second, in case that the first is stopped or dead.
    pub(crate) fn is_in_front(self) -> bool {
        // Relaxed: as above.
        self.place.load(Ordering::Relaxed) < 2
    }

    /// Whom.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + 'a {
        // SeqCst: behind `Waiter::fall_asleep`. Acquire: partner of the Release in `add`.
        let count = self.count.load(Ordering::SeqCst) as usize;
        // Relaxed: as above; a list that is being changed is looked at again, as the changer wakes the waiter.
        self.processes[..count.min(WATCHED)].iter().map(|process| process.load(Ordering::Relaxed))
    }

    /// Whether there is no room: others may have been left out.
    pub(crate) fn is_full(self) -> bool {
        // SeqCst: as in `iter`.
        self.count.load(Ordering::SeqCst) as usize >= WATCHED
    }

    /// Whether there is nobody.
    pub(crate) fn is_empty(self) -> bool {
        // SeqCst: as in `iter`.
        self.count.load(Ordering::SeqCst) == 0
    }
}

/// See the module's text. Valid when zeroed.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Participant {
    pub(crate) waiter: Waiter,
    pub(crate) redo: Redo,
    pub(crate) errand: Errand,
    /// Locks that this participant holds or tries to take. Written by itself; read by whoever buries it, and by whoever waits
    /// for a lock that names it.
    pub(crate) busy: Busy,
    /// A heap block on its way to or from the free list: see [`crate::heap`].
    pub(crate) pending: AtomicU64,
    pub(crate) lines: [Line; MAX_OPS],
    pub(crate) watch: [AtomicU64; WATCHED],
    /// Which image of its program the thread belongs to (`unspin_sys::process::image`). Written by itself when it has joined.
    pub(crate) image: AtomicU64,
}

/// One of the operations that the thread waits for, and one of the changes that it is making. Side by side, so that what
/// is used of a participant of few operations lies within one page: whoever has slept finds few of its pages and lines
/// in a cache.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Line {
    op: AtomicU64,
    /// Of its own change ([`Redo`]): also while it waits, as it may bury others then.
    entry: AtomicU64,
}

impl Default for Participant {
    fn default() -> Participant {
        Participant {
            waiter: Waiter::default(),
            redo: Redo::default(),
            errand: Errand::default(),
            busy: Busy::default(),
            pending: AtomicU64::default(),
            lines: core::array::from_fn(|_| Line::default()),
            watch: core::array::from_fn(|_| AtomicU64::default()),
            image: AtomicU64::default(),
        }
    }
}

impl Participant {
    /// Whether a dead participant can be forgotten without repairing anything.
    pub(crate) fn is_clean(&self) -> bool {
        // Relaxed: its thread is dead.
        self.busy.of_the_dead().is_none()
            && self.pending.load(Ordering::Relaxed) == 0
            && self.redo.state.load(Ordering::Relaxed) == 0
            && !status::concerns_others(self.waiter.status.load(Ordering::Relaxed))
    }

    /// Makes the record ready for another thread.
    pub(crate) fn forget(&self) {
        // Relaxed: nobody looks at it before the slot is claimed, which orders.
        self.waiter.status.store(status::IDLE, Ordering::Relaxed);
        // Who waits for a message next would watch whom the dead one watched, and for good.
        self.watch().clear();
        self.busy.renew();
    }

    /// One that is in no arena: whom those find who look for one that a damaged arena has no more.
    #[cold]
    pub(crate) fn nobody() -> &'static Participant {
        static NOBODY: OnceLock<Participant> = OnceLock::new();
        NOBODY.get_or_init(Participant::default)
    }

    /// The waiting operations.
    pub(crate) fn ops(&self) -> impl ExactSizeIterator<Item = Op> + Clone + '_ {
        // Relaxed: written by the waiter before it entered the queue under the set's lock, which the reader
        // holds.
        let n = (self.waiter.nsops.load(Ordering::Relaxed) as usize).min(MAX_OPS);
        self.lines[..n].iter().map(|line| Op(line.op.load(Ordering::Relaxed)))
    }

    /// Where the thread writes its operations, before it enters a queue, and those who grant them note what they displace.
    pub(crate) fn op_places(&self) -> impl Iterator<Item = &AtomicU64> {
        self.lines.iter().map(|line| &line.op)
    }

    /// The change that it is making: see [`crate::sem::redo`].
    pub(crate) fn entries(&self) -> impl Iterator<Item = &AtomicU64> {
        self.lines.iter().map(|line| &line.entry)
    }

    /// Whose death it has to notice.
    pub(crate) fn watch(&self) -> Watch<'_> {
        Watch { count: &self.waiter.watched, place: &self.waiter.place, processes: &self.watch }
    }

    pub(crate) fn queue(&self) -> Queue {
        // Relaxed: as in `ops`.
        Queue::from_u32(self.waiter.queue.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Whoever has the place next finds nothing of the one before that concerns it.
    #[test]
    fn who_is_forgotten_watches_nobody() {
        let person = Participant::default();
        person.waiter.status.store(status::QUEUED, Ordering::Relaxed);
        assert!(person.watch().add(7) && !person.watch().is_empty() && !person.is_clean());
        person.forget();
        assert!(person.watch().is_empty() && person.is_clean());
    }
}
