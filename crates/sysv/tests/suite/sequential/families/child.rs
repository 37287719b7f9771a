//! Programs that need a process of their own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;

/// The result of `body`, which runs in a child that ends afterwards.
pub fn in_a_child(body: impl FnOnce() -> String) -> String {
    let mut ends = [0; 2];
    // SAFETY: the child runs `body`, writes, and ends without running what belongs to the parent; each end of the pipe
    // is taken over by one file, or closed, in each process.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let child = libc::fork();
        if child == 0 {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let _ = File::from_raw_fd(ends[1]).write_all(body().as_bytes());
            libc::_exit(0);
        }
        libc::close(ends[1]);
        let mut report = String::new();
        File::from_raw_fd(ends[0])
            .read_to_string(&mut report)
            .expect("a pipe can be read, and a report is text");
        assert_eq!(libc::waitpid(child, core::ptr::null_mut(), 0), child);
        report
    }
}
