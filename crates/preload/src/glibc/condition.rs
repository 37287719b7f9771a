//! The words of a `pthread_cond_t`, and libc's operations on it.

use super::mutex::MutexLayout;
use core::ffi::c_int;
use libc::{clockid_t, pthread_cond_t, pthread_mutex_t, timespec};
use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};

crate::next::define_next_codes! {
    /// pthread_cond_wait(3).
    fn cond_wait = pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t);
    /// pthread_cond_timedwait(3).
    fn cond_timedwait = pthread_cond_timedwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec);
    /// pthread_cond_clockwait(3).
    fn cond_clockwait = pthread_cond_clockwait(
        condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, until: *const timespec);
    /// pthread_cond_signal(3).
    fn cond_signal = pthread_cond_signal(condition: *mut pthread_cond_t);
    /// pthread_cond_broadcast(3).
    fn cond_broadcast = pthread_cond_broadcast(condition: *mut pthread_cond_t);
}

/// The words of a condition.
#[repr(C, align(8))]
#[derive(Debug)]
pub struct ConditionLayout {
    /// libc's alone: the waiters of our conditions are elsewhere ([`waiters`](crate::swap::waiters)).
    first: [AtomicU32; 9],
    /// `__wrefs`: eight times the number of waiters; bit 0: shared between processes; bit 1: deadlines are times of
    /// CLOCK_MONOTONIC.
    flags: AtomicU32,
    rest: [AtomicU32; 2],
}

const SHARED: u32 = 1;
const MONOTONIC: u32 = 2;

const _: () = assert!(size_of::<ConditionLayout>() == size_of::<pthread_cond_t>());
const _: () = assert!(core::mem::offset_of!(ConditionLayout, flags) == 36);

impl ConditionLayout {
    /// The words of this condition.
    ///
    /// # Safety
    /// The condition is live as long as the reference.
    #[inline(always)]
    pub unsafe fn of<'condition>(condition: *const pthread_cond_t) -> &'condition ConditionLayout {
        // SAFETY: a condition has this size and alignment. All its words may change at any time; they are atomics,
        // which allow that.
        unsafe { &*condition.cast() }
    }

    #[inline(always)]
    fn as_ptr(&self) -> *mut pthread_cond_t {
        (&raw const *self).cast_mut().cast()
    }

    /// Whether it is shared between processes.
    #[inline(always)]
    pub fn is_shared(&self) -> bool {
        // Relaxed, here and below: the two bits are written when the condition is initialised.
        self.flags.load(Relaxed) & SHARED != 0
    }

    /// The clock of its deadlines.
    pub fn clock(&self) -> clockid_t {
        match self.flags.load(Relaxed) & MONOTONIC {
            0 => libc::CLOCK_REALTIME,
            _ => libc::CLOCK_MONOTONIC,
        }
    }

    /// Whether a thread waits for it in libc.
    pub fn has_waiters(&self) -> bool {
        // Relaxed: a number that other threads change; no other data is read because of it.
        self.flags.load(Relaxed) >> 3 != 0
    }

    /// libc's pthread_cond_wait(3).
    pub fn wait(&self, mutex: &MutexLayout) -> c_int {
        // SAFETY: a live condition and a live mutex.
        unsafe { real::cond_wait(self.as_ptr(), mutex.as_ptr()) }
    }

    /// libc's pthread_cond_timedwait(3).
    ///
    /// # Safety
    /// `until` points to a live time.
    pub unsafe fn timedwait(&self, mutex: &MutexLayout, until: *const timespec) -> c_int {
        // SAFETY: a live condition and a live mutex, and the caller's time.
        unsafe { real::cond_timedwait(self.as_ptr(), mutex.as_ptr(), until) }
    }

    /// libc's pthread_cond_clockwait(3).
    ///
    /// # Safety
    /// `until` points to a live time.
    pub unsafe fn clockwait(&self, mutex: &MutexLayout, clock: clockid_t, until: *const timespec) -> c_int {
        // SAFETY: a live condition and a live mutex, and the caller's time.
        unsafe { real::cond_clockwait(self.as_ptr(), mutex.as_ptr(), clock, until) }
    }

    /// libc's pthread_cond_signal(3).
    #[inline(always)]
    pub fn signal(&self) -> c_int {
        // SAFETY: a live condition.
        unsafe { real::cond_signal(self.as_ptr()) }
    }

    /// libc's pthread_cond_broadcast(3).
    #[inline(always)]
    pub fn broadcast(&self) -> c_int {
        // SAFETY: a live condition.
        unsafe { real::cond_broadcast(self.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_condition_is_private_and_has_no_waiters() {
        let mut object = libc::PTHREAD_COND_INITIALIZER;
        // SAFETY: a live condition of this thread.
        let condition = unsafe { ConditionLayout::of(&raw mut object) };
        assert!(!condition.is_shared() && !condition.has_waiters());
        assert_eq!((condition.clock(), condition.signal()), (libc::CLOCK_REALTIME, 0));
    }

    #[test]
    fn attributes_are_seen() {
        let mut object = libc::PTHREAD_COND_INITIALIZER;
        let mut attributes = core::mem::MaybeUninit::uninit();
        // SAFETY: live objects of this thread, initialised before their use.
        let condition = unsafe {
            libc::pthread_condattr_init(attributes.as_mut_ptr());
            libc::pthread_condattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
            libc::pthread_condattr_setclock(attributes.as_mut_ptr(), libc::CLOCK_MONOTONIC);
            libc::pthread_cond_init(&raw mut object, attributes.as_ptr());
            ConditionLayout::of(&raw mut object)
        };
        assert!(condition.is_shared());
        assert_eq!(condition.clock(), libc::CLOCK_MONOTONIC);
    }
}
