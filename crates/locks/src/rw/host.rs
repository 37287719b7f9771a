//! What the biased read-write locks ask of the machine.
//!
//! A reader stores and then loads; the processor may let the load overtake the store unless there is a fence between them.
//! A fence costs a reader as much as a lock. So where the program has asked for it ([`use_membarrier`]) the reader has none,
//! and the writer makes the kernel issue one on every CPU on which a thread of the process runs: membarrier(2).

use core::cell::Cell;
use core::time::Duration;
use unspin_sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence, fence};
use unspin_sys::thread_exit::{ExitHook, call_at_exit};
use unspin_sys::tls::{self, Word};
use unspin_sys::{at_fork, futex, membarrier};

/// The address of the calling thread's line of [slots](super::slots); 0 if it has none.
#[inline(always)]
pub(super) fn line() -> usize {
    tls::value::<{ Word::Readers as usize }>()
}

/// Changes what [`line`] returns.
pub(super) fn set_line(address: usize) {
    tls::word(Word::Readers).set(address);
}

/// Calls `then` with the number of [holds](super::holds) of the calling thread that are counted in locks.
#[inline(always)]
pub(super) fn with_holds<R>(then: impl FnOnce(&Cell<usize>) -> R) -> R {
    then(tls::word(Word::Holds))
}

/// Makes libc call `function` in each child made by fork. To be called with one function only.
pub(super) fn call_in_child(function: unsafe extern "C" fn()) {
    static DONE: AtomicBool = AtomicBool::new(false);
    // Relaxed: it only decides which thread came first.
    if !DONE.swap(true, Ordering::Relaxed) {
        at_fork::call_in_child(function);
    }
}

/// Makes libc call `function` when the calling thread ends.
pub(super) fn call_at_thread_exit(function: extern "C-unwind" fn()) {
    // If libc has no key left, the line stays the thread's for ever.
    call_at_exit(ExitHook::Readers, function);
}

/// Whether writers call `membarrier`. True for as long as [`READERS_RELY`] is, and a moment longer on both sides.
static WRITERS_CALL: AtomicBool = AtomicBool::new(false);
/// Whether readers have no fence.
static READERS_RELY: AtomicBool = AtomicBool::new(false);

/// From now on writers use membarrier(2) instead of a fence in each reader. Returns whether the kernel permits it.
///
/// A process that installs a seccomp filter must call [`forgo_membarrier`] before, unless the filter permits the call.
pub fn use_membarrier() -> bool {
    if !membarrier::register_private_expedited() {
        return false;
    }
    // Relaxed (both): the barrier between them orders. A writer that reads `false` has cleared its bias before the barrier, so
    // a reader that relies on it afterwards sees the bias cleared.
    WRITERS_CALL.store(true, Ordering::Relaxed);
    let permitted = membarrier::issue_private_expedited();
    READERS_RELY.store(permitted, Ordering::Relaxed);
    permitted
}

/// From now on readers have a fence, and writers make no system call for them.
pub fn forgo_membarrier() {
    // Relaxed (all): the barrier between the stores orders, also that of each of two threads that call this. A reader that has read
    // `true` has stored its slot before: the barrier makes the slot visible. All others read `false`.
    if WRITERS_CALL.load(Ordering::Relaxed) {
        READERS_RELY.store(false, Ordering::Relaxed);
        fence_everywhere();
        WRITERS_CALL.store(false, Ordering::Relaxed);
    }
}

/// Between the store of a reader's slot and the load of the lock's bias.
#[inline(always)]
pub(super) fn fence_of_reader() {
    // The flag is read after the slot was stored: see `forgo_membarrier`.
    compiler_fence(Ordering::SeqCst);
    // Relaxed: as there.
    if !READERS_RELY.load(Ordering::Relaxed) {
        // Pairs with the fence in `fence_of_writer`.
        fence(Ordering::SeqCst);
    }
    compiler_fence(Ordering::SeqCst);
}

/// As [`fence_of_reader`], of a reader that does not rely on membarrier(2).
#[inline(always)]
pub(super) fn fence_of_fenced_reader() {
    // Pairs with the fence in `fence_of_writer_among_fenced`.
    fence(Ordering::SeqCst);
}

/// Between the store that clears a lock's bias and the loads of all slots, if all readers that may fill one have a fence.
pub(super) fn fence_of_writer_among_fenced() {
    // Pairs with the fence in `fence_of_fenced_reader`.
    fence(Ordering::SeqCst);
}

/// Between the store that clears a lock's bias and the loads of all slots.
#[inline(always)]
pub(super) fn fence_of_writer() {
    // Pairs with the fence of a reader that has one, and orders the bias before the flag.
    fence(Ordering::SeqCst);
    // Relaxed: see `use_membarrier`.
    if WRITERS_CALL.load(Ordering::Relaxed) {
        fence_everywhere();
    }
}

#[cold]
fn fence_everywhere() {
    if membarrier::issue_private_expedited() {
        return;
    }
    // A filter of which this process was not told forbids the call. Readers fence from now on. What those before have
    // stored leaves the store buffers of their CPUs within a microsecond, and at each interrupt; this waits longer.
    // Relaxed: as in `forgo_membarrier`.
    READERS_RELY.store(false, Ordering::Relaxed);
    let never_changed = AtomicU32::new(0);
    futex::private::wait(&never_changed, 0, Some(crate::Until::after(Duration::from_millis(20))));
    // Relaxed: all readers fence by now.
    WRITERS_CALL.store(false, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}
