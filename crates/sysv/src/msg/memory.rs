//! Copying message texts between a program's memory and a cell.

use core::ptr::NonNull;
use unspin_sys::{Errno, fault};

/// The kind of memory that an address is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Memory {
    /// The program's memory; the program may have given an invalid address.
    Program,
    /// A live slice of ours, or the arena.
    Ours,
}

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    /// `mtype`.
    pub kind: i64,
    /// The kind of memory that the text is in.
    pub memory: Memory,
    /// Address of the text.
    pub text: usize,
    /// Length of the text in bytes.
    pub size: usize,
}

impl Letter {
    /// Copies the text to `to`; `EFAULT` if it cannot be read.
    #[inline]
    pub fn write(&self, to: NonNull<u8>) -> Result<(), Errno> {
        // SAFETY: `to` has room for the text, in a cell or a mailbox that no other thread uses; the lock holder or the
        // mailbox's owner guarantees that. If the memory is ours the address is live; in an overwritten arena the two
        // may overlap.
        unsafe {
            match self.memory {
                Memory::Program => fault::load(self.text, to.as_ptr(), self.size),
                Memory::Ours => {
                    core::ptr::copy(self.text as *const u8, to.as_ptr(), self.size);
                    Ok(())
                }
            }
        }
    }

    /// Whether the text can be read. The kernel copies it before it looks for the queue.
    pub fn probe(&self) -> Result<(), Errno> {
        match self.memory {
            Memory::Program => fault::probe(self.text, self.size),
            Memory::Ours => Ok(()),
        }
    }
}

/// The destination of a message that is received.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    /// The kind of memory that it is in.
    pub memory: Memory,
    /// Address for the type; not used if the memory is ours.
    pub kind: usize,
    /// Address for the text.
    pub text: usize,
    /// Room for the text in bytes.
    pub room: usize,
}

/// What a receiver learns of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Received {
    /// `mtype`.
    pub kind: i64,
    /// Bytes of text that were copied.
    pub bytes: usize,
}

impl Landing {
    /// Copies a message of `size` bytes to its destination, as much as there is room for; the type first, as
    /// `do_msg_fill` does. `EFAULT` if the program's address is invalid.
    #[inline]
    pub fn take(&self, kind: i64, text: NonNull<u8>, size: usize) -> Result<Received, Errno> {
        let bytes = size.min(self.room);
        // SAFETY: `text` has `size` bytes, which no thread writes, as the caller knows. If the memory is ours, the
        // address is live and has that room; the program's address is checked.
        unsafe {
            match self.memory {
                Memory::Program => {
                    fault::store_word(kind as u64, self.kind)?;
                    fault::store(text.as_ptr(), self.text, bytes)?;
                }
                Memory::Ours => {
                    core::ptr::copy_nonoverlapping(text.as_ptr(), self.text as *mut u8, bytes);
                }
            }
        }
        Ok(Received { kind, bytes })
    }
}
