//! A `pthread_mutex_t` from within. The places are part of glibc's binary interface, fixed by the static initialisers of
//! programs.

use super::mark::Mark;
use crate::errno;
use crate::pthread::real;
use libc::pthread_mutex_t;
use unspin_locks::RawLock;
use unspin_sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};
use unspin_sys::{futex::pi, tid};

/// The words of a mutex.
///
/// Who owns it, how deep, and how many use it are kept in a replaced mutex exactly as glibc keeps them: errorcheck and
/// recursive ones are made of that, and libc's own pthread_mutex_destroy looks at it. Owner, depth and users belong to who
/// holds the mutex; others only compare the owner with themselves. Hence Relaxed throughout: whoever acquires sees what the
/// last holder wrote because the lock says so.
#[repr(C)]
#[derive(Debug)]
pub struct Body {
    /// Untouched where we replace: 0.
    lock: AtomicU32,
    depth: AtomicU32,
    owner: AtomicU32,
    users: AtomicU32,
    kind: AtomicU32,
    spins: AtomicU16,
    mark: AtomicU16,
    /// glibc's list of robust mutexes, which the replaced ones are not: our lock.
    list: [AtomicU64; 2],
}

const _: () =
    assert!(size_of::<Body>() == size_of::<pthread_mutex_t>() && core::mem::offset_of!(Body, mark) == 22);

impl Body {
    /// # Safety
    /// A live mutex.
    #[inline(always)]
    pub unsafe fn of<'mutex>(mutex: *const pthread_mutex_t) -> &'mutex Body {
        // SAFETY: a mutex is that long and that aligned, and all of its words may change at any time, as atomics may.
        unsafe { &*mutex.cast::<Body>() }
    }

    /// The lock that it was replaced by.
    #[inline(always)]
    pub fn lock<L: RawLock>(&self) -> &L {
        const { assert!(size_of::<L>() <= 16 && align_of::<L>() <= 8, "a lock fits into a mutex") };
        // SAFETY: 16 bytes, aligned to 8, that are atomics and nobody else's; zeroes, as every initialisation leaves
        // them, are a free lock of any kind, and the mark sees to it that one kind at a time uses them.
        unsafe { &*(&raw const self.list).cast::<L>() }
    }

    /// `__kind`.
    #[inline(always)]
    pub fn kind(&self) -> u32 {
        self.kind.load(Relaxed)
    }

    /// Whether it is one with PTHREAD_PRIO_INHERIT.
    pub fn inherits(&self) -> bool {
        self.kind() & super::mark::INHERITS != 0
    }

    /// Makes it one with PTHREAD_PRIO_INHERIT, if it is not yet.
    #[inline]
    pub fn make_inheriting(&self) {
        if !self.inherits() {
            // Relaxed: whoever sees the mutex's mark does the same.
            self.kind.fetch_or(super::mark::INHERITS, Relaxed);
        }
    }

    /// What was decided.
    #[inline(always)]
    pub fn mark(&self) -> Mark {
        // Relaxed: the mark is the whole message.
        Mark::from_bits(self.mark.load(Relaxed))
    }

    /// Writes down what is decided now, unless another thread was faster; answers what holds.
    pub fn decide(&self, seen: Mark, decision: Mark) -> Mark {
        match self.mark.compare_exchange(seen.bits(), decision.bits(), Relaxed, Relaxed) {
            Ok(_) => decision,
            Err(other) => Mark::from_bits(other),
        }
    }

    /// Writes down that nothing is decided.
    pub fn forget(&self) {
        self.mark.store(Mark::NONE.bits(), Relaxed);
    }

    /// Whether the calling thread owns it.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        self.owner.load(Relaxed) == thread()
    }

    /// The caller has acquired the lock, as one more user.
    #[inline(always)]
    pub fn own(&self) {
        self.own_again();
        self.add_user();
    }

    /// The caller has acquired the lock, and counts as a user already: the end of a wait for a condition.
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

    /// The caller is about to release the lock, and to use it no more.
    #[inline(always)]
    pub fn disown(&self) {
        self.disown_for_now();
        self.remove_user();
    }

    /// The caller is about to release the lock for the time of a wait.
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

    /// Releases libc's own lock with priority inheritance for a thread that is not its owner, unless somebody waits for it in
    /// the kernel, who would refuse. A mutex without inheritance is released by anybody: by another thread, by a child made
    /// by fork, where the owner has another id, or when nobody has it.
    pub fn seize(&self) -> bool {
        // Relaxed: the exchange orders.
        let word = self.lock.load(Relaxed);
        let owner = word & pi::OWNER;
        if owner == thread() || word & !pi::OWNER != 0 && !self.is_left_by_fork(word) {
            return false;
        }
        self.disown();
        // Release: partner of the Acquire in libc's functions.
        let is_free = self.lock.compare_exchange(owner, 0, Release, Relaxed).is_ok();
        if !is_free {
            self.users.store(self.users.load(Relaxed).wrapping_add(1), Relaxed);
        }
        is_free
    }

    /// Whether the word says of libc's own lock that threads wait in the kernel, and none does: those it means did not come
    /// along through a fork. Then it says so no more. Whoever enters the kernel's queue says so while `has_waiters` cannot look:
    /// either he is seen, or he comes after us and says so again.
    #[cold]
    fn is_left_by_fork(&self, word: u32) -> bool {
        let owner = word & pi::OWNER;
        if word != owner | pi::WAITERS || pi::has_waiters(&self.lock) {
            return false;
        }
        // Relaxed, here and below: the lock is held, and stays so.
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
    match tid::known() {
        0 => learn(),
        known => known,
    }
}

/// Finds it out as cheaply as libc knows it: from the owner of a mutex that libc locks. No system call, which a program may
/// have forbidden itself.
#[cold]
fn learn() -> u32 {
    let before = errno::get();
    let mut mutex = libc::PTHREAD_MUTEX_INITIALIZER;
    // SAFETY: a live mutex of this thread alone.
    let owner = unsafe {
        real::mutex_lock(&mut mutex);
        let owner = Body::of(&mutex).owner.load(Relaxed);
        real::mutex_unlock(&mut mutex);
        owner
    };
    let id = if owner == 0 { tid::get() } else { tid::told(owner) };
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
