//! Texts of messages on their way between a program's memory and a cell.

use core::ptr::NonNull;
use unspin_sys::{Errno, fault};

/// Whose memory an address is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Memory {
    /// The program's, who may have given a bad address.
    Program,
    /// Ours: a live slice, or the arena.
    Ours,
}

/// A message that is to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letter {
    /// `mtype`.
    pub kind: i64,
    /// Where the text is,
    pub memory: Memory,
    /// from which address,
    pub text: usize,
    /// of how many bytes.
    pub size: usize,
}

impl Letter {
    /// Copies the text to `to`, or says `EFAULT`.
    #[inline]
    pub fn write(&self, to: NonNull<u8>) -> Result<(), Errno> {
        // SAFETY: `to` has room for the text, in a cell or a mailbox that nobody else uses, as the lock holder or the
        // mailbox's owner knows. Of ours the address is live; in an arena that was overwritten the two may overlap.
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

    /// Whether the text can be read; the kernel copies it before it looks for the queue.
    pub fn probe(&self) -> Result<(), Errno> {
        match self.memory {
            Memory::Program => fault::probe(self.text, self.size),
            Memory::Ours => Ok(()),
        }
    }
}

/// Where a message that is received goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Landing {
    /// Whose memory it is.
    pub memory: Memory,
    /// Address for the type; not used of ours.
    pub kind: usize,
    /// Address for the text.
    pub text: usize,
    /// Bytes that there is room for.
    pub room: usize,
}

/// A message as its receiver learns of it: type, and bytes of text that it got.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Received {
    /// `mtype`.
    pub kind: i64,
    /// Bytes that were copied.
    pub bytes: usize,
}

impl Landing {
    /// Copies a message of `size` bytes to where it goes, as much as there is room for: the type first, as `do_msg_fill`.
    /// `EFAULT` if the program's address is bad.
    #[inline]
    pub fn take(&self, kind: i64, text: NonNull<u8>, size: usize) -> Result<Received, Errno> {
        let bytes = size.min(self.room);
        // SAFETY: `text` is of `size` bytes, which the caller knows that nobody writes. Of ours the address is live and has
        // that room; the program's is checked.
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
