//! A critical section on one set: performing a vector, granting to waiters, removing waiters.
//!
//! Everything here runs under the set's lock (in the `global` engine, under the one lock of all objects). The *waker
//! performs the sleeper's operation*: when a value changes, the lock holder goes through the waiters in order of
//! arrival and performs each operation that has become possible, as `do_smart_update` in `ipc/sem.c` does. So a token
//! goes to the first waiter that can use it, no third process can take it in between, and no waiter is woken in vain.

use super::change::Change;
use super::op::Op;
use super::set::Contended;
use super::space::Space;
use super::undo_records::UndoRecord;
use super::word::SLOW;
use super::{queue, redo};
use crate::participant::wakes::WakeList;
use crate::participant::{ParticipantRecord, WaitList, status};
use crate::store::list::List;
use crate::time;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use unspin_sys::Errno;
use unspin_sys::ipc::{SEMAEM, SEMVMX};

/// The result of evaluating or performing a vector of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Performed {
    /// All operations can proceed; the tentative values are in the semaphores' scratch fields.
    Done,
    /// The operation with this index cannot proceed and must wait.
    Blocks(usize),
    /// An operation failed: ERANGE, or EAGAIN if it cannot proceed and has IPC_NOWAIT, even if the vector has waited
    /// for other operations before.
    Fails(Errno),
}

/// A critical section on one set: see the module's text.
pub struct SetSection<'a> {
    /// The set.
    pub space: Space<'a>,
    /// Participant index of the lock's holder.
    pub me: u32,
    /// The wake-ups to make after the lock is released.
    pub wakes: WakeList,
    liveness: Option<&'a dyn Liveness>,
}

/// Knows which participants are dead.
pub trait Liveness {
    /// Whether no thread can be executing as the participant with this index.
    fn is_dead(&self, index: u32) -> bool;
}

impl<'a> SetSection<'a> {
    /// Begins a section of participant `me`, which holds the lock.
    #[inline(always)]
    pub fn new(space: Space<'a>, me: u32) -> Self {
        SetSection { space, me, wakes: WakeList::default(), liveness: None }
    }

    /// Gives the section a register, so that it can ask which participants are dead.
    pub fn with_liveness(self, liveness: &'a dyn Liveness) -> Self {
        SetSection { liveness: Some(liveness), ..self }
    }

    pub(super) fn contended(&self) -> &'a Contended {
        &self.space.set.contended
    }

    pub(super) fn own_record(&self) -> &'a ParticipantRecord {
        self.space.participant(self.me)
    }

    /// Makes a semaphore slow and adds it to the list of marked semaphores: its waiters are served, and it becomes fast
    /// again at the end if possible.
    pub fn mark_slow(&self, sem: usize) {
        let s = self.space.sem(sem);
        // Relaxed: list of marked semaphores, under the lock.
        if s.next_marked_slow.load(Relaxed) != 0 {
            return;
        }
        let head = self.contended().marked_slow.load(Relaxed);
        s.next_marked_slow.store(if head == 0 { u32::MAX } else { head }, Relaxed);
        self.contended().marked_slow.store(sem as u32 + 1, Relaxed);
        if !self.space.word(sem).is_slow() {
            // AcqRel: after this store no fast-path operation changes the word. We see what the process of the last
            // fast-path operation did before it: its exchange and this one are in the word's single modification order.
            // The value is read after this.
            s.word.fetch_or(SLOW, AcqRel);
        }
    }

    pub(super) fn marked_slow(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (sems, mut next) = (self.space.sems, self.contended().marked_slow.load(Relaxed));
        (0..sems.len()).map_while(move |_| {
            let sem = (next != u32::MAX).then_some(next)?.checked_sub(1)? as usize;
            next = sems.get(sem)?.next_marked_slow.load(Relaxed);
            Some(sem)
        })
    }

    /// Computes the effect of `ops`, in order, each seeing the effect of the ones before; changes no value. All
    /// semaphores concerned must be slow. `undo` is the record of the caller's process, if an operation has `SEM_UNDO`.
    pub fn evaluate(&self, ops: impl Iterator<Item = Op>, undo: Option<&UndoRecord<'_>>) -> Performed {
        // Relaxed: scratch under the lock.
        let round = self.contended().round.load(Relaxed) + 1;
        self.contended().round.store(round, Relaxed);
        for (i, op) in ops.enumerate() {
            let sem = self.space.sem(op.sem());
            let result = match proceed(op, i, self.tentative(op.sem(), round), undo) {
                Ok(result) => result,
                Err(obstacle) => return obstacle,
            };
            sem.tentative.store(result.word(), Relaxed);
            sem.round.store(round, Relaxed);
        }
        Performed::Done
    }

    /// The tentative value of a semaphore in this round of evaluation.
    fn tentative(&self, sem: usize, round: u64) -> Change {
        let s = self.space.sem(sem);
        match s.round.load(Relaxed) == round {
            true => Change::from_word(s.tentative.load(Relaxed)),
            false => Change::to(self.space.word(sem).value()),
        }
    }

    /// Writes the values that the last evaluation, of `ops`, computed. `pid` becomes the `sempid`; `undo` is the record
    /// whose adjustments change.
    pub fn commit(&self, ops: impl Iterator<Item = Op>, pid: u32, undo: Option<&UndoRecord<'_>>) {
        let round = self.contended().round.load(Relaxed);
        let mut changes = redo::take_changes(self.space.sems, round, ops.map(|op| op.sem()));
        let Some(first) = changes.next() else { return };
        let Some(second) = changes.next() else { return self.change(first.0, first.1, pid, undo) };
        let all = [first, second].into_iter().chain(changes);
        self.redo(pid, undo.map_or(0, |record| record.at), all);
    }

    /// Writes the change of one semaphore.
    fn change(&self, sem: usize, change: Change, pid: u32, undo: Option<&UndoRecord<'_>>) {
        match (change.adjustment, undo) {
            // One store is atomic without a redo record.
            (None, _) | (_, None) => self.space.put(sem, change.value, pid),
            (Some(_), Some(record)) => self.redo(pid, record.at, core::iter::once((sem, change))),
        }
    }

    /// Makes several changes, all or none.
    pub(super) fn redo(&self, pid: u32, undo: u64, changes: impl Iterator<Item = (usize, Change)>) {
        redo::prepare(
            &self.space,
            self.own_record(),
            (redo::state::COMMITTED, self.me),
            (pid, undo),
            changes,
        );
        redo::apply(&self.space, self.own_record());
    }

    /// Makes all semaphores slow, for a consistent read or a change of all.
    pub fn mark_all_slow(&self) {
        (0..self.space.sems.len()).for_each(|sem| self.mark_slow(sem));
    }

    /// Marks the set as removed and ends every wait with EIDRM. After this no operation succeeds.
    pub fn remove(&mut self) {
        self.mark_all_slow();
        self.space.set.perm.delete();
        self.evict_all();
    }

    /// Number of waiters whose first operation that cannot proceed is on `sem` and waits for zero (GETZCNT) or for an
    /// increase (GETNCNT), depending on `queue`. `dead` says which participants not to count.
    pub fn count_waiters(&self, sem: usize, queue: WaitList, dead: impl Fn(u32) -> bool) -> usize {
        let wants_zero = queue == WaitList::Zero;
        let simple = queue::list(&self.space, queue, sem).iter(self.space.participants);
        let complex = [&self.contended().complex_alter, &self.contended().complex_zero];
        let complex = complex.into_iter().flat_map(|list| list.iter(self.space.participants)).filter(
            |(_, participant)| {
                let undo = self.record_of(participant);
                let Performed::Blocks(op) = self.evaluate(participant.ops(), undo.as_ref()) else {
                    return false;
                };
                participant.ops().nth(op).is_some_and(|op| op.sem() == sem && (op.delta() == 0) == wants_zero)
            },
        );
        simple.chain(complex).filter(|&(index, _)| !dead(index)).count()
    }

    /// The record of adjustments of a waiter with `SEM_UNDO`.
    pub(super) fn record_of(&self, participant: &ParticipantRecord) -> Option<UndoRecord<'a>> {
        // Relaxed: written by the waiter before it entered the queue under the set's lock.
        self.space.record(participant.waiter.undo.load(Relaxed))
    }

    /// Puts the caller into the queue. The operations in its waiter record are written already. `undo` is its process's
    /// record, if an operation has `SEM_UNDO`.
    pub fn enqueue(&self, undo: Option<&UndoRecord<'_>>) {
        let waiter = &self.own_record().waiter;
        waiter.undo.store(undo.map_or(0, |record| record.at), Relaxed);
        let ticket = self.contended().ticket.load(Relaxed) + 1;
        self.contended().ticket.store(ticket, Relaxed);
        waiter.object.store(self.space.offset, Relaxed);
        waiter.ticket.store(ticket, Relaxed);
        waiter.queue.store(WaitList::of(self.own_record().ops()) as u32, Relaxed);
        // Release: partner of the Acquire in `waits`: the record is complete when the status says so.
        waiter.status.store(status::QUEUED, Release);
        queue::link(&self.space, self.me);
        self.fill_monitored_processes();
    }

    /// Takes the caller out of the queue with an error, unless its wait has ended already.
    pub fn withdraw(&mut self, errno: Errno) {
        let me = self.own_record();
        if !queue::waits_here(&self.space, me) {
            return;
        }
        let behind = List::behind(self.space.participants, &me.waiter);
        self.dequeue(self.me);
        // Relaxed: only the waiter itself reads it.
        me.waiter.status.store(status::failure(errno.0), Relaxed);
        if let Some(behind) = behind {
            self.pass_on_monitored(behind);
        }
    }

    pub(super) fn dequeue(&self, index: u32) {
        self.space.participant(index).ops().for_each(|op| self.mark_slow(op.sem()));
        queue::unlink(&self.space, index);
    }

    /// Recovers a dead waiter: takes it out of the queue, or takes an unconfirmed grant back from it.
    pub fn recover_dead(&self, index: u32) {
        let participant = self.space.participant(index);
        if queue::waits_here(&self.space, participant) {
            self.dequeue(index);
            // Relaxed: the participant's thread is dead, and all other threads read it under the lock.
            participant.waiter.status.store(status::IDLE, Relaxed);
        } else if status::is_granted(participant.waiter.status.load(Acquire))
            && participant.waiter.object.load(Relaxed) == self.space.offset
            && participant.ops().all(|op| op.sem() < self.space.sems.len())
        {
            self.revert(index, participant);
        }
    }

    /// Takes back a grant that was made after the waiter's death, as if its operations had not happened. All they did
    /// to one semaphore is taken back in one change, clamped like an undo.
    fn revert(&self, index: u32, participant: &ParticipantRecord) {
        let round = self.contended().round.load(Relaxed) + 1;
        self.contended().round.store(round, Relaxed);
        let undo = self.record_of(participant);
        for op in participant.ops() {
            let sem = self.space.sem(op.sem());
            if sem.round.load(Relaxed) == round {
                continue;
            }
            self.mark_slow(op.sem());
            let those = || participant.ops().filter(|other| other.sem() == op.sem());
            let sum = |ops: &mut dyn Iterator<Item = Op>| ops.map(Op::delta).sum::<i32>();
            let value = self.space.word(op.sem()).value() - sum(&mut those());
            let adjustment = undo.filter(|_| those().any(|op| op.has_undo())).map(|record| {
                let owed = record.get(op.sem()) + sum(&mut those().filter(|op| op.has_undo()));
                owed.clamp(-SEMAEM - 1, SEMAEM)
            });
            let change = Change { value: value.clamp(0, SEMVMX), adjustment };
            sem.tentative.store(change.word(), Relaxed);
            sem.round.store(round, Relaxed);
        }
        let changes = redo::take_changes(self.space.sems, round, participant.ops().map(|op| op.sem()));
        let undo = participant.waiter.undo.load(Relaxed);
        redo::prepare(&self.space, self.own_record(), (redo::state::REVERT, index), (0, undo), changes);
        // Release: decides; partner of the Acquire in redo::is_decided.
        participant.waiter.status.store(status::REVERTED, Release);
        redo::apply(&self.space, self.own_record());
    }

    /// Performs one operation; its semaphore must be marked slow. Equivalent to [`SetSection::evaluate`] and
    /// [`SetSection::commit`] of a vector with one operation.
    pub fn perform_one(&self, op: Op, pid: u32, undo: Option<&UndoRecord<'_>>) -> Performed {
        match self.change_of(op, undo) {
            Ok(change) => {
                self.change(op.sem(), change, pid, undo);
                Performed::Done
            }
            Err(obstacle) => obstacle,
        }
    }

    /// The change that `op` makes, if it can proceed now.
    fn change_of(&self, op: Op, undo: Option<&UndoRecord<'_>>) -> Result<Change, Performed> {
        proceed(op, 0, Change::to(self.space.word(op.sem()).value()), undo)
    }

    /// Performs the operations of all waiters that the marked semaphores let proceed, oldest first; waiters for zero
    /// come before waiters that alter (`do_smart_wakeup_zero`).
    pub fn serve(&mut self) {
        let contended = self.contended();
        // Relaxed: under the lock.
        if contended.waiters.load(Relaxed) == 0 {
            return;
        }
        if contended.complex_alter.is_empty() && contended.complex_zero.is_empty() {
            // Waiters of different semaphores cannot affect each other.
            return self.marked_slow().for_each(|sem| self.serve_simple(sem));
        }
        while contended.waiters.load(Relaxed) != 0 && (self.serve_zero() | self.serve_alter()) {}
    }

    /// Like [`SetSection::serve`], where all waiters have one operation.
    fn serve_simple(&mut self, sem: usize) {
        let (space, s) = (self.space, self.space.sem(sem));
        loop {
            if space.word(sem).value() == 0 {
                for (index, _) in s.zero.iter(space.participants) {
                    self.attempt(index);
                }
                return;
            }
            // At most one success before the waiters for zero are tried again.
            if !s.alter.iter(space.participants).any(|(index, _)| self.attempt(index)) {
                return;
            }
        }
    }

    fn serve_zero(&mut self) -> bool {
        let mut progress = false;
        for sem in self.marked_slow() {
            if self.space.word(sem).value() == 0 {
                for (index, _) in self.space.sem(sem).zero.iter(self.space.participants) {
                    progress |= self.attempt(index);
                }
            }
        }
        for (index, _) in self.contended().complex_zero.iter(self.space.participants) {
            progress |= self.attempt(index);
        }
        progress
    }

    /// At most one success: after it the waiters for zero come first again, then the oldest waiter.
    fn serve_alter(&mut self) -> bool {
        let mut after = 0;
        while let Some((ticket, index)) = self.next_alter(after) {
            if self.attempt(index) {
                return true;
            }
            after = ticket;
        }
        false
    }

    /// The oldest waiter with a ticket above `after` that alters a value and that the marked semaphores may affect.
    fn next_alter(&self, after: u64) -> Option<(u64, u32)> {
        let first = |list: &List| {
            let mut waiters =
                list.iter(self.space.participants).map(|(i, p)| (p.waiter.ticket.load(Relaxed), i));
            waiters.find(|&(ticket, _)| ticket > after)
        };
        let simple = self
            .marked_slow()
            .filter(|&sem| !self.space.sem(sem).alter.is_empty() && self.space.word(sem).value() > 0)
            .filter_map(|sem| first(&self.space.sem(sem).alter))
            .min();
        let complex = first(&self.contended().complex_alter);
        simple.into_iter().chain(complex).min()
    }

    /// Performs a waiter's operation if it is possible now. Returns `true` if the waiter has left the queue.
    fn attempt(&mut self, index: u32) -> bool {
        let participant = self.space.participant(index);
        // An overwritten list may hold participants that do not wait; serving them would never end.
        if !queue::waits(&self.space, participant) {
            return false;
        }
        let (mut ops, undo) = (participant.ops(), self.record_of(participant));
        let outcome = match (ops.len(), ops.next()) {
            (1, Some(op)) => match self.change_of(op, undo.as_ref()) {
                Ok(change) if self.may_release_others(op.sem(), change) && self.is_dead(index) => {
                    self.recover_dead(index);
                    return true;
                }
                Ok(change) => {
                    self.grant(index, participant, core::iter::once((op.sem(), change)));
                    Performed::Done
                }
                Err(obstacle) => obstacle,
            },
            _ => {
                let outcome = self.evaluate(participant.ops(), undo.as_ref());
                if outcome == Performed::Done && self.is_dead(index) {
                    self.recover_dead(index);
                    return true;
                }
                if outcome == Performed::Done {
                    let round = self.contended().round.load(Relaxed);
                    let sems = participant.ops().map(|op| op.sem());
                    self.grant(index, participant, redo::take_changes(self.space.sems, round, sems));
                }
                outcome
            }
        };
        if let Performed::Fails(errno) = outcome {
            self.dequeue(index);
            self.finish(index, status::failure(errno.0));
        }
        !matches!(outcome, Performed::Blocks(_))
    }

    /// Whether this change, by a waiter with one operation, may let other waiters proceed. A grant to a dead waiter can
    /// be taken back; what other waiters did because of it cannot. So in this case, and only in this case, the section
    /// checks for life before the grant.
    fn may_release_others(&self, sem: usize, change: Change) -> bool {
        let vectors = [&self.contended().complex_alter, &self.contended().complex_zero];
        let mut waiting = vectors.into_iter().flat_map(|list| list.iter(self.space.participants));
        // A vector with IPC_NOWAIT may also fail because of the change.
        change.value == 0 && !self.space.sem(sem).zero.is_empty()
            || waiting.any(|(_, participant)| participant.ops().any(|op| op.sem() == sem))
    }

    fn is_dead(&self, index: u32) -> bool {
        self.liveness.is_some_and(|liveness| liveness.is_dead(index))
    }

    /// Grants a possible operation to its waiter, atomically with the values that the operation leaves.
    fn grant(
        &mut self,
        index: u32,
        participant: &ParticipantRecord,
        changes: impl Iterator<Item = (usize, Change)>,
    ) {
        let who = (participant.waiter.pid.load(Relaxed), participant.waiter.undo.load(Relaxed));
        redo::note_displaced_pids(&self.space, participant);
        redo::prepare(&self.space, self.own_record(), (redo::state::GRANT, index), who, changes);
        self.dequeue(index);
        let ticket = participant.waiter.ticket.load(Relaxed);
        self.finish(index, status::grant(ticket, self.space.offset));
        redo::apply(&self.space, self.own_record());
        self.space.set.set_otime(time::seconds());
    }

    /// Ends a wait. From this store on the waiter may return and reuse its record.
    fn finish(&mut self, index: u32, end: u32) {
        let waiter = &self.space.participant(index).waiter;
        match index == self.me {
            // A sleeper that applies undos and serves may reach its own record: it is alive, and awake.
            true => waiter.end_own(end),
            false => self.wakes.finish(waiter, index, end),
        }
    }

    /// Ends every wait with EIDRM and leaves all semaphores slow for good: the set is removed. Confirms all grants on
    /// it: no grant must be taken back from a removed set, least of all from a new set at the same offset.
    pub fn evict_all(&mut self) {
        let space = self.space;
        for (participant, index) in space.participants.iter().zip(0u32..) {
            if queue::waits_here(&space, participant) {
                queue::unlink(&space, index);
                self.finish(index, status::failure(Errno::EIDRM.0));
                continue;
            }
            // Acquire: the object offset is read as it was when this status was written, or later.
            let end = participant.waiter.status.load(Acquire);
            if participant.waiter.object.load(Relaxed) == space.offset {
                participant.waiter.confirm(end);
            }
        }
    }

    /// Finishes what a dead lock holder may have left incomplete.
    #[cold]
    pub fn repair(&mut self) {
        redo::resolve(&self.space);
        self.space.recount();
        self.finish_overwriting();
        queue::rebuild(&self.space);
        self.mark_all_slow();
        if self.space.is_deleted() {
            return self.evict_all();
        }
        self.serve();
    }

    /// Empties the list of marked semaphores, and makes those fast that have no waiter and no adjustment. Last step
    /// before the lock is released.
    pub fn restore_fast(&self) {
        let mut next = self.contended().marked_slow.load(Relaxed);
        self.contended().marked_slow.store(0, Relaxed);
        // Relaxed: immutable once published.
        let keep = self.space.is_deleted() || self.contended().always_slow.load(Relaxed) != 0;
        while let Some(sem) = (next != u32::MAX).then_some(next).and_then(|n| n.checked_sub(1)) {
            let Some(s) = self.space.sems.get(sem as usize) else { break };
            next = s.next_marked_slow.load(Relaxed);
            s.next_marked_slow.store(0, Relaxed);
            if s.named.load(Relaxed) == 0 && s.adjusted.load(Relaxed) == 0 && !keep {
                // Release: partner of the fast path's Acquire: a thread on the fast path sees what we did under the
                // lock. A plain store suffices: no other thread writes a slow word.
                s.word.store(s.word.load(Relaxed) & !SLOW, Release);
            }
        }
    }
}

/// The change that operation number `i` of a vector makes, or the reason that it cannot proceed. The checks are in the
/// kernel's order (`perform_atomic_semop`): it blocks, the value is out of range, the adjustment is out of range.
#[inline(always)]
pub(super) fn proceed(
    op: Op,
    i: usize,
    before: Change,
    undo: Option<&UndoRecord<'_>>,
) -> Result<Change, Performed> {
    let value = before.value + op.delta();
    match () {
        _ if value < 0 || (op.delta() == 0 && value != 0) => Err(match op.has_nowait() {
            true => Performed::Fails(Errno::EAGAIN),
            false => Performed::Blocks(i),
        }),
        _ if value > SEMVMX => Err(Performed::Fails(Errno::ERANGE)),
        _ if op.has_undo() => {
            let owed = before.adjustment.or(undo.map(|record| record.get(op.sem()))).unwrap_or(0);
            match owed - op.delta() {
                owed if (-SEMAEM - 1..=SEMAEM).contains(&owed) => {
                    Ok(Change { value, adjustment: Some(owed) })
                }
                _ => Err(Performed::Fails(Errno::ERANGE)),
            }
        }
        _ => Ok(Change { value, ..before }),
    }
}
