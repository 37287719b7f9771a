//! Standard output, which may be a pipe that somebody has closed.

use crate::error::Error;
use std::io::{ErrorKind, Write};

/// Prints a text. A reader that went away has had enough: no error.
pub fn print(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Error::Environment(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}
