//! A message is handed from a sender directly to a receiver that waits for it (`pipelined_send` of `ipc/msg.c`). If the
//! receiver turns out to be dead, the message is passed on to the next receiver (the *heir* in this code), or back to
//! the queue.
//!
//! A message that is passed on is in two mailboxes for a moment. It belongs to the heir from the store that ends the
//! heir's wait. If the lock holder dies around that store, the thread that takes over the lock checks the heir's ticket
//! to find out whether the store was made. It does that before any other wait can end ([`Section::settle_estates`]).

use super::cell::{Cell, Slab};
use super::mailbox;
use super::memory::{Letter, Memory};
use super::section::{Caller, Section, Sent};
use crate::participant::{Participant, status};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sys::Errno;

/// The receiver for a message that has come.
enum Taker {
    /// This receiver gets the message.
    Gets(u32, &'static Participant),
    /// This receiver would get it, but its mailbox is too small, because `msgmax` was raised while it waited. It must
    /// try again.
    Retries(u32, &'static Participant),
    Nobody,
}

impl Section {
    /// Like [`Section::send`], for a queue that has waiting receivers, and room.
    #[cold]
    pub(super) fn send_to_waiting(&mut self, letter: &Letter, caller: Caller) -> Result<Sent, Errno> {
        let receivers = &self.contended().receivers;
        let until = match self.taker(letter) {
            Taker::Gets(index, person) => {
                // The serial number is the message's position in the queue if the receiver turns out to be dead.
                self.hand_over(letter, self.next_serial(), person)?;
                self.note_sent(caller);
                self.note_received(Caller { pid: person.waiter.pid.load(Relaxed), ..caller });
                self.grant(index, person)
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

    /// The first receiver that waits for such a message and whose buffer is large enough.
    fn taker(&self, letter: &Letter) -> Taker {
        for (index, person) in self.waiting(&self.contended().receivers) {
            if person.errand.wanted().admits(letter.kind) && has_room(person, letter) {
                let fits = mailbox::capacity(self.arena(), person) >= Some(letter.size);
                return if fits { Taker::Gets(index, person) } else { Taker::Retries(index, person) };
            }
        }
        Taker::Nobody
    }

    /// Ends, with E2BIG, the waits of the receivers with a ticket below `until` that want the message but whose buffer
    /// is too small.
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

    /// Writes a message into a receiver's mailbox. It belongs to the receiver once the receiver's status says so.
    fn hand_over(&self, letter: &Letter, serial: u64, person: &Participant) -> Result<(), Errno> {
        let at = Slab::first(person.errand.mailbox.load(Relaxed));
        let (cell, text) = self.cell(at, letter.size)?;
        letter.write(text)?;
        cell.describe(letter.kind, letter.size);
        cell.serial.store(serial, Relaxed);
        let (errand, contended) = (&person.errand, self.contended());
        errand.before.store(contended.receiver.load(Relaxed), Relaxed);
        errand.before_at.store(contended.received.load(Relaxed), Relaxed);
        errand.heir.store(0, Relaxed);
        Ok(())
    }

    /// Ends the wait of a receiver that has a message in its mailbox. From this store on the message is received,
    /// whichever thread dies. Returns the receiver's ticket.
    fn grant(&mut self, index: u32, person: &Participant) -> u64 {
        let ticket = person.waiter.ticket.load(Relaxed);
        self.end(&self.contended().receivers, index, person, status::granted(ticket, self.at));
        ticket
    }

    /// Lets receivers try again whose message is in the queue: a dead thread may have failed to hand it to them.
    pub(super) fn serve_receivers(&mut self) {
        let receivers = &self.contended().receivers;
        for (index, person) in self.waiting(receivers) {
            if self.find(person.errand.wanted()).is_some() {
                self.end(receivers, index, person, status::RETRY);
            }
        }
    }

    /// Passes on the message that a receiver was granted, as if that receiver had not waited: to the next one that
    /// waits for it, or into its position in the queue. The receiver is dead, or gives the message back itself.
    pub fn give_back(&mut self, person: &Participant) {
        let Some((cell, text)) = mailbox::message(self.arena(), person) else {
            return self.put_back(person);
        };
        let (kind, text) = (cell.kind.load(Relaxed), text.as_ptr() as usize);
        let letter = Letter { kind, memory: Memory::Ours, text, size: cell.size() };
        let taker = self.taker(&letter);
        let until = match taker {
            Taker::Gets(index, heir) => match self.bequeath(&letter, cell, person, (index, heir)) {
                Ok(ticket) => ticket,
                Err(_) => return self.put_back(person),
            },
            Taker::Retries(index, heir) => {
                self.put_back(person);
                self.end(&self.contended().receivers, index, heir, status::RETRY);
                heir.waiter.ticket.load(Relaxed)
            }
            Taker::Nobody => {
                self.put_back(person);
                u64::MAX
            }
        };
        self.refuse(&letter, until);
    }

    /// Passes a granted message on to another receiver, the heir. Returns the heir's ticket.
    fn bequeath(
        &mut self,
        letter: &Letter,
        cell: &Cell,
        person: &Participant,
        (index, heir): (u32, &'static Participant),
    ) -> Result<u64, Errno> {
        let received = self.forget_receipt(person);
        self.hand_over(letter, cell.serial.load(Relaxed), heir)?;
        if let Some(now) = received {
            self.note_received(Caller { pid: heir.waiter.pid.load(Relaxed), now });
        }
        person.errand.heir_ticket.store(heir.waiter.ticket.load(Relaxed), Relaxed);
        // Release: after the store of the ticket, and before the exchange in `grant`.
        person.errand.heir.store(index + 1, Release);
        let ticket = self.grant(index, heir);
        // Release: the heir has the message before the first receiver stops having it.
        person.waiter.status.store(status::IDLE, Release);
        Ok(ticket)
    }

    /// Resolves transfers that the lock holder's death interrupted: each is completed or rolled back.
    pub(super) fn settle_estates(&mut self) {
        for person in self.people() {
            // Acquire: partner of the Release in `bequeath`.
            let heir = person.errand.heir.load(Acquire);
            if heir == 0 || !self.concerns(person) || !status::is_granted(person.waiter.status.load(Acquire))
            {
                continue;
            }
            let (heir, ticket) = (self.someone(heir - 1), person.errand.heir_ticket.load(Relaxed));
            if self.waits_here(heir) && heir.waiter.ticket.load(Relaxed) == ticket {
                person.errand.heir.store(0, Relaxed);
            } else {
                person.waiter.status.store(status::IDLE, Release);
            }
        }
    }

    /// Restores the queue's last receiver and time from before a receipt, unless another thread has received since.
    /// Returns the time of the receipt.
    fn forget_receipt(&self, person: &Participant) -> Option<i64> {
        let (contended, errand) = (self.contended(), &person.errand);
        let received = contended.received.load(Relaxed);
        (contended.receiver.load(Relaxed) == person.waiter.pid.load(Relaxed)).then(|| {
            self.note_received(Caller {
                pid: errand.before.load(Relaxed),
                now: errand.before_at.load(Relaxed),
            });
            received
        })
    }

    /// Puts the message that a receiver was granted into its position in the queue.
    fn put_back(&mut self, person: &Participant) {
        // Release: decides; partner of the Acquire in `repair`.
        person.waiter.status.store(status::REVERTED, Release);
        if let Some(at) = self.adopt(person) {
            let contended = self.contended();
            let Some(cell) = self.arena().get::<Cell>(at) else { return };
            contended.messages.insert(self.arena(), at);
            contended.bytes.store(contended.bytes.load(Relaxed) + cell.size() as u64, Relaxed);
            contended.count.store(contended.count.load(Relaxed) + 1, Relaxed);
            self.forget_receipt(person);
        }
    }

    /// Makes the receiver's mailbox, with the message in it, one of the queue's slabs, and returns its cell. May be
    /// repeated if the thread that did it died half-way.
    pub(super) fn adopt(&self, person: &Participant) -> Option<u64> {
        let (slabs, at) = (&self.contended().slabs, person.errand.mailbox.load(Relaxed));
        let slab = self.arena().get::<Slab>(at).filter(|_| at != 0)?;
        if self.slabs().all(|other| other != at) {
            slab.next.store(slabs.load(Relaxed), Relaxed);
            // Release: the slab belongs to the queue before it stops belonging to the participant.
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
    use crate::class::Class;
    use crate::engine::lock_names::Call;
    use crate::msg::cell::Size;
    use crate::msg::section::Place;
    use crate::msg::{MessageQueue, wanted::Wanted};
    use crate::store::heap;
    use crate::sync::lock::Owner;
    use crate::thread::Thread;
    use crate::{Engine, Kind, Options};
    use unspin_rcu::Fences;
    use unspin_sys::ipc::flag;
    use unspin_sys::process::Identity;

    /// A queue with dead waiting receivers. A dead recovering thread holds its lock; that thread has sent a message,
    /// which the first receiver has been granted.
    struct Scene {
        _dir: tempfile::TempDir,
        engine: Engine,
        id: i32,
        receivers: Vec<&'static Participant>,
        section: Section,
    }

    /// Above every pid that the kernel assigns (PID_MAX_LIMIT is 2^22).
    const NOBODYS: u32 = 1 << 23;

    fn scene(count: u32) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let (inner, thread) = (engine.inner.unwrap(), Thread::of(engine.inner.unwrap()).unwrap());
        let id = engine.msgget(flag::IPC_PRIVATE, 0o600).unwrap();
        let dead = |tid| {
            let nobody = Identity { pid: tid, tid, ..Identity::default() };
            let registry = inner.rcu().registry();
            let dead = registry.register(&nobody, Fences::Full, &mut |_, _| panic!("there is room")).unwrap();
            inner.arena.reserve_participant(dead.index()).unwrap();
            dead
        };
        let (at, queue) = inner.find::<MessageQueue>(id).unwrap();
        let person = |index: usize| &inner.people()[index];
        let section = |index: usize| Section::new(inner, queue, at, index as u32);
        let size = Size::fitting(100).unwrap();
        let receivers: Vec<_> = (NOBODYS..NOBODYS + count).map(dead).collect();
        let undertaker = dead(NOBODYS + count);
        for receiver in &receivers {
            inner.with_registry(thread, Class::Msg, Call::Mailbox, |held| {
                let mailbox = heap::allocate(held.arena, held.me, size.slab_bytes(1)).unwrap();
                Slab::init(held.arena, mailbox, size, 1);
                person(receiver.index()).errand.mailbox.store(mailbox, Release);
                heap::publish(held.me);
            });
        }
        let busy = &person(undertaker.index()).busy;
        busy.enter(busy.renew().more());
        let owner = Owner::new(undertaker.index() as u32, undertaker.generation());
        assert!(queue.contended.lock.try_acquire(owner));
        for receiver in &receivers {
            section(receiver.index()).await_message(Wanted::Any, 100, Place::Last);
            // Its time stamp is too old to prove that it is alive.
            person(receiver.index()).waiter.beat.store(0, Relaxed);
        }
        let mut section = section(undertaker.index());
        let text = *b"hello";
        let letter = Letter { kind: 3, memory: Memory::Ours, text: text.as_ptr() as usize, size: text.len() };
        assert_eq!(section.send(&letter, Caller { pid: 1, now: 1 }), Ok(Sent::Done));
        let receivers: Vec<_> = receivers.iter().map(|receiver| person(receiver.index())).collect();
        assert!(status::is_granted(receivers[0].waiter.status.load(Relaxed)));
        Scene { _dir: dir, engine, id, receivers, section }
    }

    impl Scene {
        fn index(&self, whose: &Participant) -> u32 {
            let mut people = self.section.people().iter();
            people.position(|person| core::ptr::eq(person, whose)).unwrap() as u32
        }

        /// Recovers all participants and checks that the message is in the queue, once.
        fn ends(&self) {
            assert_eq!(self.engine.bury_dead(), Ok(self.receivers.len() + 1));
            let mut room = [0; 100];
            assert_eq!(self.engine.receive(self.id, &mut room, 0, flag::IPC_NOWAIT), Ok((3, 5)));
            assert_eq!(&room[..5], b"hello");
            assert_eq!(self.engine.receive(self.id, &mut room, 0, flag::IPC_NOWAIT), Err(Errno::ENOMSG));
        }
    }

    /// A thread gives a dead receiver's message back, and is killed as soon as that is decided. The receiver's slot is
    /// recovered before that thread's slot, and the message is in the queue nevertheless.
    #[test]
    fn a_message_that_is_on_its_way_back_outlives_both() {
        let scene = scene(1);
        scene.receivers[0].waiter.status.store(status::REVERTED, Release);
        scene.ends();
    }

    /// A thread passes a dead receiver's message on, and is killed when the heir has it, before the first receiver's
    /// status is changed.
    #[test]
    fn a_message_that_has_gone_on_is_not_in_two_places() {
        let mut scene = scene(2);
        let &[dead, heir] = &scene.receivers[..] else { unreachable!() };
        let before = dead.waiter.status.load(Relaxed);
        scene.section.give_back(dead);
        assert!(status::is_granted(heir.waiter.status.load(Relaxed)));
        assert_eq!(scene.section.contended().receiver.load(Relaxed), heir.waiter.pid.load(Relaxed));
        dead.waiter.status.store(before, Relaxed);
        scene.ends();
    }

    /// A thread passes the message on, and is killed before the heir has it; then the heir leaves.
    #[test]
    fn a_message_that_does_not_go_on_stays() {
        let scene = scene(2);
        let &[dead, heir] = &scene.receivers[..] else { unreachable!() };
        dead.errand.heir_ticket.store(heir.waiter.ticket.load(Relaxed), Relaxed);
        dead.errand.heir.store(scene.index(heir) + 1, Relaxed);
        scene.ends();
    }

    /// Only a receiver that was told to try again leaves work to the others. When a sleeper does its periodic check,
    /// the others are not made to try again.
    #[test]
    fn who_was_told_to_try_again_lets_others_try() {
        for (told, end) in [(status::CONFIRMED, status::QUEUED), (status::RETRY, status::RETRY)] {
            let mut scene = scene(2);
            let &[dead, other] = &scene.receivers[..] else { unreachable!() };
            // Puts the message into the queue; the other receiver does not want it.
            other.errand.want(Wanted::Only(9));
            scene.section.give_back(dead);
            other.errand.want(Wanted::Any);
            dead.waiter.status.store(told, Relaxed);
            let index = scene.index(dead);
            crate::engine::Section::bury(&mut scene.section, index);
            crate::engine::Section::serve(&mut scene.section);
            assert_eq!(other.waiter.status.load(Relaxed), end);
        }
    }

    /// In an overwritten arena two receivers may have the same mailbox.
    #[test]
    fn a_message_is_handed_on_to_where_it_lies() {
        let mut scene = scene(2);
        let &[dead, heir] = &scene.receivers[..] else { unreachable!() };
        heir.errand.mailbox.store(dead.errand.mailbox.load(Relaxed), Relaxed);
        scene.section.give_back(dead);
        assert!(status::is_granted(heir.waiter.status.load(Relaxed)));
    }
}
