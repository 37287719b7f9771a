//! Messages on standard error. If it is a closed pipe or a full device, they are lost without a further error.
//! Characters that could change the state of a terminal are escaped.

use std::fmt::Arguments;
use std::io::Write;
use unspin_sys::printable;

/// Between a message and the lines of a program's output that it quotes.
pub(crate) const QUOTED: &str = "\n  | ";

/// Prints a message as one line, after the name of the program; and the lines that it quotes.
pub fn say(message: Arguments<'_>) {
    let message = message.to_string();
    let lines: Vec<_> = message.split(QUOTED).map(printable::line).collect();
    print(&format!("unspin: {}\n", lines.join(QUOTED)));
}

/// Prints a text of several lines.
pub fn print(text: &str) {
    draw(&printable::text(text));
}

/// Prints a text with control characters of our own.
pub fn draw(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
