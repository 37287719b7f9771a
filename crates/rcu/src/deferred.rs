//! Memory waiting for its grace period: `call_rcu` for data instead of functions, because a function pointer has no
//! meaning in another process.
//!
//! The owner identifies what is to be freed by two numbers of its choice. They are kept in a ring in shared memory. The
//! process that finds the grace period over passes them to the owner's free function. Small things are freed at once.
//! Things larger than [`LARGE`] go to the [`WorkQueue`] and are freed outside the owner's lock, as the System V IPC of
//! Linux 2.5.44 did with memory from `vmalloc`, which takes long to free.

use crate::work::{PendingFree, WorkQueue};
use crate::{Cookie, work::FreeAttempt};
use core::fmt;
use unspin_sync::atomic::{AtomicU64, Ordering, compiler_fence};

/// Things with more bytes than this are freed by [`WorkQueue::work`]: a page, as in `ipc_alloc` of Linux 2.5.44, which
/// used `vmalloc` above that size.
pub const LARGE: u64 = 4096;

/// Error: the ring is full until something is reaped.
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

/// Up to `N` things that wait for their grace periods, and up to `W` large ones whose grace period is over. All zeroes:
/// empty.
///
/// The ring is protected by a lock of its owner, which [`exclusive`](DeferredFrees::exclusive) represents. The lock may
/// have been taken over from a holder that was killed at any instruction in here.
#[derive(Debug)]
#[repr(C)]
pub struct DeferredFrees<const N: usize = 1024, const W: usize = 256> {
    /// Position of the oldest entry; advancing it commits a removal.
    head: AtomicU64,
    /// Position of the next entry; advancing it commits an insertion.
    tail: AtomicU64,
    /// 1 plus the last position whose free was begun by this ring (not by the work queue).
    begun: AtomicU64,
    entries: [Entry; N],
    queue: WorkQueue<W>,
}

impl<const N: usize, const W: usize> Default for DeferredFrees<N, W> {
    fn default() -> Self {
        DeferredFrees {
            head: AtomicU64::default(),
            tail: AtomicU64::default(),
            begun: AtomicU64::default(),
            entries: core::array::from_fn(|_| Entry::default()),
            queue: WorkQueue::default(),
        }
    }
}

impl<const N: usize, const W: usize> DeferredFrees<N, W> {
    /// The ring, for the holder of the lock that guards it.
    ///
    /// # Safety
    /// The caller holds that lock for as long as the result lives, and there is no other result.
    pub unsafe fn exclusive(&self) -> Exclusive<'_, N, W> {
        Exclusive { ring: self }
    }

    /// The queue of large frees, which needs no lock.
    pub fn work_queue(&self) -> &WorkQueue<W> {
        &self.queue
    }
}

/// Exclusive access to a [`DeferredFrees`]: to add to it and to reap it.
#[derive(Debug)]
pub struct Exclusive<'a, const N: usize, const W: usize> {
    ring: &'a DeferredFrees<N, W>,
}

// All positions and entries are accessed only under the owner's lock, whose hand-over orders them; so the loads are
// Relaxed. A store is Release where a thread that takes over the lock from a killed holder must find the earlier stores
// made.
impl<const N: usize, const W: usize> Exclusive<'_, N, W> {
    /// Defers the free of `item`, of `bytes` bytes, until `cookie` is over. Both numbers are of the owner's choice.
    /// Items should be added in the order of their cookies, because `reap` stops at the oldest one that is not over.
    ///
    /// # Errors
    /// [`QueueFull`] if `N` things are waiting already.
    pub fn call(&mut self, item: u64, bytes: u64, cookie: Cookie) -> Result<(), QueueFull> {
        if self.len() == N {
            return Err(QueueFull);
        }
        // Relaxed: under the lock, see above.
        let tail = self.ring.tail.load(Ordering::Relaxed);
        let entry = &self.ring.entries[tail as usize % N];
        entry.cookie.store(cookie.word(), Ordering::Relaxed);
        entry.item.store(item, Ordering::Relaxed);
        entry.bytes.store(bytes, Ordering::Relaxed);
        // Release: the entry is complete before it counts.
        self.ring.tail.store(tail.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Calls `free` for each thing whose grace period is over, oldest first, until `over` returns false. Large things
    /// go to the work queue instead, unless that is full. Returns how many left the ring.
    ///
    /// `over` is [`Rcu::poll`](crate::Rcu::poll), or [`is_over`](crate::Rcu::is_over) after a poll outside the lock.
    /// `free` gets [`FreeAttempt::Retry`] if a holder of the lock was killed while it freed this thing; the thing may
    /// then be freed partly or wholly already.
    pub fn reap(
        &mut self,
        mut over: impl FnMut(Cookie) -> bool,
        mut free: impl FnMut(PendingFree, FreeAttempt),
    ) -> usize {
        let mut reaped = 0;
        // Bounded even if the memory is corrupt: the ring never has more entries.
        while reaped < N {
            let Some((position, cookie, garbage)) = self.oldest() else { break };
            if !over(cookie) {
                break;
            }
            self.retire(position, garbage, &mut free);
            // Release: the thing is freed or handed over before its entry is removed.
            self.ring.head.store(position.wrapping_add(1), Ordering::Release);
            reaped += 1;
        }
        reaped
    }

    /// The thing whose free was interrupted by the death of a holder of the lock, if any. The next
    /// [`reap`](Exclusive::reap) frees it first, with [`FreeAttempt::Retry`].
    pub fn in_doubt(&self) -> Option<PendingFree> {
        let (position, _, garbage) = self.oldest()?;
        (self.attempt(position) == FreeAttempt::Retry).then_some(garbage)
    }

    /// Everything that is waiting for its grace period, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = PendingFree> + '_ {
        let (head, tail) = self.range();
        (head..tail).map(|position| {
            let entry = &self.ring.entries[position as usize % N];
            PendingFree {
                item: entry.item.load(Ordering::Relaxed),
                bytes: entry.bytes.load(Ordering::Relaxed),
            }
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

    /// The position of the oldest entry, and the one behind the newest. They are at most `N` apart, even if the memory
    /// was overwritten.
    fn range(&self) -> (u64, u64) {
        // Relaxed: under the lock, see above.
        let (head, tail) = (self.ring.head.load(Ordering::Relaxed), self.ring.tail.load(Ordering::Relaxed));
        (head.clamp(tail.saturating_sub(N as u64), tail), tail)
    }

    fn retire(
        &mut self,
        position: u64,
        garbage: PendingFree,
        free: &mut impl FnMut(PendingFree, FreeAttempt),
    ) {
        let attempt = self.attempt(position);
        // A free that began here ends here. If the queue is full, no thread had time to work, so we free it ourselves.
        let queued =
            garbage.bytes > LARGE && attempt == FreeAttempt::First && self.hand_over(position, garbage);
        if !queued {
            // Relaxed: under the lock. A killed process has made its stores in program order, so only the compiler must
            // be kept from moving this store past those of `free`.
            self.ring.begun.store(position.wrapping_add(1), Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            free(garbage, attempt);
        }
    }

    fn hand_over(&mut self, position: u64, garbage: PendingFree) -> bool {
        // SAFETY: only the holder of the lock pushes, which `self` represents, and positions are never reused.
        unsafe { self.ring.queue.push(position.wrapping_add(1), garbage) }
    }

    fn attempt(&self, position: u64) -> FreeAttempt {
        // Relaxed: under the lock, see above.
        let begun = self.ring.begun.load(Ordering::Relaxed) == position.wrapping_add(1);
        if begun { FreeAttempt::Retry } else { FreeAttempt::First }
    }

    fn oldest(&self) -> Option<(u64, Cookie, PendingFree)> {
        let (position, tail) = self.range();
        if position == tail {
            return None;
        }
        // Relaxed: under the lock, see above.
        let entry = &self.ring.entries[position as usize % N];
        let garbage = PendingFree {
            item: entry.item.load(Ordering::Relaxed),
            bytes: entry.bytes.load(Ordering::Relaxed),
        };
        Some((position, Cookie::from_word(entry.cookie.load(Ordering::Relaxed)), garbage))
    }
}
