//! Functions of libc that hackbench needs and Rust's standard library does not offer.

use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Whether there is something to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readable {
    /// At least one byte.
    Data,
    /// End of file: no data, and all writers have closed their ends.
    End,
    /// No data yet, and the time is up.
    Nothing,
}

/// Waits by poll(2) until there is something to read, without reading it. Without `patience` there is no time limit.
pub fn await_readable(file: &impl AsFd, patience: Option<Duration>) -> Result<Readable> {
    let mut poll = libc::pollfd { fd: file.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let patience_ms = patience.map_or(-1, |p| p.as_millis().min(i32::MAX as u128) as i32);
    loop {
        // SAFETY: `poll` is one live pollfd, which matches the count.
        match unsafe { libc::poll(&mut poll, 1, patience_ms) } {
            0 => return Ok(Readable::Nothing),
            1 if poll.revents & libc::POLLIN != 0 => return Ok(Readable::Data),
            1 => return Ok(Readable::End),
            _ => {}
        }
        let error = Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Gives the calling thread the lowest real-time priority, `SCHED_FIFO`.
pub fn become_fifo() -> Result<()> {
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads the live structure; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &lowest) } {
        -1 => Err(Error::last_os_error()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn await_readable_distinguishes_data_timeout_and_end() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let look = || await_readable(&reader, Some(Duration::ZERO)).unwrap();
        assert_eq!(look(), Readable::Nothing);
        writer.write_all(b"*").unwrap();
        assert_eq!(look(), Readable::Data);
        assert_eq!(look(), Readable::Data, "nothing was read");
        drop(writer);
        assert_eq!(look(), Readable::Data, "what was written before the end comes first");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(writer);
        assert_eq!(await_readable(&reader, None).unwrap(), Readable::End);
    }
}
