//! Paths in messages, and in the commands that they suggest.

use std::path::Path;
use unspin_sys::printable;

/// A path as a word of a command, quoted if a shell would read it otherwise.
pub fn quoted(path: &Path) -> String {
    printable::shell_word(path.as_os_str().as_encoded_bytes())
}

/// A path without characters that end the line or control a terminal: every user can give files in `/dev/shm` any
/// name, and root is shown them.
pub fn on_one_line(path: &Path) -> String {
    printable::bytes(path.as_os_str().as_encoded_bytes())
}
