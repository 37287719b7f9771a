//! The end of a bias: a writer waits for the readers in slots.

use super::super::order::Policy;
use super::super::section::Section;
use super::super::word::{
    BIASED, DRAINER, DRAINING, FENCED, MAX_UNBIASED, UNBIASED, WRITER, WRITERS, counted,
};
use super::super::{host as rw_host, slots};
use super::Phased;
use crate::{Until, host};
use unspin_sync::atomic::Ordering;

impl<P: Policy> Phased<P> {
    /// Waits for the readers in slots, if the bias was revoked and no other thread does. False: the time is over.
    pub(super) fn drain(&self, until: Option<Until>) -> bool {
        // Relaxed: the section decides.
        if self.state.load(Ordering::Relaxed) & (DRAINING | DRAINER) != DRAINING {
            return true;
        }
        let section = self.enter();
        if section.state & (DRAINING | DRAINER) != DRAINING {
            section.leave();
            return true;
        }
        let (section, is_empty) =
            self.drain_by(section, || slots::wait_for_readers::<P::Waiting>(self.address(), until));
        // If not, the caller withdraws, and restores the bias there.
        section.leave();
        is_empty
    }

    /// Whether a thread may revoke the bias before it queues, in a section with this state: no other thread waits or drains.
    pub(super) fn may_revoke(state: u64) -> bool {
        P::IS_BIASED
            && state & (BIASED | DRAINING) != 0
            && state & (WRITER | WRITERS | DRAINER) == 0
            && counted(state) == 0
    }

    /// Revokes the bias, in a section, and looks once whether a reader is published. Returns the section that follows, in which the
    /// lock is not biased.
    pub(super) fn revoke<'lock>(&'lock self, mut section: Section<'lock>) -> Section<'lock> {
        section.state = section.state & !BIASED | DRAINING;
        self.drain_by(section, || slots::count(self.address()) == 0).0
    }

    /// Leaves the section as the drainer, and enters another one after this wait for the readers in slots. Returns that, and whether
    /// the slots are empty.
    fn drain_by<'lock>(
        &'lock self,
        mut section: Section<'lock>,
        wait: impl FnOnce() -> bool,
    ) -> (Section<'lock>, bool) {
        section.state |= DRAINER;
        let is_fenced = section.state & FENCED != 0;
        section.leave();
        let began = host::ticks();
        // Each drainer has a fence of its own: it need not know which thread has cleared the bias.
        if is_fenced {
            rw_host::fence_of_writer_among_fenced();
        } else {
            rw_host::fence_of_writer();
        }
        let is_empty = wait();
        let mut section = self.enter();
        section.state &= !DRAINER;
        if is_empty {
            let has_waiters = section.state & WRITERS != 0;
            section.state &= !(DRAINING | FENCED | (UNBIASED * MAX_UNBIASED));
            section.state |= UNBIASED * self.biased_since.readers_to_count(began, has_waiters);
        }
        (section, is_empty)
    }

    /// In a section: restores the bias that was revoked, if no writer waits any more.
    pub(super) fn restore_bias(section: &mut Section<'_>) {
        if section.state & (DRAINING | DRAINER | WRITERS) == DRAINING {
            section.state = section.state & !DRAINING | BIASED;
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::rw::{RawRwLock, Recursion, RwBiased};

    #[test]
    fn bias_returns_with_fences_and_loses_them() {
        let lock = RwBiased::new();
        let bias = || lock.state.load(Ordering::Relaxed) & (BIASED | DRAINING | FENCED);
        let read = || {
            lock.read(Recursion::Allowed, None).unwrap();
            // SAFETY: acquired in the line before.
            unsafe { lock.unlock_read() };
        };
        read();
        for _ in 0..3 {
            // The second one of a new lock is counted, too.
            read();
            while bias() == 0 {
                read();
            }
            assert_eq!(bias(), BIASED | FENCED);
            while bias() != BIASED {
                read();
            }
            assert!(lock.write(None).is_some() && bias() == 0);
            // SAFETY: acquired in the line before.
            unsafe { lock.unlock_write() };
        }
    }
}
