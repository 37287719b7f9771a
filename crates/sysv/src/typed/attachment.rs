//! Segments while they are mapped.
//!
//! Other processes write the memory at any time, and not by Rust's rules. So there is no `&[u8]` to be had: it is reached
//! through atomics, safely, or by its address, unsafely.

use crate::Engine;
use core::ptr::NonNull;
use unspin_sync::machine::{AtomicU64, Ordering::SeqCst};

/// A segment that is mapped to be read and written; detached when dropped.
#[derive(Debug)]
pub struct Attachment(Mapped);

impl Attachment {
    /// # Safety
    /// The engine has attached `len` bytes at `address`, readable and writable, which are given to the result.
    pub(super) unsafe fn new(engine: Engine, address: usize, len: usize) -> Attachment {
        // SAFETY: the caller's promise.
        Attachment(unsafe { Mapped::new(engine, address, len) })
    }

    /// First byte. What is behind it is shared with whoever has attached the segment, too, and changes under its users;
    /// it must not be used after this value is dropped.
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.start.as_ptr()
    }

    /// Bytes, as they were asked for.
    #[expect(clippy::len_without_is_empty, reason = "there are no empty segments")]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// The memory as words of eight bytes, as many as it has whole. Processes that use it by atomic instructions of this
    /// size see each other's words whole, and in the order that is asked for.
    pub fn as_atomics(&self) -> &[AtomicU64] {
        self.0.words()
    }
}

/// A segment that is mapped to be read; detached when dropped.
#[derive(Debug)]
pub struct ReadOnlyAttachment(Mapped);

impl ReadOnlyAttachment {
    /// # Safety
    /// The engine has attached `len` bytes at `address`, readable, which are given to the result.
    pub(super) unsafe fn new(engine: Engine, address: usize, len: usize) -> ReadOnlyAttachment {
        // SAFETY: the caller's promise.
        ReadOnlyAttachment(unsafe { Mapped::new(engine, address, len) })
    }

    /// First byte, as of [`Attachment::as_ptr`].
    pub fn as_ptr(&self) -> *const u8 {
        self.0.start.as_ptr()
    }

    /// Bytes, as they were asked for.
    #[expect(clippy::len_without_is_empty, reason = "there are no empty segments")]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// The word of eight bytes at an index, loaded by one instruction; `None` behind the last whole one.
    pub fn load(&self, index: usize) -> Option<u64> {
        self.0.words().get(index).map(|word| word.load(SeqCst))
    }
}

/// What both have in common.
#[derive(Debug)]
struct Mapped {
    engine: Engine,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: plain memory that belongs to the process and not to a thread, reached through atomics.
unsafe impl Send for Mapped {}
// SAFETY: as for Send.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// # Safety
    /// The engine has attached `len` bytes at `address`, readable, which are given to the result.
    unsafe fn new(engine: Engine, address: usize, len: usize) -> Mapped {
        let start = NonNull::new(address as *mut u8).expect("no segment is attached at address 0");
        Mapped { engine, start, len }
    }

    /// Of a mapping that is read-only, to be loaded only.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: 1. so many whole words are mapped, aligned as a page is, until `self` is dropped; 2. any bits are a word;
        // 3. whoever else reaches them, in this process, does so through such a slice, or by unsafe code of his own; 4. a
        // load of a word never writes, so it is allowed in memory that is read-only.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr().cast(), self.len / size_of::<AtomicU64>()) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: whatever `words` lent was borrowed from this value, and addresses end with it.
        // What was unmapped by other means meanwhile is detached already.
        let _ = unsafe { self.engine.shmdt(self.start.as_ptr() as usize) };
    }
}
