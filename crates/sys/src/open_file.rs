//! What a descriptor leads to that the program may have opened, closed or replaced, and writing to it without harm.

use crate::signal::without_write_signals;
use crate::{file, raw};

/// What a descriptor leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenFile {
    /// Device and inode number.
    pub identity: (u64, u64),
    /// Whether it is a regular file to which every write appends (`O_APPEND`).
    pub is_appended_to: bool,
    /// Whether it is a character device, such as a terminal.
    pub is_character_device: bool,
}

impl OpenFile {
    /// What a descriptor leads to; `None` if it is not open.
    pub fn at(descriptor: i32) -> Option<OpenFile> {
        let stat = file::stat_at(descriptor, c"", libc::AT_EMPTY_PATH).ok()?;
        // SAFETY: no addresses.
        let flags =
            unsafe { raw::call(libc::SYS_fcntl, [descriptor as usize, libc::F_GETFL as usize]) }.ok()?;
        let kind = stat.st_mode & libc::S_IFMT;
        Some(OpenFile {
            identity: (stat.st_dev, stat.st_ino),
            is_appended_to: kind == libc::S_IFREG && flags & libc::O_APPEND as usize != 0,
            is_character_device: kind == libc::S_IFCHR,
        })
    }
}

/// Writes to a descriptor, unless that would have to wait. A reader that is gone, and a limit of the file's size, do not end the
/// process: the signals that they cause are taken back.
pub fn write_without_waiting(descriptor: i32, bytes: &[u8]) {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLOUT, revents: 0 };
    // SAFETY: `poll` is one live pollfd, as stated, and the timeout is 0.
    let ready = unsafe { raw::call(libc::SYS_poll, [&raw mut poll as usize, 1, 0]) };
    if ready != Ok(1) || poll.revents & libc::POLLOUT == 0 {
        return;
    }
    without_write_signals(|| {
        let arguments = [descriptor as usize, bytes.as_ptr() as usize, bytes.len()];
        // SAFETY: the kernel reads the given bytes, which are initialised.
        let _ = unsafe { raw::call(libc::SYS_write, arguments) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write, pipe};
    use std::os::fd::AsRawFd;

    #[test]
    fn descriptor_is_recognised_and_a_closed_one_is_not() {
        let path = std::env::temp_dir().join(format!("unspin-open-file-{}", std::process::id()));
        let plain = std::fs::File::create(&path).unwrap();
        let appended = std::fs::File::options().append(true).open(&path).unwrap();
        let (one, other) =
            (OpenFile::at(plain.as_raw_fd()).unwrap(), OpenFile::at(appended.as_raw_fd()).unwrap());
        assert_eq!(one.identity, other.identity);
        assert_eq!((one.is_appended_to, other.is_appended_to), (false, true));
        let null = std::fs::File::open("/dev/null").unwrap();
        assert!(OpenFile::at(null.as_raw_fd()).unwrap().is_character_device);
        assert_eq!(OpenFile::at(-1), None);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn pipe_that_is_full_or_without_reader_delays_nothing_and_raises_no_signal() {
        let (mut reader, mut writer) = pipe().unwrap();
        write_without_waiting(writer.as_raw_fd(), b"line");
        let mut line = [0; 4];
        reader.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"line");
        // 64 KiB: pipe(7), "Pipe capacity".
        writer.write_all(&vec![0; 1 << 16]).unwrap();
        write_without_waiting(writer.as_raw_fd(), b"line");
        drop(reader);
        // Rust's runtime ignores SIGPIPE in the process. Its default would end this test's process.
        let before = crate::signal::set_default(libc::SIGPIPE);
        write_without_waiting(writer.as_raw_fd(), b"line");
        crate::signal::restore(libc::SIGPIPE, before);
    }
}
