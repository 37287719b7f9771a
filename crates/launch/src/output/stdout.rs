//! Standard output, which may be a closed pipe. Characters that could change the state of a terminal are escaped.

use crate::error::Error;
use std::io::{ErrorKind, Write};
use unspin_sys::printable;

/// Prints a text. A closed pipe is not an error: its reader needs no more.
pub fn print(text: &str) -> Result<(), Error> {
    write(printable::text(text).as_bytes())
}

/// Writes a result as it is, for a reader that is no terminal.
pub fn write(contents: &[u8]) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(contents).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::Environment(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}
