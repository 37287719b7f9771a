//! The queue of a lock, which is changed only in a *section*: by one thread at a time, for a few instructions.
//!
//! Readers and writers are in a ring each. `tail` is the last writer's node, which has a pointer to the last reader's; if
//! no writer waits, `tail` is the last reader's node itself.

use super::node::{self, GRANTED, Node, PENDING, SIGNALLED};
use super::word::{
    AWAKE, BUSY, OVERTAKERS, PRESSING, READER, READERS, WRITER, WRITERS, counted, generation_field,
    in_generation,
};
use crate::backoff::Backoff;
use crate::{host, park};
use core::ptr::{NonNull, null_mut};
use unspin_sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// Exclusive right to change the state and the queue. Ends with [`Section::leave`].
pub(super) struct Section<'lock> {
    word: &'lock AtomicU64,
    tail: &'lock AtomicPtr<Node>,
    /// The state that `leave` stores.
    pub(super) state: u64,
    wakes: Wakes,
}

/// The threads to be told something after a section.
struct Wakes {
    /// The last node of a ring of threads that have left the queue: [`PENDING`].
    left: *mut Node,
    /// What they are told: that they have the lock, or are to try again.
    word: u32,
    /// The word of a thread that is to look at the lock. Only an address: the thread may be gone.
    signalled: *const AtomicU32,
}

impl<'lock> Section<'lock> {
    /// Enters; waits for another thread that is in the section.
    pub(super) fn enter(word: &'lock AtomicU64, tail: &'lock AtomicPtr<Node>) -> Section<'lock> {
        let here = generation_field(host::generation());
        let mut backoff = Backoff::default();
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let seen = word.load(Ordering::Relaxed);
            let state = in_generation(seen, here);
            let entered = state & BUSY == 0
                // Acquire: partner of the Release in `leave` and in the releases of the lock: who takes the lock in a section
                // sees what its last holders wrote. Relaxed on failure: the loop reads the state again.
                && word.compare_exchange(seen, state | BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if entered {
                let wakes = Wakes { left: null_mut(), word: GRANTED, signalled: core::ptr::null() };
                return Section { word, tail, state, wakes };
            }
            backoff.pause();
        }
    }

    /// Stores the state, then tells the threads that got the lock or a signal. The lock is not touched after the store.
    pub(super) fn leave(self) {
        // Release: partner of the Acquire in `enter`, and in the acquisitions of the lock.
        self.word.store(self.state, Ordering::Release);
        // SAFETY: `dismiss` has made it, and this is the only thread that knows it.
        unsafe { self.wakes.deliver() };
    }

    fn readers_tail(&self) -> *mut Node {
        // Relaxed, here and below: the section provides the ordering.
        let tail = self.tail.load(Ordering::Relaxed);
        match (self.state & READERS != 0, self.state & WRITERS != 0) {
            (false, _) => null_mut(),
            (true, false) => tail,
            // SAFETY: a writer is queued, so the tail is its node.
            (true, true) => unsafe { (*tail).readers.load(Ordering::Relaxed) },
        }
    }

    fn writers_tail(&self) -> *mut Node {
        if self.state & WRITERS == 0 { null_mut() } else { self.tail.load(Ordering::Relaxed) }
    }

    /// Sets the last node of each ring; null: the ring is empty.
    fn set_tails(&mut self, writers: *mut Node, readers: *mut Node) {
        self.state &= !(WRITERS | READERS);
        if writers.is_null() {
            self.state &= !PRESSING;
        }
        if readers.is_null() {
            self.state &= !OVERTAKERS;
        }
        if !readers.is_null() {
            self.state |= READERS;
        }
        if writers.is_null() {
            return self.tail.store(readers, Ordering::Relaxed);
        }
        self.state |= WRITERS;
        // SAFETY: a queued writer.
        unsafe { (*writers).readers.store(readers, Ordering::Relaxed) };
        self.tail.store(writers, Ordering::Relaxed);
    }

    /// Queues a reader. The node stays until it is granted the lock or removes itself.
    pub(super) fn append_reader(&mut self, node: NonNull<Node>) {
        // SAFETY: the caller's node, and a ring of this queue.
        let readers = unsafe { node::append(self.readers_tail(), node) };
        self.set_tails(self.writers_tail(), readers);
    }

    /// Queues a writer. The node stays until it is granted the lock or removes itself.
    pub(super) fn append_writer(&mut self, node: NonNull<Node>) {
        let readers = self.readers_tail();
        // SAFETY: as in `append_reader`.
        let writers = unsafe { node::append(self.writers_tail(), node) };
        self.set_tails(writers, readers);
    }

    /// Removes a queued reader.
    pub(super) fn remove_reader(&mut self, node: NonNull<Node>) {
        // SAFETY: the node is queued.
        let readers = unsafe { node::remove(self.readers_tail(), node.as_ptr()) };
        self.set_tails(self.writers_tail(), readers);
    }

    /// Removes a queued writer.
    pub(super) fn remove_writer(&mut self, node: NonNull<Node>) {
        let readers = self.readers_tail();
        // SAFETY: the node is queued.
        let writers = unsafe { node::remove(self.writers_tail(), node.as_ptr()) };
        self.set_tails(writers, readers);
    }

    /// When the reader that waits first has entered the queue, in ticks.
    pub(super) fn first_readers_arrival(&self) -> Option<u64> {
        let readers = self.readers_tail();
        // SAFETY: the ring is not empty, and its nodes are queued.
        (!readers.is_null()).then(|| unsafe { (*node::first(readers)).since.load(Ordering::Relaxed) })
    }

    /// When the writer that waits first has entered the queue, in ticks.
    pub(super) fn first_writers_arrival(&self) -> Option<u64> {
        let writers = self.writers_tail();
        // SAFETY: as in `first_readers_arrival`.
        (!writers.is_null()).then(|| unsafe { (*node::first(writers)).since.load(Ordering::Relaxed) })
    }

    /// Hands the lock to the writer that waits first. The next one is handed it after a long wait from now on, so that hand-offs,
    /// each of which costs a wake-up, are rare.
    pub(super) fn hand_to_first_writer(&mut self, now: u64) {
        // SAFETY: the caller has seen a queued writer.
        let is_awake =
            unsafe { (*node::first(self.writers_tail())).word.load(Ordering::Relaxed) } == SIGNALLED;
        if is_awake {
            self.state &= !AWAKE;
        }
        self.state |= WRITER;
        self.grant_first_writer();
        let writers = self.writers_tail();
        if !writers.is_null() {
            // SAFETY: as above.
            unsafe { (*node::first(writers)).since.store(now, Ordering::Relaxed) };
        }
    }

    /// Gives the lock to all queued readers.
    pub(super) fn grant_readers(&mut self) {
        let readers = self.dismiss_readers(GRANTED);
        self.state += READER * u64::from(readers);
        debug_assert!(counted(self.state) >= readers, "there are fewer threads than the field can count");
    }

    /// Removes all readers from the queue, and wakes them to try again.
    pub(super) fn signal_readers(&mut self) {
        self.dismiss_readers(SIGNALLED);
    }

    /// Removes all readers from the queue. Returns how many there were.
    fn dismiss_readers(&mut self, word: u32) -> u32 {
        let readers = self.readers_tail();
        if readers.is_null() {
            return 0;
        }
        // SAFETY: the ring is not empty.
        let mut node = unsafe { node::first(readers) };
        let mut count = 1;
        loop {
            // SAFETY: a queued node. The mark keeps its thread from leaving.
            unsafe { (*node).word.store(PENDING, Ordering::Relaxed) };
            if node == readers {
                break;
            }
            count += 1;
            // SAFETY: as above.
            node = unsafe { (*node).next.load(Ordering::Relaxed) };
        }
        self.set_tails(self.writers_tail(), null_mut());
        self.dismiss(readers, word);
        count
    }

    /// Removes the writer that waits first from the queue, to which the caller has given the lock.
    pub(super) fn grant_first_writer(&mut self) {
        // SAFETY: the caller has seen a queued writer.
        let first = unsafe { NonNull::new_unchecked(node::first(self.writers_tail())) };
        self.remove_writer(first);
        // SAFETY: it was queued; from now on the mark keeps its thread from leaving.
        unsafe {
            first.as_ref().word.store(PENDING, Ordering::Relaxed);
            self.dismiss(node::append(null_mut(), first), GRANTED);
        }
    }

    fn dismiss(&mut self, ring: *mut Node, word: u32) {
        debug_assert!(self.wakes.left.is_null(), "a section dismisses one ring");
        (self.wakes.left, self.wakes.word) = (ring, word);
    }

    /// Tells the writer that waits first to look at the lock.
    pub(super) fn signal_first_writer(&mut self) {
        // SAFETY: the caller has seen a queued writer.
        let word = unsafe { &(*node::first(self.writers_tail())).word };
        // Relaxed: the thread looks at the lock in a section.
        word.store(SIGNALLED, Ordering::Relaxed);
        self.wakes.signalled = word;
    }
}

impl Wakes {
    /// # Safety
    /// The threads of the ring wait for this call.
    unsafe fn deliver(self) {
        if !self.signalled.is_null() {
            park::wake(self.signalled, 1);
        }
        let mut left = self.left;
        if left.is_null() {
            return;
        }
        // SAFETY: the nodes wait for their words. Each is read for the last time before it gets one.
        unsafe {
            let mut node = node::first(left);
            while !left.is_null() {
                // Some are told before the first of them is woken, which may take this thread's CPU.
                let mut words = [core::ptr::null(); TOLD_AT_ONCE];
                for word in &mut words {
                    let next = (*node).next.load(Ordering::Relaxed);
                    *word = &raw const (*node).word;
                    let is_last = node == left;
                    // Release: partner of the Acquire in `Phased::await_grant`: the thread sees what the holders before it wrote.
                    (*node).word.store(self.word, Ordering::Release);
                    node = next;
                    if is_last {
                        left = null_mut();
                        break;
                    }
                }
                for word in words.into_iter().take_while(|word| !word.is_null()) {
                    park::wake(word, 1);
                }
            }
        }
    }
}

const TOLD_AT_ONCE: usize = 32;
