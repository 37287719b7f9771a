//! A critical section on one queue: sending, receiving, ending waits.
//!
//! Everything here runs under the queue's lock (in the `global` engine, under the one lock of all objects). As in
//! `ipc/msg.c`, a sender hands its message to the first receiver that waits for it (`pipelined_send`), so no other
//! thread can take it in between. Senders that wait for room try again when there is room (`ss_wakeup`), in order of
//! arrival.
//!
//! **Death at any point.** One store sends a message, receives it, or hands it over: the store of its cell's serial
//! number, or of the status of the receiver that has it in its mailbox. A message that was handed to a receiver that
//! was already dead goes to the next one that waits for it, or back to its position. In the second case the queue takes
//! over the mailbox as it is, which the receiver's status decides too.

use super::cell::{CellSize, MessageCell};
use super::memory::{OutgoingMessage, Received, RecvBuffer};
use super::queue::{Contended, MsgQueue};
use super::selector::Selector;
use crate::class::Class;
use crate::engine::Inner;
use crate::participant::wakes::WakeList;
use crate::participant::{ParticipantRecord, WaitList, status};
use crate::store::Arena;
use crate::store::list::List;
use core::ptr::NonNull;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sys::Errno;

/// A critical section on one queue: see the module's text.
pub(crate) struct QueueSection {
    inner: &'static Inner,
    queue: &'static MsgQueue,
    pub(super) at: u64,
    me: u32,
    wakes: WakeList,
}

/// The result of sending a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// The message is in the queue, or a receiver has it.
    Done,
    /// There is no room in the queue.
    Full,
    /// There is no free cell of this size.
    NoCell(CellSize),
}

/// Position of a waiter in its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QueuePosition {
    /// Behind all others.
    Last,
    /// The position that it had before it was told to try again.
    Kept,
}

/// The process that makes the call, and the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    /// Process id.
    pub pid: u32,
    /// Seconds since the epoch.
    pub now: i64,
}

impl QueueSection {
    /// Begins a section of participant `me`, which holds the lock, on the queue at `at`.
    #[inline(always)]
    pub fn new(inner: &'static Inner, queue: &'static MsgQueue, at: u64, me: u32) -> QueueSection {
        QueueSection { inner, queue, at, me, wakes: WakeList::default() }
    }

    /// The queue.
    pub fn queue(&self) -> &'static MsgQueue {
        self.queue
    }

    pub(super) fn arena(&self) -> &'static Arena {
        &self.inner.arena
    }

    pub(super) fn contended(&self) -> &'static Contended {
        &self.queue.contended
    }

    pub(super) fn participants(&self) -> &'static [ParticipantRecord] {
        self.inner.participants()
    }

    /// The record of a participant that was in use a moment ago; a dummy if the arena is damaged.
    pub(super) fn participant(&self, index: u32) -> &'static ParticipantRecord {
        self.participants().get(index as usize).unwrap_or_else(ParticipantRecord::dummy)
    }

    pub(super) fn own_record(&self) -> &'static ParticipantRecord {
        self.participant(self.me)
    }

    /// `msg_fits_inqueue`: whether `size` bytes fit if the queue has `bytes` bytes in `count` messages.
    #[inline]
    fn fits(&self, size: u64, bytes: u64, count: u64) -> bool {
        let most = self.queue.most.load(Relaxed);
        bytes.saturating_add(size) <= most && count < most
    }

    /// Sends a message: to a receiver that waits for it, else into the queue. `EFAULT` if its text cannot be read; then
    /// nothing has happened.
    #[inline]
    pub fn send(&mut self, outgoing: &OutgoingMessage, caller: Caller) -> Result<Sent, Errno> {
        let contended = self.contended();
        let (bytes, count) = (contended.bytes.load(Relaxed), contended.count.load(Relaxed));
        if !self.fits(outgoing.size as u64, bytes, count) {
            return Ok(Sent::Full);
        }
        if !contended.receivers.is_empty() {
            return self.send_to_receiver(outgoing, caller);
        }
        self.put(outgoing, caller)
    }

    /// Writes a message into a free cell, and makes it the queue's last.
    #[inline]
    pub(super) fn put(&mut self, outgoing: &OutgoingMessage, caller: Caller) -> Result<Sent, Errno> {
        let (contended, arena) = (self.contended(), self.arena());
        let size = CellSize::smallest_for(outgoing.size).ok_or(Errno::EINVAL)?;
        let free = &contended.free[size.index()];
        let at = free.first();
        if at == 0 {
            return Ok(Sent::NoCell(size));
        }
        let (cell, text) = self.cell(at, outgoing.size)?;
        outgoing.write(text)?;
        cell.describe(outgoing.mtype, outgoing.size);
        self.note_sender(caller);
        free.unlink_first(cell);
        // Release: from this store on the message is sent, whichever thread dies. A thread that takes over the lock
        // finds it complete.
        cell.serial.store(self.next_serial(), Release);
        contended.messages.push_back(arena, at, cell);
        contended.bytes.store(contended.bytes.load(Relaxed) + outgoing.size as u64, Relaxed);
        contended.count.store(contended.count.load(Relaxed) + 1, Relaxed);
        Ok(Sent::Done)
    }

    /// A cell, and the address of its text of `size` bytes. `ENOMEM` for an impossible offset: the arena was
    /// overwritten.
    #[inline]
    pub(super) fn cell(&self, at: u64, size: usize) -> Result<(&'static MessageCell, NonNull<u8>), Errno> {
        let cell = self.arena().get::<MessageCell>(at).ok_or(Errno::ENOMEM)?;
        Ok((cell, MessageCell::text(self.arena(), at, size).ok_or(Errno::ENOMEM)?))
    }

    pub(super) fn next_serial(&self) -> u64 {
        let serial = self.contended().serial.load(Relaxed) + 1;
        self.contended().serial.store(serial, Relaxed);
        serial
    }

    pub(super) fn note_sender(&self, caller: Caller) {
        self.contended().sender.store(caller.pid, Relaxed);
        self.contended().sent.store(caller.now, Relaxed);
    }

    pub(super) fn note_receiver(&self, caller: Caller) {
        self.contended().receiver.store(caller.pid, Relaxed);
        self.contended().received.store(caller.now, Relaxed);
    }

    /// `find_msg`. Returns the offset of the cell before it, its own offset, and the cell.
    #[inline]
    pub(super) fn find(&self, wanted: Selector) -> Option<(u64, u64, &'static MessageCell)> {
        let mut messages = self.contended().messages.iter(self.arena());
        match wanted {
            Selector::Number(number) => messages.nth(usize::try_from(number).ok()?),
            Selector::UpTo(_) => {
                // The first of equal types: `min_by_key` returns the first of several.
                messages
                    .filter(|(_, _, cell)| wanted.admits(cell.mtype.load(Relaxed)))
                    .min_by_key(|(_, _, cell)| cell.mtype.load(Relaxed))
            }
            _ => messages.find(|(_, _, cell)| wanted.admits(cell.mtype.load(Relaxed))),
        }
    }

    /// Receives a message; `None` if there is no suitable one. As in the kernel, a message that cannot be copied to its
    /// destination (`EFAULT`) is taken all the same. `E2BIG` if it is larger than `most`; then it stays.
    #[inline]
    pub fn receive(
        &mut self,
        wanted: Selector,
        most: u64,
        buffer: &RecvBuffer,
        caller: Caller,
    ) -> Result<Option<Received>, Errno> {
        let Some((before, at, cell)) = self.find(wanted) else { return Ok(None) };
        let (contended, size) = (self.contended(), cell.size());
        if size as u64 > most {
            return Err(Errno::E2BIG);
        }
        let (_, text) = self.cell(at, size)?;
        let received = buffer.take(cell.mtype.load(Relaxed), text, size);
        self.note_receiver(caller);
        // Release: from this store on the message is received, whichever thread dies.
        cell.serial.store(0, Release);
        contended.messages.unlink(self.arena(), before, at, cell);
        contended.bytes.store(contended.bytes.load(Relaxed).saturating_sub(size as u64), Relaxed);
        contended.count.store(contended.count.load(Relaxed).saturating_sub(1), Relaxed);
        self.release(at, cell);
        if !contended.senders.is_empty() {
            self.serve_senders();
        }
        received.map(Some)
    }

    /// MSG_COPY: like [`QueueSection::receive`], but the message stays. A message that does not fit completely is
    /// refused, also with MSG_NOERROR (`copy_msg`: EINVAL).
    pub fn copy(&self, wanted: Selector, most: u64, buffer: &RecvBuffer) -> Result<Received, Errno> {
        let (_, at, cell) = self.find(wanted).ok_or(Errno::ENOMSG)?;
        let size = cell.size();
        if size as u64 > most {
            return Err(Errno::E2BIG);
        }
        if size > buffer.room {
            return Err(Errno::EINVAL);
        }
        buffer.take(cell.mtype.load(Relaxed), self.cell(at, size)?.1, size)
    }

    pub(super) fn release(&self, at: u64, cell: &MessageCell) {
        self.contended().free[cell.class().index()].push_back(self.arena(), at, cell);
    }

    /// Puts the caller into the list of receivers: it waits for a message that it wants, of at most `most` bytes.
    pub fn await_message(&self, wanted: Selector, most: u64, position: QueuePosition) {
        let msg_wait = &self.own_record().msg_wait;
        msg_wait.set_selector(wanted);
        msg_wait.bytes.store(most, Relaxed);
        self.enqueue(WaitList::Receive, position);
    }

    /// Puts the caller into the list of senders: it waits for room for a message of `size` bytes.
    pub fn await_room(&self, size: usize, position: QueuePosition) {
        self.own_record().msg_wait.bytes.store(size as u64, Relaxed);
        self.enqueue(WaitList::Send, position);
    }

    fn enqueue(&self, queue: WaitList, position: QueuePosition) {
        let waiter = &self.own_record().waiter;
        // A wait of this thread in a signal handler may have left a ticket of another queue; then this waiter comes
        // last.
        let has_kept = position == QueuePosition::Kept && waiter.object.load(Relaxed) == self.at;
        if !has_kept {
            let ticket = self.contended().ticket.load(Relaxed) + 1;
            self.contended().ticket.store(ticket, Relaxed);
            waiter.ticket.store(ticket, Relaxed);
        }
        waiter.object.store(self.at, Relaxed);
        waiter.queue.store(queue as u32, Relaxed);
        // Release: partner of the Acquire in `waits_here`: the record is complete when the status says so.
        waiter.status.store(status::QUEUED, Release);
        self.list(queue).insert(self.participants(), self.me);
    }

    pub(super) fn list(&self, queue: WaitList) -> &'static List {
        match queue {
            WaitList::Send => &self.contended().senders,
            _ => &self.contended().receivers,
        }
    }

    pub(super) fn dequeue(&self, list: &List, participant: &ParticipantRecord) {
        list.unlink(self.participants(), &participant.waiter);
    }

    /// Takes a waiter out of its list and ends its wait.
    pub(super) fn end(&mut self, list: &List, index: u32, participant: &ParticipantRecord, end: u32) {
        self.dequeue(list, participant);
        self.wakes.finish(&participant.waiter, index, end);
    }

    /// Whether this participant waits for this queue.
    pub(super) fn waits_here(&self, participant: &ParticipantRecord) -> bool {
        // Acquire: partner of the Release with which `enqueue` published the record.
        status::is_waiting(participant.waiter.status.load(Acquire)) && self.concerns(participant)
    }

    /// The participants in a list that wait for this queue. An overwritten list may have others.
    pub(super) fn waiters_in(
        &self,
        list: &List,
    ) -> impl Iterator<Item = (u32, &'static ParticipantRecord)> + use<> {
        let (at, participants) = (self.at, self.participants());
        list.iter(participants).filter(move |(_, participant)| {
            // Acquire: as in `waits_here`.
            status::is_waiting(participant.waiter.status.load(Acquire))
                && participant.waiter.object.load(Relaxed) == at
        })
    }

    pub(super) fn concerns(&self, participant: &ParticipantRecord) -> bool {
        participant.waiter.object.load(Relaxed) == self.at && participant.queue().class() == Class::Msg
    }

    /// `ss_wakeup`: senders whose messages fit now try again, in order of arrival, each counting the room that the ones
    /// before it take.
    fn serve_senders(&mut self) {
        let contended = self.contended();
        let (mut bytes, mut count) = (contended.bytes.load(Relaxed), contended.count.load(Relaxed));
        for (index, participant) in self.waiters_in(&contended.senders) {
            let size = participant.msg_wait.bytes.load(Relaxed);
            if self.fits(size, bytes, count) {
                (bytes, count) = (bytes + size, count + 1);
                self.end(&contended.senders, index, participant, status::RETRY);
            }
        }
    }

    /// IPC_SET: all receivers try again, because they may have lost the permission; senders whose messages fit now do
    /// too.
    pub fn recheck_waiters(&mut self) {
        let receivers = &self.contended().receivers;
        for (index, participant) in self.waiters_in(receivers) {
            self.end(receivers, index, participant, status::RETRY);
        }
        self.serve_senders();
    }

    /// Marks the queue as removed and ends every wait with EIDRM. After this no message is sent or received.
    pub fn remove(&mut self) {
        self.queue.perm.delete();
        self.evict_all();
    }

    /// Ends the wait of a participant that is in no list, and is the caller or dead. One that was told to try again
    /// leaves a message or room to the others; for room see `serve`. Receivers are tried only in that case, because it
    /// costs the number of receivers times the number of messages.
    fn leave(&mut self, participant: &ParticipantRecord, end: u32) {
        // Relaxed: without the lock only its own thread would write it.
        let was_to_retry = participant.waiter.status.load(Relaxed) == status::RETRY;
        // Relaxed: the waiter itself reads it, or is dead; all other threads read it under the lock.
        participant.waiter.status.store(end, Relaxed);
        if was_to_retry {
            self.serve_receivers();
        }
    }

    fn evict_all(&mut self) {
        for (participant, index) in self.participants().iter().zip(0u32..) {
            if self.waits_here(participant) {
                self.dequeue(self.list(participant.queue()), participant);
                self.wakes.finish(&participant.waiter, index, status::failure(Errno::EIDRM.0));
                continue;
            }
            // Acquire: the object offset is read as it was when this status was written, or later.
            let end = participant.waiter.status.load(Acquire);
            if self.concerns(participant) {
                // No message must be given back to a removed queue, least of all to a new queue at the same offset.
                participant.waiter.confirm(end);
            }
        }
    }
}

impl crate::engine::ObjectSection for QueueSection {
    #[cold]
    fn repair(&mut self) {
        self.resolve_transfers();
        for participant in self.participants() {
            // Acquire: partner of the Release in `put_back`.
            if participant.waiter.status.load(Acquire) == status::REVERTED && self.concerns(participant) {
                self.adopt_mailbox(participant);
            }
        }
        self.rebuild();
        if self.queue.perm.is_deleted() {
            return self.evict_all();
        }
        self.serve_receivers();
        self.serve_senders();
    }

    fn withdraw(&mut self, why: Errno) {
        let participant = self.own_record();
        if self.waits_here(participant) {
            self.dequeue(self.list(participant.queue()), participant);
        } else if participant.waiter.status.load(Relaxed) != status::RETRY {
            return;
        }
        self.leave(participant, status::failure(why.0));
    }

    fn recover_dead(&mut self, dead: u32) {
        let participant = self.participant(dead);
        if self.waits_here(participant) {
            self.dequeue(self.list(participant.queue()), participant);
        } else if !self.concerns(participant) {
            return;
        } else if status::is_granted(participant.waiter.status.load(Acquire)) {
            return self.give_back(participant);
        }
        self.leave(participant, status::IDLE);
    }

    fn serve(&mut self) {
        self.serve_senders();
    }

    fn verify_queue_link(&mut self) {
        let participant = self.own_record();
        if self.waits_here(participant) && !self.list(participant.queue()).holds(self.participants(), self.me)
        {
            crate::engine::ObjectSection::repair(self);
        }
    }

    fn refresh_wait(&mut self, _: &'static Inner) {
        let participant = self.own_record();
        if self.waits_here(participant)
            && participant.queue() == WaitList::Receive
            && self.find(participant.msg_wait.selector()).is_some()
        {
            self.end(&self.contended().receivers, self.me, participant, status::RETRY);
        }
    }

    fn close(&mut self) {}

    fn wakes(&self) -> &WakeList {
        &self.wakes
    }

    fn offset(&self) -> u64 {
        self.at
    }
}
