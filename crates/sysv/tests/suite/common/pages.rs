//! The pages of an arena's file.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// Calls `each` with every page of a file that was ever written, and where it lies.
pub fn pages(file: &File, mut each: impl FnMut(u64, &mut [u8; 4096])) {
    let mut at = 0;
    loop {
        // SAFETY: moves the offset of a descriptor that is used by no other thread.
        at = unsafe { libc::lseek(file.as_raw_fd(), at, libc::SEEK_DATA) };
        let mut page = [0; 4096];
        if at < 0 || file.read_exact_at(&mut page, at as u64).is_err() {
            return;
        }
        each(at as u64, &mut page);
        at += 4096;
    }
}
