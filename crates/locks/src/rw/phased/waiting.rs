//! How a waiter spends its time, and what it is told.

use super::super::node::{GRANTED, Node, PENDING, SIGNALLED, WAITING};
use super::super::order::Policy;
use super::Phased;
use crate::park::{self, Wake};
use crate::waiting::{SpinEnd, SpinPolicy, SpinStep};
use crate::{Until, Waited};
use unspin_sync::atomic::Ordering;

impl<P: Policy> Phased<P> {
    pub(super) fn begin_wait(&self) -> P::Waiting {
        // Relaxed, here and below: a hint.
        P::Waiting::begin(u32::from(self.memo.load(Ordering::Relaxed)) << MEMO_UNIT)
    }

    pub(super) fn end_wait(&self, waiting: &P::Waiting, how: SpinEnd) {
        let memo = waiting.end(how) >> MEMO_UNIT;
        self.memo.store(u16::try_from(memo).unwrap_or(u16::MAX), Ordering::Relaxed);
    }

    /// Sleeps until the node's thread is told something; spins before where the lock is handed over.
    pub(super) fn sleep(&self, node: &Node, until: Option<Until>, spins: bool) -> Told {
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
}

/// A unit of the memo in ticks, as a power of two.
const MEMO_UNIT: u32 = 6;

/// What a waiter was told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// It waits.
    Nothing,
    /// It has the lock.
    Granted(Waited),
    /// It is to look at the lock.
    Signalled,
}

/// What the node's thread was told, if anything. `how` is how it has waited.
pub(super) fn told(node: &Node, how: Waited) -> Told {
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

/// Waits for the thread that has removed the node from its ring to say why: it is about to.
pub(super) fn await_word(node: &Node) {
    let mut backoff = crate::backoff::Backoff::default();
    // Acquire: as in `told`.
    while node.word.load(Ordering::Acquire) == PENDING {
        backoff.pause();
    }
}

/// The earlier of two times, each of which may be none.
pub(super) fn earlier(until: Option<Until>, other: Option<Until>) -> Option<Until> {
    let (Some(until), Some(other)) = (until, other) else { return until.or(other) };
    let left = |until: Until| until.at.saturating_sub(until.clock.now());
    Some(if left(until) < left(other) { until } else { other })
}
