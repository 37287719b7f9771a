//! The first word of a `sem_t`, and libc's operations on it.

use crate::errno;
use core::ffi::c_int;
use libc::{clockid_t, sem_t, timespec};
use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};

crate::next::define_next_codes! {
    /// sem_wait(3).
    fn sem_wait = sem_wait(semaphore: *mut sem_t);
    /// sem_trywait(3).
    fn sem_trywait = sem_trywait(semaphore: *mut sem_t);
    /// sem_timedwait(3).
    fn sem_timedwait = sem_timedwait(semaphore: *mut sem_t, until: *const timespec);
    /// sem_clockwait(3).
    fn sem_clockwait = sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec);
}

/// The words of a semaphore. This library reads the first and writes none.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct SemaphoreLayout {
    value: AtomicU32,
    rest: [AtomicU32; 7],
}

const _: () = assert!(size_of::<SemaphoreLayout>() == size_of::<sem_t>());

impl SemaphoreLayout {
    /// The words of this semaphore.
    ///
    /// # Safety
    /// The semaphore is live as long as the reference.
    #[inline(always)]
    pub unsafe fn of<'semaphore>(semaphore: *const sem_t) -> &'semaphore SemaphoreLayout {
        // SAFETY: a semaphore has this size and alignment. All its words may change at any time; they are atomics,
        // which allow that.
        unsafe { &*semaphore.cast() }
    }

    #[inline(always)]
    fn as_ptr(&self) -> *mut sem_t {
        (&raw const *self).cast_mut().cast()
    }

    /// Whether the value is positive.
    #[inline(always)]
    pub fn has_tokens(&self) -> bool {
        // Relaxed: a hint; libc's trywait decides.
        self.value.load(Relaxed) != 0
    }

    /// libc's sem_wait(3).
    #[inline(always)]
    pub fn wait(&self) -> c_int {
        // SAFETY: a live semaphore.
        unsafe { real::sem_wait(self.as_ptr()) }
    }

    /// libc's sem_trywait(3).
    #[inline(always)]
    pub fn trywait(&self) -> c_int {
        // SAFETY: a live semaphore.
        unsafe { real::sem_trywait(self.as_ptr()) }
    }

    /// Decrements the semaphore if that needs no wait. `errno` does not change.
    pub fn is_taken(&self) -> bool {
        let before = errno::get();
        let is_taken = self.trywait() == 0;
        if !is_taken {
            errno::set(before);
        }
        is_taken
    }

    /// libc's sem_timedwait(3).
    ///
    /// # Safety
    /// `until` points to a live time.
    #[inline(always)]
    pub unsafe fn timedwait(&self, until: *const timespec) -> c_int {
        // SAFETY: a live semaphore, and the caller's time.
        unsafe { real::sem_timedwait(self.as_ptr(), until) }
    }

    /// libc's sem_clockwait(3).
    ///
    /// # Safety
    /// `until` points to a live time.
    #[inline(always)]
    pub unsafe fn clockwait(&self, clock: clockid_t, until: *const timespec) -> c_int {
        // SAFETY: a live semaphore, and the caller's time.
        unsafe { real::sem_clockwait(self.as_ptr(), clock, until) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;

    #[test]
    fn tokens_are_seen() {
        let mut object = MaybeUninit::<sem_t>::uninit();
        // SAFETY: a live semaphore of this thread.
        let semaphore = unsafe {
            libc::sem_init(object.as_mut_ptr(), 0, 1);
            SemaphoreLayout::of(object.as_ptr())
        };
        assert!(semaphore.has_tokens() && semaphore.is_taken());
        assert!(!semaphore.has_tokens() && !semaphore.is_taken());
    }
}
