//! File access without the C library. So it works anywhere: in a signal handler, between fork and exec, inside another
//! allocator's call. It also bypasses functions that another preloaded library puts in front of libc's: fakeroot's
//! `fstat` asks its daemon, protected by a semaphore, and so would call this library while it is still being
//! initialised.

use crate::{Errno, raw};
use core::ffi::CStr;
use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Reads at most `buffer.len()` bytes of a regular file from its beginning. A name may lead to a FIFO, which would have to
/// be waited for, or to a device: that is `EINVAL`.
pub fn read_small<'b>(path: &CStr, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let file = Descriptor::open_regular(path, libc::O_RDONLY)?;
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..])? {
            0 => return Ok(&buffer[..filled]),
            n => filled += n,
        }
    }
}

/// As [`read_small`], by a single read(2): for `/proc` files that return everything at once if the buffer is large
/// enough (`single_open` of fs/seq_file.c).
pub fn read_once<'b>(path: &CStr, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let bytes = Descriptor::open(path, libc::O_RDONLY)?.read(buffer)?;
    Ok(&buffer[..bytes])
}

/// The target of a symbolic link of `/proc`, truncated to the length of `buffer`.
pub fn link<'b>(path: &CStr, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let at = [libc::AT_FDCWD as usize, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len()];
    // SAFETY: `path` is a C string; the kernel writes at most the given length into the slice.
    let bytes = unsafe { raw::call(libc::SYS_readlinkat, at)? };
    Ok(&buffer[..bytes])
}

/// Reads a whole file whose length is not known, as in `/proc`. Allocates.
pub fn read_all(path: &CStr) -> Result<Vec<u8>, Errno> {
    let file = Descriptor::open(path, libc::O_RDONLY)?;
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(text),
            n => text.extend_from_slice(&buffer[..n]),
        }
    }
}

/// Passes a whole file to `each`, in pieces of at most `buffer.len()` bytes, until `each` returns false.
pub fn read_pieces(path: &CStr, buffer: &mut [u8], mut each: impl FnMut(&[u8]) -> bool) -> Result<(), Errno> {
    let file = Descriptor::open(path, libc::O_RDONLY)?;
    loop {
        let bytes = file.read(buffer)?;
        if bytes == 0 || !each(&buffer[..bytes]) {
            return Ok(());
        }
    }
}

/// An open file, closed when dropped.
pub(crate) struct Descriptor(usize);

impl Descriptor {
    /// `access`: O_RDONLY or O_RDWR, and flags.
    pub(crate) fn open(path: &CStr, access: i32) -> Result<Descriptor, Errno> {
        let flags = (access | libc::O_CLOEXEC) as usize;
        // SAFETY: `path` is a C string.
        unsafe { raw::call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags, 0]) }
            .map(Descriptor)
    }

    /// Opens a regular file; `EINVAL` for all others, of which none is waited for.
    pub(crate) fn open_regular(path: &CStr, access: i32) -> Result<Descriptor, Errno> {
        let file = Descriptor::open(path, access | libc::O_NONBLOCK | libc::O_NOCTTY)?;
        match stat_at(file.number(), c"", libc::AT_EMPTY_PATH)?.st_mode & libc::S_IFMT {
            libc::S_IFREG => Ok(file),
            _ => Err(Errno::EINVAL),
        }
    }

    /// The descriptor's number.
    pub(crate) fn number(&self) -> i32 {
        self.0 as i32
    }

    /// Length of the file, in bytes.
    pub(crate) fn bytes(&self) -> Result<u64, Errno> {
        stat_at(self.number(), c"", libc::AT_EMPTY_PATH).map(|stat| stat.st_size as u64)
    }

    fn read(&self, into: &mut [u8]) -> Result<usize, Errno> {
        loop {
            // SAFETY: the kernel writes at most the given length into the slice.
            match unsafe { raw::call(libc::SYS_read, [self.0, into.as_mut_ptr() as usize, into.len()]) } {
                Err(Errno::EINTR) => {}
                result => return result,
            }
        }
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours from open to here.
        let _ = unsafe { raw::call(libc::SYS_close, [self.0]) };
    }
}

/// The inode number of a path.
pub fn inode(path: &CStr) -> Option<u64> {
    stat(path).map(|s| s.st_ino)
}

/// Device and inode number of the file at a path.
pub fn device_and_inode(path: &CStr) -> Option<(u64, u64)> {
    stat(path).map(|s| (s.st_dev, s.st_ino))
}

/// Length in bytes of the file at a path, and when it was last written, in seconds and nanoseconds since the epoch.
pub fn length_and_time(path: &CStr) -> Option<(u64, u64, u64)> {
    stat(path).map(|s| (s.st_size as u64, s.st_mtime as u64, s.st_mtime_nsec as u64))
}

/// Length in bytes of the file at a path.
pub fn length(path: &CStr) -> Option<u64> {
    stat(path).map(|s| s.st_size as u64)
}

/// The link count of a path.
pub fn links(path: &CStr) -> Option<u64> {
    stat(path).map(|s| s.st_nlink)
}

fn stat(path: &CStr) -> Option<libc::stat> {
    stat_at(libc::AT_FDCWD, path, 0).ok()
}

/// Length of an open file, in bytes.
///
/// # Errors
/// Those of fstat(2).
pub fn bytes(file: &File) -> Result<u64, Errno> {
    stat_at(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH).map(|stat| stat.st_size as u64)
}

/// The offset of the first byte at or after `from` in a sparse file that was ever written; `None` if there is none.
///
/// # Errors
/// Those of lseek(2).
pub fn next_data(file: &File, from: u64) -> Result<Option<u64>, Errno> {
    // SAFETY: takes no pointer. It moves the file offset, which users that pass an explicit offset do not use.
    match unsafe {
        raw::call(libc::SYS_lseek, [file.as_raw_fd() as usize, from as usize, libc::SEEK_DATA as usize])
    } {
        Ok(at) => Ok(Some(at as u64)),
        Err(Errno(libc::ENXIO)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Whether an open file is the one at this path. Does not follow a symbolic link at the path.
///
/// # Errors
/// Those of lstat(2).
pub fn is_named(file: &File, path: &Path) -> Result<bool, Errno> {
    let opened = stat_at(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH)?;
    let named = with_c_string(path, |path| stat_at(libc::AT_FDCWD, path, libc::AT_SYMLINK_NOFOLLOW))?;
    Ok((opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino))
}

/// Whether a path leads to a regular file.
///
/// # Errors
/// Those of stat(2).
pub fn is_regular(path: &Path) -> Result<bool, Errno> {
    with_c_string(path, |path| stat_at(libc::AT_FDCWD, path, 0))
        .map(|stat| stat.st_mode & libc::S_IFMT == libc::S_IFREG)
}

/// Whether the caller may create files in a folder.
pub fn may_create_in(folder: &Path) -> bool {
    let access = (libc::W_OK | libc::X_OK) as usize;
    // SAFETY: a C string.
    with_c_string(folder, |path| unsafe {
        raw::call(libc::SYS_faccessat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, access])
    })
    .is_ok()
}

/// Sets the permission bits of an open file.
///
/// # Errors
/// Those of fchmod(2).
pub fn set_mode(file: &File, mode: u32) -> Result<(), Errno> {
    // SAFETY: takes no pointer.
    unsafe { raw::call(libc::SYS_fchmod, [file.as_raw_fd() as usize, mode as usize]) }.map(|_| ())
}

/// Removes a name (unlink).
///
/// # Errors
/// Those of unlink(2).
pub fn remove(path: &Path) -> Result<(), Errno> {
    with_c_string(path, |path| {
        // SAFETY: a C string.
        unsafe { raw::call(libc::SYS_unlink, [path.as_ptr() as usize]) }.map(|_| ())
    })
}

pub(crate) fn stat_at(directory: i32, path: &CStr, flags: i32) -> Result<libc::stat, Errno> {
    // SAFETY: a zeroed stat is a valid one; `path` is a C string; the kernel fills `stat`.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        let arguments = [directory as usize, path.as_ptr() as usize, &raw mut stat as usize, flags as usize];
        raw::call(libc::SYS_newfstatat, arguments)?;
        Ok(stat)
    }
}

/// Makes a C string on the stack. No path is longer than PATH_MAX (limits.h), including the final zero.
pub(crate) fn with_c_string<R>(path: &Path, f: impl FnOnce(&CStr) -> Result<R, Errno>) -> Result<R, Errno> {
    let mut buffer = [0; libc::PATH_MAX as usize];
    let bytes = path.as_os_str().as_bytes();
    buffer.get_mut(..bytes.len()).ok_or(Errno(libc::ENAMETOOLONG))?.copy_from_slice(bytes);
    f(CStr::from_bytes_until_nul(&buffer).map_err(|_| Errno(libc::ENAMETOOLONG))?)
}

/// Frees the first bytes of a file, which then read as zeros; its length and the offsets of the others stay (fallocate(2)).
///
/// # Errors
/// `EOPNOTSUPP` if the file system cannot.
pub fn free_front(file: &File, bytes: u64) -> Result<(), Errno> {
    let how = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as usize;
    // SAFETY: takes no pointer.
    unsafe { raw::call(libc::SYS_fallocate, [file.as_raw_fd() as usize, how, 0, bytes as usize]) }.map(|_| ())
}

/// Whether a read(2) of a descriptor would return data at once. Of a file in a file system that is always true.
pub fn has_data(file: BorrowedFd<'_>) -> bool {
    let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `poll` is one live pollfd, as stated, and the timeout is 0.
    let ready = unsafe { raw::call(libc::SYS_poll, [&raw mut poll as usize, 1, 0]) };
    ready == Ok(1) && poll.revents & libc::POLLIN != 0
}

/// Whether a file has an extended attribute of this name, such as `security.capability`.
pub fn has_attribute(path: &CStr, name: &CStr) -> bool {
    // SAFETY: two C strings; length 0 asks for the size only.
    unsafe { raw::call(libc::SYS_getxattr, [path.as_ptr() as usize, name.as_ptr() as usize, 0, 0]) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn pipe_has_data_after_a_write() {
        use std::io::Write;
        use std::os::fd::AsFd;
        let (reader, mut writer) = std::io::pipe().unwrap();
        assert!(!has_data(reader.as_fd()));
        writer.write_all(b"x").unwrap();
        assert!(has_data(reader.as_fd()));
    }

    /// Reading a FIFO would wait for a writer, and a device such as this one has no end.
    #[test]
    fn only_a_regular_file_is_read() {
        let mut buffer = [0; 64];
        assert!(read_small(c"/proc/self/stat", &mut buffer).is_ok());
        for path in [c"/dev/zero", c"/dev/null", c"/"] {
            assert_eq!(read_small(path, &mut buffer), Err(Errno::EINVAL), "{path:?}");
        }
    }

    #[test]
    fn front_of_a_file_is_freed_and_its_end_stays() {
        use std::os::unix::fs::MetadataExt;
        let path = std::env::temp_dir().join(format!("unspin-sys-front-{}", std::process::id()));
        std::fs::write(&path, [7; 64 << 10]).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.sync_all().unwrap();
        let before = file.metadata().unwrap().blocks();
        if free_front(&file, 32 << 10).is_ok() {
            assert!(file.metadata().unwrap().blocks() < before);
            assert!(std::fs::read(&path).unwrap() == [vec![0; 32 << 10], vec![7; 32 << 10]].concat());
        }
        remove(&path).unwrap();
    }

    #[test]
    fn a_file_is_measured_given_a_mode_and_removed() {
        let path = std::env::temp_dir().join(format!("unspin-sys-file-{}", std::process::id()));
        std::fs::write(&path, [7; 1234]).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(bytes(&file), Ok(1234));
        set_mode(&file, 0o640).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        assert_eq!(is_regular(&path), Ok(true));
        remove(&path).unwrap();
        assert_eq!(remove(&path), Err(Errno::ENOENT));
        assert_eq!(is_regular(&path), Err(Errno::ENOENT));
        assert_eq!(is_regular(Path::new("/")), Ok(false));
        let long = "x".repeat(libc::PATH_MAX as usize);
        assert_eq!(is_regular(Path::new(&long)), Err(Errno(libc::ENAMETOOLONG)));
    }
}
