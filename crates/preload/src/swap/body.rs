//! The words of a `pthread_mutex_t`. Their offsets are part of glibc's binary interface, fixed by the static
//! initialisers in programs.

use super::mark::Mark;
use crate::errno;
use crate::pthread::real;
use libc::pthread_mutex_t;
use unspin_locks::RawLock;
use unspin_sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};
use unspin_sys::{futex::pi, tid};

/// The words of a mutex.
///
/// A replaced mutex stores its owner, its depth and its number of users exactly as glibc does. Errorcheck and recursive
/// mutexes are built on that, and libc's own pthread_mutex_destroy reads it. Owner, depth and users belong to the
/// holder of the mutex; other threads only compare the owner with themselves. Hence Relaxed throughout: the lock's own
/// ordering makes the writes of the last holder visible to the thread that acquires it.
#[repr(C)]
#[derive(Debug)]
pub struct Body {
    /// libc's lock word; 0, and not accessed, in a replaced mutex.
    lock: AtomicU32,
    depth: AtomicU32,
    owner: AtomicU32,
    users: AtomicU32,
    kind: AtomicU32,
    spins: AtomicU16,
    mark: AtomicU16,
    /// glibc's list of robust mutexes. Replaced mutexes are not robust, so our lock lies here.
    list: [AtomicU64; 2],
}

const _: () =
    assert!(size_of::<Body>() == size_of::<pthread_mutex_t>() && core::mem::offset_of!(Body, mark) == 22);

impl Body {
    /// The words of this mutex.
    ///
    /// # Safety
    /// `mutex` is live.
    #[inline(always)]
    pub unsafe fn of<'mutex>(mutex: *const pthread_mutex_t) -> &'mutex Body {
        // SAFETY: a mutex has this size and alignment. All its words may change at any time; they are atomics, which
        // allow that.
        unsafe { &*mutex.cast::<Body>() }
    }

    /// The lock that replaces this mutex.
    #[inline(always)]
    pub fn lock<L: RawLock>(&self) -> &L {
        const { assert!(size_of::<L>() <= 16 && align_of::<L>() <= 8, "a lock fits into a mutex") };
        // SAFETY: 16 bytes, aligned to 8, that are atomics and have no other use. All zero, as every initialisation
        // leaves them, is a free lock of any kind. The mark ensures that only one kind of lock uses them.
        unsafe { &*(&raw const self.list).cast::<L>() }
    }

    /// `__kind`.
    #[inline(always)]
    pub fn kind(&self) -> u32 {
        self.kind.load(Relaxed)
    }

    /// Whether the mutex has PTHREAD_PRIO_INHERIT.
    pub fn inherits(&self) -> bool {
        self.kind() & super::mark::INHERITS != 0
    }

    /// Sets PTHREAD_PRIO_INHERIT, if it is not set.
    #[inline]
    pub fn make_inheriting(&self) {
        if !self.inherits() {
            // Relaxed: every thread that sees the mutex's mark does the same.
            self.kind.fetch_or(super::mark::INHERITS, Relaxed);
        }
    }

    /// The decision for this mutex.
    #[inline(always)]
    pub fn mark(&self) -> Mark {
        // Relaxed: only the mark itself is published.
        Mark::from_bits(self.mark.load(Relaxed))
    }

    /// Stores the decision, unless another thread was faster. Returns the decision that holds.
    pub fn decide(&self, seen: Mark, decision: Mark) -> Mark {
        match self.mark.compare_exchange(seen.bits(), decision.bits(), Relaxed, Relaxed) {
            Ok(_) => decision,
            Err(other) => Mark::from_bits(other),
        }
    }

    /// Removes the decision.
    pub fn forget(&self) {
        self.mark.store(Mark::NONE.bits(), Relaxed);
    }

    /// Whether the calling thread owns the mutex.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        self.owner.load(Relaxed) == thread()
    }

    /// To be called after the caller has acquired the lock: it becomes owner and one more user.
    #[inline(always)]
    pub fn own(&self) {
        self.own_again();
        self.add_user();
    }

    /// To be called after the caller has acquired the lock, if it counts as a user already: at the end of a wait for a
    /// condition.
    #[inline(always)]
    pub fn own_again(&self) {
        self.owner.store(thread(), Relaxed);
    }

    /// The caller, which owns the mutex, counts as one more user: pthread_mutex_destroy(3) refuses a mutex with users.
    pub fn add_user(&self) {
        self.users.store(self.users.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The opposite of [`add_user`](Self::add_user). The caller owns the mutex.
    pub fn remove_user(&self) {
        self.users.store(self.users.load(Relaxed).wrapping_sub(1), Relaxed);
    }

    /// To be called before the caller releases the lock and stops using it.
    #[inline(always)]
    pub fn disown(&self) {
        self.disown_for_now();
        self.remove_user();
    }

    /// To be called before the caller releases the lock for the time of a wait.
    #[inline(always)]
    pub fn disown_for_now(&self) {
        self.owner.store(0, Relaxed);
    }

    /// How often the owner has acquired it.
    pub fn depth(&self) -> u32 {
        self.depth.load(Relaxed)
    }

    /// Sets how often the owner has acquired it.
    pub fn set_depth(&self, depth: u32) {
        self.depth.store(depth, Relaxed);
    }

    /// Releases libc's own lock with priority inheritance for a thread that is not its owner. Fails if a thread waits
    /// for it in the kernel, as the kernel would refuse. (A normal mutex without inheritance may be released by any
    /// thread: by another thread, by a child made by fork, where the owner has another id, or when no thread holds it.)
    pub fn seize(&self) -> bool {
        // Relaxed: the exchange orders.
        let word = self.lock.load(Relaxed);
        let owner = word & pi::OWNER;
        if owner == thread() || word & !pi::OWNER != 0 && !self.is_left_by_fork(word) {
            return false;
        }
        self.disown();
        // Release: pairs with the Acquire in libc's functions.
        let is_free = self.lock.compare_exchange(owner, 0, Release, Relaxed).is_ok();
        if !is_free {
            self.users.store(self.users.load(Relaxed).wrapping_add(1), Relaxed);
        }
        is_free
    }

    /// Whether the word of libc's own lock says that threads wait in the kernel, but none does: a fork left them
    /// behind. If so, clears that bit. A thread that enters the kernel's queue sets the bit while `has_waiters` cannot
    /// look at the queue. So either `has_waiters` sees the thread, or the thread comes later and sets the bit again.
    #[cold]
    fn is_left_by_fork(&self, word: u32) -> bool {
        let owner = word & pi::OWNER;
        if word != owner | pi::WAITERS || pi::has_waiters(&self.lock) {
            return false;
        }
        // Relaxed, here and below: the lock is held, and stays held.
        let is_cleared = self.lock.compare_exchange(word, owner, Relaxed, Relaxed).is_ok();
        if is_cleared && pi::has_waiters(&self.lock) {
            self.lock.fetch_or(pi::WAITERS, Relaxed);
            return false;
        }
        is_cleared
    }
}

/// The id of the calling thread.
#[inline(always)]
pub fn thread() -> u32 {
    match tid::cached() {
        0 => learn(),
        known => known,
    }
}

/// Finds the id as cheaply as libc knows it: from the owner word of a mutex that libc locks. That makes no system call,
/// which the program may have forbidden itself.
#[cold]
fn learn() -> u32 {
    let before = errno::get();
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    // SAFETY: a live mutex that only this thread uses.
    let owner = unsafe {
        real::mutex_lock(&mut mutex);
        let owner = Body::of(&mutex).owner.load(Relaxed);
        real::mutex_unlock(&mut mutex);
        owner
    };
    let id = if owner == 0 { tid::get() } else { tid::set_cached(owner) };
    errno::set(before);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_tells_who_we_are() {
        assert_eq!(learn(), unspin_sys::process::tid());
        assert_eq!(thread(), unspin_sys::process::tid());
    }
}
