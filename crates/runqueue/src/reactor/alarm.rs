//! Ends the driver's wait when the first timer is due. epoll_wait(2) has a resolution of a millisecond, so a timerfd does it.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Instant;
use unspin_sys::timer::TimerFd;

/// A timerfd that ends the wait of the driver.
#[derive(Debug)]
pub(super) struct Alarm {
    descriptor: TimerFd,
    /// The time for which it was set last.
    at: Option<Instant>,
}

/// The key of its events. No source has it.
const ALARM: Token = Token(usize::MAX - 1);

impl Alarm {
    /// An alarm that is not set.
    pub fn new(registry: &Registry) -> io::Result<Alarm> {
        let descriptor = TimerFd::new()?;
        // For edges: each expiration is one, whether or not the descriptor was read since.
        registry.register(&mut SourceFd(&descriptor.as_raw_fd()), ALARM, Interest::READABLE)?;
        Ok(Alarm { descriptor, at: None })
    }

    /// Causes an event at this time, instead of the time before. No system call if the two are the same, and the time has
    /// not come: then the event has not been taken either. Once it has come, an earlier turn may have taken the event,
    /// before there was this timer.
    pub fn set(&mut self, at: Instant) {
        let left = at.saturating_duration_since(Instant::now());
        if self.at != Some(at) || left.is_zero() {
            self.descriptor.set(left);
            self.at = Some(at);
        }
    }
}
