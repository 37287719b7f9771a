//! A monitor as a C program builds it: a value, a pthread mutex that protects it, and conditions. All are called
//! through libc's dynamic symbols, which a preloaded library may define.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::marker::PhantomPinned;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::ptr::null;

/// A value that one thread at a time can access. Pinned, because a pthread object must not be moved.
#[derive(Debug)]
pub struct Monitor<T> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    conditions: Box<[UnsafeCell<libc::pthread_cond_t>]>,
    value: UnsafeCell<T>,
    #[expect(dead_code, reason = "its type alone says that this may not be moved")]
    pinned: PhantomPinned,
}

// SAFETY: mutex and conditions are made for use by several threads. The value is accessed only with the mutex held, so
// one thread at a time has it, which `T: Send` permits.
unsafe impl<T: Send> Sync for Monitor<T> {}
// SAFETY: no part is bound to the thread that created it, provided that the value is not.
unsafe impl<T: Send> Send for Monitor<T> {}

impl<T> Monitor<T> {
    /// A monitor with `conditions` conditions. Mutex and conditions have default attributes.
    pub fn new(value: T, conditions: usize) -> Pin<Box<Monitor<T>>> {
        let monitor = Box::pin(Monitor {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            conditions: (0..conditions).map(|_| UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER)).collect(),
            value: UnsafeCell::new(value),
            pinned: PhantomPinned,
        });
        // SAFETY: the mutex is at its final address, and no other thread knows it yet. It is initialised statically
        // already; the call makes it known to a lock meter. The same holds for the conditions.
        check("pthread_mutex_init", unsafe { libc::pthread_mutex_init(monitor.mutex.get(), null()) });
        for condition in &monitor.conditions {
            // SAFETY: as for the mutex; the boxes are never replaced.
            check("pthread_cond_init", unsafe { libc::pthread_cond_init(condition.get(), null()) });
        }
        monitor
    }

    /// Acquires the mutex. It is released when the result is dropped.
    pub fn enter(&self) -> MonitorGuard<'_, T> {
        // SAFETY: initialised by `new` and not moved since, because it is pinned.
        check("pthread_mutex_lock", unsafe { libc::pthread_mutex_lock(self.mutex.get()) });
        MonitorGuard { monitor: self }
    }
}

impl<T> Drop for Monitor<T> {
    fn drop(&mut self) {
        for condition in &self.conditions {
            // SAFETY: the dropping thread has exclusive access, so no thread waits.
            check("pthread_cond_destroy", unsafe { libc::pthread_cond_destroy(condition.get()) });
        }
        // SAFETY: as above; no thread holds the mutex.
        check("pthread_mutex_destroy", unsafe { libc::pthread_mutex_destroy(self.mutex.get()) });
    }
}

/// Access to the value while the calling thread holds the mutex.
#[derive(Debug)]
pub struct MonitorGuard<'a, T> {
    monitor: &'a Monitor<T>,
}

impl<T> MonitorGuard<'_, T> {
    /// Waits until the condition with this number is signalled; spurious wake-ups happen, so the caller must check
    /// again.
    pub fn wait(&mut self, condition: usize) {
        let monitor = self.monitor;
        // SAFETY: both objects were initialised by `new` and not moved since. This thread holds the mutex, which is the
        // only one that is used with the condition. `&mut self` guarantees that no reference to the value outlives the
        // wait.
        let result =
            unsafe { libc::pthread_cond_wait(monitor.conditions[condition].get(), monitor.mutex.get()) };
        check("pthread_cond_wait", result);
    }

    /// Wakes one thread that waits for the condition, if any.
    pub fn signal(&self, condition: usize) {
        // SAFETY: initialised by `new` and not moved since.
        let result = unsafe { libc::pthread_cond_signal(self.monitor.conditions[condition].get()) };
        check("pthread_cond_signal", result);
    }

    /// Wakes all threads that wait for the condition.
    pub fn broadcast(&self, condition: usize) {
        // SAFETY: initialised by `new` and not moved since.
        let result = unsafe { libc::pthread_cond_broadcast(self.monitor.conditions[condition].get()) };
        check("pthread_cond_broadcast", result);
    }
}

impl<T> Deref for MonitorGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: this thread holds the mutex while `self` lives, except in `wait`, which borrows `self` mutably.
        unsafe { &*self.monitor.value.get() }
    }
}

impl<T> DerefMut for MonitorGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as for `deref`, and `&mut self` excludes another reference through this guard.
        unsafe { &mut *self.monitor.value.get() }
    }
}

impl<T> Drop for MonitorGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this thread acquired the mutex in `enter`.
        check("pthread_mutex_unlock", unsafe { libc::pthread_mutex_unlock(self.monitor.mutex.get()) });
    }
}

/// With default objects that are used correctly, POSIX defines no error for any of these calls.
fn check(call: &str, result: c_int) {
    assert_eq!(result, 0, "{call}: {}", std::io::Error::from_raw_os_error(result));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn monitor_excludes_threads() {
        let monitor = Monitor::new(0_u64, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut inside = monitor.enter();
                        let before = *inside;
                        std::hint::black_box(&mut inside);
                        *inside = before + 1;
                    }
                });
            }
        });
        assert_eq!(*monitor.enter(), 80_000);
    }

    #[test]
    fn signal_wakes_a_waiter_of_that_condition() {
        let monitor = Monitor::new([false; 2], 2);
        let wait = |index: usize| {
            let mut inside = monitor.enter();
            while !inside[index] {
                inside.wait(index);
            }
        };
        std::thread::scope(|scope| {
            let waiters = [scope.spawn(|| wait(0)), scope.spawn(|| wait(1))];
            let [first, second] = waiters;
            std::thread::sleep(Duration::from_millis(10));
            let set = |index: usize| {
                let mut inside = monitor.enter();
                inside[index] = true;
                inside.signal(index);
            };
            set(1);
            second.join().unwrap();
            assert!(!first.is_finished());
            set(0);
            first.join().unwrap();
        });
    }
}
