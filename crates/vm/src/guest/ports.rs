//! The guest's ends of the ports: the command's output, and what is told about it.
//!
//! The command gets pipes, as it expects: a port can be opened only once, so `/dev/stdout` of a script would not work on one.

use crate::status::Status;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The three ports.
pub(super) struct Ports {
    pub stdout: Port,
    pub stderr: Port,
    status: File,
}

/// A port for output.
pub(super) struct Port(Option<File>);

/// Time until the kernel has found its ports, at most. They are there within milliseconds.
const FOUND_WITHIN: Duration = Duration::from_secs(20);

impl Ports {
    /// Opens all.
    pub fn open() -> Result<Ports, String> {
        let until = Instant::now() + FOUND_WITHIN;
        let open = |number| open_port(number, until);
        Ok(Ports { stdout: Port(Some(open(1)?)), stderr: Port(Some(open(2)?)), status: open(3)? })
    }

    /// Writes a line for the host. A host that is gone needs none.
    pub fn tell(&mut self, status: &Status) {
        let _ = pass_on(&mut status.line().as_bytes(), &mut self.status, &mut 0);
    }
}

impl Port {
    /// Starts a thread that passes on what comes from a pipe, until its end. If the host closes the port before, because the reader
    /// of the output is gone, the thread closes the pipe: the next write of the command gets SIGPIPE, as outside of a machine. The result is the
    /// number of bytes.
    pub fn pump(&mut self, pipe: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<u64>> {
        let (Some(mut pipe), Some(mut port)) = (pipe, self.0.take()) else {
            return Err(io::Error::other("a port is used twice"));
        };
        thread::Builder::new().spawn(move || {
            let mut bytes = 0;
            if let Err(error) = pass_on(&mut pipe, &mut port, &mut bytes) {
                eprintln!("unspin: output of the command: {error}");
            }
            bytes
        })
    }
}

/// Bytes that a pipe holds.
const PIPE: usize = 64 << 10;

/// What the host does with a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Host {
    /// It takes more.
    Reads,
    /// It has closed the port, or not opened it yet.
    Closed,
}

/// Passes on all that comes, and counts its bytes.
///
/// Not by `io::copy`: that uses splice(2), which ends with 0 where a port is given an empty pipe, as if the pipe had ended
/// (`port_fops_splice_write` of drivers/char/virtio_console.c). And not by writes that wait: they do not notice that the host
/// closes the port.
fn pass_on(pipe: &mut impl Read, port: &mut (impl Write + AsFd), bytes: &mut u64) -> io::Result<()> {
    let mut piece = vec![0; PIPE];
    loop {
        let length = pipe.read(&mut piece)?;
        let mut rest = &piece[..length];
        while !rest.is_empty() && wait_for_host(port)? == Host::Reads {
            match port.write(rest) {
                Ok(written) => {
                    rest = &rest[written..];
                    *bytes += written as u64;
                }
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
        if length == 0 || !rest.is_empty() {
            return Ok(());
        }
    }
}

/// Waits until the host takes more, or has closed the port.
fn wait_for_host(port: &impl AsFd) -> io::Result<Host> {
    let mut polled = [PollFd::new(port.as_fd(), PollFlags::POLLOUT)];
    loop {
        match poll(&mut polled, PollTimeout::NONE) {
            Ok(_) => break,
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    let found = polled[0].revents().unwrap_or(PollFlags::empty());
    Ok(if found.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) { Host::Closed } else { Host::Reads })
}

/// Opens a port of the first virtio-serial device, by its number in the host's command line. The kernel learns from the host, some
/// time after it has found the port, that its other end is open.
fn open_port(number: u32, until: Instant) -> Result<File, String> {
    let path = PathBuf::from(format!("/dev/vport0p{number}"));
    loop {
        match File::options().write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(&path) {
            Ok(port) if matches!(wait_for_host(&port), Ok(Host::Reads)) => return Ok(port),
            Ok(_) if Instant::now() > until => {
                return Err(format!("{}: qemu has not opened its end", path.display()));
            }
            Err(error) if Instant::now() > until => {
                return Err(format!(
                    "{}: {error}: the kernel has no virtio console; its module virtio_console may be missing",
                    path.display()
                ));
            }
            // A port can be opened by one descriptor at a time. It is closed here.
            Ok(_) | Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn output_is_passed_on_until_the_pipe_ends() {
        let (mut port, mut host) = UnixStream::pair().unwrap();
        let bytes: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        let reader = thread::spawn(move || {
            let mut read = Vec::new();
            host.read_to_end(&mut read).map(|_| read)
        });
        port.set_nonblocking(true).unwrap();
        let mut count = 0;
        pass_on(&mut bytes.as_slice(), &mut port, &mut count).unwrap();
        drop(port);
        assert_eq!(count, bytes.len() as u64);
        assert!(reader.join().unwrap().unwrap() == bytes, "the output differs");
    }

    #[test]
    fn closed_port_ends_the_pump_without_an_error() {
        let (mut port, host) = UnixStream::pair().unwrap();
        drop(host);
        pass_on(&mut io::repeat(b'y'), &mut port, &mut 0).unwrap();
    }
}
