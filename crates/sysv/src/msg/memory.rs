//! Copying message texts between a program's memory and a cell.

use core::ptr::NonNull;
use unspin_sys::{Errno, fault};

/// The kind of memory that an address is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum MemoryOwner {
    /// The program's memory; the program may have given an invalid address.
    Program,
    /// A live slice of ours, or the arena.
    Ours,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutgoingMessage {
    /// `mtype`.
    pub mtype: i64,
    /// The kind of memory that the text is in.
    pub memory: MemoryOwner,
    /// Address of the text.
    pub text: usize,
    /// Length of the text in bytes.
    pub size: usize,
}

impl OutgoingMessage {
    /// Copies the text to `to`; `EFAULT` if it cannot be read.
    #[inline]
    pub fn write(&self, to: NonNull<u8>) -> Result<(), Errno> {
        // SAFETY: `to` has room for the text, in a cell or a mailbox that no other thread uses; the lock holder or the
        // mailbox's owner guarantees that. If the memory is ours the address is live; in an overwritten arena the two
        // may overlap.
        unsafe {
            match self.memory {
                MemoryOwner::Program => fault::load(self.text, to.as_ptr(), self.size),
                MemoryOwner::Ours => {
                    core::ptr::copy(self.text as *const u8, to.as_ptr(), self.size);
                    Ok(())
                }
            }
        }
    }

    /// Whether the text can be read. The kernel copies it before it looks for the queue.
    pub fn probe(&self) -> Result<(), Errno> {
        match self.memory {
            MemoryOwner::Program => fault::probe(self.text, self.size),
            MemoryOwner::Ours => Ok(()),
        }
    }
}

/// The destination of a message that is received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecvBuffer {
    /// The kind of memory that it is in.
    pub memory: MemoryOwner,
    /// Address for the type; not used if the memory is ours.
    pub mtype: usize,
    /// Address for the text.
    pub text: usize,
    /// Room for the text in bytes.
    pub room: usize,
}

/// What a receiver learns of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Received {
    /// `mtype`.
    pub mtype: i64,
    /// Bytes of text that were copied.
    pub bytes: usize,
}

impl RecvBuffer {
    /// Copies a message of `size` bytes to its destination, as much as there is room for; the type first, as
    /// `do_msg_fill` does. `EFAULT` if the program's address is invalid.
    #[inline]
    pub fn take(&self, mtype: i64, text: NonNull<u8>, size: usize) -> Result<Received, Errno> {
        let bytes = size.min(self.room);
        // SAFETY: `text` has `size` bytes, which no thread writes, as the caller knows. If the memory is ours, the
        // address is live and has that room; the program's address is checked.
        unsafe {
            match self.memory {
                MemoryOwner::Program => {
                    fault::store_word(mtype as u64, self.mtype)?;
                    fault::store(text.as_ptr(), self.text, bytes)?;
                }
                MemoryOwner::Ours => {
                    core::ptr::copy_nonoverlapping(text.as_ptr(), self.text as *mut u8, bytes);
                }
            }
        }
        Ok(Received { mtype, bytes })
    }
}
