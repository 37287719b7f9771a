//! The C library's locks, which Rust's own are not built on.

use super::calls::expect;
use clap::ValueEnum;
use std::cell::UnsafeCell;
use std::ffi::c_int;

/// Locks that one thread at a time has.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// pthread_mutex_t
    Mutex,
    /// pthread_spinlock_t
    Spin,
}

/// A lock of the C library.
#[derive(Debug)]
pub enum Lock {
    /// A mutex, as PTHREAD_MUTEX_INITIALIZER makes it.
    Mutex(UnsafeCell<libc::pthread_mutex_t>),
    /// A spin lock.
    Spin(UnsafeCell<libc::pthread_spinlock_t>),
}

// SAFETY: the object is made to be shared by threads; it is used through the C library only.
unsafe impl Sync for Lock {}

impl Lock {
    /// A lock that stays where it is.
    pub fn boxed(kind: LockKind) -> Box<Lock> {
        match kind {
            LockKind::Mutex => Box::new(Lock::Mutex(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))),
            LockKind::Spin => {
                let lock = Box::new(Lock::Spin(UnsafeCell::new(0)));
                if let Lock::Spin(spin) = &*lock {
                    // SAFETY: memory for a spin lock, at the place where it stays.
                    expect(unsafe { libc::pthread_spin_init(spin.get(), libc::PTHREAD_PROCESS_PRIVATE) }, 0);
                }
                lock
            }
        }
    }

    /// The address of the C object.
    pub fn address(&self) -> *const u8 {
        match self {
            Lock::Mutex(mutex) => mutex.get() as *const u8,
            Lock::Spin(spin) => spin.get() as *const u8,
        }
    }

    /// What the meter calls it.
    pub fn kind(&self) -> unspin_wire::RecordKind {
        match self {
            Lock::Mutex(_) => unspin_wire::RecordKind::Mutex,
            Lock::Spin(_) => unspin_wire::RecordKind::Spin,
        }
    }

    /// Takes it, waiting if need be.
    #[inline(always)]
    pub fn lock(&self) {
        // SAFETY: a live lock of this type that is initialised.
        let code = unsafe {
            match self {
                Lock::Mutex(mutex) => libc::pthread_mutex_lock(mutex.get()),
                Lock::Spin(spin) => libc::pthread_spin_lock(spin.get()),
            }
        };
        expect(code, 0);
    }

    /// Takes it if it is free. 0 or EBUSY.
    pub fn try_lock(&self) -> c_int {
        // SAFETY: as in `lock`.
        unsafe {
            match self {
                Lock::Mutex(mutex) => libc::pthread_mutex_trylock(mutex.get()),
                Lock::Spin(spin) => libc::pthread_spin_trylock(spin.get()),
            }
        }
    }

    /// Releases it: the caller holds it.
    #[inline(always)]
    pub fn unlock(&self) {
        // SAFETY: as in `lock`.
        let code = unsafe {
            match self {
                Lock::Mutex(mutex) => libc::pthread_mutex_unlock(mutex.get()),
                Lock::Spin(spin) => libc::pthread_spin_unlock(spin.get()),
            }
        };
        expect(code, 0);
    }
}
