//! The queues of one group: one ring of messages per receiver, all in one monitor.
//!
//! This is the bounded buffer of the textbooks, built so that the kind of lock determines the speed. docs/hackbench.md
//! has the variants that were tried and their figures, with plain mutexes and with `PTHREAD_PRIO_INHERIT` mutexes,
//! which are strictly handed over:
//!
//! - *One mutex per group*, used by 40 threads. With one per receiver the locks matter too, but the contention then
//!   depends on the other load of the machine, and so do the times.
//! - *Signals are sent with the mutex held*, as POSIX advises for predictable scheduling. So the woken thread finds the
//!   mutex held. A lock with hand-over then belongs to that sleeper, and the thread that has just released it must
//!   sleep before its next message: two switches per message. With a lock that any running thread can take, the running
//!   thread sends several messages first. This is the one difference that Rostedt 2008 measures.
//! - *Room for 64 messages.* With 1, every message costs a switch with any lock. (A Unix socket has room for some
//!   hundreds of messages, a pipe for 655.)

use super::message::buffer;
use crate::libc_pthread::{Monitor, MonitorGuard};
use std::io::Result;
use std::pin::Pin;

/// Messages of one length on their way to the receivers of one group.
#[derive(Debug)]
pub struct Queues {
    rings: Pin<Box<Monitor<Vec<Ring>>>>,
}

#[derive(Debug)]
struct Ring {
    /// Room for `capacity` messages, in sequence.
    bytes: Vec<u8>,
    message: usize,
    capacity: usize,
    /// The index of the oldest message.
    first: usize,
    /// Number of stored messages.
    count: usize,
}

/// The condition that a receiver's queue is not empty.
fn not_empty(receiver: usize) -> usize {
    2 * receiver
}

/// The condition that a receiver's queue is not full.
fn not_full(receiver: usize) -> usize {
    2 * receiver + 1
}

impl Queues {
    /// Empty queues for this many receivers, each with room for `capacity` messages of `message` bytes.
    #[inline(never)] // A lock meter names the locks by this function.
    pub fn new(receivers: usize, capacity: usize, message: usize) -> Result<Queues> {
        let ring = |_| Ok(Ring { bytes: buffer(capacity * message)?, message, capacity, first: 0, count: 0 });
        let rings = (0..receivers).map(ring).collect::<Result<Vec<Ring>>>()?;
        Ok(Queues { rings: Monitor::new(rings, 2 * receivers) })
    }

    /// Appends a message to a receiver's queue; sleeps while the queue is full.
    pub fn send(&self, receiver: usize, message: &[u8]) {
        let mut rings = self.enter_once(receiver, not_full, |ring| ring.count < ring.capacity);
        rings[receiver].put(message);
        rings.signal(not_empty(receiver));
    }

    /// Removes the oldest message from a receiver's queue; sleeps while the queue is empty.
    pub fn receive(&self, receiver: usize, message: &mut [u8]) {
        let mut rings = self.enter_once(receiver, not_empty, |ring| ring.count > 0);
        rings[receiver].take(message);
        rings.signal(not_full(receiver));
    }

    /// Number of messages in a receiver's queue.
    pub fn left(&self, receiver: usize) -> usize {
        self.rings.enter()[receiver].count
    }

    /// Enters the monitor, and waits inside until the receiver's queue is in the wanted state.
    fn enter_once(
        &self,
        receiver: usize,
        condition: fn(usize) -> usize,
        wanted: impl Fn(&Ring) -> bool,
    ) -> MonitorGuard<'_, Vec<Ring>> {
        let mut rings = self.rings.enter();
        while !wanted(&rings[receiver]) {
            rings.wait(condition(receiver));
        }
        rings
    }
}

impl Ring {
    fn put(&mut self, message: &[u8]) {
        let slot = (self.first + self.count) % self.capacity;
        self.bytes[slot * self.message..][..self.message].copy_from_slice(message);
        self.count += 1;
    }

    fn take(&mut self, message: &mut [u8]) {
        message.copy_from_slice(&self.bytes[self.first * self.message..][..self.message]);
        self.first = (self.first + 1) % self.capacity;
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_in_the_order_in_which_they_went_in() {
        let queues = Queues::new(2, 3, 2).unwrap();
        let mut message = [0; 2];
        for round in 0..10_u8 {
            for receiver in 0..2_u8 {
                for n in 0..3 {
                    queues.send(receiver.into(), &[round, 3 * receiver + n]);
                }
            }
            for receiver in 0..2_u8 {
                assert_eq!(queues.left(receiver.into()), 3);
                for n in 0..3 {
                    queues.receive(receiver.into(), &mut message);
                    assert_eq!(message, [round, 3 * receiver + n]);
                }
                assert_eq!(queues.left(receiver.into()), 0);
            }
        }
    }

    #[test]
    fn thread_sleeps_at_a_full_or_empty_queue() {
        for capacity in [1, 2, 16] {
            let queues = Queues::new(1, capacity, 4).unwrap();
            std::thread::scope(|scope| {
                for sender in 0..3_u32 {
                    let queues = &queues;
                    scope.spawn(move || {
                        for n in 0..500 {
                            queues.send(0, &(sender * 1000 + n).to_ne_bytes());
                        }
                    });
                }
                let mut next = [0, 1000, 2000];
                for _ in 0..1500 {
                    let mut message = [0; 4];
                    queues.receive(0, &mut message);
                    let got = u32::from_ne_bytes(message);
                    let next = &mut next[(got / 1000) as usize];
                    assert_eq!(got, *next, "one sender's messages keep their order, none is lost or doubled");
                    *next += 1;
                }
            });
            assert_eq!(queues.left(0), 0);
        }
    }
}
