//! Regular files whose names others may have chosen, or changed since.
//!
//! open(2) of a FIFO waits for a writer, that of a device may act, and a device such as `/dev/zero` has no end. So a name that
//! comes from a recording, from `/proc/PID/maps` or from a folder of another user is opened without waiting, and only a regular
//! file is read.

use std::fs::{File, OpenOptions};
use std::io::{self, Error, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Whether a symbolic link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// As open(2) does.
    Followed,
    /// It is refused: the folder belongs to another user.
    Refused,
}

/// Opens a regular file for reading.
pub fn open(path: &Path, links: Links) -> io::Result<File> {
    let no_follow = if links == Links::Refused { libc::O_NOFOLLOW } else { 0 };
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | no_follow)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(Error::new(ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Creates a regular file under a name that stands for nothing yet, not even for a link.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(mode)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
}

/// The contents of a regular file of at most so many bytes.
pub fn read(path: &Path, links: Links, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_open(open(path, links)?, bytes_max)
}

/// The rest of an open file, if that is at most so many bytes.
pub fn read_open(file: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The file may grow meanwhile.
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 <= bytes_max {
        true => Ok(bytes),
        false => Err(Error::new(ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    /// A folder that ends with the test.
    struct Folder(std::path::PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("unspin-regular-{name}-{}", std::process::id()));
            std::fs::create_dir(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_regular_files_are_opened_and_none_is_waited_for() {
        let folder = Folder::new("open");
        let [file, fifo, link] = ["file", "fifo", "link"].map(|name| folder.0.join(name));
        std::fs::write(&file, "text").unwrap();
        symlink(&file, &link).unwrap();
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        assert!(open(&fifo, Links::Followed).is_err());
        assert!(open(Path::new("/dev/zero"), Links::Followed).is_err());
        assert!(open(&folder.0, Links::Followed).is_err());
        assert_eq!(read(&link, Links::Followed, 4).unwrap(), b"text");
        assert!(open(&link, Links::Refused).is_err());
        assert_eq!(read(&file, Links::Refused, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn created_file_is_new() {
        let folder = Folder::new("create");
        let (file, link) = (folder.0.join("file"), folder.0.join("link"));
        symlink(&file, &link).unwrap();
        assert!(create(&link, 0o600).is_err());
        assert!(!file.exists());
        create(&file, 0o600).unwrap();
        assert!(create(&file, 0o600).is_err());
    }
}
