//! Writers: how one acquires and waits.

use super::super::node::{GRANTED, Node, PENDING, SIGNALLED, WAITING};
use super::super::order::{Order, Policy};
use super::super::section::Section;
use super::super::word::{
    AWAKE, BIASED, BUSY, DRAINER, DRAINING, IN_TABLE, PRESSING, READERS, WRITER, WRITERS, counted, is_free,
};
use super::Phased;
use super::serving::Left;
use super::waiting::{Told, await_word, earlier};
use crate::waiting::{SpinEnd, SpinPolicy, SpinStep};
use crate::{Until, Waited, host};
use core::ptr::NonNull;
use unspin_sync::atomic::Ordering;

impl<P: Policy> Phased<P> {
    /// Acquires for writing, if no other thread has to be considered.
    #[inline(always)]
    pub(super) fn write_alone(&self) -> bool {
        // Relaxed: the compare-exchange provides the ordering.
        let state = self.state.load(Ordering::Relaxed);
        // Acquire: partner of the Release in the releases. Relaxed on failure: a failed attempt reads nothing.
        is_free(state)
            && state & BUSY == 0
            && (!P::IS_BIASED || state & IN_TABLE != 0)
            && (P::ORDER == Order::WritersFirst || state & (WRITERS | READERS) == 0)
            && self
                .state
                .compare_exchange(state, state | WRITER, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    #[cold]
    pub(super) fn try_write_in_section(&self) -> bool {
        // Relaxed: a thread holds the lock, at this moment.
        let state = self.state.load(Ordering::Relaxed);
        if state & WRITER != 0 || counted(state) != 0 {
            return false;
        }
        let mut section = self.enter_to_acquire();
        if is_free(section.state) {
            section.state |= WRITER;
            section.leave();
            return true;
        }
        if !Self::may_revoke(section.state) {
            section.leave();
            return false;
        }
        section = self.revoke(section);
        let is_taken = is_free(section.state);
        if is_taken {
            section.state |= WRITER;
        } else {
            Self::restore_bias(&mut section);
            self.serve(&mut section, Left::Others);
        }
        section.leave();
        is_taken
    }

    #[cold]
    pub(super) fn wait_to_write(&self, until: Option<Until>) -> Option<Waited> {
        let node = Node::new(host::ticks());
        let mut section = self.enter_to_acquire();
        if Self::may_revoke(section.state) {
            section = self.revoke(section);
        }
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
            if section.state & BIASED != 0 {
                section.state = section.state & !BIASED | DRAINING;
            }
            if section.state & (DRAINING | DRAINER) == DRAINING {
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
                // Again after the same time: a writer that takes the lock ends the pressure of all.
                Told::Nothing => (has_duty, indulgence) = (self.press(node), self::indulgence()),
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
    pub(super) fn take(&self, section: &mut Section<'_>, node: &Node, has_duty: bool) {
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
            if is_granted || state & BIASED != 0 || state & (DRAINING | DRAINER) == DRAINING {
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
            Self::restore_bias(&mut section);
            self.serve(&mut section, Left::Others);
        }
        section.leave();
        is_free.then_some(Waited::Slept)
    }
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

/// A time may pass at any moment in a model, so a wait with one would hide a lost wake-up.
#[cfg(any(loom, shuttle))]
fn indulgence() -> Option<Until> {
    None
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
