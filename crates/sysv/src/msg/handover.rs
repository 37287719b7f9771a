//! A message from a sender straight to a receiver that waits for it (`pipelined_send` of `ipc/msg.c`), and back, if the receiver
//! turns out to be dead.

use super::cell::{Cell, Slab};
use super::mailbox;
use super::memory::Letter;
use super::section::{Caller, Section, Sent};
use crate::participant::{Participant, status};
use unspin_sync::atomic::Ordering::{Relaxed, Release};
use unspin_sys::Errno;

/// A receiver that waits for a message which has come.
enum Taker {
    /// It gets it.
    Gets(u32, &'static Participant),
    /// It would, but its mailbox is too small: `msgmax` was raised while it waited.
    Retries(u32, &'static Participant),
    Nobody,
}

impl Section {
    /// As [`Section::send`], of a queue that somebody waits for, and in which there is room.
    #[cold]
    pub(super) fn send_to_waiting(&mut self, letter: &Letter, caller: Caller) -> Result<Sent, Errno> {
        let receivers = &self.contended().receivers;
        let until = match self.taker(letter) {
            Taker::Gets(index, person) => {
                self.hand_over(letter, caller, person)?;
                // From here on the message is received, whoever dies.
                let ticket = person.waiter.ticket.load(Relaxed);
                self.end(receivers, index, person, status::granted(ticket, self.at));
                ticket
            }
            Taker::Retries(index, person) => {
                let sent = self.put(letter, caller)?;
                if sent != Sent::Done {
                    return Ok(sent);
                }
                self.end(receivers, index, person, status::RETRY);
                person.waiter.ticket.load(Relaxed)
            }
            Taker::Nobody => {
                let sent = self.put(letter, caller)?;
                if sent != Sent::Done {
                    return Ok(sent);
                }
                u64::MAX
            }
        };
        self.refuse(letter, until);
        Ok(Sent::Done)
    }

    /// The first receiver that waits for such a message and has room for it.
    fn taker(&self, letter: &Letter) -> Taker {
        for (index, person) in self.waiting(&self.contended().receivers) {
            if person.errand.wanted().admits(letter.kind) && has_room(person, letter) {
                let fits = mailbox::capacity(self.arena(), person) >= Some(letter.size);
                return if fits { Taker::Gets(index, person) } else { Taker::Retries(index, person) };
            }
        }
        Taker::Nobody
    }

    /// Ends the waits of the receivers who came before that ticket, would take the message, and have no room for it, with
    /// E2BIG.
    fn refuse(&mut self, letter: &Letter, until: u64) {
        let receivers = &self.contended().receivers;
        for (index, person) in self.waiting(receivers) {
            if person.waiter.ticket.load(Relaxed) >= until {
                return;
            }
            if person.errand.wanted().admits(letter.kind) && !has_room(person, letter) {
                self.end(receivers, index, person, status::failed(Errno::E2BIG.0));
            }
        }
    }

    /// Writes a message into the mailbox of a receiver. It is his once his status says so.
    fn hand_over(&mut self, letter: &Letter, caller: Caller, person: &Participant) -> Result<(), Errno> {
        let at = Slab::first(person.errand.mailbox.load(Relaxed));
        let (cell, text) = self.cell(at, letter.size)?;
        letter.write(text)?;
        cell.describe(letter.kind, letter.size);
        // Should the receiver turn out to be dead the message has its place in the queue.
        cell.serial.store(self.next_serial(), Relaxed);
        self.note_sent(caller);
        person.errand.before.store(self.contended().receiver.load(Relaxed), Relaxed);
        person.errand.before_at.store(self.contended().received.load(Relaxed), Relaxed);
        self.note_received(Caller { pid: person.waiter.pid.load(Relaxed), ..caller });
        Ok(())
    }

    /// Lets those try again who wait for a message that is in the queue: after one was put back.
    pub(super) fn serve_receivers(&mut self) {
        let receivers = &self.contended().receivers;
        for (index, person) in self.waiting(receivers) {
            if self.find(person.errand.wanted()).is_some() {
                self.end(receivers, index, person, status::RETRY);
            }
        }
    }

    /// Puts the message that a receiver was granted back into its place. The receiver is dead, or gives it back itself.
    pub fn give_back(&mut self, person: &Participant) {
        // Release: decides; partner of the Acquire in `repair`.
        person.waiter.status.store(status::REVERTED, Release);
        if let Some(at) = self.adopt(person) {
            let contended = self.contended();
            let Some(cell) = self.arena().get::<Cell>(at) else { return };
            contended.messages.insert(self.arena(), at);
            contended.bytes.store(contended.bytes.load(Relaxed) + cell.size() as u64, Relaxed);
            contended.count.store(contended.count.load(Relaxed) + 1, Relaxed);
            // Unless somebody has received since.
            if self.contended().receiver.load(Relaxed) == person.waiter.pid.load(Relaxed) {
                let (pid, now) = (&person.errand.before, &person.errand.before_at);
                self.note_received(Caller { pid: pid.load(Relaxed), now: now.load(Relaxed) });
            }
            self.serve_receivers();
        }
    }

    /// Makes the mailbox of a receiver, with the message in it, one of the queue's slabs, and returns its cell. Again, if its
    /// maker died half-way.
    pub(super) fn adopt(&self, person: &Participant) -> Option<u64> {
        let (slabs, at) = (&self.contended().slabs, person.errand.mailbox.load(Relaxed));
        let slab = self.arena().get::<Slab>(at).filter(|_| at != 0)?;
        if self.slabs().all(|other| other != at) {
            slab.next.store(slabs.load(Relaxed), Relaxed);
            // Release: the slab is the queue's before it is no longer the participant's.
            slabs.store(at, Release);
        }
        person.errand.mailbox.store(0, Release);
        Some(Slab::first(at))
    }
}

fn has_room(receiver: &Participant, letter: &Letter) -> bool {
    receiver.errand.most.load(Relaxed) >= letter.size as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::heap;
    use crate::ipc::Class;
    use crate::lock::Owner;
    use crate::msg::cell::Size;
    use crate::msg::memory::Memory;
    use crate::msg::section::Place;
    use crate::msg::{MessageQueue, Wanted};
    use crate::names::Call;
    use crate::thread::Thread;
    use crate::{Engine, Kind, Options};
    use unspin_rcu::Fences;
    use unspin_sys::ipc::flag;
    use unspin_sys::process::Identity;

    /// Whoever gives a dead receiver's message back is killed as soon as that is decided. The receiver's place is swept before
    /// his, and the message is in the queue all the same.
    #[test]
    fn a_message_that_is_on_its_way_back_outlives_both() {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let (inner, thread) = (engine.inner.unwrap(), Thread::of(engine.inner.unwrap()).unwrap());
        let id = engine.msgget(flag::IPC_PRIVATE, 0o600).unwrap();
        // Above every pid that the kernel gives out (PID_MAX_LIMIT is 2^22).
        let [receiver, undertaker] = [1 << 23, (1 << 23) + 1].map(|tid| {
            let nobody = Identity { pid: tid, tid, ..Identity::default() };
            let registry = inner.rcu().registry();
            let dead = registry.register(&nobody, Fences::Full, &mut |_, _| panic!("there is room")).unwrap();
            inner.arena.reserve_participant(dead.index()).unwrap();
            dead
        });
        let (at, queue) = inner.find::<MessageQueue>(id).unwrap();
        let person = |index: usize| &inner.people()[index];
        let size = Size::fitting(100).unwrap();
        inner.with_registry(thread, Class::Msg, Call::Mailbox, |held| {
            let mailbox = heap::allocate(held.arena, held.me, size.slab_bytes(1)).unwrap();
            Slab::init(held.arena, mailbox, size, 1);
            person(receiver.index()).errand.mailbox.store(mailbox, Release);
            heap::publish(held.me);
        });
        let busy = &person(undertaker.index()).busy;
        busy.enter(busy.renew().more());
        let owner = Owner::new(undertaker.index() as u32, undertaker.generation());
        assert!(queue.contended.lock.try_acquire(owner));
        let section = |index: usize| Section::new(inner, queue, at, index as u32);
        section(receiver.index()).await_message(Wanted::Any, 100, Place::Last);
        let text = *b"hello";
        let letter = Letter { kind: 3, memory: Memory::Ours, text: text.as_ptr() as usize, size: text.len() };
        let sent = section(undertaker.index()).send(&letter, Caller { pid: 1, now: 1 });
        assert_eq!(sent, Ok(Sent::Done));
        let status = &person(receiver.index()).waiter.status;
        assert!(status::is_granted(status.load(Relaxed)));
        status.store(status::REVERTED, Release);

        assert_eq!(engine.bury_dead(), Ok(2));
        let mut room = [0; 100];
        assert_eq!(engine.receive(id, &mut room, 0, flag::IPC_NOWAIT), Ok((3, 5)));
        assert_eq!(&room[..5], b"hello");
    }
}
