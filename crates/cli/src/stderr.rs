//! Messages on standard error, which may be a closed pipe or a full device: then there is nowhere to say so.

use std::fmt::Arguments;
use std::io::Write;

/// Prints a message as one line, after the name of the program.
pub fn say(message: Arguments<'_>) {
    print(&format!("unspin: {message}\n"));
}

/// Prints a text.
pub fn print(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
