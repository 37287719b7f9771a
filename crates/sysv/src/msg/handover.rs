//! A message is handed from a sender directly to a receiver that waits for it (`pipelined_send` of `ipc/msg.c`). If the
//! receiver turns out to be dead, the message is passed on to the next receiver or back to the queue.
//!
//! A message that is passed on is in two mailboxes for a moment. It belongs to the next receiver from the store that
//! ends that receiver's wait. If the lock holder dies around that store, the thread that takes over the lock checks the
//! next receiver's ticket to find out whether the store was made. It does that before any other wait can end
//! ([`QueueSection::resolve_transfers`]).

use super::cell::{MessageCell, Slab};
use super::mailbox;
use super::memory::{MemoryOwner, OutgoingMessage};
use super::section::{Caller, QueueSection, Sent};
use crate::participant::{ParticipantRecord, status};
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sys::Errno;

/// The receiver for a message that has come.
enum ReceiverChoice {
    /// This receiver gets the message.
    Fits(u32, &'static ParticipantRecord),
    /// This receiver would get it, but its mailbox is too small, because `msgmax` was raised while it waited. It must
    /// try again.
    MailboxTooSmall(u32, &'static ParticipantRecord),
    NoReceiver,
}

impl QueueSection {
    /// Like [`QueueSection::send`], for a queue that has waiting receivers, and room.
    #[cold]
    pub(super) fn send_to_receiver(
        &mut self,
        outgoing: &OutgoingMessage,
        caller: Caller,
    ) -> Result<Sent, Errno> {
        let receivers = &self.contended().receivers;
        let until = match self.choose_receiver(outgoing) {
            ReceiverChoice::Fits(index, participant) => {
                // The serial number is the message's position in the queue if the receiver turns out to be dead.
                self.hand_over(outgoing, self.next_serial(), participant)?;
                self.note_sender(caller);
                self.note_receiver(Caller { pid: participant.waiter.pid.load(Relaxed), ..caller });
                self.grant(index, participant)
            }
            ReceiverChoice::MailboxTooSmall(index, participant) => {
                let sent = self.put(outgoing, caller)?;
                if sent != Sent::Done {
                    return Ok(sent);
                }
                self.end(receivers, index, participant, status::RETRY);
                participant.waiter.ticket.load(Relaxed)
            }
            ReceiverChoice::NoReceiver => {
                let sent = self.put(outgoing, caller)?;
                if sent != Sent::Done {
                    return Ok(sent);
                }
                u64::MAX
            }
        };
        self.refuse_too_large(outgoing, until);
        Ok(Sent::Done)
    }

    /// The first receiver that waits for such a message and whose buffer is large enough.
    fn choose_receiver(&self, outgoing: &OutgoingMessage) -> ReceiverChoice {
        for (index, participant) in self.waiters_in(&self.contended().receivers) {
            if participant.msg_wait.selector().admits(outgoing.mtype) && has_room(participant, outgoing) {
                let fits = mailbox::capacity(self.arena(), participant) >= Some(outgoing.size);
                return if fits {
                    ReceiverChoice::Fits(index, participant)
                } else {
                    ReceiverChoice::MailboxTooSmall(index, participant)
                };
            }
        }
        ReceiverChoice::NoReceiver
    }

    /// Ends, with E2BIG, the waits of the receivers with a ticket below `until` that want the message but whose buffer
    /// is too small.
    fn refuse_too_large(&mut self, outgoing: &OutgoingMessage, until: u64) {
        let receivers = &self.contended().receivers;
        for (index, participant) in self.waiters_in(receivers) {
            if participant.waiter.ticket.load(Relaxed) >= until {
                return;
            }
            if participant.msg_wait.selector().admits(outgoing.mtype) && !has_room(participant, outgoing) {
                self.end(receivers, index, participant, status::failure(Errno::E2BIG.0));
            }
        }
    }

    /// Writes a message into a receiver's mailbox. It belongs to the receiver once the receiver's status says so.
    fn hand_over(
        &self,
        outgoing: &OutgoingMessage,
        serial: u64,
        participant: &ParticipantRecord,
    ) -> Result<(), Errno> {
        let at = Slab::first(participant.msg_wait.mailbox.load(Relaxed));
        let (cell, text) = self.cell(at, outgoing.size)?;
        outgoing.write(text)?;
        cell.describe(outgoing.mtype, outgoing.size);
        cell.serial.store(serial, Relaxed);
        let (msg_wait, contended) = (&participant.msg_wait, self.contended());
        msg_wait.prev_receiver.store(contended.receiver.load(Relaxed), Relaxed);
        msg_wait.prev_received_at.store(contended.received.load(Relaxed), Relaxed);
        msg_wait.next_receiver.store(0, Relaxed);
        Ok(())
    }

    /// Ends the wait of a receiver that has a message in its mailbox. From this store on the message is received,
    /// whichever thread dies. Returns the receiver's ticket.
    fn grant(&mut self, index: u32, participant: &ParticipantRecord) -> u64 {
        let ticket = participant.waiter.ticket.load(Relaxed);
        self.end(&self.contended().receivers, index, participant, status::grant(ticket, self.at));
        ticket
    }

    /// Lets receivers try again whose message is in the queue: a dead thread may have failed to hand it to them.
    pub(super) fn serve_receivers(&mut self) {
        let receivers = &self.contended().receivers;
        for (index, participant) in self.waiters_in(receivers) {
            if self.find(participant.msg_wait.selector()).is_some() {
                self.end(receivers, index, participant, status::RETRY);
            }
        }
    }

    /// Passes on the message that a receiver was granted, as if that receiver had not waited: to the next one that
    /// waits for it, or into its position in the queue. The receiver is dead, or gives the message back itself.
    pub fn give_back(&mut self, participant: &ParticipantRecord) {
        let Some((cell, text)) = mailbox::message(self.arena(), participant) else {
            return self.put_back(participant);
        };
        let (mtype, text) = (cell.mtype.load(Relaxed), text.as_ptr() as usize);
        let outgoing = OutgoingMessage { mtype, memory: MemoryOwner::Ours, text, size: cell.size() };
        let choose_receiver = self.choose_receiver(&outgoing);
        let until = match choose_receiver {
            ReceiverChoice::Fits(index, next_receiver) => {
                match self.transfer(&outgoing, cell, participant, (index, next_receiver)) {
                    Ok(ticket) => ticket,
                    Err(_) => return self.put_back(participant),
                }
            }
            ReceiverChoice::MailboxTooSmall(index, next_receiver) => {
                self.put_back(participant);
                self.end(&self.contended().receivers, index, next_receiver, status::RETRY);
                next_receiver.waiter.ticket.load(Relaxed)
            }
            ReceiverChoice::NoReceiver => {
                self.put_back(participant);
                u64::MAX
            }
        };
        self.refuse_too_large(&outgoing, until);
    }

    /// Passes a granted message on to the next receiver. Returns the next receiver's ticket.
    fn transfer(
        &mut self,
        outgoing: &OutgoingMessage,
        cell: &MessageCell,
        participant: &ParticipantRecord,
        (index, next_receiver): (u32, &'static ParticipantRecord),
    ) -> Result<u64, Errno> {
        let received = self.restore_last_receiver(participant);
        self.hand_over(outgoing, cell.serial.load(Relaxed), next_receiver)?;
        if let Some(now) = received {
            self.note_receiver(Caller { pid: next_receiver.waiter.pid.load(Relaxed), now });
        }
        participant.msg_wait.next_receiver_ticket.store(next_receiver.waiter.ticket.load(Relaxed), Relaxed);
        // Release: after the store of the ticket, and before the exchange in `grant`.
        participant.msg_wait.next_receiver.store(index + 1, Release);
        let ticket = self.grant(index, next_receiver);
        // Release: the next receiver has the message before the first receiver stops having it.
        participant.waiter.status.store(status::IDLE, Release);
        Ok(ticket)
    }

    /// Resolves transfers that the lock holder's death interrupted: each is completed or rolled back.
    pub(super) fn resolve_transfers(&mut self) {
        for participant in self.participants() {
            // Acquire: partner of the Release in `transfer`.
            let next_receiver = participant.msg_wait.next_receiver.load(Acquire);
            if next_receiver == 0
                || !self.concerns(participant)
                || !status::is_granted(participant.waiter.status.load(Acquire))
            {
                continue;
            }
            let (next_receiver, ticket) = (
                self.participant(next_receiver - 1),
                participant.msg_wait.next_receiver_ticket.load(Relaxed),
            );
            if self.waits_here(next_receiver) && next_receiver.waiter.ticket.load(Relaxed) == ticket {
                participant.msg_wait.next_receiver.store(0, Relaxed);
            } else {
                participant.waiter.status.store(status::IDLE, Release);
            }
        }
    }

    /// Restores the queue's last receiver and time from before a receipt, unless another thread has received since.
    /// Returns the time of the receipt.
    fn restore_last_receiver(&self, participant: &ParticipantRecord) -> Option<i64> {
        let (contended, msg_wait) = (self.contended(), &participant.msg_wait);
        let received = contended.received.load(Relaxed);
        (contended.receiver.load(Relaxed) == participant.waiter.pid.load(Relaxed)).then(|| {
            self.note_receiver(Caller {
                pid: msg_wait.prev_receiver.load(Relaxed),
                now: msg_wait.prev_received_at.load(Relaxed),
            });
            received
        })
    }

    /// Puts the message that a receiver was granted into its position in the queue.
    fn put_back(&mut self, participant: &ParticipantRecord) {
        // Release: decides; partner of the Acquire in `repair`.
        participant.waiter.status.store(status::REVERTED, Release);
        if let Some(at) = self.adopt_mailbox(participant) {
            let contended = self.contended();
            let Some(cell) = self.arena().get::<MessageCell>(at) else { return };
            contended.messages.insert(self.arena(), at);
            contended.bytes.store(contended.bytes.load(Relaxed) + cell.size() as u64, Relaxed);
            contended.count.store(contended.count.load(Relaxed) + 1, Relaxed);
            self.restore_last_receiver(participant);
        }
    }

    /// Makes the receiver's mailbox, with the message in it, one of the queue's slabs, and returns its cell. May be
    /// repeated if the thread that did it died half-way.
    pub(super) fn adopt_mailbox(&self, participant: &ParticipantRecord) -> Option<u64> {
        let (slabs, at) = (&self.contended().slabs, participant.msg_wait.mailbox.load(Relaxed));
        let slab = self.arena().get::<Slab>(at).filter(|_| at != 0)?;
        if self.slabs().all(|other| other != at) {
            slab.next.store(slabs.load(Relaxed), Relaxed);
            // Release: the slab belongs to the queue before it stops belonging to the participant.
            slabs.store(at, Release);
        }
        participant.msg_wait.mailbox.store(0, Release);
        Some(Slab::first(at))
    }
}

fn has_room(receiver: &ParticipantRecord, outgoing: &OutgoingMessage) -> bool {
    receiver.msg_wait.bytes.load(Relaxed) >= outgoing.size as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::engine::lock_names::Call;
    use crate::msg::cell::CellSize;
    use crate::msg::section::QueuePosition;
    use crate::msg::{MsgQueue, selector::Selector};
    use crate::store::heap;
    use crate::sync::lock::Owner;
    use crate::thread::Thread;
    use crate::{Engine, Kind, Options};
    use unspin_rcu::FenceMode;
    use unspin_sys::ipc::flag;
    use unspin_sys::process::Identity;

    /// A queue with dead waiting receivers. A dead recovering thread holds its lock; that thread has sent a message,
    /// which the first receiver has been granted.
    struct Scene {
        _dir: tempfile::TempDir,
        engine: Engine,
        id: i32,
        receivers: Vec<&'static ParticipantRecord>,
        section: QueueSection,
    }

    /// Above every pid that the kernel assigns (PID_MAX_LIMIT is 2^22).
    const FIRST_UNUSED_PID: u32 = 1 << 23;

    fn scene(count: u32) -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let engine = Engine::open(Kind::Rcu, &dir.path().join("arena"), &Options::default(), None).unwrap();
        let (inner, thread) = (engine.inner.unwrap(), Thread::of(engine.inner.unwrap()).unwrap());
        let id = engine.msgget(flag::IPC_PRIVATE, 0o600).unwrap();
        let dead = |tid| {
            let identity = Identity { pid: tid, tid, ..Identity::default() };
            let registry = inner.rcu().registry();
            let dead =
                registry.register(&identity, FenceMode::Full, &mut |_, _| panic!("there is room")).unwrap();
            inner.arena.reserve_participant(dead.index()).unwrap();
            dead
        };
        let (at, queue) = inner.find::<MsgQueue>(id).unwrap();
        let participant = |index: usize| &inner.participants()[index];
        let section = |index: usize| QueueSection::new(inner, queue, at, index as u32);
        let size = CellSize::smallest_for(100).unwrap();
        let receivers: Vec<_> = (FIRST_UNUSED_PID..FIRST_UNUSED_PID + count).map(dead).collect();
        let recoverer = dead(FIRST_UNUSED_PID + count);
        for receiver in &receivers {
            inner.with_registry(thread, Class::Msg, Call::Mailbox, |held| {
                let mailbox = heap::allocate(held.arena, held.me, size.slab_bytes(1)).unwrap();
                Slab::init(held.arena, mailbox, size, 1);
                participant(receiver.index()).msg_wait.mailbox.store(mailbox, Release);
                heap::publish(held.me);
            });
        }
        let busy = &participant(recoverer.index()).lock_count;
        busy.enter(busy.renew().more());
        let owner = Owner::new(recoverer.index() as u32, recoverer.generation());
        assert!(queue.contended.lock.try_acquire(owner));
        for receiver in &receivers {
            section(receiver.index()).await_message(Selector::Any, 100, QueuePosition::Last);
        }
        let mut section = section(recoverer.index());
        let text = *b"hello";
        let outgoing = OutgoingMessage {
            mtype: 3,
            memory: MemoryOwner::Ours,
            text: text.as_ptr() as usize,
            size: text.len(),
        };
        assert_eq!(section.send(&outgoing, Caller { pid: 1, now: 1 }), Ok(Sent::Done));
        let receivers: Vec<_> = receivers.iter().map(|receiver| participant(receiver.index())).collect();
        assert!(status::is_granted(receivers[0].waiter.status.load(Relaxed)));
        Scene { _dir: dir, engine, id, receivers, section }
    }

    impl Scene {
        fn index(&self, wanted: &ParticipantRecord) -> u32 {
            let mut participants = self.section.participants().iter();
            participants.position(|participant| core::ptr::eq(participant, wanted)).unwrap() as u32
        }

        /// Recovers all participants and checks that the message is in the queue, once.
        fn ends(&self) {
            assert_eq!(self.engine.recover_dead(), Ok(self.receivers.len() + 1));
            let mut room = [0; 100];
            assert_eq!(self.engine.receive(self.id, &mut room, 0, flag::IPC_NOWAIT), Ok((3, 5)));
            assert_eq!(&room[..5], b"hello");
            assert_eq!(self.engine.receive(self.id, &mut room, 0, flag::IPC_NOWAIT), Err(Errno::ENOMSG));
        }
    }

    /// A thread gives a dead receiver's message back, and is killed as soon as that is decided. The receiver's slot is
    /// recovered before that thread's slot, and the message is in the queue nevertheless.
    #[test]
    fn reverted_message_survives_death_of_both_threads() {
        let scene = scene(1);
        scene.receivers[0].waiter.status.store(status::REVERTED, Release);
        scene.ends();
    }

    /// A thread passes a dead receiver's message on, and is killed when the next receiver has it, before the first
    /// receiver's status is changed.
    #[test]
    fn interrupted_transfer_after_grant_leaves_one_message() {
        let mut scene = scene(2);
        let &[dead, next_receiver] = &scene.receivers[..] else { unreachable!() };
        let before = dead.waiter.status.load(Relaxed);
        scene.section.give_back(dead);
        assert!(status::is_granted(next_receiver.waiter.status.load(Relaxed)));
        assert_eq!(scene.section.contended().receiver.load(Relaxed), next_receiver.waiter.pid.load(Relaxed));
        dead.waiter.status.store(before, Relaxed);
        scene.ends();
    }

    /// A thread passes the message on, and is killed before the next receiver has it; then the next receiver leaves.
    #[test]
    fn interrupted_transfer_before_grant_leaves_message_with_first_receiver() {
        let scene = scene(2);
        let &[dead, next_receiver] = &scene.receivers[..] else { unreachable!() };
        dead.msg_wait.next_receiver_ticket.store(next_receiver.waiter.ticket.load(Relaxed), Relaxed);
        dead.msg_wait.next_receiver.store(scene.index(next_receiver) + 1, Relaxed);
        scene.ends();
    }

    /// Only a receiver that was told to try again leaves work to the others. When a sleeper does its periodic check,
    /// the others are not made to try again.
    #[test]
    fn receiver_told_to_retry_lets_others_retry() {
        for (before, end) in [(status::CONFIRMED, status::QUEUED), (status::RETRY, status::RETRY)] {
            let mut scene = scene(2);
            let &[dead, other] = &scene.receivers[..] else { unreachable!() };
            // Puts the message into the queue; the other receiver does not want it.
            other.msg_wait.set_selector(Selector::Only(9));
            scene.section.give_back(dead);
            other.msg_wait.set_selector(Selector::Any);
            dead.waiter.status.store(before, Relaxed);
            let index = scene.index(dead);
            crate::engine::ObjectSection::recover_dead(&mut scene.section, index);
            crate::engine::ObjectSection::serve(&mut scene.section);
            assert_eq!(other.waiter.status.load(Relaxed), end);
        }
    }

    /// In an overwritten arena two receivers may have the same mailbox.
    #[test]
    fn transfer_between_equal_mailboxes_keeps_message() {
        let mut scene = scene(2);
        let &[dead, next_receiver] = &scene.receivers[..] else { unreachable!() };
        next_receiver.msg_wait.mailbox.store(dead.msg_wait.mailbox.load(Relaxed), Relaxed);
        scene.section.give_back(dead);
        assert!(status::is_granted(next_receiver.waiter.status.load(Relaxed)));
    }
}
