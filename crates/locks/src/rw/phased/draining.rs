//! The end of a bias: a writer waits for the readers in slots.

use super::super::order::Policy;
use super::super::section::Section;
use super::super::word::{BIASED, DRAINER, DRAINING, WRITERS};
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

    /// The calling thread, which is the drainer, waits for no slot any more.
    pub(super) fn end_draining(&self, section: &mut Section<'_>, is_empty: bool, began: u64) {
        section.state &= !DRAINER;
        if is_empty {
            section.state &= !DRAINING;
            self.inhibition.begin(began);
        } else if section.state & WRITERS == 0 {
            section.state = section.state & !DRAINING | BIASED;
        }
    }
}
