//! The contract of a read-write lock.

use crate::{Until, Waited};

/// What the calling thread gets while a writer waits for the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recursion {
    /// A thread that holds any lock for reading acquires this one although a writer waits. So it may acquire for reading
    /// what it holds already: the rule of FreeBSD's rwlock(9). libc's default kind permits that.
    Allowed,
    /// Every reader waits behind a writer that waits: PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP.
    Excluded,
}

/// Why a thread did not acquire a lock for reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// Another thread holds it, or the time is over.
    Busy,
    /// The lock is held for reading as often as it can count (`EAGAIN`).
    TooManyReaders,
}

/// A lock for one writer or many readers, without the data that it protects.
///
/// While a thread holds the lock for writing, no other thread holds it. A thread that acquires the lock sees everything
/// that was written before the release by the last writer; a writer sees what the readers before it have read.
///
/// Misuse is not undefined behaviour *of the lock*, because the locks replace those of C programs. A release of a free
/// lock leaves it free and usable. A thread may release what another thread has acquired. (The data that the lock protects
/// may suffer; the caller is responsible for that, so releases are `unsafe`.)
///
/// The memory of the lock may be gone as soon as another thread can have acquired it for writing: no release touches the lock
/// after that point.
///
/// A child made by fork(2) inherits the bytes of the lock but not the threads. A lock that the forking thread does not hold,
/// and that others held, stays held in the child for ever, as libc's does. What the bytes say about waiters does no harm.
///
/// A lock has 32 bytes, of which bytes 6 to 15 belong to the program that embeds it: the lock never accesses them.
///
/// # Safety
/// The implementation provides the exclusion described above, and [`RawRwLock::new`] returns a value of all zeroes.
pub unsafe trait RawRwLock: Send + Sync + Sized + 'static {
    /// A free lock: all bytes zero. Loom models have only [`RawRwLock::new`].
    #[cfg(not(loom))]
    const NEW: Self;

    /// A free lock.
    fn new() -> Self;

    /// Acquires the lock for reading if no thread holds it for writing, and, where recursion is excluded, no writer waits.
    fn try_read(&self, recursion: Recursion) -> Result<(), Refused>;

    /// Acquires the lock for reading if [`read`](Self::read) would not wait for it.
    fn read_now(&self, recursion: Recursion) -> Result<(), Refused>;

    /// Acquires the lock for reading. Waits until `until`, or without a limit. A lock that needs no wait is acquired even if
    /// `until` has already passed.
    fn read(&self, recursion: Recursion, until: Option<Until>) -> Result<Waited, Refused>;

    /// Acquires the lock for writing if it is free.
    fn try_write(&self) -> bool;

    /// Acquires the lock for writing, or returns `None` once `until` has passed; then the thread has left the queue. A free
    /// lock is acquired even if `until` has already passed.
    fn write(&self, until: Option<Until>) -> Option<Waited>;

    /// Releases the lock, held for reading.
    ///
    /// # Safety
    /// The caller holds the lock for reading, or accepts that a thread that holds it no longer keeps writers out.
    unsafe fn unlock_read(&self);

    /// Releases the lock, held for writing.
    ///
    /// # Safety
    /// The caller holds the lock for writing, or accepts that the thread that holds it no longer has exclusive access.
    unsafe fn unlock_write(&self);

    /// Whether a thread holds the lock for writing: true at some moment during the call. A thread that holds the lock learns
    /// from it which release is the right one.
    fn is_write_locked(&self) -> bool;

    /// How many times the lock is held for reading: right at some moment during the call, if no thread acquires or releases.
    fn readers(&self) -> u32;
}
