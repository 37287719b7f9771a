//! Limits that a process or a file system has reached: what an error number says of them, and how more is permitted.

use crate::Errno;
use crate::limits;

/// What a failed call has run into, and the remedy. None if the error tells of no limit. (EAGAIN and ENOMEM have more causes: see
/// [`process`].)
pub fn remedy(error: Errno) -> Option<String> {
    Some(match error.0 {
        libc::EFBIG => {
            format!("a file may have {} here: raise that limit (ulimit -f)", length(limits::file_size()))
        }
        libc::EMFILE => format!(
            "a process may have {} open files here: raise that limit (ulimit -n)",
            limits::open_files()
        ),
        libc::ENFILE => {
            "the machine has as many open files as it may have: raise that limit (sysctl fs.file-max)".into()
        }
        libc::ENOSPC => "its file system is full: free space there".into(),
        libc::EDQUOT => "the disk quota is used up: free space there, or raise it".into(),
        _ => return None,
    })
}

/// Names the limit that kept a process or a thread from starting.
pub fn process(error: Errno) -> Option<String> {
    match error.0 {
        libc::EAGAIN => Some(
            "no more processes and threads are permitted: end some, or raise that limit (ulimit -u, or pids.max of the cgroup)".into(),
        ),
        libc::ENOMEM => Some("there is not enough memory: free some, or permit more address space (ulimit -v)".into()),
        _ => remedy(error),
    }
}

/// A length in the unit of `ulimit -f`, where it has so many.
fn length(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        _ => format!("{} KiB", bytes >> 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_named_with_their_command() {
        for (error, command) in
            [(libc::EFBIG, "ulimit -f"), (libc::EMFILE, "ulimit -n"), (libc::ENOSPC, "full")]
        {
            let text = remedy(Errno(error)).unwrap();
            assert!(text.contains(command), "{text}");
            assert_eq!(process(Errno(error)), Some(text));
        }
        assert!(process(Errno::EAGAIN).unwrap().contains("ulimit -u"));
        assert_eq!((remedy(Errno::EAGAIN), remedy(Errno::ENOENT), process(Errno::EPERM)), (None, None, None));
        assert_eq!((length(0), length(4 << 10)), ("0 bytes".into(), "4 KiB".into()));
    }
}
