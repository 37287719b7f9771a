//! A read-write lock in which our lock lies beside libc's. A *tag* in it says which of them a thread is to acquire.
//!
//! Once the hand-over has begun, a thread that has our lock **for writing** *moves the lock to libc*: it stores libc's tag, and
//! releases ours. Then no thread has our lock, and none keeps it: each thread that acquires it afterwards finds the tag,
//! releases ours again, and goes to libc's.
//!
//! - A writer that has acquired our lock moves it ([`writer_goes_on`]), then acquires libc's.
//! - A reader that has acquired our lock may share it with readers that use what it protects, so it must not store the tag. It
//!   releases our lock, and acquires it for writing to move it ([`reader_goes_on`]). It waits for that only for a while: one of
//!   the readers may wait for this thread. If it does not get the lock in that time, it reads by ours.
//!
//! **Threads exclude each other.** The tag is stored by a thread that has our lock for writing. So whichever lock a thread has,
//! the tag names it until the thread releases it, and the thread releases the right one. A thread that looks at the tag
//! while it has our lock knows whether that counts. A thread that has libc's lock has seen the tag, which was stored
//! after the last thread by our lock had left.
//!
//! **A thread that acquires our lock after it was moved sees the hand-over**, and looks at the tag: the thread that moved it had
//! seen the hand-over before it released our lock.
//!
//! **No thread waits for ever.** A thread that moves the lock waits for nothing while it has ours. A thread that holds a lock
//! for reading already does not try to move another one: it may hold the same one, and would wait for itself.
//!
//! A lock that threads hold when the hand-over begins stays ours until they have released it, and for as long as readers
//! come who find it held for reading longer than they wait. Code that calls libc directly does not see those.

use crate::{Refused, Waited};

/// A read-write lock with two locks, for one call.
pub trait TwoRwLocks: Copy {
    /// Whether the tag says that the lock is libc's. Acquire: partner of the Release in [`make_libcs`](Self::make_libcs).
    fn is_libcs(self) -> bool;

    /// Stores this tag. Release: a thread that reads the tag acquires libc's lock, and must see what the threads that had
    /// our lock have written, which this thread has seen.
    fn make_libcs(self);

    /// Whether the calling thread holds any lock for reading.
    fn holds_for_reading(self) -> bool;

    /// Whether the calling thread is noted as the writer.
    fn is_mine(self) -> bool;

    /// Whether any thread is noted as the writer.
    fn has_writer(self) -> bool;

    /// Whether libc's lock is locked for writing.
    fn has_libcs_write_locked(self) -> bool;

    /// How many times libc's lock is locked for reading.
    fn libcs_readers(self) -> u32;

    /// Whether our lock is locked for writing.
    fn has_ours_write_locked(self) -> bool;

    /// How many times our lock is locked for reading.
    fn readers_of_ours(self) -> u32;

    /// Releases our lock, locked for reading.
    ///
    /// # Safety
    /// The calling thread has it.
    unsafe fn unlock_read_ours(self);

    /// Releases our lock, locked for writing.
    ///
    /// # Safety
    /// The calling thread has it.
    unsafe fn unlock_write_ours(self);
}

/// Where a thread that has acquired our lock goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoesOn {
    /// It has our lock, and keeps it.
    WithOurs(Waited),
    /// The lock is libc's. The thread has neither, and acquires libc's.
    WithLibcs,
}

/// To be called by a thread that has acquired our lock for writing, after the hand-over has begun, and is not noted as the
/// writer. The thread acquires libc's lock then.
pub fn writer_goes_on(lock: impl TwoRwLocks) {
    lock.make_libcs();
    // SAFETY: the caller has our lock.
    unsafe { lock.unlock_write_ours() };
}

/// To be called by a thread that has acquired our lock for reading, after the hand-over has begun. `exclusive` acquires ours for
/// writing, and gives up after a while. `again` acquires it for reading, as the caller did.
///
/// # Errors
/// That of `again`: the thread has neither lock.
pub fn reader_goes_on(
    lock: impl TwoRwLocks,
    exclusive: impl FnOnce() -> bool,
    again: impl FnOnce() -> Result<Waited, Refused>,
) -> Result<GoesOn, Refused> {
    // SAFETY: the caller has our lock.
    unsafe { lock.unlock_read_ours() };
    if lock.is_libcs() {
        return Ok(GoesOn::WithLibcs);
    }
    if !lock.holds_for_reading() && exclusive() {
        writer_goes_on(lock);
        return Ok(GoesOn::WithLibcs);
    }
    let waited = again()?;
    if !lock.is_libcs() {
        return Ok(GoesOn::WithOurs(waited));
    }
    // SAFETY: `again` has acquired it.
    unsafe { lock.unlock_read_ours() };
    Ok(GoesOn::WithLibcs)
}

/// The lock that a thread is to release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    /// libc's.
    Libcs,
    /// Ours, held for reading.
    OursForReading,
    /// Ours, held for writing.
    OursForWriting,
}

/// Which lock a call is to release that has found the tag of ours, after the hand-over has begun. It is libc's if code
/// that calls libc directly has acquired it, and it is released by a function that does not.
///
/// - The writer is noted in one place for both locks. If it is this thread, it has the one that is locked for writing. (A thread that
///   moves the lock has ours for a moment, but notes no writer.)
/// - If both are locked for reading, a thread that holds none of ours releases libc's.
/// - A thread that is not the writer may release what the writer has acquired. It releases ours only: libc's has no such release.
pub fn held(lock: impl TwoRwLocks) -> Held {
    if lock.is_libcs() {
        return Held::Libcs;
    }
    if lock.is_mine() {
        return if lock.has_libcs_write_locked() { Held::Libcs } else { Held::OursForWriting };
    }
    if lock.libcs_readers() > 0 && (lock.readers_of_ours() == 0 || !lock.holds_for_reading()) {
        return Held::Libcs;
    }
    if lock.has_writer() && lock.has_ours_write_locked() {
        return Held::OursForWriting;
    }
    Held::OursForReading
}
