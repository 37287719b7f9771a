//! Programs that a test compiles.

use super::compile;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder for programs that are compiled from the C sources of the CLI's tests, and for other files of a test.
pub struct Workshop {
    folder: TempDir,
}

impl Workshop {
    /// Makes an empty folder.
    ///
    /// # Panics
    /// If the folder cannot be made.
    #[expect(clippy::new_without_default, reason = "it makes a folder, which nothing should do by default")]
    pub fn new() -> Workshop {
        Workshop { folder: tempfile::tempdir().expect("a temporary folder can be made") }
    }

    /// The path of a file in the folder.
    ///
    /// # Panics
    /// If the folder is gone.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there").join(name)
    }

    /// Compiles a source to a file of this name. Returns none and prints a `SKIPPED` line if there is no compiler.
    pub fn compile(&self, source: &str, flags: &[&str], name: &str) -> Option<PathBuf> {
        let path = self.file(name);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?.join("crates/cli/tests/c");
        let options = [&["-pthread"], flags].concat();
        compile(&sources.join(source), &options, &path).then_some(path)
    }
}
