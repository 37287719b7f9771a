//! The log of a server and of initdb: a file that the benchmark opens once, and hands on as a descriptor.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use unspin_sys::regular;

/// The file. All descriptors share its position, so each output follows the one before it.
#[derive(Debug)]
pub struct Log {
    /// For the output of a program.
    pub file: File,
}

/// Bytes at the end of a log that are read.
const BYTES_MAX: u64 = 1 << 20;

impl Log {
    /// Creates it.
    pub fn create(path: &Path) -> io::Result<Log> {
        regular::create(path, 0o600).map(|file| Log { file })
    }

    /// Another descriptor of the same file.
    pub fn again(&self) -> io::Result<Log> {
        self.file.try_clone().map(|file| Log { file })
    }

    /// The last line that reports an error.
    pub fn last_words(&self) -> Option<String> {
        self.last_line(&["PANIC: ", "FATAL: ", "ERROR: ", "error: "])
    }

    /// The last line with one of these words. A server that is still starting is no error, because the benchmark asks
    /// until it is ready.
    pub fn last_line(&self, words: &[&str]) -> Option<String> {
        let length = self.file.metadata().ok()?.len();
        let from = length.saturating_sub(BYTES_MAX);
        let mut bytes = vec![0; (length - from) as usize];
        // The position of the descriptors stays where the server writes.
        self.file.read_exact_at(&mut bytes, from).ok()?;
        let log = String::from_utf8_lossy(&bytes);
        let has_word =
            |line: &&str| words.iter().any(|word| line.contains(word)) && !line.contains("is starting up");
        Some(log.lines().rev().find(has_word)?.trim().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn last_line_with_a_word_is_found_and_output_goes_on_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = Log::create(&path).unwrap();
        let mut output = log.again().unwrap().file;
        output
            .write_all(
                b"LOG:  begins\nFATAL:  the database system is starting up\nFATAL:  no space\nLOG:  ends\n",
            )
            .unwrap();
        assert_eq!(log.last_words().as_deref(), Some("FATAL:  no space"));
        output.write_all(b"PANIC:  more\n").unwrap();
        assert_eq!(log.last_words().as_deref(), Some("PANIC:  more"));
        assert_eq!(log.last_line(&["ERROR: "]), None);
        assert!(std::fs::read_to_string(&path).unwrap().starts_with("LOG:  begins\n"));
    }

    #[test]
    fn link_in_place_of_the_log_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [target, link] = ["target", "log"].map(|name| folder.path().join(name));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(Log::create(&link).is_err());
        assert!(!target.exists());
    }
}
