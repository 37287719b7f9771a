//! What a thread that leaves does for the waiters.

use super::super::order::{Order, Policy};
use super::super::section::Section;
use super::super::word::{
    AWAKE, BIASED, DRAINER, DRAINING, OVERTAKERS, PRESSING, READERS, WRITER, WRITERS, counted, is_free,
};
use super::Phased;
use crate::host;
use crate::stamp::is_long;

/// Which threads have left the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// A writer.
    Writer,
    /// Readers, or a waiter that gives up.
    Others,
}

impl<P: Policy> Phased<P> {
    #[cold]
    pub(super) fn release_write(&self) {
        let mut section = self.enter();
        // Else the calling thread releases a lock that it does not hold.
        if section.state & WRITER != 0 {
            section.state &= !WRITER;
            self.serve(&mut section, Left::Writer);
        }
        section.leave();
    }

    /// Brings the queue forward, in a section in which a thread leaves.
    pub(super) fn serve(&self, section: &mut Section<'_>, left: Left) {
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
        // All are woken if one of them may enter.
        if section.state & PRESSING == 0 || section.state & OVERTAKERS != 0 {
            section.signal_readers();
        }
        if section.state & (WRITERS | AWAKE) == WRITERS && self.has_work_for_a_writer(section.state) {
            section.state |= AWAKE;
            section.signal_first_writer();
        }
    }

    /// Whether a queued writer that looks at the lock finds it free, or has to revoke the bias or to drain the lock.
    fn has_work_for_a_writer(&self, state: u64) -> bool {
        is_free(state) || state & BIASED != 0 || state & (DRAINING | DRAINER) == DRAINING
    }
}
