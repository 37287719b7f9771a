//! The word of a `pthread_spinlock_t`, and libc's operations on it.

use core::ffi::c_int;
use libc::pthread_spinlock_t;
use unspin_locks::AdaptiveSpin;
use unspin_sync::atomic::{AtomicI32, Ordering::Relaxed};

crate::next::define_next_codes! {
    /// pthread_spin_lock(3).
    fn spin_lock = pthread_spin_lock(lock: *mut pthread_spinlock_t);
    /// pthread_spin_trylock(3).
    fn spin_trylock = pthread_spin_trylock(lock: *mut pthread_spinlock_t);
    /// pthread_spin_unlock(3).
    fn spin_unlock = pthread_spin_unlock(lock: *mut pthread_spinlock_t);
}

/// The word of a spin lock. [`unspin_locks::spin`] says which values it has.
#[repr(transparent)]
#[derive(Debug)]
pub struct SpinLockLayout(AtomicI32);

const _: () = assert!(size_of::<SpinLockLayout>() == size_of::<pthread_spinlock_t>());
const _: () = assert!(size_of::<AdaptiveSpin>() == size_of::<pthread_spinlock_t>());
const _: () = assert!(align_of::<AdaptiveSpin>() == align_of::<pthread_spinlock_t>());

impl SpinLockLayout {
    /// The word of this lock.
    ///
    /// # Safety
    /// The lock is live as long as the reference.
    #[inline(always)]
    pub unsafe fn of<'lock>(lock: *const pthread_spinlock_t) -> &'lock SpinLockLayout {
        // SAFETY: a lock is an int, which other threads change by atomic instructions.
        unsafe { &*lock.cast() }
    }

    fn as_ptr(&self) -> *mut pthread_spinlock_t {
        (&raw const *self).cast_mut().cast()
    }

    /// The lock that may replace this one.
    #[inline(always)]
    pub fn lock_in_place(&self) -> &AdaptiveSpin {
        // SAFETY: one atomic word of four bytes. Each of its values is valid for the lock, which leaves those of libc alone.
        unsafe { &*(&raw const *self).cast::<AdaptiveSpin>() }
    }

    /// Whether the lock is free: glibc's lock for x86 then has the value 1.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        // Relaxed: a hint; libc's trylock decides.
        self.0.load(Relaxed) > 0
    }

    /// libc's pthread_spin_lock(3).
    #[inline(always)]
    pub fn libc_lock(&self) -> c_int {
        // SAFETY: a live lock.
        unsafe { real::spin_lock(self.as_ptr()) }
    }

    /// libc's pthread_spin_trylock(3).
    #[inline(always)]
    pub fn libc_trylock(&self) -> c_int {
        // SAFETY: a live lock.
        unsafe { real::spin_trylock(self.as_ptr()) }
    }

    /// libc's pthread_spin_unlock(3).
    #[inline(always)]
    pub fn libc_unlock(&self) -> c_int {
        // SAFETY: a live lock, which the program releases.
        unsafe { real::spin_unlock(self.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_lock_is_recognised() {
        let mut object: pthread_spinlock_t = 0;
        // SAFETY: a live lock of this thread.
        let lock = unsafe {
            libc::pthread_spin_init(&raw mut object, 0);
            SpinLockLayout::of(&raw mut object)
        };
        assert!(lock.is_free());
        assert_eq!((lock.libc_lock(), lock.is_free()), (0, false));
        assert_eq!((lock.libc_trylock(), lock.libc_unlock()), (libc::EBUSY, 0));
        assert!(lock.is_free());
    }
}
