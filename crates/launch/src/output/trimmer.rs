//! A file that takes the output of a program, of which only the end is read.

use std::cell::Cell;
use std::fs::File;
use unspin_sys::{Errno, exhausted, file, limits};

/// Bytes at the end of a program's output that are kept: all that is searched for figures.
pub const KEPT: u64 = 64 << 20;
/// How much more there is before space is given back.
const SLACK: u64 = 16 << 20;

/// Gives back the space of output that nothing reads any more, so that a program that prints without end does not fill the disk.
#[derive(Debug, Default)]
pub struct Trimmer {
    /// Bytes at the beginning that have been given back.
    freed: Cell<u64>,
}

impl Trimmer {
    /// To be called from time to time while the program runs.
    pub fn trim(&self, output: &File) {
        let length = file::bytes(output).unwrap_or(0);
        // A file system that cannot give back a part keeps it all.
        if length >= self.freed.get() + KEPT + SLACK && file::free_front(output, length - KEPT).is_ok() {
            self.freed.set(length - KEPT);
        }
    }
}

/// Why a program could not write all of its output to this file, if the limit on a file's length has prevented it.
pub fn obstacle(output: &File) -> Option<String> {
    (file::bytes(output).ok()? >= limits::file_size())
        .then(|| exhausted::remedy(Errno::EFBIG))
        .flatten()
        .map(|remedy| format!("its output did not fit: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn space_of_early_output_is_given_back() {
        let mut output = tempfile::tempfile().unwrap();
        let trimmer = Trimmer::default();
        output.write_all(&[b'x'; 1 << 20]).unwrap();
        trimmer.trim(&output);
        assert_eq!(trimmer.freed.get(), 0, "all of it is read");
        // The file is sparse: the test writes two pieces of it.
        output.write_all_at(b"the end", KEPT + SLACK + (1 << 20)).unwrap();
        let before = output.metadata().unwrap().blocks();
        trimmer.trim(&output);
        if trimmer.freed.get() > 0 {
            assert_eq!(trimmer.freed.get(), SLACK + (1 << 20) + 7);
            assert!(output.metadata().unwrap().blocks() < before);
        }
        let mut end = [0; 7];
        output.read_exact_at(&mut end, KEPT + SLACK + (1 << 20)).unwrap();
        assert_eq!(&end, b"the end");
        assert_eq!(obstacle(&tempfile::tempfile().unwrap()), None);
    }
}
