//! Whether the output of this process has a reader.

use super::session::{Output, Reader};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The state of the stream to which this was written. SIGPIPE is ignored here, so only the stream tells.
pub(super) fn of(output: Output<'_>) -> Reader {
    match output {
        Output::Stdout(_) => of_stream(io::stdout().as_fd()),
        Output::Stderr(_) => of_stream(io::stderr().as_fd()),
    }
}

/// Pipes and sockets tell so; poll(2) says of a file that it has no error.
fn of_stream(stream: BorrowedFd<'_>) -> Reader {
    let mut polled = [PollFd::new(stream, PollFlags::empty())];
    // An error, such as EINTR, tells nothing: the next piece asks again.
    let _ = poll(&mut polled, PollTimeout::ZERO);
    let found = polled[0].revents().unwrap_or(PollFlags::empty());
    if found.intersects(PollFlags::POLLERR | PollFlags::POLLHUP) { Reader::Gone } else { Reader::Listens }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn reader_of_a_pipe_can_go_and_that_of_a_file_cannot() {
        let (reader, writer) = io::pipe().unwrap();
        assert_eq!(of_stream(writer.as_fd()), Reader::Listens);
        drop(reader);
        assert_eq!(of_stream(writer.as_fd()), Reader::Gone);
        assert_eq!(of_stream(File::open("/proc/self/exe").unwrap().as_fd()), Reader::Listens);
        assert_eq!(of_stream(File::open("/dev/null").unwrap().as_fd()), Reader::Listens);
    }
}
