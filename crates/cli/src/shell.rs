//! Paths in commands that messages suggest.

use std::path::Path;
use unspin_meter::shell_line;

/// A path as a word of a command, quoted if a shell would read it otherwise.
pub fn quoted(path: &Path) -> String {
    shell_line(&[path.display().to_string()])
}
