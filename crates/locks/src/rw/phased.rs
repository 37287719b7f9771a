//! The read-write lock behind all kinds: a state word, a queue, and a [`Policy`].
//!
//! **Holds.** A writer sets `WRITER`; readers are counted in the state, or published in [`slots`] while the lock is `BIASED`.
//!
//! **The queue.** A thread that has to wait enters the queue in a [`Section`] in which it has seen that it has to wait. So each
//! release that could let it in comes later, and finds it. What a release does is [`Phased::serve`]:
//!
//! - [`Order::Phases`]: it hands the lock over. Waiters sleep until they have it.
//! - [`Order::WritersFirst`]: it frees the lock and wakes waiters, which then compete with the threads that come. (A thread that
//!   gets the lock while it sleeps holds it until it runs: with more threads than CPUs that is long.) When no writer waits, all
//!   readers are woken. A queued writer that is awake takes the lock when it finds it free, as does a writer that comes.
//!   `AWAKE` says that a queued one exists: it looks at the lock in a section before it sleeps, and clears the bit there.
//!   A release that finds `AWAKE` wakes no thread. Otherwise it sets the bit for the first writer, and wakes that.
//!
//! A writer that leaves without the lock serves the others as a release does.
//!
//! **The end of a release.** No release touches the lock after the instruction that can let another thread in. What follows are
//! wake-ups by address, and slots, which are static.

use super::node::{GRANTED, Node, PENDING, SIGNALLED, WAITING};
use super::order::{Order, Policy};
use super::revocation::Inhibition;
use super::section::Section;
use super::word::{
    AWAKE, BIASED, BUSY, DRAINER, DRAINING, IN_TABLE, MAX_READERS, PRESSING, READER, READERS, WRITER,
    WRITERS, counted,
};
use super::{RawRwLock, Recursion, Refused, host as rw_host, reader, slots};
use crate::park::{self, Wake};
use crate::raw::free;
use crate::stamp::is_long;
use crate::waiting::{SpinEnd, SpinPolicy, SpinStep};
use crate::{Until, Waited, host};
use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{NonNull, null_mut};
use unspin_sync::atomic::{AtomicPtr, AtomicU16, AtomicU64, Ordering};
use unspin_sync::hint;

/// A read-write lock with this policy.
#[derive(Debug)]
#[repr(C, align(8))]
pub struct Phased<P> {
    inhibition: Inhibition,
    /// What waits have learnt ([`SpinPolicy`]), in units of 64 ticks.
    memo: AtomicU16,
    /// Belongs to the program that embeds the lock ([`RawRwLock`]).
    _embedder: UnsafeCell<MaybeUninit<[u16; 5]>>,
    state: AtomicU64,
    /// See [`Section`].
    tail: AtomicPtr<Node>,
    policy: PhantomData<P>,
}

// SAFETY: no function of this crate accesses `_embedder`; all else is atomic.
unsafe impl<P> Sync for Phased<P> {}
// SAFETY: as above; the nodes in the queue belong to threads that wait, and a lock that is moved has none.
unsafe impl<P> Send for Phased<P> {}

#[cfg(not(any(loom, shuttle)))]
const _: () = {
    assert!(size_of::<Phased<()>>() == 32 && align_of::<Phased<()>>() == 8);
    assert!(
        core::mem::offset_of!(Phased<()>, _embedder) == 6 && core::mem::offset_of!(Phased<()>, state) == 16
    );
};

/// Which threads have left the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// A writer.
    Writer,
    /// Readers, or a waiter that gives up.
    Others,
}

// SAFETY: 1. a thread takes the lock for writing by setting WRITER where there is no WRITER, no counted reader, no BIASED and
// no DRAINING: then no reader is published either, since DRAINING is cleared only after all slots were seen empty, and a
// reader that publishes itself later sees BIASED cleared and takes it back. Readers are counted only where there is no WRITER.
// 2. A free lock is all zeroes.
unsafe impl<P: Policy> RawRwLock for Phased<P> {
    free!(Phased {
        inhibition: Inhibition::none(),
        memo: AtomicU16::new(0),
        _embedder: UnsafeCell::new(MaybeUninit::zeroed()),
        state: AtomicU64::new(0),
        tail: AtomicPtr::new(null_mut()),
        policy: PhantomData,
    });

    #[inline(always)]
    fn try_read(&self, recursion: Recursion) -> Result<(), Refused> {
        if self.read_alone() { Ok(()) } else { self.try_read_in_section(recursion) }
    }

    #[inline(always)]
    fn read_now(&self, recursion: Recursion) -> Result<(), Refused> {
        if self.read_alone() { Ok(()) } else { self.read_now_in_section(recursion) }
    }

    #[inline(always)]
    fn read(&self, recursion: Recursion, until: Option<Until>) -> Result<Waited, Refused> {
        if self.read_alone() { Ok(Waited::No) } else { self.wait_to_read(recursion, until) }
    }

    #[inline(always)]
    fn try_write(&self) -> bool {
        self.write_alone() || self.try_write_in_section()
    }

    #[inline(always)]
    fn write(&self, until: Option<Until>) -> Option<Waited> {
        if self.write_alone() { Some(Waited::No) } else { self.wait_to_write(until) }
    }

    #[inline(always)]
    unsafe fn unlock_read(&self) {
        if !(P::IS_BIASED && slots::retire(self.address())) {
            self.count_out();
        }
        reader::count_release();
    }

    #[inline(always)]
    unsafe fn unlock_write(&self) {
        // Relaxed: the compare-exchange provides the ordering.
        let state = self.state.load(Ordering::Relaxed);
        // Release: partner of the Acquire in the acquisitions. Relaxed on failure: the section reads the state again.
        let alone = state & (BUSY | READERS) == 0
            && is_served(state)
            && self
                .state
                .compare_exchange(state, state & !WRITER, Ordering::Release, Ordering::Relaxed)
                .is_ok();
        if !alone {
            self.release_write();
        }
    }

    #[inline(always)]
    fn is_write_locked(&self) -> bool {
        // Relaxed: a snapshot, which orders nothing.
        self.state.load(Ordering::Relaxed) & WRITER != 0
    }

    fn readers(&self) -> u32 {
        // Relaxed: as above.
        let state = self.state.load(Ordering::Relaxed);
        let published = if state & (BIASED | DRAINING) != 0 { slots::count(self.address()) } else { 0 };
        counted(state) + published
    }
}

/// Whether a release need not look after the writers in the queue: there are none, or one of them is awake.
#[inline(always)]
fn is_served(state: u64) -> bool {
    state & WRITERS == 0 || state & AWAKE != 0
}

/// Whether a writer may take the lock.
#[inline(always)]
fn is_free(state: u64) -> bool {
    state & (WRITER | BIASED | DRAINING) == 0 && counted(state) == 0
}

impl<P: Policy> Phased<P> {
    #[inline(always)]
    fn address(&self) -> u64 {
        &raw const *self as u64
    }

    fn enter(&self) -> Section<'_> {
        Section::enter(&self.state, &self.tail)
    }

    /// Acquires for reading, if no other thread has to be considered: the first step of [`RawRwLock::read`], which may fail for
    /// any reason.
    #[inline(always)]
    pub fn read_alone(&self) -> bool {
        // Relaxed: what follows provides the ordering.
        let state = self.state.load(Ordering::Relaxed);
        if P::IS_BIASED && state & BIASED != 0 && self.publish() {
            return true;
        }
        state & (WRITER | BUSY | WRITERS) == 0 && self.count_in(state)
    }

    /// Acquires for reading by a slot, if the lock is still biased then.
    #[inline(always)]
    fn publish(&self) -> bool {
        let Some(published) = slots::publish(self.address()) else { return false };
        rw_host::fence_of_reader();
        // Acquire: partner of the Release in `count_in`, which has set the bias after the last writer, and of the section.
        if self.state.load(Ordering::Acquire) & BIASED == 0 {
            published.retract();
            return false;
        }
        reader::count_acquisition();
        true
    }

    /// Counts the calling thread as a reader, if the state is still this one, which permits it.
    #[inline(always)]
    fn count_in(&self, state: u64) -> bool {
        if counted(state) == MAX_READERS {
            return false;
        }
        let new = if P::IS_BIASED { self.with_bias(state) } else { state } + READER;
        // Acquire: partner of the Release in `unlock_write` and `Section::leave`. Release: a reader that sees the bias sees what
        // this thread has acquired. Relaxed on failure: the caller reads the state again.
        let is_in = self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_in {
            reader::count_acquisition();
            if P::IS_BIASED && state & IN_TABLE == 0 {
                self.enter_table();
            }
        }
        is_in
    }

    /// The first reader of the lock makes sure that the table has nothing about a lock that was at this address before, and whose
    /// memory the program has used anew although a thread held it.
    #[cold]
    fn enter_table(&self) {
        let mut section = self.enter();
        // In the section: no thread sets a bias, so what the table has is old.
        if section.state & IN_TABLE == 0 {
            slots::forget(self.address());
            section.state |= IN_TABLE;
        }
        section.leave();
    }

    /// The state with the bias, if that may return.
    #[inline(always)]
    fn with_bias(&self, state: u64) -> u64 {
        let may = state & (WRITER | BIASED | DRAINING | WRITERS | IN_TABLE) == IN_TABLE
            && self.inhibition.is_over();
        if may { state | BIASED } else { state }
    }

    /// In a section in which the state lets the thread in.
    fn read_in_section(&self, section: &mut Section<'_>) -> Result<(), Refused> {
        if counted(section.state) == MAX_READERS {
            return Err(Refused::TooManyReaders);
        }
        section.state = if P::IS_BIASED { self.with_bias(section.state) } else { section.state } + READER;
        reader::count_acquisition();
        Ok(())
    }

    #[cold]
    fn try_read_in_section(&self, recursion: Recursion) -> Result<(), Refused> {
        let blocked_by = match recursion {
            Recursion::Allowed => WRITER,
            Recursion::Excluded => WRITER | WRITERS,
        };
        self.read_unless(blocked_by, recursion)
    }

    #[cold]
    fn read_now_in_section(&self, recursion: Recursion) -> Result<(), Refused> {
        self.read_unless(blocked_by(recursion), recursion)
    }

    /// Acquires for reading, unless the state has one of these bits.
    fn read_unless(&self, blocked_by: u64, recursion: Recursion) -> Result<(), Refused> {
        if P::IS_BIASED && recursion == Recursion::Allowed && self.publish_again() {
            return Ok(());
        }
        // Relaxed: a thread holds the lock for writing, at this moment.
        if self.state.load(Ordering::Relaxed) & WRITER != 0 {
            return Err(Refused::Busy);
        }
        let mut section = self.enter();
        let result = match section.state & blocked_by {
            0 => self.read_in_section(&mut section),
            _ => Err(Refused::Busy),
        };
        section.leave();
        result
    }

    /// Counts another hold in the slot that the calling thread has. The thread keeps writers out already.
    fn publish_again(&self) -> bool {
        let is_in = reader::holds() > 0 && slots::publish_again(self.address());
        if is_in {
            reader::count_acquisition();
        }
        is_in
    }

    #[cold]
    fn wait_to_read(&self, recursion: Recursion, until: Option<Until>) -> Result<Waited, Refused> {
        if P::IS_BIASED && recursion == Recursion::Allowed && self.publish_again() {
            return Ok(Waited::No);
        }
        let blocked_by = blocked_by(recursion);
        if P::ORDER == Order::WritersFirst && self.spin_to_read(blocked_by) {
            return Ok(Waited::Spun);
        }
        self.queue_to_read(blocked_by, until)
    }

    /// Waits in the queue, and enters it again as often as the reader is signalled.
    fn queue_to_read(&self, mut blocked_by: u64, until: Option<Until>) -> Result<Waited, Refused> {
        let since = host::ticks();
        let deference = deference(blocked_by);
        loop {
            let node = Node::new(since);
            let mut section = self.enter();
            if section.state & blocked_by == 0 {
                let result = self.read_in_section(&mut section).map(|()| Waited::Slept);
                section.leave();
                return result;
            }
            section.append_reader(NonNull::from(&node));
            section.leave();
            let limit = if blocked_by & PRESSING != 0 { earlier(until, deference) } else { until };
            let mut told = self.sleep(&node, limit, P::ORDER == Order::Phases);
            if told == Told::Nothing {
                told = self.withdraw_reader(&node);
            }
            match told {
                Told::Granted(how) => {
                    reader::count_acquisition();
                    return Ok(how);
                }
                Told::Signalled => {}
                // It has waited for the writer that has the lock, or for as long as it may.
                Told::Nothing if blocked_by & PRESSING == 0 => return Err(Refused::Busy),
                // The deference is over, or its own time: only the writer that has the lock keeps it out.
                Told::Nothing => blocked_by = WRITER,
            }
        }
    }

    /// Spins while the lock is not for this reader. Returns whether the thread has acquired it.
    fn spin_to_read(&self, blocked_by: u64) -> bool {
        let mut waiting = self.begin_wait();
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let state = self.state.load(Ordering::Relaxed);
            if state & (blocked_by | BUSY) == 0 {
                if self.count_in(state) {
                    self.end_wait(&waiting, SpinEnd::Acquired);
                    return true;
                }
                if counted(state) == MAX_READERS {
                    return false;
                }
            }
            if waiting.pause(0) == SpinStep::Sleep {
                self.end_wait(&waiting, SpinEnd::Asleep);
                return false;
            }
        }
    }

    fn begin_wait(&self) -> P::Waiting {
        // Relaxed, here and below: a hint.
        P::Waiting::begin(u32::from(self.memo.load(Ordering::Relaxed)) << MEMO_UNIT)
    }

    fn end_wait(&self, waiting: &P::Waiting, how: SpinEnd) {
        let memo = waiting.end(how) >> MEMO_UNIT;
        self.memo.store(u16::try_from(memo).unwrap_or(u16::MAX), Ordering::Relaxed);
    }

    /// Sleeps until the node's thread is told something; spins before where the lock is handed over.
    fn sleep(&self, node: &Node, until: Option<Until>, spins: bool) -> Told {
        if spins {
            let mut waiting = self.begin_wait();
            loop {
                match told(node, Waited::Spun) {
                    Told::Nothing => {}
                    told => {
                        self.end_wait(&waiting, SpinEnd::Acquired);
                        return told;
                    }
                }
                if waiting.pause(0) == SpinStep::Sleep {
                    self.end_wait(&waiting, SpinEnd::Asleep);
                    break;
                }
            }
        }
        loop {
            match told(node, Waited::Slept) {
                Told::Nothing if park::wait(&node.word, WAITING, until) == Wake::TimedOut => {
                    return Told::Nothing;
                }
                Told::Nothing => {}
                told => return told,
            }
        }
    }

    /// Removes a reader from the queue, unless it was told something by now.
    fn withdraw_reader(&self, node: &Node) -> Told {
        let mut section = self.enter();
        // Relaxed: a reader leaves its ring in sections.
        let waits = node.word.load(Ordering::Relaxed) == WAITING;
        if waits {
            section.remove_reader(NonNull::from(node));
        }
        section.leave();
        if waits { Told::Nothing } else { told(node, Waited::Slept) }
    }

    /// Removes a reader that is counted in the state.
    fn count_out(&self) {
        loop {
            // Relaxed: the compare-exchange provides the ordering.
            let state = self.state.load(Ordering::Relaxed);
            if counted(state) == 0 || state & BUSY != 0 {
                return self.count_out_slowly();
            }
            if counted(state) == 1 && !(state & READERS == 0 && is_served(state)) {
                return self.count_out_slowly();
            }
            // Release: partner of the Acquire of a writer. Relaxed on failure: the loop reads the state again.
            if self
                .state
                .compare_exchange(state, state - READER, Ordering::Release, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
        }
    }

    #[cold]
    fn count_out_slowly(&self) {
        // Both what is counted and what is published are holds of the lock, so it does not matter which release removes which.
        // The calling thread has published none: it releases what another thread has acquired, or what that thread has
        // counted for it.
        // Relaxed: a hint; the section reads it again.
        let is_counted = counted(self.state.load(Ordering::Relaxed)) != 0;
        if P::IS_BIASED && !is_counted && slots::retire_any(self.address()) {
            return;
        }
        let mut section = self.enter();
        if counted(section.state) > 0 {
            section.state -= READER;
            self.serve(&mut section, Left::Others);
        }
        section.leave();
    }

    /// Acquires for writing, if no other thread has to be considered.
    #[inline(always)]
    fn write_alone(&self) -> bool {
        // Relaxed: the compare-exchange provides the ordering.
        let state = self.state.load(Ordering::Relaxed);
        // Acquire: partner of the Release in the releases. Relaxed on failure: a failed attempt reads nothing.
        is_free(state)
            && state & BUSY == 0
            && (P::ORDER == Order::WritersFirst || state & (WRITERS | READERS) == 0)
            && self
                .state
                .compare_exchange(state, state | WRITER, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    #[cold]
    fn try_write_in_section(&self) -> bool {
        // Relaxed: a thread holds the lock, at this moment.
        let state = self.state.load(Ordering::Relaxed);
        if state & WRITER != 0 || counted(state) != 0 {
            return false;
        }
        let mut section = self.enter();
        if is_free(section.state) {
            section.state |= WRITER;
            section.leave();
            return true;
        }
        let may_revoke =
            P::IS_BIASED && section.state & (WRITER | WRITERS | DRAINER) == 0 && counted(section.state) == 0;
        if !may_revoke {
            section.leave();
            return false;
        }
        section.state = section.state & !BIASED | DRAINING | DRAINER;
        section.leave();
        let began = host::ticks();
        rw_host::fence_of_writer();
        let is_empty = slots::count(self.address()) == 0;
        let mut section = self.enter();
        self.end_draining(&mut section, is_empty, began);
        let is_taken = is_free(section.state);
        if is_taken {
            section.state |= WRITER;
        } else {
            self.serve(&mut section, Left::Others);
        }
        section.leave();
        is_taken
    }

    /// The calling thread, which is the drainer, waits for no slot any more.
    fn end_draining(&self, section: &mut Section<'_>, is_empty: bool, began: u64) {
        section.state &= !DRAINER;
        if is_empty {
            section.state &= !DRAINING;
            self.inhibition.begin(began);
        } else if section.state & WRITERS == 0 {
            section.state = section.state & !DRAINING | BIASED;
        }
    }

    #[cold]
    fn wait_to_write(&self, until: Option<Until>) -> Option<Waited> {
        let node = Node::new(host::ticks());
        let mut section = self.enter();
        if is_free(section.state) {
            section.state |= WRITER;
            section.leave();
            return Some(Waited::Spun);
        }
        section.append_writer(NonNull::from(&node));
        if !P::IS_BIASED {
            section.state |= PRESSING;
        }
        if section.state & BIASED != 0 {
            section.state = section.state & !BIASED | DRAINING;
        }
        match P::ORDER {
            Order::Phases => {
                section.leave();
                match self.sleep(&node, until, true) {
                    Told::Granted(how) => Some(how),
                    Told::Signalled | Told::Nothing => self.withdraw_writer(&node, false),
                }
            }
            Order::WritersFirst => {
                let has_duty = section.state & AWAKE == 0;
                section.state |= AWAKE;
                section.leave();
                self.take_turns(&node, has_duty, until)
            }
        }
    }

    /// Waits for a lock that is not handed over: looks at it, and sleeps, in turns. With `has_duty`, `AWAKE` is set for the
    /// calling thread.
    fn take_turns(&self, node: &Node, mut has_duty: bool, until: Option<Until>) -> Option<Waited> {
        let mut how = Waited::Spun;
        // Until when readers that come overtake it.
        let mut indulgence = if P::IS_BIASED { indulgence() } else { None };
        loop {
            if P::IS_BIASED && !self.drain(until) {
                return self.withdraw_writer(node, has_duty);
            }
            if self.spin_to_write(node, has_duty) {
                return Some(how);
            }
            let mut section = self.enter();
            // Relaxed: it is written in sections.
            match node.word.load(Ordering::Relaxed) {
                WAITING => {}
                SIGNALLED => {
                    has_duty = true;
                    node.word.store(WAITING, Ordering::Relaxed);
                }
                _ => return Some(finish_granted(section, node, has_duty)),
            }
            if is_free(section.state) {
                self.take(&mut section, node, has_duty);
                section.leave();
                return Some(how);
            }
            if section.state & DRAINING != 0 && section.state & DRAINER == 0 {
                section.leave();
                continue;
            }
            if has_duty {
                section.state &= !AWAKE;
            }
            section.leave();
            how = Waited::Slept;
            match self.sleep(node, earlier(until, indulgence), false) {
                Told::Granted(how) => return Some(how),
                // Found in the section again.
                Told::Signalled => has_duty = false,
                Told::Nothing if until.is_some_and(Until::is_over) || indulgence.is_none() => {
                    return self.withdraw_writer(node, false);
                }
                Told::Nothing => (has_duty, indulgence) = (self.press(node), None),
            }
        }
    }

    /// Keeps new readers out from now on. The calling thread, a queued writer, looks at the lock next. Returns whether that is its
    /// duty.
    #[cold]
    fn press(&self, node: &Node) -> bool {
        let mut section = self.enter();
        // Relaxed: it is written in sections.
        let is_queued = matches!(node.word.load(Ordering::Relaxed), WAITING | SIGNALLED);
        if is_queued {
            section.state |= PRESSING;
        }
        let has_duty = is_queued && section.state & AWAKE == 0;
        if has_duty {
            section.state |= AWAKE;
        }
        section.leave();
        has_duty
    }

    /// In a section in which the lock is free: the queued writer takes it.
    fn take(&self, section: &mut Section<'_>, node: &Node, has_duty: bool) {
        section.remove_writer(NonNull::from(node));
        section.state |= WRITER;
        if P::IS_BIASED {
            // The next writer presses when it has waited long.
            section.state &= !PRESSING;
        }
        // Relaxed: it is written in sections.
        if has_duty || node.word.load(Ordering::Relaxed) == SIGNALLED {
            section.state &= !AWAKE;
        }
    }

    /// Waits for the readers in slots, if the bias was revoked and no other thread does. False: the time is over.
    fn drain(&self, until: Option<Until>) -> bool {
        // Relaxed: the section decides.
        if self.state.load(Ordering::Relaxed) & (DRAINING | DRAINER) != DRAINING {
            return true;
        }
        let mut section = self.enter();
        let is_drainer = section.state & (DRAINING | DRAINER) == DRAINING;
        if is_drainer {
            section.state |= DRAINER;
        }
        section.leave();
        if !is_drainer {
            return true;
        }
        let began = host::ticks();
        // Each drainer has a fence of its own: it need not know which thread has cleared the bias.
        rw_host::fence_of_writer();
        let is_empty = slots::wait_for_readers::<P::Waiting>(self.address(), until);
        let mut section = self.enter();
        if is_empty {
            self.end_draining(&mut section, true, began);
        } else {
            // The caller withdraws, and restores the bias there.
            section.state &= !DRAINER;
        }
        section.leave();
        is_empty
    }

    /// Spins until the lock is free, and takes it. Returns whether it did.
    fn spin_to_write(&self, node: &Node, has_duty: bool) -> bool {
        let mut waiting = self.begin_wait();
        loop {
            // Relaxed: the section provides the ordering.
            let state = self.state.load(Ordering::Relaxed);
            if is_free(state) && state & BUSY == 0 {
                let mut section = self.enter();
                // Relaxed: it is written in sections.
                let is_queued = matches!(node.word.load(Ordering::Relaxed), WAITING | SIGNALLED);
                let is_taken = is_queued && is_free(section.state);
                if is_taken {
                    self.take(&mut section, node, has_duty);
                }
                section.leave();
                if is_taken {
                    self.end_wait(&waiting, SpinEnd::Acquired);
                    return true;
                }
                waiting.lost_race();
            }
            // Relaxed: the caller looks at it in a section.
            let is_granted = matches!(node.word.load(Ordering::Relaxed), PENDING | GRANTED);
            if is_granted || state & (DRAINING | DRAINER) == DRAINING {
                return false;
            }
            if waiting.pause(0) == SpinStep::Sleep {
                self.end_wait(&waiting, SpinEnd::Asleep);
                return false;
            }
        }
    }

    /// Removes a writer from the queue, unless it has the lock by now.
    fn withdraw_writer(&self, node: &Node, has_duty: bool) -> Option<Waited> {
        let mut section = self.enter();
        // Relaxed: it is written in sections.
        let word = node.word.load(Ordering::Relaxed);
        if matches!(word, PENDING | GRANTED) {
            return Some(finish_granted(section, node, has_duty));
        }
        if has_duty || word == SIGNALLED {
            section.state &= !AWAKE;
        }
        let is_free = is_free(section.state);
        section.remove_writer(NonNull::from(node));
        if is_free {
            // The lock has become free since the time was over.
            section.state |= WRITER;
        } else {
            if section.state & (DRAINING | DRAINER | WRITERS) == DRAINING {
                section.state = section.state & !DRAINING | BIASED;
            }
            self.serve(&mut section, Left::Others);
        }
        section.leave();
        is_free.then_some(Waited::Slept)
    }

    #[cold]
    fn release_write(&self) {
        let mut section = self.enter();
        // Else the calling thread releases a lock that it does not hold.
        if section.state & WRITER != 0 {
            section.state &= !WRITER;
            self.serve(&mut section, Left::Writer);
        }
        section.leave();
    }

    /// Brings the queue forward, in a section in which a thread leaves.
    fn serve(&self, section: &mut Section<'_>, left: Left) {
        if section.state & WRITER != 0 {
            return;
        }
        match P::ORDER {
            Order::Phases => self.serve_next_phase(section, left),
            Order::WritersFirst => self.serve_writers_first(section, left),
        }
    }

    fn serve_next_phase(&self, section: &mut Section<'_>, left: Left) {
        let (has_writers, has_readers) = (section.state & WRITERS != 0, section.state & READERS != 0);
        if has_readers && (left == Left::Writer || !has_writers) {
            section.grant_readers();
        } else if has_writers && counted(section.state) == 0 {
            section.state |= WRITER;
            section.grant_first_writer();
        }
    }

    fn serve_writers_first(&self, section: &mut Section<'_>, left: Left) {
        let now = host::ticks();
        let is_long_since = |since: Option<u64>| since.is_some_and(|since| is_long(now.wrapping_sub(since)));
        if left == Left::Writer && is_long_since(section.first_readers_arrival()) {
            return section.grant_readers();
        }
        if left == Left::Writer && is_long_since(section.first_writers_arrival()) {
            return section.hand_to_first_writer(now);
        }
        if section.state & PRESSING == 0 {
            section.signal_readers();
        }
        if section.state & (WRITERS | AWAKE) == WRITERS && self.has_work_for_a_writer(section.state) {
            section.state |= AWAKE;
            section.signal_first_writer();
        }
    }

    /// Whether a queued writer that looks at the lock finds it free, or has to drain it.
    fn has_work_for_a_writer(&self, state: u64) -> bool {
        is_free(state) || state & (DRAINING | DRAINER) == DRAINING
    }
}

const MEMO_UNIT: u32 = 6;

/// How long a reader that holds no lock waits behind writers that wait themselves, where recursion is allowed. libc's default kind
/// lets it in at once, so a thread that holds the lock for reading may wait for it. Longer than phases are.
#[cfg(not(any(loom, shuttle)))]
const DEFERENCE: core::time::Duration = core::time::Duration::from_millis(100);

/// The time until which a reader waits behind writers that wait; `None`: without a limit.
#[cfg(not(any(loom, shuttle)))]
fn deference(blocked_by: u64) -> Option<Until> {
    (blocked_by & PRESSING != 0).then(|| Until::after(DEFERENCE))
}

/// How long a writer of a biased lock lets readers overtake it, until it keeps them out. With more threads than CPUs a writer often
/// waits for a reader that has lost its CPU; if the readers that come had to wait for it meanwhile, they would all have to be woken.
#[cfg(not(any(loom, shuttle)))]
const INDULGENCE: core::time::Duration = core::time::Duration::from_millis(3);

/// The end of that time, from now on.
#[cfg(not(any(loom, shuttle)))]
fn indulgence() -> Option<Until> {
    Some(Until::after(INDULGENCE))
}

/// As for [`deference`].
#[cfg(any(loom, shuttle))]
fn indulgence() -> Option<Until> {
    None
}

/// A time may pass at any moment in a model, so a wait with one would hide a lost wake-up.
#[cfg(any(loom, shuttle))]
fn deference(_: u64) -> Option<Until> {
    None
}

/// The earlier of two times, each of which may be none.
fn earlier(until: Option<Until>, other: Option<Until>) -> Option<Until> {
    let (Some(until), Some(other)) = (until, other) else { return until.or(other) };
    let left = |until: Until| until.at.saturating_sub(until.clock.now());
    Some(if left(until) < left(other) { until } else { other })
}

/// What keeps a reader that may wait from acquiring: not a writer that waits, if the thread holds another lock.
fn blocked_by(recursion: Recursion) -> u64 {
    match recursion {
        Recursion::Excluded => WRITER | WRITERS,
        Recursion::Allowed if reader::holds() > 0 => WRITER,
        Recursion::Allowed => WRITER | PRESSING,
    }
}

/// What a waiter was told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    /// It waits.
    Nothing,
    /// It has the lock.
    Granted(Waited),
    /// It is to look at the lock.
    Signalled,
}

/// What the node's thread was told, if anything. `how` is how it has waited.
fn told(node: &Node, how: Waited) -> Told {
    loop {
        // Acquire: partner of the Release in `Wakes::deliver`.
        match node.word.load(Ordering::Acquire) {
            GRANTED => return Told::Granted(how),
            SIGNALLED => return Told::Signalled,
            PENDING => await_word(node),
            _ => return Told::Nothing,
        }
    }
}

/// In a section: the calling thread has been handed the lock. Gives up its duty to look at it.
fn finish_granted(mut section: Section<'_>, node: &Node, has_duty: bool) -> Waited {
    if has_duty {
        section.state &= !AWAKE;
    }
    section.leave();
    await_word(node);
    Waited::Slept
}

/// Waits for the thread that has removed the node from its ring to say why: it is about to.
fn await_word(node: &Node) {
    let mut backoff = crate::backoff::Backoff::default();
    // Acquire: as in `told`.
    while node.word.load(Ordering::Acquire) == PENDING {
        backoff.pause();
        hint::spin_loop();
    }
}
