//! Mapped segments.
//!
//! Other processes write the memory at any time, and not by Rust's rules. So there is no access as `&[u8]`: only
//! through atomics, safely, or by address, unsafely.

use crate::Engine;
use core::ptr::NonNull;
use unspin_sync::machine::{AtomicU64, Ordering::SeqCst};

/// A segment that is mapped for reading and writing. Dropping it detaches the segment.
#[derive(Debug)]
pub struct Attachment(Mapped);

impl Attachment {
    /// Takes ownership of an attachment.
    ///
    /// # Safety
    /// The engine has attached `len` bytes at `address`, readable and writable, and nothing else uses that attachment.
    pub(super) unsafe fn new(engine: Engine, address: usize, len: usize) -> Attachment {
        // SAFETY: the caller's promise.
        Attachment(unsafe { Mapped::new(engine, address, len) })
    }

    /// Address of the first byte. All processes that have attached the segment share the memory, so its contents may
    /// change at any time. It must not be used after this value is dropped.
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.start.as_ptr()
    }

    /// Length in bytes, as requested when the segment was made.
    #[expect(clippy::len_without_is_empty, reason = "there are no empty segments")]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// The memory as words of eight bytes; bytes after the last whole word are left out. Processes that use it by
    /// atomic instructions of this size never see partly written words, and see them in the order that they ask for.
    pub fn as_atomics(&self) -> &[AtomicU64] {
        self.0.words()
    }
}

/// A segment that is mapped for reading. Dropping it detaches the segment.
#[derive(Debug)]
pub struct ReadOnlyAttachment(Mapped);

impl ReadOnlyAttachment {
    /// Takes ownership of an attachment.
    ///
    /// # Safety
    /// The engine has attached `len` bytes at `address`, readable, and nothing else uses that attachment.
    pub(super) unsafe fn new(engine: Engine, address: usize, len: usize) -> ReadOnlyAttachment {
        // SAFETY: the caller's promise.
        ReadOnlyAttachment(unsafe { Mapped::new(engine, address, len) })
    }

    /// Address of the first byte, as for [`Attachment::as_ptr`].
    pub fn as_ptr(&self) -> *const u8 {
        self.0.start.as_ptr()
    }

    /// Length in bytes, as requested when the segment was made.
    #[expect(clippy::len_without_is_empty, reason = "there are no empty segments")]
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// The word of eight bytes at an index, loaded by one instruction; `None` after the last whole word.
    pub fn load(&self, index: usize) -> Option<u64> {
        self.0.words().get(index).map(|word| word.load(SeqCst))
    }
}

/// The common part of both kinds of attachment.
#[derive(Debug)]
struct Mapped {
    engine: Engine,
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: plain memory that belongs to the process and not to a thread, accessed through atomics.
unsafe impl Send for Mapped {}
// SAFETY: as for Send.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// # Safety
    /// The engine has attached `len` bytes at `address`, readable, and nothing else uses that attachment.
    unsafe fn new(engine: Engine, address: usize, len: usize) -> Mapped {
        let start = NonNull::new(address as *mut u8).expect("no segment is attached at address 0");
        Mapped { engine, start, len }
    }

    /// The memory as words. If the mapping is read-only they may only be loaded.
    fn words(&self) -> &[AtomicU64] {
        // SAFETY: 1. this many whole words are mapped, aligned as a page is, until `self` is dropped; 2. any bits are a
        // valid word; 3. other code of this process accesses them only through such a slice, or by unsafe code of its
        // own; 4. a load of a word never writes, so it is allowed in memory that is read-only.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr().cast(), self.len / size_of::<AtomicU64>()) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: slices from `words` borrow this value, and addresses must not be used after it is dropped.
        // An error means that the memory was unmapped by other means, and so is detached already.
        let _ = unsafe { self.engine.shmdt(self.start.as_ptr() as usize) };
    }
}
