//! The words of a `pthread_mutex_t`, and libc's operations on it. The offsets are part of glibc's binary interface,
//! fixed by the static initialisers in programs.

use crate::errno;
use core::ffi::c_int;
use libc::{clockid_t, pthread_mutex_t, timespec};
use unspin_locks::RawLock;
use unspin_sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};
use unspin_sys::{futex::pi, tid};

crate::next::define_next_codes! {
    /// pthread_mutex_lock(3).
    fn mutex_lock = pthread_mutex_lock(mutex: *mut pthread_mutex_t);
    /// pthread_mutex_trylock(3).
    fn mutex_trylock = pthread_mutex_trylock(mutex: *mut pthread_mutex_t);
    /// pthread_mutex_timedlock(3).
    fn mutex_timedlock = pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec);
    /// pthread_mutex_clocklock(3).
    fn mutex_clocklock =
        pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec);
    /// pthread_mutex_unlock(3).
    fn mutex_unlock = pthread_mutex_unlock(mutex: *mut pthread_mutex_t);
}

/// The words of a mutex.
///
/// A replaced mutex stores its owner, its depth and its number of users exactly as glibc does. Errorcheck and recursive
/// mutexes are built on that, and libc's own pthread_mutex_destroy reads it. Owner, depth and users belong to the
/// holder of the mutex; other threads only compare the owner with themselves. Hence Relaxed throughout: the lock's own
/// ordering makes the writes of the last holder visible to the thread that acquires it.
#[repr(C)]
#[derive(Debug)]
pub struct MutexLayout {
    /// libc's lock word; 0, and not accessed, in a replaced mutex.
    lock: AtomicU32,
    depth: AtomicU32,
    owner: AtomicU32,
    users: AtomicU32,
    kind: AtomicU32,
    spins: AtomicU16,
    /// `__elision`: glibc uses it only where it elides locks.
    tag: AtomicU16,
    /// glibc's list of robust mutexes. Replaced mutexes are not robust, so our lock lies here.
    list: [AtomicU64; 2],
}

// Values and bits of `__kind`.
const TYPE: u32 = 3;
const RECURSIVE: u32 = 1;
const ERRORCHECK: u32 = 2;
const ADAPTIVE: u32 = 3;
/// PTHREAD_MUTEX_ROBUST_NORMAL_NP.
const ROBUST: u32 = 16;
/// PTHREAD_MUTEX_PRIO_INHERIT_NP.
pub const INHERITS: u32 = 32;
/// PTHREAD_MUTEX_PRIO_PROTECT_NP.
const HAS_CEILING: u32 = 64;
/// PTHREAD_MUTEX_PSHARED_BIT. Robust mutexes have it too (`___pthread_mutex_init` of nptl/pthread_mutex_init.c).
const SHARED: u32 = 128;

const _: () = assert!(size_of::<MutexLayout>() == size_of::<pthread_mutex_t>());
const _: () = assert!(core::mem::offset_of!(MutexLayout, tag) == 22);

impl MutexLayout {
    /// The words of this mutex.
    ///
    /// # Safety
    /// The mutex is live as long as the reference.
    #[inline(always)]
    pub unsafe fn of<'mutex>(mutex: *const pthread_mutex_t) -> &'mutex MutexLayout {
        // SAFETY: a mutex has this size and alignment. All its words may change at any time; they are atomics, which
        // allow that.
        unsafe { &*mutex.cast::<MutexLayout>() }
    }

    /// The mutex, for libc.
    #[inline(always)]
    pub fn as_ptr(&self) -> *mut pthread_mutex_t {
        (&raw const *self).cast_mut().cast()
    }

    /// The lock that replaces this mutex.
    #[inline(always)]
    pub fn lock_in_place<L: RawLock>(&self) -> &L {
        const { assert!(size_of::<L>() <= 16 && align_of::<L>() <= 8, "a lock fits into a mutex") };
        // SAFETY: 16 bytes, aligned to 8, that are atomics and have no other use. All zero, as every initialisation
        // leaves them, is a free lock of any kind. The tag ensures that only one kind of lock uses them.
        unsafe { &*(&raw const self.list).cast::<L>() }
    }

    /// `__kind`.
    #[inline(always)]
    pub fn kind(&self) -> u32 {
        self.kind.load(Relaxed)
    }

    /// The sixteen bits of the tag.
    #[inline(always)]
    pub fn tag(&self) -> &AtomicU16 {
        &self.tag
    }

    /// Whether the owner may lock it again.
    #[inline(always)]
    pub fn is_recursive(&self) -> bool {
        self.kind() & TYPE == RECURSIVE
    }

    /// Whether libc spins for it before it sleeps.
    pub fn is_adaptive(&self) -> bool {
        self.kind() & TYPE == ADAPTIVE
    }

    /// Whether it is robust.
    #[inline(always)]
    pub fn is_robust(&self) -> bool {
        self.kind() & ROBUST != 0
    }

    /// Whether it is neither robust nor recursive.
    #[inline(always)]
    pub fn is_simple(&self) -> bool {
        const SIMPLE: u32 = 1 | 1 << ERRORCHECK | 1 << ADAPTIVE;
        // A robust mutex has a number from 16 on here.
        SIMPLE >> (self.kind() & (TYPE | ROBUST)) & 1 != 0
    }

    /// Whether libc's unlock refuses a thread that does not own the mutex: it checks the owner itself, or the kernel
    /// does (PTHREAD_PRIO_INHERIT).
    pub fn libc_checks_owner(&self) -> bool {
        let kind = self.kind();
        matches!(kind & TYPE, RECURSIVE | ERRORCHECK) || kind & (ROBUST | INHERITS) != 0
    }

    /// Whether the mutex has a live owner. If the mutex is robust or inherits priorities, the lowest thirty bits of
    /// `__lock` (FUTEX_TID_MASK) are the owner's thread id. Otherwise they are 1, or 2 if threads wait. If the mutex has
    /// a priority ceiling, the upper thirteen bits are the ceiling (PTHREAD_MUTEX_PRIO_CEILING_MASK).
    #[inline(always)]
    pub fn has_owner(&self) -> bool {
        let lock = self.lock.load(Relaxed);
        let mask = if self.has_ceiling() { 0x0007_FFFF } else { 0x3FFF_FFFF };
        lock & mask != 0
    }

    /// Whether the mutex is shared between processes, or robust.
    pub fn is_shared(&self) -> bool {
        self.kind() & SHARED != 0
    }

    /// Whether the mutex has PTHREAD_PRIO_PROTECT.
    pub fn has_ceiling(&self) -> bool {
        self.kind() & HAS_CEILING != 0
    }

    /// Whether the mutex has a property that may keep it libc's: shared, robust, or with a priority protocol.
    #[inline(always)]
    pub fn is_special(&self) -> bool {
        self.kind() & (SHARED | ROBUST | INHERITS | HAS_CEILING) != 0
    }

    /// Whether the mutex has PTHREAD_PRIO_INHERIT.
    pub fn inherits(&self) -> bool {
        self.kind() & INHERITS != 0
    }

    /// Whether libc raises the owner's priority: PTHREAD_PRIO_INHERIT or PTHREAD_PRIO_PROTECT.
    pub fn raises_priority(&self) -> bool {
        self.kind() & (INHERITS | HAS_CEILING) != 0
    }

    /// Sets PTHREAD_PRIO_INHERIT, if it is not set.
    #[inline]
    pub fn make_inheriting(&self) {
        if !self.inherits() {
            // Relaxed: every thread that sees the mutex's tag does the same.
            self.kind.fetch_or(INHERITS, Relaxed);
        }
    }

    /// The thread id of the owner; 0 if there is none, or if it has not stored its id yet.
    #[inline(always)]
    pub fn owner(&self) -> u32 {
        self.owner.load(Relaxed)
    }

    /// Whether the calling thread owns the mutex.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        self.is_owned_by(current_tid())
    }

    /// Whether the thread with this id owns the mutex.
    #[inline(always)]
    pub fn is_owned_by(&self, tid: u32) -> bool {
        self.owner.load(Relaxed) == tid
    }

    /// To be called after the caller, which has this thread id, has acquired the lock: it becomes owner and one more
    /// user.
    #[inline(always)]
    pub fn own(&self, tid: u32) {
        self.own_again(tid);
        self.add_user();
    }

    /// To be called after the caller has acquired the lock, if it counts as a user already: at the end of a wait for a
    /// condition.
    #[inline(always)]
    pub fn own_again(&self, tid: u32) {
        self.owner.store(tid, Relaxed);
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

    /// libc's pthread_mutex_lock(3).
    #[inline(always)]
    pub fn libc_lock(&self) -> c_int {
        // SAFETY: a live mutex.
        unsafe { real::mutex_lock(self.as_ptr()) }
    }

    /// libc's pthread_mutex_trylock(3).
    #[inline(always)]
    pub fn libc_trylock(&self) -> c_int {
        // SAFETY: a live mutex.
        unsafe { real::mutex_trylock(self.as_ptr()) }
    }

    /// libc's pthread_mutex_clocklock(3); with CLOCK_REALTIME pthread_mutex_timedlock(3).
    ///
    /// # Safety
    /// `until` points to a live time, unless the mutex is free.
    pub unsafe fn libc_clocklock(&self, clock: clockid_t, until: *const timespec) -> c_int {
        // SAFETY: a live mutex, and the caller's time.
        unsafe {
            match clock {
                libc::CLOCK_REALTIME => real::mutex_timedlock(self.as_ptr(), until),
                clock => real::mutex_clocklock(self.as_ptr(), clock, until),
            }
        }
    }

    /// libc's pthread_mutex_unlock(3).
    #[inline(always)]
    pub fn libc_unlock(&self) -> c_int {
        // SAFETY: a live mutex, which the program releases.
        unsafe { real::mutex_unlock(self.as_ptr()) }
    }

    /// Releases libc's own lock with priority inheritance for a thread that is not its owner. Fails if a thread waits
    /// for it in the kernel, as the kernel would refuse. (A normal mutex without inheritance may be released by any
    /// thread: by another thread, by a child made by fork, where the owner has another id, or when no thread holds it.)
    pub fn seize(&self) -> bool {
        // Relaxed: the exchange orders.
        let word = self.lock.load(Relaxed);
        let owner = word & pi::OWNER;
        if owner == current_tid() || word & !pi::OWNER != 0 && !self.is_left_by_fork(word) {
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
pub fn current_tid() -> u32 {
    match tid::get_cached() {
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
        let owner = MutexLayout::of(&mutex).owner.load(Relaxed);
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
    use core::mem::MaybeUninit;

    #[test]
    fn thread_id_is_that_of_the_kernel() {
        assert_eq!(learn(), unspin_sys::process::tid());
        assert_eq!(current_tid(), unspin_sys::process::tid());
    }

    /// The offsets are those of this machine's glibc.
    #[test]
    fn attributes_are_those_that_glibc_stored() {
        let mut object = libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
        // SAFETY: a live mutex of this thread, here and below.
        let mutex = unsafe { MutexLayout::of(&raw mut object) };
        assert!(mutex.is_recursive() && !mutex.is_adaptive());
        let mut object = libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
        // SAFETY: as above.
        let mutex = unsafe { MutexLayout::of(&raw mut object) };
        assert!(mutex.is_adaptive() && !mutex.is_robust() && !mutex.is_recursive());
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: as above.
        let mutex = unsafe {
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutex_init(&raw mut object, attributes.as_ptr());
            MutexLayout::of(&raw mut object)
        };
        assert!(mutex.is_robust() && !mutex.is_adaptive() && !mutex.has_owner());
        assert_eq!(mutex.libc_lock(), 0);
        assert!(mutex.has_owner() && mutex.is_mine());
        assert_eq!(mutex.libc_unlock(), 0);
        assert!(!mutex.has_owner() && !mutex.is_mine());
    }
}
