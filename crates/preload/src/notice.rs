//! Prints a line to standard error.
//!
//! The line is formatted on the stack and written by the system call itself, so that any code can print.

use crate::sandbox;
use core::fmt::{self, Write};
use unspin_sys::open_file::write_without_waiting;
use unspin_sys::raw;

/// Writes `unspin: TEXT` and a newline to standard error in one write. Text beyond 1000 bytes is cut off. Errors are
/// ignored: a program may close its standard error.
pub fn print(text: fmt::Arguments<'_>) {
    let mut line = Line::new();
    // A full line returns an error, and contains what fits.
    let _ = write!(line, "unspin: {text}");
    let line = line.end();
    if !sandbox::is_closed() {
        return write_without_waiting(2, line);
    }
    // A filter may forbid the calls by which the program is protected from the signals of this one.
    // SAFETY: the kernel reads the given bytes, which are initialised.
    let _ = unsafe { raw::call(libc::SYS_write, [2, line.as_ptr() as usize, line.len()]) };
}

const LINE_MAX: usize = 1000;

/// A line that is being written, on the stack.
pub struct Line {
    bytes: [u8; LINE_MAX],
    len: usize,
}

impl Line {
    /// An empty line.
    pub fn new() -> Line {
        Line { bytes: [0; LINE_MAX], len: 0 }
    }

    /// The line with its newline.
    pub fn end(&mut self) -> &[u8] {
        self.bytes[self.len] = b'\n';
        &self.bytes[..=self.len]
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = LINE_MAX - 1 - self.len;
        let taken = text.len().min(room);
        self.bytes[self.len..self.len + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.len += taken;
        if taken == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_cut() {
        let mut line = Line::new();
        assert!(write!(line, "{}", "x".repeat(2 * LINE_MAX)).is_err());
        assert_eq!(line.len, LINE_MAX - 1);
    }
}
