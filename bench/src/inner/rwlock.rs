//! Read-write locks of the C library and of Rust, behind one trait.

use super::calls::expect;
use clap::ValueEnum;
use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use unspin_locks::api;
use unspin_locks::rw::{self, RwBiased};

/// Which read-write lock.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RwContended {
    /// A pthread_rwlock_t as PTHREAD_RWLOCK_INITIALIZER makes it
    Plain,
    /// A pthread_rwlock_t with PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
    PreferWriter,
    /// parking_lot's RwLock
    ParkingLot,
    /// std's RwLock
    Std,
    /// unspin-locks' rw-biased, through lock_api
    Biased,
}

/// A lock that many readers hold at the same time, or one writer.
pub trait ReadWrite: Sync {
    /// Holds it for reading during `hold`.
    fn read(&self, hold: impl FnOnce());

    /// Holds it for writing during `hold`.
    fn write(&self, hold: impl FnOnce());
}

/// What is done with a lock whose type is chosen at run time.
pub trait RwTask {
    /// The result.
    type Output;

    /// Does it.
    fn run(self, lock: &impl ReadWrite) -> Self::Output;
}

impl RwContended {
    /// Does something with a new lock.
    pub fn with_lock<T: RwTask>(self, task: T) -> T::Output {
        match self {
            RwContended::Plain => task.run(&RwLock::new(WriterPreference::None)),
            RwContended::PreferWriter => task.run(&RwLock::new(WriterPreference::Nonrecursive)),
            RwContended::ParkingLot => task.run(&parking_lot::RwLock::new(())),
            RwContended::Std => task.run(&std::sync::RwLock::new(())),
            RwContended::Biased => {
                // As its documentation demands of a program. Without membarrier(2) the figure is that of readers with a fence.
                rw::use_membarrier();
                task.run(&api::RwLock::<RwBiased, ()>::new(()))
            }
        }
    }
}

/// Whether a writer that waits goes before readers that come later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriterPreference {
    /// PTHREAD_RWLOCK_PREFER_READER_NP, the default.
    None,
    /// PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP.
    Nonrecursive,
}

impl WriterPreference {
    /// The numbers of `<pthread.h>`, which the crate libc lacks.
    fn number(self) -> c_int {
        match self {
            WriterPreference::None => 0,
            WriterPreference::Nonrecursive => 2,
        }
    }
}

/// A read-write lock of the C library.
pub struct RwLock(Box<UnsafeCell<libc::pthread_rwlock_t>>);

// SAFETY: the object is made to be shared by threads; it is used through the C library only.
unsafe impl Sync for RwLock {}

impl RwLock {
    /// One with this preference.
    pub fn new(preference: WriterPreference) -> RwLock {
        let lock = RwLock(Box::new(UnsafeCell::new(libc::PTHREAD_RWLOCK_INITIALIZER)));
        let mut attributes = MaybeUninit::uninit();
        // SAFETY: memory for attributes, which are initialised first; and for a lock, at the place where it stays.
        unsafe {
            expect(libc::pthread_rwlockattr_init(attributes.as_mut_ptr()), 0);
            expect(libc::pthread_rwlockattr_setkind_np(attributes.as_mut_ptr(), preference.number()), 0);
            expect(libc::pthread_rwlock_init(lock.0.get(), attributes.as_ptr()), 0);
        }
        lock
    }

    #[inline(always)]
    fn unlock(&self) {
        // SAFETY: a live lock, which this thread holds.
        expect(unsafe { libc::pthread_rwlock_unlock(self.0.get()) }, 0);
    }
}

impl ReadWrite for RwLock {
    #[inline(always)]
    fn read(&self, hold: impl FnOnce()) {
        // SAFETY: a live lock.
        expect(unsafe { libc::pthread_rwlock_rdlock(self.0.get()) }, 0);
        hold();
        self.unlock();
    }

    #[inline(always)]
    fn write(&self, hold: impl FnOnce()) {
        // SAFETY: a live lock.
        expect(unsafe { libc::pthread_rwlock_wrlock(self.0.get()) }, 0);
        hold();
        self.unlock();
    }
}

impl ReadWrite for std::sync::RwLock<()> {
    #[inline(always)]
    fn read(&self, hold: impl FnOnce()) {
        let _guard = std::sync::RwLock::read(self);
        hold();
    }

    #[inline(always)]
    fn write(&self, hold: impl FnOnce()) {
        let _guard = std::sync::RwLock::write(self);
        hold();
    }
}

impl ReadWrite for parking_lot::RwLock<()> {
    #[inline(always)]
    fn read(&self, hold: impl FnOnce()) {
        let _guard = parking_lot::RwLock::read(self);
        hold();
    }

    #[inline(always)]
    fn write(&self, hold: impl FnOnce()) {
        let _guard = parking_lot::RwLock::write(self);
        hold();
    }
}

impl ReadWrite for api::RwLock<RwBiased, ()> {
    #[inline(always)]
    fn read(&self, hold: impl FnOnce()) {
        let _guard = api::RwLock::<RwBiased, ()>::read(self);
        hold();
    }

    #[inline(always)]
    fn write(&self, hold: impl FnOnce()) {
        let _guard = api::RwLock::<RwBiased, ()>::write(self);
        hold();
    }
}
