//! Readers: how one acquires, waits and leaves.

use super::super::node::{Node, WAITING};
use super::super::order::{Order, Policy};
use super::super::section::Section;
use super::super::slots::{self, Retired};
use super::super::word::{
    BIASED, BUSY, DRAINING, FENCED, IN_TABLE, MAX_READERS, OVERTAKERS, PRESSING, READER, READERS, UNBIASED,
    WRITER, WRITERS, counted, is_served, unbiased,
};
use super::super::{Recursion, Refused, host as rw_host, reader};
use super::Phased;
use super::serving::Left;
use super::waiting::{Told, earlier, told};
use crate::waiting::{SpinEnd, SpinPolicy, SpinStep};
use crate::{Until, Waited, host};
use core::ptr::NonNull;
use unspin_sync::atomic::Ordering;

/// What the first step of an acquisition for reading has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstRead {
    /// The thread holds the lock.
    Acquired,
    /// Nothing.
    Nothing,
    /// The thread has filled a slot of a lock that was not biased any more. [`Phased::retract`] is to be called.
    Unsettled,
}

impl<P: Policy> Phased<P> {
    /// Acquires for reading, if no other thread has to be considered. May fail for any reason.
    #[inline(always)]
    pub(super) fn read_alone(&self, recursion: Recursion) -> bool {
        // Relaxed: what follows provides the ordering.
        let mut state = self.state.load(Ordering::Relaxed);
        if P::IS_BIASED && state & BIASED != 0 {
            match self.publish_first() {
                FirstRead::Acquired => return true,
                FirstRead::Unsettled => {
                    self.retract();
                    // Relaxed: as above.
                    state = self.state.load(Ordering::Relaxed);
                }
                FirstRead::Nothing if self.publish() => return true,
                FirstRead::Nothing => {}
            }
        }
        let blocked_by = match recursion {
            Recursion::Allowed => WRITER | BUSY | PRESSING,
            Recursion::Excluded => WRITER | BUSY | WRITERS,
        };
        state & blocked_by == 0 && self.count_in(state)
    }

    /// The first step of an acquisition for reading, for a caller that is to need no stack: it calls no function. A caller that has
    /// acquired nothing goes on with [`RawRwLock::read`](crate::RawRwLock::read).
    #[inline(always)]
    pub fn read_first(&self) -> FirstRead {
        // Relaxed: a hint.
        let is_biased = P::IS_BIASED && self.state.load(Ordering::Relaxed) & BIASED != 0;
        if is_biased { self.publish_first() } else { FirstRead::Nothing }
    }

    /// As [`read_first`](Self::read_first), when the lock was biased.
    #[inline(always)]
    fn publish_first(&self) -> FirstRead {
        match slots::publish_in_first(self.address()) {
            None => FirstRead::Nothing,
            Some(published) => {
                let state = self.state_after_slot();
                let is_hold = state & (BIASED | FENCED) == BIASED
                    || state & BIASED != 0 && !published.is_sampled() && self.is_biased_after_fence();
                if !is_hold {
                    return FirstRead::Unsettled;
                }
                published.confirm();
                FirstRead::Acquired
            }
        }
    }

    /// To be called when [`read_first`](Self::read_first) has left the thread unsettled.
    #[cold]
    pub fn retract(&self) {
        slots::retract_first(self.address());
        self.drop_fences();
    }

    /// Lets readers do without fences, if the bias has lasted for long.
    fn drop_fences(&self) {
        // Relaxed: the compare-exchange decides, and orders nothing: a writer that sees the bit cleared calls membarrier(2).
        let state = self.state.load(Ordering::Relaxed);
        if state & (BIASED | FENCED | BUSY) == BIASED | FENCED && self.biased_since.is_long() {
            let _ = self.state.compare_exchange(state, state & !FENCED, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// The state after the store of a slot: if it is biased and not fenced, the slot is a hold.
    #[inline(always)]
    fn state_after_slot(&self) -> u64 {
        rw_host::fence_of_reader();
        // Acquire: partner of the Release in `count_in`, which has set the bias after the last writer, and of the section.
        self.state.load(Ordering::Acquire)
    }

    /// Whether a slot is a hold although the state that was read after its store is fenced.
    #[inline(always)]
    fn is_biased_after_fence(&self) -> bool {
        rw_host::fence_of_fenced_reader();
        // Acquire: as in `state_after_slot`.
        self.state.load(Ordering::Acquire) & BIASED != 0
    }

    /// Acquires for reading by a slot, if there is one, and the lock is still biased then.
    #[cold]
    fn publish(&self) -> bool {
        let Some(published) = slots::publish(self.address()) else { return false };
        let state = self.state_after_slot();
        let is_hold = state & BIASED != 0 && (state & FENCED == 0 || self.is_biased_after_fence());
        if is_hold {
            published.confirm();
        } else {
            published.retract();
        }
        is_hold
    }

    /// Counts the calling thread as a reader, if the state is still this one, which permits it.
    #[inline(always)]
    fn count_in(&self, state: u64) -> bool {
        if counted(state) == MAX_READERS {
            return false;
        }
        let new = if P::IS_BIASED { Self::with_bias(state) } else { state } + READER;
        // Acquire: partner of the Release in `unlock_write` and `Section::leave`. Release: a reader that sees the bias sees what
        // this thread has acquired. Relaxed on failure: the caller reads the state again.
        let is_in = self.state.compare_exchange(state, new, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_in {
            reader::count_acquisition();
            if P::IS_BIASED && (state & IN_TABLE == 0 || (state ^ new) & BIASED != 0) {
                self.prepare_bias(state);
            }
        }
        is_in
    }

    /// To be called by a reader that found this state and was counted, if the lock is not in the table yet, or the reader has set
    /// the bias.
    #[cold]
    fn prepare_bias(&self, state: u64) {
        if state & IN_TABLE == 0 {
            self.enter_to_acquire().leave();
        } else {
            self.biased_since.begin();
        }
    }

    /// The state with the bias, if that may return after the reader that is counted now.
    #[inline(always)]
    fn with_bias(state: u64) -> u64 {
        // A writer that waits without looking would not learn that it may revoke the bias.
        let may = state & (WRITER | BIASED | DRAINING | PRESSING | IN_TABLE) == IN_TABLE && is_served(state);
        if !may {
            state
        } else if unbiased(state) > 0 {
            state - UNBIASED
        } else {
            state | BIASED | FENCED
        }
    }

    /// In a section in which the state lets the thread in.
    fn read_in_section(&self, section: &mut Section<'_>) -> Result<(), Refused> {
        if counted(section.state) == MAX_READERS {
            return Err(Refused::TooManyReaders);
        }
        if P::IS_BIASED {
            let biased = Self::with_bias(section.state);
            if (section.state ^ biased) & BIASED != 0 {
                self.biased_since.begin();
            }
            section.state = biased;
        }
        section.state += READER;
        reader::count_acquisition();
        Ok(())
    }

    #[cold]
    pub(super) fn try_read_in_section(&self, recursion: Recursion) -> Result<(), Refused> {
        let blocked_by = match recursion {
            Recursion::Allowed => WRITER,
            Recursion::Excluded => WRITER | WRITERS,
        };
        self.read_unless(blocked_by, recursion)
    }

    #[cold]
    pub(super) fn read_now_in_section(&self, recursion: Recursion) -> Result<(), Refused> {
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
        let mut section = self.enter_to_acquire();
        let result = match section.state & blocked_by {
            0 => self.read_in_section(&mut section),
            _ => Err(Refused::Busy),
        };
        section.leave();
        result
    }

    /// Counts another hold in the slot that the calling thread has. The thread keeps writers out already.
    fn publish_again(&self) -> bool {
        // Relaxed: if the thread holds the lock, it has seen the bit. Without it a slot is of another lock that was at this address.
        self.state.load(Ordering::Relaxed) & IN_TABLE != 0 && slots::publish_again(self.address())
    }

    #[cold]
    pub(super) fn wait_to_read(&self, recursion: Recursion, until: Option<Until>) -> Result<Waited, Refused> {
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
            let mut section = self.enter_to_acquire();
            if section.state & blocked_by == 0 {
                let result = self.read_in_section(&mut section).map(|()| Waited::Slept);
                section.leave();
                return result;
            }
            section.append_reader(NonNull::from(&node));
            if blocked_by == WRITER {
                section.state |= OVERTAKERS;
            }
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

    /// The first step of a release by a reader, as [`read_first`](Self::read_first) is of an acquisition.
    ///
    /// # Safety
    /// As for [`RawRwLock::unlock_read`](crate::RawRwLock::unlock_read).
    #[inline(always)]
    pub unsafe fn unlock_read_first(&self) -> Retired {
        if P::IS_BIASED { slots::retire_alone(self.address()) } else { Retired::Not }
    }

    /// Removes a hold that the calling thread has published, if the [first step](Self::unlock_read_first) has not. Returns whether
    /// there was one.
    pub(super) fn retire(&self) -> bool {
        // A release that was interrupted may be about to empty the slot: then a hold that is counted is left to remove.
        // Relaxed: which of several holds a release removes does not matter.
        if slots::interrupts_release() && counted(self.state.load(Ordering::Relaxed)) != 0 {
            slots::retire_again(self.address())
        } else {
            slots::retire(self.address())
        }
    }

    /// Removes a reader that is counted in the state.
    pub(super) fn count_out(&self) {
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
                return reader::count_release();
            }
        }
    }

    #[cold]
    fn count_out_slowly(&self) {
        // Both what is counted and what is published are holds of the lock, so it does not matter which release removes which.
        // The calling thread has published none: it releases what another thread has acquired, or what that thread has
        // counted for it.
        loop {
            // Relaxed: a hint; the section reads it again.
            let is_counted = counted(self.state.load(Ordering::Relaxed)) != 0;
            if P::IS_BIASED && !is_counted && slots::retire_any(self.address()) {
                return reader::count_release();
            }
            let mut section = self.enter();
            let is_removed = counted(section.state) > 0;
            if is_removed {
                section.state -= READER;
                self.serve(&mut section, Left::Others);
            }
            let may_be_published = P::IS_BIASED && section.state & (BIASED | DRAINING) != 0;
            section.leave();
            if is_removed {
                return reader::count_release();
            }
            // Another release may have removed what was counted; then this one removes what is published. If there is nothing,
            // the lock was not held.
            if !may_be_published || slots::count(self.address()) == 0 {
                return;
            }
        }
    }
}

/// How long a reader that holds no lock waits behind writers that wait themselves, where recursion is allowed. libc's default kind
/// lets it in at once, so a thread that holds the lock for reading may wait for it. Longer than phases are.
#[cfg(not(any(loom, shuttle)))]
const DEFERENCE: core::time::Duration = core::time::Duration::from_millis(100);

/// The time until which a reader waits behind writers that wait; `None`: without a limit.
#[cfg(not(any(loom, shuttle)))]
fn deference(blocked_by: u64) -> Option<Until> {
    (blocked_by & PRESSING != 0).then(|| Until::after(DEFERENCE))
}

/// A time may pass at any moment in a model, so a wait with one would hide a lost wake-up.
#[cfg(any(loom, shuttle))]
fn deference(_: u64) -> Option<Until> {
    None
}

/// What keeps a reader that may wait from acquiring: not a writer that waits, if the thread holds another lock.
fn blocked_by(recursion: Recursion) -> u64 {
    match recursion {
        Recursion::Excluded => WRITER | WRITERS,
        Recursion::Allowed if reader::holds() > 0 => WRITER,
        Recursion::Allowed => WRITER | PRESSING,
    }
}
