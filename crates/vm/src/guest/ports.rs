//! The guest's ends of the ports: the command's output, and what is told about it.
//!
//! The command gets pipes, as it expects: a port can be opened only once, so `/dev/stdout` of a script would not work on one.

use crate::status::Status;
use std::fs::File;
use std::io::{self, Read, Write};
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
        let _ = self.status.write_all(status.line().as_bytes());
    }
}

impl Port {
    /// Starts a thread that passes on what comes from a pipe, until its end.
    pub fn pump(&mut self, pipe: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<()>> {
        let (Some(mut pipe), Some(mut port)) = (pipe, self.0.take()) else {
            return Err(io::Error::other("a port is used twice"));
        };
        thread::Builder::new().spawn(move || {
            if let Err(error) = pass_on(&mut pipe, &mut port) {
                eprintln!("unspin: output of the command: {error}");
            }
        })
    }
}

/// Bytes that a pipe holds.
const PIPE: usize = 64 << 10;

/// Passes on all that comes. Not by `io::copy`: that uses splice(2), which ends with 0 where a port is given an empty pipe, as if the
/// pipe had ended (`port_fops_splice_write` of drivers/char/virtio_console.c).
fn pass_on(pipe: &mut impl Read, port: &mut impl Write) -> io::Result<()> {
    let mut piece = vec![0; PIPE];
    loop {
        match pipe.read(&mut piece)? {
            0 => return Ok(()),
            length => port.write_all(&piece[..length])?,
        }
    }
}

/// Opens a port of the first virtio-serial device, by its number in the host's command line.
fn open_port(number: u32, until: Instant) -> Result<File, String> {
    let path = PathBuf::from(format!("/dev/vport0p{number}"));
    loop {
        match File::options().write(true).open(&path) {
            Ok(port) => return Ok(port),
            Err(error) if Instant::now() > until => {
                return Err(format!(
                    "{}: {error}: the kernel has no virtio console; its module virtio_console may be missing",
                    path.display()
                ));
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}
