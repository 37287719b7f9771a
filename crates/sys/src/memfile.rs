//! Files in memory (memfd_create(2)) that replace other files of a program.

use crate::{Errno, limits, raw};

/// Replaces the open file `fd` by a read-only file in memory with these contents. The close-on-exec flag stays as it
/// is, and so do the status flags that fcntl(2) can set. On an error `fd` is unchanged.
pub fn replace(fd: i32, contents: &[u8]) -> Result<(), Errno> {
    // Checked first: beyond the limit the kernel sends SIGXFSZ, which kills the process.
    if contents.len() as u64 > limits::file_size() {
        return Err(Errno::EFBIG);
    }
    let memory = Owned::create()?;
    memory.write_all(contents)?;
    let reader = memory.reopen()?;
    // SAFETY: no addresses.
    let close = unsafe { raw::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFD as usize]) }?;
    // SAFETY: no addresses.
    let status = unsafe { raw::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize]) }?;
    // Fails for flags that tmpfs does not support (O_DIRECT); they have no meaning for files in /proc either.
    // SAFETY: no addresses; the descriptor is ours.
    let _ = unsafe { raw::call(libc::SYS_fcntl, [reader.0, libc::F_SETFL as usize, status]) };
    let flags = if close & libc::FD_CLOEXEC as usize != 0 { libc::O_CLOEXEC } else { 0 };
    // SAFETY: no addresses; the caller owns `fd` and may replace it.
    unsafe { raw::call(libc::SYS_dup3, [reader.0, fd as usize, flags as usize]) }.map(drop)
}

/// Closes a descriptor that the caller owns.
pub fn close(fd: i32) {
    drop(Owned(fd as usize));
}

/// Whether a descriptor is open for reading only.
pub fn is_read_only(fd: i32) -> bool {
    // SAFETY: no addresses.
    let flags = unsafe { raw::call(libc::SYS_fcntl, [fd as usize, libc::F_GETFL as usize]) };
    let other = (libc::O_ACCMODE | libc::O_PATH) as usize;
    flags.is_ok_and(|flags| flags & other == libc::O_RDONLY as usize)
}

/// An owned descriptor, closed when dropped.
struct Owned(usize);

impl Owned {
    fn create() -> Result<Owned, Errno> {
        let name = c"sysvipc".as_ptr() as usize;
        // SAFETY: a C string.
        unsafe { raw::call(libc::SYS_memfd_create, [name, libc::MFD_CLOEXEC as usize]) }.map(Owned)
    }

    fn write_all(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            // SAFETY: the kernel reads the given bytes, which are initialised.
            match unsafe { raw::call(libc::SYS_write, [self.0, bytes.as_ptr() as usize, bytes.len()]) } {
                Ok(0) => return Err(Errno::EIO),
                Ok(n) => bytes = &bytes[n..],
                Err(Errno::EINTR) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Opens the same file again, from its beginning, read-only.
    fn reopen(&self) -> Result<Owned, Errno> {
        let mut path = [0u8; 32];
        let text = format_args_into(&mut path, self.0);
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        // SAFETY: a C string: the array is longer than the text, and zero after it.
        unsafe { raw::call(libc::SYS_openat, [libc::AT_FDCWD as usize, text.as_ptr() as usize, flags, 0]) }
            .map(Owned)
    }
}

/// `/proc/self/fd/N`, padded with zeroes.
fn format_args_into(path: &mut [u8; 32], fd: usize) -> &[u8; 32] {
    use std::io::Write;
    // 14 characters and at most 10 digits.
    let _ = write!(&mut path[..31], "/proc/self/fd/{fd}");
    path
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: we own the descriptor from its opening to here.
        let _ = unsafe { raw::call(libc::SYS_close, [self.0]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsRawFd;

    #[test]
    fn replace_exchanges_the_file_of_a_descriptor() {
        let mut file = File::open("/proc/self/status").unwrap();
        assert!(is_read_only(file.as_raw_fd()));
        let contents = "x".repeat(100_000);
        replace(file.as_raw_fd(), contents.as_bytes()).unwrap();
        let mut read = String::new();
        file.read_to_string(&mut read).unwrap();
        assert!(read == contents);
        file.rewind().unwrap();
        assert!(file.write(b"y").is_err());
        assert!(is_read_only(file.as_raw_fd()));
        let mut odd = File::options();
        let odd = std::os::unix::fs::OpenOptionsExt::custom_flags(&mut odd, libc::O_NONBLOCK);
        let odd = odd.read(true).open("/proc/self/status").unwrap();
        replace(odd.as_raw_fd(), b"").unwrap();
        // SAFETY: queries a descriptor that we own.
        assert_ne!(unsafe { libc::fcntl(odd.as_raw_fd(), libc::F_GETFL) } & libc::O_NONBLOCK, 0);
        // SAFETY: asks about a descriptor of ours, which std opens so that exec closes it.
        assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFD) }, libc::FD_CLOEXEC);
        assert!(!is_read_only(File::options().write(true).open("/dev/null").unwrap().as_raw_fd()));
        assert_eq!(replace(-1, b""), Err(Errno::EBADF));
    }
}
