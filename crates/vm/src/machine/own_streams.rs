//! Standard output and standard error of this process, to which the command's output is written as it is.

use super::session::{Output, Reader};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write as write_some;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Writes a piece of output to its stream. SIGPIPE is ignored here, so an error tells that the reader is gone.
pub(super) fn write(output: Output<'_>) -> Reader {
    match output {
        Output::Stdout(bytes) => write_to(io::stdout().as_fd(), bytes),
        Output::Stderr(bytes) => write_to(io::stderr().as_fd(), bytes),
    }
}

/// Without the buffers of the standard library, which cannot go on where a stream that does not block (O_NONBLOCK) has taken a part.
fn write_to(stream: BorrowedFd<'_>, mut bytes: &[u8]) -> Reader {
    while !bytes.is_empty() {
        match write_some(stream, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => wait_for(stream),
            Err(Errno::EPIPE) => return Reader::Gone,
            Err(errno) => return Reader::Fails(errno.into()),
        }
    }
    reader_of(stream)
}

/// Waits until the stream takes more. If that cannot be waited for, the next write says why.
fn wait_for(stream: BorrowedFd<'_>) {
    let _ = poll(&mut [PollFd::new(stream, PollFlags::POLLOUT)], PollTimeout::NONE);
}

/// Pipes and sockets tell that their reader is gone; poll(2) says of a file that it has no error.
fn reader_of(stream: BorrowedFd<'_>) -> Reader {
    let mut polled = [PollFd::new(stream, PollFlags::empty())];
    // An error, such as EINTR, tells nothing: the next piece asks again.
    let _ = poll(&mut polled, PollTimeout::ZERO);
    let found = polled[0].revents().unwrap_or(PollFlags::empty());
    if found.intersects(PollFlags::POLLERR | PollFlags::POLLHUP) { Reader::Gone } else { Reader::Listens }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::fs::File;
    use std::io::Read;

    #[test]
    fn reader_of_a_pipe_can_go_and_that_of_a_file_cannot() {
        let (reader, writer) = io::pipe().unwrap();
        assert!(matches!(reader_of(writer.as_fd()), Reader::Listens));
        drop(reader);
        assert!(matches!(reader_of(writer.as_fd()), Reader::Gone));
        assert!(matches!(write_to(writer.as_fd(), b"x"), Reader::Gone));
        for file in ["/proc/self/exe", "/dev/null"] {
            assert!(matches!(reader_of(File::open(file).unwrap().as_fd()), Reader::Listens), "{file}");
        }
    }

    #[test]
    fn stream_that_takes_nothing_more_is_an_error() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let Reader::Fails(error) = write_to(full.as_fd(), b"x") else { panic!("it has taken the byte") };
        assert_eq!(error.raw_os_error(), Some(nix::libc::ENOSPC));
    }

    #[test]
    fn stream_that_does_not_block_gets_all() {
        let (mut reader, writer) = io::pipe().unwrap();
        fcntl(&writer, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let read = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes.len())
        });
        let bytes = vec![7; 1 << 20];
        assert!(matches!(write_to(writer.as_fd(), &bytes), Reader::Listens));
        drop(writer);
        assert_eq!(read.join().unwrap().unwrap(), bytes.len());
    }
}
