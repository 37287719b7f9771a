//! The words of a `pthread_rwlock_t`, and libc's operations on it.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use libc::{clockid_t, pthread_rwlock_t, timespec};
use unspin_locks::RawRwLock;
use unspin_sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

crate::next::define_next_codes! {
    /// pthread_rwlock_rdlock(3).
    fn rwlock_rdlock = pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t);
    /// pthread_rwlock_tryrdlock(3).
    fn rwlock_tryrdlock = pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t);
    /// pthread_rwlock_timedrdlock(3).
    fn rwlock_timedrdlock = pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, until: *const timespec);
    /// pthread_rwlock_clockrdlock(3).
    fn rwlock_clockrdlock =
        pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec);
    /// pthread_rwlock_wrlock(3).
    fn rwlock_wrlock = pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t);
    /// pthread_rwlock_trywrlock(3).
    fn rwlock_trywrlock = pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t);
    /// pthread_rwlock_timedwrlock(3).
    fn rwlock_timedwrlock = pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, until: *const timespec);
    /// pthread_rwlock_clockwrlock(3).
    fn rwlock_clockwrlock =
        pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, until: *const timespec);
    /// pthread_rwlock_unlock(3).
    fn rwlock_unlock = pthread_rwlock_unlock(lock: *mut pthread_rwlock_t);
}

/// The words of a read-write lock.
///
/// A lock of ours lies over `__pad3` to `__pad2`, and leaves out what lies there of libc's: `__cur_writer` and `__shared`.
/// libc's other words are 0 in a replaced lock: so libc's own lock is free, beside ours. `__cur_writer` is stored exactly as
/// glibc does. It belongs to the writer; other threads only compare it with themselves. Hence Relaxed throughout: the lock's
/// own ordering makes it visible that the writer has left.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct RwLockLayout {
    readers: AtomicU32,
    /// `__writers`, and the two words on which libc's threads sleep.
    libcs: [AtomicU32; 3],
    /// Of our lock.
    ours: [AtomicU16; 3],
    /// The upper half of `__pad4`: glibc uses it only where it initialises a lock, with zeroes.
    tag: AtomicU16,
    writer: AtomicU32,
    shared: AtomicU32,
    /// Of our lock: `__rwelision`, which only other machines use, and padding.
    ours_too: [AtomicU32; 4],
    flags: AtomicU32,
    /// Not part of any member of glibc's structure, so an initialiser need not write it.
    padding: MaybeUninit<u32>,
}

const _: () = assert!(size_of::<RwLockLayout>() == size_of::<pthread_rwlock_t>());
const _: () = assert!(core::mem::offset_of!(RwLockLayout, ours) == 16);
const _: () = assert!(core::mem::offset_of!(RwLockLayout, tag) == 22);
const _: () = assert!(core::mem::offset_of!(RwLockLayout, writer) == 24);
const _: () = assert!(core::mem::offset_of!(RwLockLayout, flags) == 48);

/// WRPHASE and WRLOCKED of `__readers`: a thread has the lock for writing if both are set.
const WRITE_LOCKED: u32 = 3;

impl RwLockLayout {
    /// The words of this lock.
    ///
    /// # Safety
    /// The lock is live as long as the reference.
    #[inline(always)]
    pub unsafe fn of<'lock>(lock: *const pthread_rwlock_t) -> &'lock RwLockLayout {
        // SAFETY: a lock has this size and alignment. All its words may change at any time; they are atomics, which
        // allow that.
        unsafe { &*lock.cast() }
    }

    #[inline(always)]
    fn as_ptr(&self) -> *mut pthread_rwlock_t {
        (&raw const *self).cast_mut().cast()
    }

    /// The lock that replaces this one.
    #[inline(always)]
    pub fn lock_in_place<L: RawRwLock>(&self) -> &L {
        const { assert!(size_of::<L>() == 32 && align_of::<L>() <= 8, "a lock fits into a pthread_rwlock_t") };
        // SAFETY: 32 bytes, aligned to 8, that are atomics. The lock accesses neither the tag nor the two words of libc's
        // (`RawRwLock`); the rest has no other use. All zero, as every initialisation leaves them, is a free lock of any
        // kind. The tag ensures that only one kind of lock uses them.
        unsafe { &*(&raw const *self).byte_add(core::mem::offset_of!(RwLockLayout, ours)).cast::<L>() }
    }

    /// The sixteen bits of the tag.
    #[inline(always)]
    pub fn tag(&self) -> &AtomicU16 {
        &self.tag
    }

    /// Whether the lock is shared between processes: `__shared`.
    pub fn is_shared(&self) -> bool {
        // Relaxed: written where the lock is initialised.
        self.shared.load(Relaxed) != 0
    }

    /// Whether a reader waits behind a writer that waits, so that it must not hold the lock already: `__flags`.
    pub fn excludes_recursion(&self) -> bool {
        /// PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP (pthread.h).
        const PREFER_WRITER_NONRECURSIVE: u32 = 2;
        // Relaxed: as in `is_shared`.
        self.flags.load(Relaxed) == PREFER_WRITER_NONRECURSIVE
    }

    /// Number of threads that hold libc's lock for reading: `__readers` without its lowest three bits.
    #[inline(always)]
    pub fn readers(&self) -> u32 {
        // Relaxed: a number that other threads change; no other data is read because of it.
        self.readers.load(Relaxed) >> 3
    }

    /// Whether a thread holds libc's lock for writing.
    pub fn has_libcs_write_locked(&self) -> bool {
        // Relaxed: as in `readers`.
        self.readers.load(Relaxed) & WRITE_LOCKED == WRITE_LOCKED
    }

    /// Whether a thread holds the lock for writing: `__cur_writer`.
    #[inline(always)]
    pub fn has_writer(&self) -> bool {
        self.writer.load(Relaxed) != 0
    }

    /// The id of the thread that holds the lock for writing; 0 if there is none.
    pub fn writer(&self) -> u32 {
        // Relaxed: as in `has_writer`.
        self.writer.load(Relaxed)
    }

    /// Whether the thread with this id holds the lock for writing.
    #[inline(always)]
    pub fn is_written_by(&self, tid: u32) -> bool {
        self.writer.load(Relaxed) == tid
    }

    /// To be called after the caller, which has this thread id, has acquired our lock for writing.
    #[inline(always)]
    pub fn own(&self, tid: u32) {
        self.writer.store(tid, Relaxed);
    }

    /// To be called before the caller releases our lock, held for writing.
    #[inline(always)]
    pub fn disown(&self) {
        self.writer.store(0, Relaxed);
    }

    /// libc's pthread_rwlock_unlock(3).
    #[inline(always)]
    pub fn unlock(&self) -> c_int {
        // SAFETY: a live lock, which the program releases.
        unsafe { real::rwlock_unlock(self.as_ptr()) }
    }
}

/// Whether a lock is acquired for reading or for writing.
pub trait Mode {
    /// Whether it is for reading.
    const IS_READING: bool;
    /// libc's function that blocks.
    fn lock(lock: &RwLockLayout) -> c_int;
    /// libc's function that does not block.
    fn trylock(lock: &RwLockLayout) -> c_int;
    /// libc's function with a deadline of this clock.
    ///
    /// # Safety
    /// `until` is null or a live time.
    unsafe fn clocklock(lock: &RwLockLayout, clock: clockid_t, until: *const timespec) -> c_int;
}

/// For reading.
#[derive(Debug)]
pub struct Reading;
/// For writing.
#[derive(Debug)]
pub struct Writing;

/// Implements [`Mode`] by libc's functions of these names.
macro_rules! mode {
    ($mode:ident: $is_reading:expr, $lock:ident, $trylock:ident, $timedlock:ident, $clocklock:ident) => {
        impl Mode for $mode {
            const IS_READING: bool = $is_reading;

            #[inline(always)]
            fn lock(lock: &RwLockLayout) -> c_int {
                // SAFETY: a live lock.
                unsafe { real::$lock(lock.as_ptr()) }
            }

            #[inline(always)]
            fn trylock(lock: &RwLockLayout) -> c_int {
                // SAFETY: a live lock.
                unsafe { real::$trylock(lock.as_ptr()) }
            }

            #[inline(always)]
            unsafe fn clocklock(lock: &RwLockLayout, clock: clockid_t, until: *const timespec) -> c_int {
                // SAFETY: a live lock, and the caller's time.
                unsafe {
                    match clock {
                        libc::CLOCK_REALTIME => real::$timedlock(lock.as_ptr(), until),
                        clock => real::$clocklock(lock.as_ptr(), clock, until),
                    }
                }
            }
        }
    };
}

mode!(Reading: true, rwlock_rdlock, rwlock_tryrdlock, rwlock_timedrdlock, rwlock_clockrdlock);
mode!(Writing: false, rwlock_wrlock, rwlock_trywrlock, rwlock_timedwrlock, rwlock_clockwrlock);

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets are those of this machine's glibc.
    #[test]
    fn holders_are_read_as_glibc_counts_them() {
        let mut object = libc::PTHREAD_RWLOCK_INITIALIZER;
        // SAFETY: a live lock of this thread.
        let lock = unsafe { RwLockLayout::of(&raw mut object) };
        assert_eq!((Reading::lock(lock), Reading::trylock(lock)), (0, 0));
        assert_eq!((lock.readers(), lock.has_writer()), (2, false));
        assert_eq!((lock.unlock(), lock.unlock()), (0, 0));
        assert_eq!(Writing::lock(lock), 0);
        assert_eq!((lock.readers(), lock.has_writer()), (0, true));
        assert_eq!((Reading::trylock(lock), lock.unlock()), (libc::EBUSY, 0));
        assert!(!lock.has_writer());
    }

    #[test]
    fn attributes_are_those_that_glibc_stored() {
        let mut object = libc::PTHREAD_RWLOCK_INITIALIZER;
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: live objects of this thread, here and below.
        let lock = unsafe { RwLockLayout::of(&raw mut object) };
        for kind in 0..3 {
            for shared in [libc::PTHREAD_PROCESS_PRIVATE, libc::PTHREAD_PROCESS_SHARED] {
                lock.tag.store(u16::MAX, Relaxed);
                // SAFETY: as above.
                unsafe {
                    libc::pthread_rwlockattr_init(attributes.as_mut_ptr());
                    pthread_rwlockattr_setkind_np(attributes.as_mut_ptr(), kind);
                    libc::pthread_rwlockattr_setpshared(attributes.as_mut_ptr(), shared);
                    libc::pthread_rwlock_init(lock.as_ptr(), attributes.as_ptr());
                }
                assert_eq!(lock.is_shared(), shared == libc::PTHREAD_PROCESS_SHARED);
                assert_eq!(lock.excludes_recursion(), kind == 2);
                assert_eq!(lock.tag.load(Relaxed), 0);
            }
        }
    }

    unsafe extern "C" {
        fn pthread_rwlockattr_setkind_np(attributes: *mut libc::pthread_rwlockattr_t, kind: c_int) -> c_int;
    }

    /// The words of libc's, and the tag, are left alone by our locks.
    #[test]
    fn our_lock_lies_beside_libcs_words() {
        let mut object = libc::PTHREAD_RWLOCK_INITIALIZER;
        // SAFETY: a live lock of this thread.
        let lock = unsafe { RwLockLayout::of(&raw mut object) };
        let ours = lock.lock_in_place::<unspin_locks::rw::RwBiased>();
        assert_eq!((&raw const *ours).addr() - (&raw const *lock).addr(), 16);
        lock.writer.store(77, Relaxed);
        lock.shared.store(78, Relaxed);
        lock.tag.store(79, Relaxed);
        assert!(ours.try_write());
        assert_eq!((Reading::lock(lock), lock.readers(), lock.unlock()), (0, 1, 0));
        // SAFETY: acquired above.
        unsafe { ours.unlock_write() };
        assert!(ours.try_read(unspin_locks::Recursion::Allowed).is_ok());
        let left = (lock.writer.load(Relaxed), lock.shared.load(Relaxed), lock.tag.load(Relaxed));
        assert_eq!((left, lock.excludes_recursion(), lock.readers()), ((77, 78, 79), false, 0));
    }
}
