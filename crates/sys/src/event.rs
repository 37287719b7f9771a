//! An event that one thread signals and another waits for in epoll_wait(2).

use crate::{Errno, raw};
use core::ptr::null;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// An eventfd(2): a counter, incremented by [`post`](EventFd::post) and reset by [`reset`](EventFd::reset).
pub struct EventFd(OwnedFd);

/// An epoll instance (epoll_create1(2)).
pub struct Epoll(OwnedFd);

fn take_ownership(answer: Result<usize, Errno>) -> Result<OwnedFd, Errno> {
    // SAFETY: the kernel has just opened the descriptor, and only the caller knows it.
    answer.map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

impl EventFd {
    /// An event that is not signalled.
    pub fn new() -> Result<EventFd, Errno> {
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        // SAFETY: no pointers.
        take_ownership(unsafe { raw::call(libc::SYS_eventfd2, [0, flags as usize]) }).map(EventFd)
    }

    /// Signals the event.
    pub fn post(&self) {
        let one = 1u64;
        // SAFETY: 8 live bytes, which is what an eventfd takes.
        let _ = unsafe { raw::call(libc::SYS_write, [self.fd(), &raw const one as usize, 8]) };
    }

    /// Resets the event if it was signalled.
    pub fn reset(&self) {
        let mut count = 0u64;
        // SAFETY: 8 live bytes, which is what an eventfd writes.
        let _ = unsafe { raw::call(libc::SYS_read, [self.fd(), &raw mut count as usize, 8]) };
    }

    fn fd(&self) -> usize {
        self.0.as_raw_fd() as usize
    }
}

impl Epoll {
    /// An instance without events.
    pub fn new() -> Result<Epoll, Errno> {
        // SAFETY: no pointers.
        take_ownership(unsafe { raw::call(libc::SYS_epoll_create1, [libc::EPOLL_CLOEXEC as usize]) })
            .map(Epoll)
    }

    /// Adds an event.
    pub fn add(&self, event: &EventFd) -> Result<(), Errno> {
        let watch = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        let arguments = [self.fd(), libc::EPOLL_CTL_ADD as usize, event.fd(), &raw const watch as usize];
        // SAFETY: a live epoll_event, which the kernel reads.
        unsafe { raw::call(libc::SYS_epoll_ctl, arguments) }.map(drop)
    }

    /// Sleeps until one of the events is signalled or a signal handler has run.
    pub fn wait(&self) {
        let mut ready = libc::epoll_event { events: 0, u64: 0 };
        let forever = -1isize as usize;
        // SAFETY: room for the one event that is requested.
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
    fn posted_event_ends_a_wait() {
        let (epoll, event) = (Epoll::new().unwrap(), EventFd::new().unwrap());
        epoll.add(&event).unwrap();
        event.reset();
        event.post();
        epoll.wait();
        event.reset();
    }
}
