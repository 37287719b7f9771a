//! libc's own functions behind the hooks: the next definitions, which do the work.

use crate::next::{c_name, next};
use core::ffi::{c_int, c_uint, c_void};
use libc::{
    clockid_t, pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t,
    pthread_mutexattr_t, pthread_rwlock_t, pthread_rwlockattr_t, pthread_spinlock_t, pthread_t, sem_t,
    timespec,
};

/// Defines functions that call the next definition of a name. If there is none they return ENOSYS.
macro_rules! real {
    ($($(#[$doc:meta])* fn $ours:ident = $name:ident($($arg:ident: $type:ty),*);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As for the function in libc.
        #[inline(always)]
        pub unsafe fn $ours($($arg: $type),*) -> c_int {
            next! { static NEXT = c_name(concat!(stringify!($name), "\0")); }
            type Function = unsafe extern "C-unwind" fn($($type),*) -> c_int;

            #[cold]
            #[inline(never)]
            unsafe extern "C-unwind" fn first($($arg: $type),*) -> c_int {
                match NEXT.address() {
                    0 => libc::ENOSYS,
                    // SAFETY: as below.
                    address => unsafe { core::mem::transmute::<usize, Function>(address)($($arg),*) },
                }
            }

            // SAFETY: 1. the next definition of the name has the type that libc's header gives it; 2. it requires what
            // the caller promises.
            unsafe {
                match NEXT.known() {
                    0 => first($($arg),*),
                    address => core::mem::transmute::<usize, Function>(address)($($arg),*),
                }
            }
        }
    )*};
}

real! {
    /// pthread_mutex_init(3).
    fn mutex_init = pthread_mutex_init(mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t);
    /// pthread_mutex_destroy(3).
    fn mutex_destroy = pthread_mutex_destroy(mutex: *mut pthread_mutex_t);
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

    /// pthread_rwlock_init(3).
    fn rwlock_init = pthread_rwlock_init(lock: *mut pthread_rwlock_t, attributes: *const pthread_rwlockattr_t);
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

    /// pthread_spin_init(3).
    fn spin_init = pthread_spin_init(lock: *mut pthread_spinlock_t, shared: c_int);
    /// pthread_spin_lock(3).
    fn spin_lock = pthread_spin_lock(lock: *mut pthread_spinlock_t);
    /// pthread_spin_trylock(3).
    fn spin_trylock = pthread_spin_trylock(lock: *mut pthread_spinlock_t);
    /// pthread_spin_unlock(3).
    fn spin_unlock = pthread_spin_unlock(lock: *mut pthread_spinlock_t);

    /// pthread_cond_init(3).
    fn cond_init = pthread_cond_init(condition: *mut pthread_cond_t, attributes: *const pthread_condattr_t);
    /// pthread_cond_destroy(3).
    fn cond_destroy = pthread_cond_destroy(condition: *mut pthread_cond_t);
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

    /// pthread_barrier_init(3).
    fn barrier_init = pthread_barrier_init(
        barrier: *mut pthread_barrier_t, attributes: *const pthread_barrierattr_t, count: c_uint);
    /// pthread_barrier_destroy(3).
    fn barrier_destroy = pthread_barrier_destroy(barrier: *mut pthread_barrier_t);
    /// pthread_barrier_wait(3).
    fn barrier_wait = pthread_barrier_wait(barrier: *mut pthread_barrier_t);

    /// sem_init(3).
    fn sem_init = sem_init(semaphore: *mut sem_t, shared: c_int, value: c_uint);
    /// sem_wait(3).
    fn sem_wait = sem_wait(semaphore: *mut sem_t);
    /// sem_trywait(3).
    fn sem_trywait = sem_trywait(semaphore: *mut sem_t);
    /// sem_timedwait(3).
    fn sem_timedwait = sem_timedwait(semaphore: *mut sem_t, until: *const timespec);
    /// sem_clockwait(3).
    fn sem_clockwait = sem_clockwait(semaphore: *mut sem_t, clock: clockid_t, until: *const timespec);
    /// sem_post(3).
    fn sem_post = sem_post(semaphore: *mut sem_t);

    /// pthread_join(3).
    fn join = pthread_join(thread: pthread_t, value: *mut *mut c_void);
    /// pthread_tryjoin_np(3).
    fn tryjoin = pthread_tryjoin_np(thread: pthread_t, value: *mut *mut c_void);
    /// pthread_timedjoin_np(3).
    fn timedjoin = pthread_timedjoin_np(thread: pthread_t, value: *mut *mut c_void, until: *const timespec);
    /// pthread_clockjoin_np(3).
    fn clockjoin = pthread_clockjoin_np(
        thread: pthread_t, value: *mut *mut c_void, clock: clockid_t, until: *const timespec);

    /// mtx_init(3).
    fn mtx_init = mtx_init(mutex: *mut c_void, kind: c_int);
}
