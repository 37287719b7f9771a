//! The few words of glibc's objects that this library reads and never writes. Their offsets are part of glibc's binary
//! interface, fixed by the static initialisers and inlined code in programs.

use libc::{pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t, sem_t};

/// What happens if the owner of a mutex locks it again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It blocks or fails.
    Plain,
    /// The mutex counts.
    Recursive,
    /// It blocks, after some spinning.
    Adaptive,
}

/// Reads an int inside an object.
///
/// # Safety
/// The object is live, and has an int at this offset.
#[inline(always)]
unsafe fn int<T>(object: *const T, at: usize) -> i32 {
    // SAFETY: the caller's promise. Volatile: libc's code writes it, in this thread or in others.
    unsafe { object.cast::<i32>().byte_add(at).read_volatile() }
}

/// Reads `__kind`, which follows `__lock`, `__count`, `__owner` and `__nusers`. Its lowest two bits are the type
/// (PTHREAD_MUTEX_RECURSIVE 1, PTHREAD_MUTEX_ADAPTIVE_NP 3). The others are robustness, protocol and sharing.
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
pub unsafe fn kind(mutex: *const pthread_mutex_t) -> Kind {
    // SAFETY: the caller's promise.
    match unsafe { int(mutex, 16) } & 3 {
        1 => Kind::Recursive,
        3 => Kind::Adaptive,
        _ => Kind::Plain,
    }
}

/// Whether a mutex is robust: PTHREAD_MUTEX_ROBUST_NORMAL_NP in `__kind`.
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
pub unsafe fn is_robust(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { int(mutex, 16) & 16 != 0 }
}

/// Whether a mutex has a live owner. If the mutex is robust or inherits priorities, the lowest thirty bits of `__lock`
/// (FUTEX_TID_MASK) are the owner's thread id. Otherwise they are 1, or 2 if threads wait. If the mutex has a priority
/// ceiling (PTHREAD_MUTEX_PRIO_PROTECT_NP in `__kind`), the upper thirteen bits are the ceiling
/// (PTHREAD_MUTEX_PRIO_CEILING_MASK).
///
/// # Safety
/// `mutex` is live.
#[inline(always)]
pub unsafe fn has_owner(mutex: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller's promise.
    let (lock, kind) = unsafe { (int(mutex, 0), int(mutex, 16)) };
    lock != 0 && lock & if kind & 64 == 0 { 0x3FFF_FFFF } else { 0x0007_FFFF } != 0
}

/// Number of threads that hold a lock for reading: `__readers` without its lowest three bits.
///
/// # Safety
/// `lock` is live.
pub unsafe fn readers(lock: *const pthread_rwlock_t) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { int(lock, 0) as u32 >> 3 }
}

/// Whether a thread holds the lock for writing: `__cur_writer`, after six ints.
///
/// # Safety
/// `lock` is live.
pub unsafe fn has_writer(lock: *const pthread_rwlock_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { int(lock, 24) != 0 }
}

/// Whether a thread waits for a condition: `__wrefs` without its lowest three bits.
///
/// # Safety
/// `condition` is live.
pub unsafe fn is_waited_for(condition: *const pthread_cond_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { int(condition, 36) as u32 >> 3 != 0 }
}

/// Whether a semaphore's value is positive: the value is the low half of its first word.
///
/// # Safety
/// `semaphore` is live.
#[inline(always)]
pub unsafe fn has_tokens(semaphore: *const sem_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { int(semaphore, 0) != 0 }
}

/// Whether a spin lock is free: glibc's lock for x86 then has the value 1.
///
/// # Safety
/// `lock` is live.
#[inline(always)]
pub unsafe fn is_free(lock: *const pthread_spinlock_t) -> bool {
    // SAFETY: the caller's promise.
    unsafe { int(lock, 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::mem::MaybeUninit;

    /// The offsets are those of this machine's glibc.
    #[test]
    fn glibc_agrees() {
        let mut lock = libc::PTHREAD_RWLOCK_INITIALIZER;
        let mut spin = MaybeUninit::<pthread_spinlock_t>::uninit();
        let mut mutex = libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
        let condition = libc::PTHREAD_COND_INITIALIZER;
        // SAFETY: live objects of this thread, taken and released in order.
        unsafe {
            assert_eq!(kind(&mutex), Kind::Recursive);
            mutex = libc::PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
            assert_eq!(kind(&mutex), Kind::Adaptive);
            assert!(!is_robust(&mutex));
            let mut attributes = MaybeUninit::uninit();
            libc::pthread_mutexattr_init(attributes.as_mut_ptr());
            libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST);
            libc::pthread_mutex_init(&mut mutex, attributes.as_ptr());
            assert!(is_robust(&mutex) && kind(&mutex) == Kind::Plain && !has_owner(&mutex));
            libc::pthread_mutex_lock(&mut mutex);
            assert!(has_owner(&mutex));
            libc::pthread_mutex_unlock(&mut mutex);
            assert!(!has_owner(&mutex));
            libc::pthread_rwlock_rdlock(&mut lock);
            libc::pthread_rwlock_rdlock(&mut lock);
            assert_eq!((readers(&lock), has_writer(&lock)), (2, false));
            libc::pthread_rwlock_unlock(&mut lock);
            libc::pthread_rwlock_unlock(&mut lock);
            libc::pthread_rwlock_wrlock(&mut lock);
            assert_eq!((readers(&lock), has_writer(&lock)), (0, true));
            libc::pthread_rwlock_unlock(&mut lock);
            assert!(!has_writer(&lock) && !is_waited_for(&condition));
            libc::pthread_spin_init(spin.as_mut_ptr(), 0);
            assert!(is_free(spin.as_ptr()));
            libc::pthread_spin_lock(spin.as_mut_ptr());
            assert!(!is_free(spin.as_ptr()));
            libc::pthread_spin_unlock(spin.as_mut_ptr());
            assert!(is_free(spin.as_ptr()));
            let mut semaphore = MaybeUninit::<sem_t>::uninit();
            libc::sem_init(semaphore.as_mut_ptr(), 0, 1);
            assert!(has_tokens(semaphore.as_ptr()));
            libc::sem_wait(semaphore.as_mut_ptr());
            assert!(!has_tokens(semaphore.as_ptr()));
        }
    }
}
