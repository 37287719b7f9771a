//! Locks on whole files, by flock(2). A lock belongs to the open file, and ends with its last descriptor.
//!
//! `File::lock` of the standard library does the same from Rust 1.89 on.

use crate::Errno;
use crate::raw;
use std::fs::File;
use std::os::fd::AsRawFd;

/// Locks a file, and waits while another open file of it has the lock.
pub fn lock(file: &File) -> Result<(), Errno> {
    flock(file, libc::LOCK_EX)
}

/// Locks a file; `EWOULDBLOCK` if another open file of it has the lock.
pub fn try_lock(file: &File) -> Result<(), Errno> {
    flock(file, libc::LOCK_EX | libc::LOCK_NB)
}

fn flock(file: &File, operation: i32) -> Result<(), Errno> {
    // SAFETY: no pointers.
    unsafe { raw::call(libc::SYS_flock, [file.as_raw_fd() as usize, operation as usize]) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_ends_with_its_file() {
        let path = std::env::temp_dir().join(format!("unspin-lock-{}", std::process::id()));
        let first = File::create(&path).unwrap();
        let second = File::open(&path).unwrap();
        lock(&first).unwrap();
        assert_eq!(try_lock(&second), Err(Errno(libc::EWOULDBLOCK)));
        drop(first);
        assert_eq!(try_lock(&second), Ok(()));
        std::fs::remove_file(&path).unwrap();
    }
}
