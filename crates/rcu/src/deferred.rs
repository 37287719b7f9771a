//! Memory waiting for its grace period: `call_rcu` for data instead of functions, because a function pointer
//! means nothing to another process.
//!
//! What is freed is named by two numbers of the owner's choice, kept in a ring in shared memory, and handed
//! to the owner's own function, in whichever process finds the grace period over. Small things are freed at
//! once. What is larger than [`LARGE`] goes on to the [`WorkQueue`] and is freed outside the owner's lock, as
//! Linux 2.5.44's System V IPC did with what came from `vmalloc`, whose freeing takes long.

use crate::work::{Garbage, WorkQueue};
use crate::{Cookie, work::Attempt};
use core::fmt;
use unspin_sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// What has more bytes than this is freed by [`WorkQueue::work`]: a page, as in `ipc_alloc` of Linux 2.5.44,
/// which took more than that from `vmalloc`.
pub const LARGE: u64 = 4096;

/// Nothing more can be deferred until something is reaped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueFull;

impl fmt::Display for QueueFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the queue of deferred frees is full: wait for a grace period and reap")
    }
}

impl core::error::Error for QueueFull {}

#[derive(Debug, Default)]
#[repr(C)]
struct Entry {
    cookie: AtomicU64,
    item: AtomicU64,
    bytes: AtomicU64,
}

/// Up to `N` things waiting for their grace periods, and up to `W` large ones after it. All zeroes: empty.
///
/// The ring is under a lock of its owner, which [`exclusive`](Deferred::exclusive) stands for. The lock may
/// have been taken over from a holder that was killed at any instruction in here.
#[derive(Debug)]
#[repr(C)]
pub struct Deferred<const N: usize = 1024, const W: usize = 256> {
    /// Position of the oldest entry; advancing it commits a removal.
    head: AtomicU64,
    /// Position of the next entry; advancing it commits an insertion.
    tail: AtomicU64,
    /// One more than the last position whose freeing was begun in here.
    begun: AtomicU64,
    entries: [Entry; N],
    queue: WorkQueue<W>,
}

impl<const N: usize, const W: usize> Default for Deferred<N, W> {
    fn default() -> Self {
        Deferred {
            head: AtomicU64::default(),
            tail: AtomicU64::default(),
            begun: AtomicU64::default(),
            entries: core::array::from_fn(|_| Entry::default()),
            queue: WorkQueue::default(),
        }
    }
}

impl<const N: usize, const W: usize> Deferred<N, W> {
    /// The ring, for whoever holds the lock that guards it.
    ///
    /// # Safety
    /// The caller holds that lock, and will for as long as the result lives; there is no other result.
    pub unsafe fn exclusive(&self) -> Exclusive<'_, N, W> {
        Exclusive { ring: self }
    }

    /// The queue of large frees, which needs no lock.
    pub fn work_queue(&self) -> &WorkQueue<W> {
        &self.queue
    }
}

/// The right to add to a [`Deferred`] and to reap it.
#[derive(Debug)]
pub struct Exclusive<'a, const N: usize, const W: usize> {
    ring: &'a Deferred<N, W>,
}

// All positions and entries are read and written under the owner's lock only, whose hand-over orders them; so
// their loads are Relaxed. Stores are Release where whoever takes the lock over from a killed holder must find
// the earlier ones made.
impl<const N: usize, const W: usize> Exclusive<'_, N, W> {
    /// Has `item`, of `bytes` bytes, freed when `cookie` is over. The numbers are the owner's; items should be
    /// added in the order of their cookies, for the oldest is looked at first.
    ///
    /// # Errors
    /// [`QueueFull`] if `N` things are waiting already.
    pub fn call(&mut self, item: u64, bytes: u64, cookie: Cookie) -> Result<(), QueueFull> {
        if self.len() == N {
            return Err(QueueFull);
        }
        // Relaxed: under the lock, as said above.
        let tail = self.ring.tail.load(Ordering::Relaxed);
        let entry = &self.ring.entries[tail as usize % N];
        entry.cookie.store(cookie.word(), Ordering::Relaxed);
        entry.item.store(item, Ordering::Relaxed);
        entry.bytes.store(bytes, Ordering::Relaxed);
        // Release: the entry is whole before it counts.
        self.ring.tail.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Calls `free` for everything whose grace period is over, oldest first, until `over` says no. Large
    /// things go to the work queue instead, unless that is full. Returns how many left the ring.
    ///
    /// `over` is [`Rcu::poll`](crate::Rcu::poll), or [`is_over`](crate::Rcu::is_over) after a poll that was
    /// made outside the lock. `free` is told by [`Attempt::Again`] that a holder of the lock was killed while
    /// it freed this very thing; it may have been freed then, in part or wholly.
    pub fn reap(
        &mut self,
        mut over: impl FnMut(Cookie) -> bool,
        mut free: impl FnMut(Garbage, Attempt),
    ) -> usize {
        let mut reaped = 0;
        // Bounded, whatever memory holds: the ring never has more.
        while reaped < N {
            let Some((position, cookie, garbage)) = self.oldest() else { break };
            if !over(cookie) {
                break;
            }
            self.retire(position, garbage, &mut free);
            // Release: freed or handed over, before it is forgotten.
            self.ring.head.store(position.wrapping_add(1), Ordering::Release);
            reaped += 1;
        }
        reaped
    }

    /// The thing whose freeing was begun by a holder of the lock that was killed in it, if there is one. The
    /// next [`reap`](Exclusive::reap) frees it first, with [`Attempt::Again`].
    pub fn in_doubt(&self) -> Option<Garbage> {
        let (position, _, garbage) = self.oldest()?;
        (self.attempt(position) == Attempt::Again).then_some(garbage)
    }

    /// Everything that is waiting for its grace period, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Garbage> + '_ {
        let (head, tail) = self.range();
        (head..tail).map(|position| {
            let entry = &self.ring.entries[position as usize % N];
            Garbage { item: entry.item.load(Ordering::Relaxed), bytes: entry.bytes.load(Ordering::Relaxed) }
        })
    }

    /// How many things are waiting for their grace period.
    pub fn len(&self) -> usize {
        let (head, tail) = self.range();
        (tail - head) as usize
    }

    /// Whether nothing is waiting for its grace period.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Positions of the oldest and behind the newest, at most as many apart as there are entries: memory that was overwritten
    /// may say anything.
    fn range(&self) -> (u64, u64) {
        // Relaxed: under the lock, as said above.
        let (head, tail) = (self.ring.head.load(Ordering::Relaxed), self.ring.tail.load(Ordering::Relaxed));
        (head.clamp(tail.saturating_sub(N as u64), tail), tail)
    }

    fn retire(&mut self, position: u64, garbage: Garbage, free: &mut impl FnMut(Garbage, Attempt)) {
        let attempt = self.attempt(position);
        // What was begun here is ended here. If the queue is full, nobody had time to work, and we do.
        let queued = garbage.bytes > LARGE && attempt == Attempt::First && self.hand_over(position, garbage);
        if !queued {
            // Relaxed: under the lock. A killed process has made its stores in program order, so it is only
            // the compiler that must not move this one past what `free` does.
            self.ring.begun.store(position.wrapping_add(1), Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            free(garbage, attempt);
        }
    }

    fn hand_over(&mut self, position: u64, garbage: Garbage) -> bool {
        // SAFETY: the only pusher is whoever holds the lock, which `self` stands for, and positions are never
        // used twice.
        unsafe { self.ring.queue.push(position.wrapping_add(1), garbage) }
    }

    fn attempt(&self, position: u64) -> Attempt {
        // Relaxed: under the lock, as said above.
        let begun = self.ring.begun.load(Ordering::Relaxed) == position.wrapping_add(1);
        if begun { Attempt::Again } else { Attempt::First }
    }

    fn oldest(&self) -> Option<(u64, Cookie, Garbage)> {
        let (position, tail) = self.range();
        if position == tail {
            return None;
        }
        // Relaxed: under the lock, as said above.
        let entry = &self.ring.entries[position as usize % N];
        let garbage =
            Garbage { item: entry.item.load(Ordering::Relaxed), bytes: entry.bytes.load(Ordering::Relaxed) };
        Some((position, Cookie::from_word(entry.cookie.load(Ordering::Relaxed)), garbage))
    }
}
