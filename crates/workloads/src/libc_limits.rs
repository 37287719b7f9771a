//! Resource limits of the process, which Rust's standard library does not offer.

use std::io::{Error, Result};

/// The hard limit on open files: as far as this process may raise its own limit.
pub fn open_files_max() -> u64 {
    open_files().rlim_max
}

/// Raises the soft limit on open files to `wanted` if it is lower.
pub fn raise_open_files(wanted: u64) -> Result<()> {
    let limit = open_files();
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    let raised = libc::rlimit { rlim_cur: wanted, ..limit };
    // SAFETY: reads the live structure.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

fn open_files() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: fills the live structure. With these arguments the call does not fail.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_limit_is_raised_to_the_hard_limit_and_not_above() {
        raise_open_files(3).unwrap();
        raise_open_files(open_files_max()).unwrap();
        assert_eq!(open_files().rlim_cur, open_files_max());
        if let Some(more) = open_files_max().checked_add(1) {
            assert_eq!(raise_open_files(more).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
        }
    }
}
