//! The words of a `pthread_rwlock_t`, and libc's operations on it.

use core::ffi::c_int;
use libc::{clockid_t, pthread_rwlock_t, timespec};
use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};

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

/// The words of a read-write lock. This library reads two of them and writes none.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct RwLockLayout {
    readers: AtomicU32,
    not_read: [AtomicU32; 5],
    writer: AtomicU32,
    rest: [AtomicU32; 7],
}

const _: () = assert!(size_of::<RwLockLayout>() == size_of::<pthread_rwlock_t>());
const _: () = assert!(core::mem::offset_of!(RwLockLayout, writer) == 24);

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

    /// Number of threads that hold the lock for reading: `__readers` without its lowest three bits.
    #[inline(always)]
    pub fn readers(&self) -> u32 {
        // Relaxed: a number that other threads change; no other data is read because of it.
        self.readers.load(Relaxed) >> 3
    }

    /// Whether a thread holds the lock for writing: `__cur_writer`.
    #[inline(always)]
    pub fn has_writer(&self) -> bool {
        // Relaxed: as in `readers`.
        self.writer.load(Relaxed) != 0
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
    /// libc's function with a deadline of CLOCK_REALTIME.
    ///
    /// # Safety
    /// `until` is null or a live time.
    unsafe fn timedlock(lock: &RwLockLayout, until: *const timespec) -> c_int;
    /// libc's function with a deadline of any clock.
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
            unsafe fn timedlock(lock: &RwLockLayout, until: *const timespec) -> c_int {
                // SAFETY: a live lock, and the caller's time.
                unsafe { real::$timedlock(lock.as_ptr(), until) }
            }

            #[inline(always)]
            unsafe fn clocklock(lock: &RwLockLayout, clock: clockid_t, until: *const timespec) -> c_int {
                // SAFETY: a live lock, and the caller's time.
                unsafe { real::$clocklock(lock.as_ptr(), clock, until) }
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
}
