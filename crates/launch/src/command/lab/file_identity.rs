//! The identity of a file's contents.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What identifies the contents of a file: any change of them changes its `ctime`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
    /// Seconds and nanoseconds.
    changed: (i64, i64),
}

impl FileIdentity {
    /// None if there is no such file.
    pub(super) fn of(file: &Path) -> Option<FileIdentity> {
        let about = std::fs::metadata(file).ok()?;
        let changed = (about.ctime(), about.ctime_nsec());
        Some(FileIdentity { device: about.dev(), inode: about.ino(), changed })
    }
}

impl fmt::Display for FileIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, ns) = self.changed;
        write!(f, "{:x}-{:x}-{seconds:x}-{ns:x}", self.device, self.inode)
    }
}
