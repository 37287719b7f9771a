//! The location of a part of an arena, for tests that damage it.

/// A part of an arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Name of the part.
    pub what: &'static str,
    /// Offset in the file.
    pub at: u64,
    /// Length in bytes, a multiple of four.
    pub bytes: u64,
}

impl Part {
    pub(crate) fn new(what: &'static str, at: u64, bytes: usize) -> Part {
        Part { what, at, bytes: bytes as u64 }
    }
}
