//! An event that one thread gives and another waits for in epoll_wait(2).

use crate::{Errno, raw};
use core::ptr::null;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A descriptor of eventfd(2): a count, given by [`give`](Event::give) and taken back by [`take`](Event::take).
pub struct Event(OwnedFd);

/// A descriptor of epoll_create1(2).
pub struct Epoll(OwnedFd);

fn owned(answer: Result<usize, Errno>) -> Result<OwnedFd, Errno> {
    // SAFETY: the kernel has just opened it for the caller, who alone knows it.
    answer.map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

impl Event {
    /// One that was not given yet.
    pub fn new() -> Result<Event, Errno> {
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        // SAFETY: no pointers.
        owned(unsafe { raw::call(libc::SYS_eventfd2, [0, flags as usize]) }).map(Event)
    }

    /// Gives it.
    pub fn give(&self) {
        let one = 1u64;
        // SAFETY: 8 live bytes, which is what an eventfd takes.
        let _ = unsafe { raw::call(libc::SYS_write, [self.fd(), &raw const one as usize, 8]) };
    }

    /// Takes it back, if it was given.
    pub fn take(&self) {
        let mut count = 0u64;
        // SAFETY: 8 live bytes, which is what an eventfd writes.
        let _ = unsafe { raw::call(libc::SYS_read, [self.fd(), &raw mut count as usize, 8]) };
    }

    fn fd(&self) -> usize {
        self.0.as_raw_fd() as usize
    }
}

impl Epoll {
    /// One that watches nothing yet.
    pub fn new() -> Result<Epoll, Errno> {
        // SAFETY: no pointers.
        owned(unsafe { raw::call(libc::SYS_epoll_create1, [libc::EPOLL_CLOEXEC as usize]) }).map(Epoll)
    }

    /// Watches an event, too.
    pub fn add(&self, event: &Event) -> Result<(), Errno> {
        let watch = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        let arguments = [self.fd(), libc::EPOLL_CTL_ADD as usize, event.fd(), &raw const watch as usize];
        // SAFETY: a live epoll_event, which the kernel reads.
        unsafe { raw::call(libc::SYS_epoll_ctl, arguments) }.map(drop)
    }

    /// Sleeps until a watched event is given, or a signal handler has run.
    pub fn wait(&self) {
        let mut ready = libc::epoll_event { events: 0, u64: 0 };
        let forever = -1isize as usize;
        // SAFETY: room for the one event that is asked for.
        let _ = unsafe {
            raw::call(
                libc::SYS_epoll_pwait,
                [self.fd(), &raw mut ready as usize, 1, forever, null::<u8>() as usize, 8],
            )
        };
    }

    fn fd(&self) -> usize {
        self.0.as_raw_fd() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_event_ends_a_wait() {
        let (epoll, event) = (Epoll::new().unwrap(), Event::new().unwrap());
        epoll.add(&event).unwrap();
        event.take();
        event.give();
        epoll.wait();
        event.take();
    }
}
