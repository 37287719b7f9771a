//! The layout of a message queue in shared memory, and its lists of cells.
//!
//! The messages are the cells that have a serial number, in the slabs that belong to the queue. The order, the free
//! cells and the counts are derived from them, and are rebuilt when a holder of the lock has died.

use super::cell::{CellSize, MessageCell};
use crate::registry::Perm;
use crate::store::list::List;
use crate::store::{Arena, Shared};
use crate::sync::lock::Lock;
use unspin_sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

/// The counterpart of `struct msg_queue`. All fields that are not immutable are protected by the lock.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct MsgQueue {
    /// Key, id, owner and mode, and whether the queue is removed.
    pub perm: Perm,
    /// `q_qbytes`: the most bytes, and the most messages, that the queue holds.
    pub most: AtomicU64,
    /// Time of creation or of the last change by `msgctl`, in seconds since the epoch.
    pub changed: AtomicI64,
    /// The fields that calls change.
    pub contended: Contended,
}

// SAFETY: atomics only.
unsafe impl Shared for MsgQueue {}

/// The fields that every call changes, on cache lines of their own, apart from the fields that find the queue. Each
/// line that a call writes has to come from the CPU that made the previous call. Usually a call writes only the first
/// two lines.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub(crate) struct Contended {
    /// Protects the queue.
    pub lock: Lock,
    /// Serial number of the last message.
    pub serial: AtomicU64,
    /// Participants that wait for a message.
    pub receivers: List,
    /// Participants that wait for room.
    pub senders: List,
    /// List of the messages in order of arrival. Derived.
    pub messages: Chain,
    /// `q_cbytes`: bytes of text in all messages. Derived.
    pub bytes: AtomicU64,
    /// `q_qnum`: number of messages. Derived.
    pub count: AtomicU64,
    /// Time of the last `msgsnd`, in seconds since the epoch; 0 if none.
    pub sent: AtomicI64,
    /// Time of the last `msgrcv`, in the same unit.
    pub received: AtomicI64,
    /// Pid of the last `msgsnd`.
    pub sender: AtomicU32,
    /// Pid of the last `msgrcv`.
    pub receiver: AtomicU32,
    /// Ticket (order of arrival) of the last waiter.
    pub ticket: AtomicU64,
    /// The free cells of each size. They are used in turn: the cell freed first is reused first. So consecutive
    /// messages are adjacent in memory, and the processor prefetches them; a fetch from another CPU's cache takes
    /// longer than a call. Derived.
    pub free: [Chain; CellSize::COUNT],
    /// Offset of the first slab.
    pub slabs: AtomicU64,
}

// The counts are at the end of the first cache line. The second has the free cells of the usual message sizes.
const _: () = assert!(core::mem::offset_of!(Contended, sent) == 64);
const _: () = assert!(core::mem::offset_of!(Contended, free) == 128 - 2 * size_of::<Chain>());

impl MsgQueue {
    /// Fills in a new, zeroed queue that is not yet published. `most` is its limit in bytes (`msg_qbytes`), `now` is in
    /// seconds since the epoch.
    pub fn init(&self, most: u64, now: i64) {
        // Relaxed: published by the Release store of the queue's offset in the table.
        self.most.store(most, Relaxed);
        self.changed.store(now, Relaxed);
    }
}

/// Offsets of the first and the last cell of a list; 0: none. Protected by the queue's lock.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Chain {
    head: AtomicU64,
    tail: AtomicU64,
}

// Relaxed throughout: read and written under the queue's lock only.
impl Chain {
    /// Cells in order, each with the offset of the cell before it and its own offset.
    #[inline]
    pub fn iter<'a>(&self, arena: &'a Arena) -> impl Iterator<Item = (u64, u64, &'a MessageCell)> + use<'a> {
        let (mut before, mut next) = (0, self.head.load(Relaxed));
        (0..Chain::most(arena)).map_while(move |_| {
            let at = next;
            let cell = (at != 0).then(|| arena.get::<MessageCell>(at)).flatten()?;
            let found = (before, at, cell);
            next = cell.next.load(Relaxed);
            before = at;
            Some(found)
        })
    }

    /// Most cells that fit into the arena: bounds walks whatever memory contains.
    #[inline]
    pub fn most(arena: &Arena) -> usize {
        arena.bytes() as usize / size_of::<MessageCell>()
    }

    /// Whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Relaxed) == 0
    }

    /// Offset of the first cell; 0: none.
    #[inline]
    pub fn first(&self) -> u64 {
        self.head.load(Relaxed)
    }

    /// Unlinks the first cell, which is `first`.
    #[inline]
    pub fn unlink_first(&self, first: &MessageCell) {
        self.head.store(first.next.load(Relaxed), Relaxed);
    }

    /// Makes the list empty.
    pub fn clear(&self) {
        self.head.store(0, Relaxed);
        self.tail.store(0, Relaxed);
    }

    /// Appends the cell at an offset.
    #[inline]
    pub fn push_back(&self, arena: &Arena, at: u64, cell: &MessageCell) {
        cell.next.store(0, Relaxed);
        match arena.get::<MessageCell>(self.tail.load(Relaxed)).filter(|_| !self.is_empty()) {
            Some(last) => last.next.store(at, Relaxed),
            None => self.head.store(at, Relaxed),
        }
        self.tail.store(at, Relaxed);
    }

    /// Inserts the message at an offset at the position that its serial number gives.
    pub fn insert(&self, arena: &Arena, at: u64) {
        let serial = |cell: &MessageCell| cell.serial.load(Relaxed);
        let Some(cell) = arena.get::<MessageCell>(at) else { return };
        match self.iter(arena).find(|&(_, _, other)| serial(other) > serial(cell)) {
            Some((before, after, _)) => {
                cell.next.store(after, Relaxed);
                self.follow(arena, before, at);
            }
            None => self.push_back(arena, at, cell),
        }
    }

    /// Unlinks a cell. `before` is the offset of the cell before it, 0 if it is the first.
    #[inline]
    pub fn unlink(&self, arena: &Arena, before: u64, at: u64, cell: &MessageCell) {
        let next = cell.next.load(Relaxed);
        self.follow(arena, before, next);
        if self.tail.load(Relaxed) == at {
            self.tail.store(before, Relaxed);
        }
    }

    #[inline]
    fn follow(&self, arena: &Arena, before: u64, next: u64) {
        match arena.get::<MessageCell>(before).filter(|_| before != 0) {
            Some(cell) => cell.next.store(next, Relaxed),
            None => self.head.store(next, Relaxed),
        }
    }

    /// Sorts the cells by serial number: a merge sort on the links, which needs no memory.
    pub fn sort(&self, arena: &Arena) {
        let count = self.iter(arena).count();
        let (head, _) = sort(arena, self.head.load(Relaxed), count);
        self.clear();
        let mut next = head;
        for _ in 0..count {
            let Some(cell) = arena.get::<MessageCell>(next) else { break };
            let at = core::mem::replace(&mut next, cell.next.load(Relaxed));
            self.push_back(arena, at, cell);
        }
    }
}

/// Sorts the `count` cells that begin at `head`. Returns the first of them in the new order, and the cell that followed
/// the last of them before.
fn sort(arena: &Arena, head: u64, count: usize) -> (u64, u64) {
    let Some(cell) = arena.get::<MessageCell>(head).filter(|_| count > 0) else { return (0, head) };
    if count == 1 {
        return (head, cell.next.swap(0, Relaxed));
    }
    let (left, rest) = sort(arena, head, count / 2);
    let (right, rest) = sort(arena, rest, count - count / 2);
    (merge(arena, left, right, count), rest)
}

/// Merges two sorted lists, of `count` cells together. They have more cells only if an overwritten list is circular.
fn merge(arena: &Arena, mut left: u64, mut right: u64, count: usize) -> u64 {
    let root = AtomicU64::new(0);
    let mut last = &root;
    for _ in 0..count {
        let (true, true, Some(l), Some(r)) =
            (left != 0, right != 0, arena.get::<MessageCell>(left), arena.get::<MessageCell>(right))
        else {
            break;
        };
        let (at, cell, from) = match l.serial.load(Relaxed) <= r.serial.load(Relaxed) {
            true => (left, l, &mut left),
            false => (right, r, &mut right),
        };
        *from = cell.next.load(Relaxed);
        last.store(at, Relaxed);
        last = &cell.next;
    }
    last.store(if left != 0 { left } else { right }, Relaxed);
    root.load(Relaxed)
}
