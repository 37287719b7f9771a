//! Bytes that are read as a program.

use crate::families::names::Name;

/// Those that have not been read.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// All of them.
    pub fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes(bytes)
    }

    /// Whether all have been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte; 0 when there are no more.
    pub fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u8) -> u8 {
        self.next() % n
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.next() as usize % from.len()]
    }

    /// The object that the call names.
    pub fn name(&mut self) -> Name {
        match self.next() {
            250.. => Name::Number(self.pick(&[-1, i32::MIN, i32::MAX])),
            n => Name::Made(n),
        }
    }
}
