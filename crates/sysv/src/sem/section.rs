//! A critical section on one set: performing a vector, granting to waiters, removing them.
//!
//! Everything here runs under the set's lock (in the `global` engine, under the one lock of all sets). The
//! *waker performs the sleeper's operation*: when a value changes, the holder runs through the waiters in
//! order of arrival and performs what has become possible, as `ipc/sem.c` does in `do_smart_update`. So a
//! token goes to the first who can use it, no third process can take it on the way, and nobody is woken in vain.

use super::set::Contended;
use super::space::Space;
use super::vector::Op;
use super::word::SLOW;
use super::{queue, redo};
use crate::participant::{Participant, Queue, status};
use crate::time;
use unspin_sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use unspin_sys::Errno;
use unspin_sys::ipc::SEMVMX;

/// What became of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Performed {
    /// It is possible; the tentative values are in the semaphores' scratch fields.
    Done,
    /// The operation of this index cannot proceed, and waits.
    Blocks(usize),
    /// An operation failed: ERANGE, or EAGAIN for one that cannot proceed and has IPC_NOWAIT, also after others of
    /// the vector have waited.
    Fails(Errno),
}

/// Somebody to be woken, or at least looked at, once the lock is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wake {
    /// Participant.
    pub index: u32,
    /// Lower half of his ticket when the wake-up was due: tells this wait from his next ones.
    pub ticket: u32,
}

/// Wake-ups that are made after the lock is released, so that a woken process that preempts its waker does
/// not run into the lock at once. Small: every section makes one.
#[derive(Default)]
pub struct Wakes {
    list: [u64; 8],
    count: usize,
    overflowed: bool,
}

impl Wakes {
    /// `false` if the list is full.
    fn push(&mut self, wake: Wake) -> bool {
        match self.list.get_mut(self.count) {
            Some(slot) => {
                *slot = (wake.ticket as u64) << 32 | wake.index as u64;
                self.count += 1;
                true
            }
            None => {
                self.overflowed = true;
                false
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.count as u64
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether more were due than the list holds. Those were made under the lock.
    pub fn have_overflowed(&self) -> bool {
        self.overflowed
    }

    /// The wake-ups, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = Wake> + '_ {
        self.list[..self.count].iter().map(|&w| Wake { index: w as u32, ticket: (w >> 32) as u32 })
    }
}

/// See the module's text.
pub struct Section<'a> {
    /// The set.
    pub space: Space<'a>,
    /// The lock's holder.
    pub me: u32,
    /// Whom to wake afterwards.
    pub wakes: Wakes,
}

/// A spinning waiter that was seen running within this many ticks (under 1 us) was alive when it was granted
/// its operation: no process dies and is reaped in less.
const FRESH_TICKS: u64 = 2_000;

impl<'a> Section<'a> {
    /// Begins a section of participant `me`, who holds the lock.
    pub fn new(space: Space<'a>, me: u32) -> Self {
        Section { space, me, wakes: Wakes::default() }
    }

    fn contended(&self) -> &'a Contended {
        &self.space.set.contended
    }

    fn maker(&self) -> &'a Participant {
        &self.space.people[self.me as usize]
    }

    /// Makes a semaphore slow, and remembers to look at its waiters and to make it fast again in the end.
    pub fn touch(&self, sem: usize) {
        let s = &self.space.sems[sem];
        // Relaxed: list of touched semaphores, under the lock.
        if s.next_touched.load(Relaxed) != 0 {
            return;
        }
        let head = self.contended().touched.load(Relaxed);
        s.next_touched.store(if head == 0 { u32::MAX } else { head }, Relaxed);
        self.contended().touched.store(sem as u32 + 1, Relaxed);
        if !self.space.word(sem).is_slow() {
            // AcqRel: from here on no fast operation changes the word, and we see what the last one's process
            // did: its exchange and this one are in the same order for everybody. The value is read after it.
            s.word.fetch_or(SLOW, AcqRel);
        }
    }

    fn touched(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (sems, mut next) = (self.space.sems, self.contended().touched.load(Relaxed));
        (0..sems.len()).map_while(move |_| {
            let sem = (next != u32::MAX).then_some(next)?.checked_sub(1)? as usize;
            next = sems.get(sem)?.next_touched.load(Relaxed);
            Some(sem)
        })
    }

    /// Computes what `ops` would do, in order, each seeing the effect of the ones before, and changes nothing.
    /// All semaphores concerned are slow.
    pub fn evaluate(&self, ops: impl Iterator<Item = Op>) -> Performed {
        // Relaxed: scratch under the lock.
        let round = self.contended().round.load(Relaxed) + 1;
        self.contended().round.store(round, Relaxed);
        for (i, op) in ops.enumerate() {
            let sem = &self.space.sems[op.sem()];
            let value = match sem.round.load(Relaxed) == round {
                true => sem.tentative.load(Relaxed) as i32,
                false => self.space.word(op.sem()).value(),
            };
            let result = match proceed(op, i, value) {
                Ok(result) => result,
                Err(obstacle) => return obstacle,
            };
            sem.tentative.store(result as u32, Relaxed);
            sem.round.store(round, Relaxed);
        }
        Performed::Done
    }

    /// Writes what the last evaluation, of `ops`, computed, for `pid`.
    pub fn commit(&self, ops: impl Iterator<Item = Op>, pid: u32) {
        let round = self.contended().round.load(Relaxed);
        let mut values = redo::changed(self.space.sems, round, ops.map(|op| op.sem()));
        let Some(first) = values.next() else { return };
        match values.next() {
            // One store needs no record.
            None => self.space.put(first.0, first.1, pid),
            Some(second) => {
                let all = [first, second].into_iter().chain(values);
                redo::prepare(&self.space, self.maker(), (redo::state::COMMITTED, self.me), pid, all);
                redo::apply(&self.space, self.maker());
            }
        }
    }

    /// Sets one value, as SETVAL does: one store.
    pub fn set_value(&self, sem: usize, value: i32, pid: u32) {
        self.touch(sem);
        self.space.put(sem, value, pid);
    }

    /// Sets all values, as SETALL does: all or nothing, whoever dies.
    pub fn set_all(&self, values: &[u16], pid: u32) {
        self.touch_all();
        for (sem, &value) in self.space.sems.iter().zip(values) {
            // Relaxed: scratch under the lock. No evaluation may take it for its own.
            sem.round.store(0, Relaxed);
            sem.tentative.store(value as u32, Relaxed);
        }
        self.contended().overwriter.store(pid, Relaxed);
        // Release: decides; partner of the Acquire in `finish_overwriting`.
        self.contended().overwriting.store(1, Release);
        self.finish_overwriting();
    }

    fn finish_overwriting(&self) {
        // Acquire: partner of the Release in `set_all`.
        if self.contended().overwriting.load(Acquire) == 0 {
            return;
        }
        let pid = self.contended().overwriter.load(Relaxed);
        for (index, sem) in self.space.sems.iter().enumerate() {
            self.space.put(index, sem.tentative.load(Relaxed) as i32 & 0x7FFF, pid);
        }
        // Release: all values are written when the mark is gone.
        self.contended().overwriting.store(0, Release);
    }

    /// Makes all semaphores slow: a consistent look at all, or a change of all.
    pub fn touch_all(&self) {
        (0..self.space.sems.len()).for_each(|sem| self.touch(sem));
    }

    /// Marks the set as removed and ends every wait with EIDRM. From here on no operation succeeds.
    pub fn remove(&mut self) {
        self.touch_all();
        self.space.set.perm.delete();
        self.evict_all();
    }

    /// Waiters whose first operation that cannot proceed is on `sem` and waits for what `zero` says (GETZCNT,
    /// GETNCNT). `dead` says who no longer counts.
    pub fn count_waiters(&self, sem: usize, queue: Queue, dead: impl Fn(u32) -> bool) -> usize {
        let wants_zero = queue == Queue::Zero;
        let simple = queue::list(&self.space, queue, sem).iter(&self.space);
        let complex = [&self.contended().complex_alter, &self.contended().complex_zero];
        let complex = complex.into_iter().flat_map(|list| list.iter(&self.space)).filter(|(_, person)| {
            let Performed::Blocks(op) = self.evaluate(person.ops()) else { return false };
            person.ops().nth(op).is_some_and(|op| op.sem() == sem && (op.delta() == 0) == wants_zero)
        });
        simple.chain(complex).filter(|&(index, _)| !dead(index)).count()
    }

    /// Puts the caller into the queue: its waiter record's operations are written.
    pub fn enqueue(&self) {
        let waiter = &self.maker().waiter;
        let ticket = self.contended().ticket.load(Relaxed) + 1;
        self.contended().ticket.store(ticket, Relaxed);
        waiter.set.store(self.space.offset, Relaxed);
        waiter.ticket.store(ticket, Relaxed);
        waiter.queue.store(Queue::of(self.maker().ops()) as u32, Relaxed);
        waiter.beat.store(time::ticks(), Relaxed);
        // Release: partner of the Acquire in `waits_here`: the record is complete when the status says so.
        waiter.status.store(status::QUEUED, Release);
        queue::link(&self.space, self.me);
    }

    /// Takes the caller out of the queue, unless it has been served already.
    pub fn withdraw(&self, errno: Errno) {
        if queue::waits_here(&self.space, self.maker()) {
            self.dequeue(self.me);
            // Relaxed: the waiter itself reads it.
            self.maker().waiter.status.store(status::failed(errno.0), Relaxed);
        }
    }

    fn dequeue(&self, index: u32) {
        self.space.people[index as usize].ops().for_each(|op| self.touch(op.sem()));
        queue::unlink(&self.space, index);
    }

    /// Takes a dead waiter out of the queue, or takes an unconfirmed grant back from it.
    pub fn bury(&self, index: u32) {
        let person = &self.space.people[index as usize];
        if queue::waits_here(&self.space, person) {
            self.dequeue(index);
            // Relaxed: its owner is dead, and everybody else looks under the lock.
            person.waiter.status.store(status::IDLE, Relaxed);
        } else if person.waiter.status.load(Acquire) == status::GRANTED
            && person.waiter.set.load(Relaxed) == self.space.offset
            && person.ops().all(|op| op.sem() < self.space.sems.len())
        {
            self.revert(index, person);
        }
    }

    /// The grant came after the waiter's death: its operation has not happened. Clamped like an undo.
    fn revert(&self, index: u32, person: &Participant) {
        person.ops().for_each(|op| self.touch(op.sem()));
        let round = self.contended().round.load(Relaxed) + 1;
        self.contended().round.store(round, Relaxed);
        for op in person.ops() {
            let sem = &self.space.sems[op.sem()];
            let value = match sem.round.load(Relaxed) == round {
                true => sem.tentative.load(Relaxed) as i32,
                false => self.space.word(op.sem()).value(),
            };
            sem.tentative.store((value - op.delta()).clamp(0, SEMVMX) as u32, Relaxed);
            sem.round.store(round, Relaxed);
        }
        let values = redo::changed(self.space.sems, round, person.ops().map(|op| op.sem()));
        redo::prepare(&self.space, self.maker(), (redo::state::REVERT, index), 0, values);
        // Release: decides; partner of the Acquire in redo::is_decided.
        person.waiter.status.store(status::REVERTED, Release);
        redo::apply(&self.space, self.maker());
    }

    /// Performs one operation; its semaphore is touched. As [`Section::evaluate`] and [`Section::commit`] of a vector
    /// of one.
    pub fn perform_one(&self, op: Op, pid: u32) -> Performed {
        match self.after(op) {
            Ok(value) => {
                self.space.put(op.sem(), value, pid);
                Performed::Done
            }
            Err(obstacle) => obstacle,
        }
    }

    /// The value after `op`, if it can proceed now.
    fn after(&self, op: Op) -> Result<i32, Performed> {
        proceed(op, 0, self.space.word(op.sem()).value())
    }

    /// Performs the operations of all waiters that the touched semaphores let proceed, oldest first; waiters
    /// for zero before those that take (`do_smart_wakeup_zero`).
    pub fn serve(&mut self) {
        let contended = self.contended();
        // Relaxed: under the lock.
        if contended.waiters.load(Relaxed) == 0 {
            return;
        }
        if contended.complex_alter.is_empty() && contended.complex_zero.is_empty() {
            // Waiters of different semaphores have nothing to do with each other.
            return self.touched().for_each(|sem| self.serve_simple(sem));
        }
        while contended.waiters.load(Relaxed) != 0 && (self.serve_zero() | self.serve_alter()) {}
    }

    /// As [`Section::serve`], where all waiters have one operation.
    fn serve_simple(&mut self, sem: usize) {
        let (space, s) = (self.space, &self.space.sems[sem]);
        loop {
            if space.word(sem).value() == 0 {
                for (index, _) in s.zero.iter(&space) {
                    self.attempt(index);
                }
                return;
            }
            // One success at most before the waiters for zero are looked at again.
            if !s.alter.iter(&space).any(|(index, _)| self.attempt(index)) {
                return;
            }
        }
    }

    fn serve_zero(&mut self) -> bool {
        let mut progress = false;
        for sem in self.touched() {
            if self.space.word(sem).value() == 0 {
                for (index, _) in self.space.sems[sem].zero.iter(&self.space) {
                    progress |= self.attempt(index);
                }
            }
        }
        for (index, _) in self.contended().complex_zero.iter(&self.space) {
            progress |= self.attempt(index);
        }
        progress
    }

    /// One success at most: after it the waiters for zero come first again, and the oldest again.
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

    /// The oldest waiter after `after` that takes and that touched semaphores may concern.
    fn next_alter(&self, after: u64) -> Option<(u64, u32)> {
        let first = |list: &super::set::List| {
            let mut waiters = list.iter(&self.space).map(|(i, p)| (p.waiter.ticket.load(Relaxed), i));
            waiters.find(|&(ticket, _)| ticket > after)
        };
        let simple = self
            .touched()
            .filter(|&sem| !self.space.sems[sem].alter.is_empty() && self.space.word(sem).value() > 0)
            .filter_map(|sem| first(&self.space.sems[sem].alter))
            .min();
        let complex = first(&self.contended().complex_alter);
        simple.into_iter().chain(complex).min()
    }

    /// Performs a waiter's operation if it is possible now; `true` if the waiter is out of the queue.
    fn attempt(&mut self, index: u32) -> bool {
        let person = &self.space.people[index as usize];
        let mut ops = person.ops();
        let outcome = match (ops.len(), ops.next()) {
            (1, Some(op)) => match self.after(op) {
                Ok(value) => {
                    self.grant(index, person, core::iter::once((op.sem(), value)));
                    Performed::Done
                }
                Err(obstacle) => obstacle,
            },
            _ => {
                let outcome = self.evaluate(person.ops());
                if outcome == Performed::Done {
                    let round = self.contended().round.load(Relaxed);
                    let sems = person.ops().map(|op| op.sem());
                    self.grant(index, person, redo::changed(self.space.sems, round, sems));
                }
                outcome
            }
        };
        if let Performed::Fails(errno) = outcome {
            self.dequeue(index);
            self.finish(index, status::failed(errno.0));
        }
        !matches!(outcome, Performed::Blocks(_))
    }

    /// Hands an operation that is possible to its waiter, together with the values that it leaves.
    fn grant(&mut self, index: u32, person: &Participant, values: impl Iterator<Item = (usize, i32)>) {
        let pid = person.waiter.pid.load(Relaxed);
        redo::prepare(&self.space, self.maker(), (redo::state::GRANT, index), pid, values);
        self.dequeue(index);
        self.finish(index, status::GRANTED);
        redo::apply(&self.space, self.maker());
        self.space.set.operated_at(time::seconds());
    }

    /// Ends a wait. From this store on the waiter may return and use its record anew.
    fn finish(&mut self, index: u32, end: u32) {
        let waiter = &self.space.people[index as usize].waiter;
        let (beat, ticket) = (waiter.beat.load(Relaxed), waiter.ticket.load(Relaxed));
        // AcqRel. Release: partner of the waiter's Acquire load of its end; decides the redo record. Acquire:
        // partner of the waiter's exchange to SLEEPING.
        let before = waiter.status.swap(end, AcqRel);
        let seen_running = time::ticks().wrapping_sub(beat) < FRESH_TICKS;
        if before == status::QUEUED && (seen_running || end != status::GRANTED) {
            waiter.confirm();
            return;
        }
        if !self.wakes.push(Wake { index, ticket: ticket as u32 }) {
            // The list is full: wake now, under the lock. Whether the waiter was alive is looked for afterwards.
            waiter.wake();
        }
    }

    /// Ends every wait with EIDRM and leaves all semaphores slow for good: the set is removed. What was granted on it
    /// is settled: nothing is to be taken back from a set that is gone, least of all from the one that lies there next.
    pub fn evict_all(&mut self) {
        let space = self.space;
        for (person, index) in space.people.iter().zip(0u32..) {
            if queue::waits_here(&space, person) {
                queue::unlink(&space, index);
                self.finish(index, status::failed(Errno::EIDRM.0));
            } else if person.waiter.set.load(Relaxed) == space.offset {
                person.waiter.confirm();
            }
        }
    }

    /// Finishes what a dead lock holder may have left half-done.
    #[cold]
    pub fn repair(&mut self) {
        redo::resolve(&self.space);
        self.finish_overwriting();
        queue::rebuild(&self.space);
        self.touch_all();
        if self.space.is_deleted() {
            return self.evict_all();
        }
        self.serve();
    }

    /// Makes untouched again what was touched, and fast what nobody waits for. The last thing before the lock
    /// is released.
    pub fn thaw(&self) {
        let mut next = self.contended().touched.load(Relaxed);
        self.contended().touched.store(0, Relaxed);
        // Relaxed: immutable once published.
        let keep = self.space.is_deleted() || self.contended().always_slow.load(Relaxed) != 0;
        while let Some(sem) = (next != u32::MAX).then_some(next).and_then(|n| n.checked_sub(1)) {
            let Some(s) = self.space.sems.get(sem as usize) else { break };
            next = s.next_touched.load(Relaxed);
            s.next_touched.store(0, Relaxed);
            if s.named.load(Relaxed) == 0 && !keep {
                // Release: partner of the fast path's Acquire: what we did under the lock is visible to whoever
                // goes on without it. A plain store: nobody else writes a slow word.
                s.word.store(s.word.load(Relaxed) & !SLOW, Release);
            }
        }
    }
}

/// The value that operation number `i` of a vector leaves of `value`, or what keeps it from proceeding.
fn proceed(op: Op, i: usize, value: i32) -> Result<i32, Performed> {
    let result = value + op.delta();
    match () {
        _ if result < 0 || (op.delta() == 0 && value != 0) => Err(match op.nowait() {
            true => Performed::Fails(Errno::EAGAIN),
            false => Performed::Blocks(i),
        }),
        _ if result > SEMVMX => Err(Performed::Fails(Errno::ERANGE)),
        _ => Ok(result),
    }
}
