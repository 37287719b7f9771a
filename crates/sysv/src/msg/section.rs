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

use super::cell::{Cell, Size};
use super::memory::{Landing, Letter, Received};
use super::queue::{Contended, MessageQueue};
use super::wanted::Wanted;
use crate::class::Class;
use crate::engine::Inner;
use crate::participant::wakes::Wakes;
use crate::participant::{Participant, Queue, status};
use crate::store::Arena;
use crate::store::list::List;
use crate::time;
use core::ptr::NonNull;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed, Release};
use unspin_sys::Errno;

/// A critical section on one queue: see the module's text.
pub(crate) struct Section {
    inner: &'static Inner,
    queue: &'static MessageQueue,
    pub(super) at: u64,
    me: u32,
    wakes: Wakes,
}

/// The result of sending a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sent {
    /// The message is in the queue, or a receiver has it.
    Done,
    /// There is no room in the queue.
    Full,
    /// There is no free cell of this size.
    NoCell(Size),
}

/// Position of a waiter in its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
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

impl Section {
    /// Begins a section of participant `me`, which holds the lock, on the queue at `at`.
    #[inline(always)]
    pub fn new(inner: &'static Inner, queue: &'static MessageQueue, at: u64, me: u32) -> Section {
        Section { inner, queue, at, me, wakes: Wakes::default() }
    }

    /// The queue.
    pub fn queue(&self) -> &'static MessageQueue {
        self.queue
    }

    pub(super) fn arena(&self) -> &'static Arena {
        &self.inner.arena
    }

    pub(super) fn contended(&self) -> &'static Contended {
        &self.queue.contended
    }

    pub(super) fn people(&self) -> &'static [Participant] {
        self.inner.people()
    }

    /// The record of a participant that was in use a moment ago; a dummy if the arena is damaged.
    pub(super) fn someone(&self, index: u32) -> &'static Participant {
        self.people().get(index as usize).unwrap_or_else(Participant::nobody)
    }

    pub(super) fn maker(&self) -> &'static Participant {
        self.someone(self.me)
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
    pub fn send(&mut self, letter: &Letter, caller: Caller) -> Result<Sent, Errno> {
        let contended = self.contended();
        let (bytes, count) = (contended.bytes.load(Relaxed), contended.count.load(Relaxed));
        if !self.fits(letter.size as u64, bytes, count) {
            return Ok(Sent::Full);
        }
        if !contended.receivers.is_empty() {
            return self.send_to_waiting(letter, caller);
        }
        self.put(letter, caller)
    }

    /// Writes a message into a free cell, and makes it the queue's last.
    #[inline]
    pub(super) fn put(&mut self, letter: &Letter, caller: Caller) -> Result<Sent, Errno> {
        let (contended, arena) = (self.contended(), self.arena());
        let size = Size::fitting(letter.size).ok_or(Errno::EINVAL)?;
        let free = &contended.free[size.index()];
        let at = free.first();
        if at == 0 {
            return Ok(Sent::NoCell(size));
        }
        let (cell, text) = self.cell(at, letter.size)?;
        letter.write(text)?;
        cell.describe(letter.kind, letter.size);
        self.note_sent(caller);
        free.unlink_first(cell);
        // Release: from this store on the message is sent, whichever thread dies. A thread that takes over the lock
        // finds it complete.
        cell.serial.store(self.next_serial(), Release);
        contended.messages.push_back(arena, at, cell);
        contended.bytes.store(contended.bytes.load(Relaxed) + letter.size as u64, Relaxed);
        contended.count.store(contended.count.load(Relaxed) + 1, Relaxed);
        Ok(Sent::Done)
    }

    /// A cell, and the address of its text of `size` bytes. `ENOMEM` for an impossible offset: the arena was
    /// overwritten.
    #[inline]
    pub(super) fn cell(&self, at: u64, size: usize) -> Result<(&'static Cell, NonNull<u8>), Errno> {
        let cell = self.arena().get::<Cell>(at).ok_or(Errno::ENOMEM)?;
        Ok((cell, Cell::text(self.arena(), at, size).ok_or(Errno::ENOMEM)?))
    }

    pub(super) fn next_serial(&self) -> u64 {
        let serial = self.contended().serial.load(Relaxed) + 1;
        self.contended().serial.store(serial, Relaxed);
        serial
    }

    pub(super) fn note_sent(&self, caller: Caller) {
        self.contended().sender.store(caller.pid, Relaxed);
        self.contended().sent.store(caller.now, Relaxed);
    }

    pub(super) fn note_received(&self, caller: Caller) {
        self.contended().receiver.store(caller.pid, Relaxed);
        self.contended().received.store(caller.now, Relaxed);
    }

    /// `find_msg`. Returns the offset of the cell before it, its own offset, and the cell.
    #[inline]
    pub(super) fn find(&self, wanted: Wanted) -> Option<(u64, u64, &'static Cell)> {
        let mut messages = self.contended().messages.iter(self.arena());
        match wanted {
            Wanted::Number(number) => messages.nth(usize::try_from(number).ok()?),
            Wanted::UpTo(_) => {
                // The first of equal types: `min_by_key` returns the first of several.
                messages
                    .filter(|(_, _, cell)| wanted.admits(cell.kind.load(Relaxed)))
                    .min_by_key(|(_, _, cell)| cell.kind.load(Relaxed))
            }
            _ => messages.find(|(_, _, cell)| wanted.admits(cell.kind.load(Relaxed))),
        }
    }

    /// Receives a message; `None` if there is no suitable one. As in the kernel, a message that cannot be copied to its
    /// destination (`EFAULT`) is taken all the same. `E2BIG` if it is larger than `most`; then it stays.
    #[inline]
    pub fn receive(
        &mut self,
        wanted: Wanted,
        most: u64,
        landing: &Landing,
        caller: Caller,
    ) -> Result<Option<Received>, Errno> {
        let Some((before, at, cell)) = self.find(wanted) else { return Ok(None) };
        let (contended, size) = (self.contended(), cell.size());
        if size as u64 > most {
            return Err(Errno::E2BIG);
        }
        let (_, text) = self.cell(at, size)?;
        let received = landing.take(cell.kind.load(Relaxed), text, size);
        self.note_received(caller);
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

    /// MSG_COPY: like [`Section::receive`], but the message stays. A message that does not fit completely is refused,
    /// also with MSG_NOERROR (`copy_msg`: EINVAL).
    pub fn copy(&self, wanted: Wanted, most: u64, landing: &Landing) -> Result<Received, Errno> {
        let (_, at, cell) = self.find(wanted).ok_or(Errno::ENOMSG)?;
        let size = cell.size();
        if size as u64 > most {
            return Err(Errno::E2BIG);
        }
        if size > landing.room {
            return Err(Errno::EINVAL);
        }
        landing.take(cell.kind.load(Relaxed), self.cell(at, size)?.1, size)
    }

    pub(super) fn release(&self, at: u64, cell: &Cell) {
        self.contended().free[cell.class().index()].push_back(self.arena(), at, cell);
    }

    /// Puts the caller into the list of receivers: it waits for a message that it wants, of at most `most` bytes.
    pub fn await_message(&self, wanted: Wanted, most: u64, place: Place) {
        let errand = &self.maker().errand;
        errand.want(wanted);
        errand.most.store(most, Relaxed);
        self.enqueue(Queue::Receive, place);
    }

    /// Puts the caller into the list of senders: it waits for room for a message of `size` bytes.
    pub fn await_room(&self, size: usize, place: Place) {
        self.maker().errand.most.store(size as u64, Relaxed);
        self.enqueue(Queue::Send, place);
    }

    fn enqueue(&self, queue: Queue, place: Place) {
        let waiter = &self.maker().waiter;
        // A wait of this thread in a signal handler may have left a ticket of another queue; then this waiter comes
        // last.
        let has_kept = place == Place::Kept && waiter.object.load(Relaxed) == self.at;
        if !has_kept {
            let ticket = self.contended().ticket.load(Relaxed) + 1;
            self.contended().ticket.store(ticket, Relaxed);
            waiter.ticket.store(ticket, Relaxed);
        }
        waiter.object.store(self.at, Relaxed);
        waiter.queue.store(queue as u32, Relaxed);
        waiter.beat.store(time::ticks(), Relaxed);
        // Release: partner of the Acquire in `waits_here`: the record is complete when the status says so.
        waiter.status.store(status::QUEUED, Release);
        self.list(queue).insert(self.people(), self.me);
    }

    pub(super) fn list(&self, queue: Queue) -> &'static List {
        match queue {
            Queue::Send => &self.contended().senders,
            _ => &self.contended().receivers,
        }
    }

    pub(super) fn dequeue(&self, list: &List, person: &Participant) {
        list.unlink(self.people(), &person.waiter);
    }

    /// Takes a waiter out of its list and ends its wait.
    pub(super) fn end(&mut self, list: &List, index: u32, person: &Participant, end: u32) {
        self.dequeue(list, person);
        self.wakes.finish(&person.waiter, index, end);
    }

    /// Whether this participant waits for this queue.
    pub(super) fn waits_here(&self, person: &Participant) -> bool {
        // Acquire: partner of the Release with which `enqueue` published the record.
        status::is_waiting(person.waiter.status.load(Acquire)) && self.concerns(person)
    }

    /// The participants in a list that wait for this queue. An overwritten list may have others.
    pub(super) fn waiting(&self, list: &List) -> impl Iterator<Item = (u32, &'static Participant)> + use<> {
        let (at, people) = (self.at, self.people());
        list.iter(people).filter(move |(_, person)| {
            // Acquire: as in `waits_here`.
            status::is_waiting(person.waiter.status.load(Acquire)) && person.waiter.object.load(Relaxed) == at
        })
    }

    pub(super) fn concerns(&self, person: &Participant) -> bool {
        person.waiter.object.load(Relaxed) == self.at && person.queue().class() == Class::Msg
    }

    /// `ss_wakeup`: senders whose messages fit now try again, in order of arrival, each counting the room that the ones
    /// before it take.
    fn serve_senders(&mut self) {
        let contended = self.contended();
        let (mut bytes, mut count) = (contended.bytes.load(Relaxed), contended.count.load(Relaxed));
        for (index, person) in self.waiting(&contended.senders) {
            let size = person.errand.most.load(Relaxed);
            if self.fits(size, bytes, count) {
                (bytes, count) = (bytes + size, count + 1);
                self.end(&contended.senders, index, person, status::RETRY);
            }
        }
    }

    /// IPC_SET: all receivers try again, because they may have lost the permission; senders whose messages fit now do
    /// too.
    pub fn changed(&mut self) {
        let receivers = &self.contended().receivers;
        for (index, person) in self.waiting(receivers) {
            self.end(receivers, index, person, status::RETRY);
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
    fn leave(&mut self, person: &Participant, end: u32) {
        // Relaxed: without the lock only its own thread would write it.
        let was_to_retry = person.waiter.status.load(Relaxed) == status::RETRY;
        // Relaxed: the waiter itself reads it, or is dead; all other threads read it under the lock.
        person.waiter.status.store(end, Relaxed);
        if was_to_retry {
            self.serve_receivers();
        }
    }

    fn evict_all(&mut self) {
        for (person, index) in self.people().iter().zip(0u32..) {
            if self.waits_here(person) {
                self.dequeue(self.list(person.queue()), person);
                self.wakes.finish(&person.waiter, index, status::failed(Errno::EIDRM.0));
                continue;
            }
            // Acquire: the object offset is read as it was when this status was written, or later.
            let end = person.waiter.status.load(Acquire);
            if self.concerns(person) {
                // No message must be given back to a removed queue, least of all to a new queue at the same offset.
                person.waiter.confirm(end);
            }
        }
    }
}

impl crate::engine::Section for Section {
    #[cold]
    fn repair(&mut self) {
        self.settle_estates();
        for person in self.people() {
            // Acquire: partner of the Release in `put_back`.
            if person.waiter.status.load(Acquire) == status::REVERTED && self.concerns(person) {
                self.adopt(person);
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
        let person = self.maker();
        if self.waits_here(person) {
            self.dequeue(self.list(person.queue()), person);
        } else if person.waiter.status.load(Relaxed) != status::RETRY {
            return;
        }
        self.leave(person, status::failed(why.0));
    }

    fn bury(&mut self, dead: u32) {
        let person = self.someone(dead);
        if self.waits_here(person) {
            self.dequeue(self.list(person.queue()), person);
        } else if !self.concerns(person) {
            return;
        } else if status::is_granted(person.waiter.status.load(Acquire)) {
            return self.give_back(person);
        }
        self.leave(person, status::IDLE);
    }

    fn serve(&mut self) {
        self.serve_senders();
    }

    fn review(&mut self) {
        let person = self.maker();
        if self.waits_here(person) && !self.list(person.queue()).holds(self.people(), self.me) {
            crate::engine::Section::repair(self);
        }
    }

    fn watch(&mut self, _: &'static Inner) {
        let person = self.maker();
        if self.waits_here(person)
            && person.queue() == Queue::Receive
            && self.find(person.errand.wanted()).is_some()
        {
            self.end(&self.contended().receivers, self.me, person, status::RETRY);
        }
    }

    fn close(&mut self) {}

    fn wakes(&self) -> &Wakes {
        &self.wakes
    }

    fn offset(&self) -> u64 {
        self.at
    }
}
