//! Messages on standard error, which may be a closed pipe or a full device: then there is nowhere to say so. What could change
//! the state of a terminal is escaped.

use std::fmt::Arguments;
use std::io::Write;
use unspin_sys::printable;

/// Prints a message as one line, after the name of the program.
pub fn say(message: Arguments<'_>) {
    print(&format!("unspin: {}\n", printable::line(&message.to_string())));
}

/// Prints a text of several lines.
pub fn print(text: &str) {
    draw(&printable::text(text));
}

/// Prints a text with control characters of our own.
pub fn draw(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
