//! Small files, read without allocating and without the C library, so that it can be done anywhere: in a
//! signal handler, between fork and exec, inside another allocator's call.

use crate::{Errno, raw};
use core::ffi::CStr;

/// Reads at most `buffer.len()` bytes of a file from its beginning.
pub fn read_small<'b>(path: &CStr, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: `path` is a C string; the kernel writes at most the given length into `buffer`; the descriptor
    // is ours from open to close.
    unsafe {
        let fd = raw::call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags, 0])?;
        let mut filled = 0;
        let result = loop {
            let rest = &mut buffer[filled..];
            match raw::call(libc::SYS_read, [fd, rest.as_mut_ptr() as usize, rest.len()]) {
                Ok(0) => break Ok(()),
                Ok(n) => filled += n,
                Err(Errno::EINTR) => {}
                Err(e) => break Err(e),
            }
        };
        let _ = raw::call(libc::SYS_close, [fd]);
        result.map(|()| &buffer[..filled])
    }
}

/// The inode number behind a path.
pub fn inode(path: &CStr) -> Option<u64> {
    stat(path).map(|s| s.st_ino)
}

/// The number of links to what is behind a path.
pub fn links(path: &CStr) -> Option<u64> {
    stat(path).map(|s| s.st_nlink)
}

fn stat(path: &CStr) -> Option<libc::stat> {
    // SAFETY: a zeroed stat is a valid one; `path` is a C string; the kernel fills `stat`.
    unsafe {
        let mut stat: libc::stat = core::mem::zeroed();
        raw::call(
            libc::SYS_newfstatat,
            [libc::AT_FDCWD as usize, path.as_ptr() as usize, &raw mut stat as usize, 0],
        )
        .ok()?;
        Some(stat)
    }
}

/// Whether a file has an extended attribute of this name, such as `security.capability`.
pub fn has_attribute(path: &CStr, name: &CStr) -> bool {
    // SAFETY: two C strings; length 0 asks for the size only.
    unsafe { raw::call(libc::SYS_getxattr, [path.as_ptr() as usize, name.as_ptr() as usize, 0, 0]) }.is_ok()
}
