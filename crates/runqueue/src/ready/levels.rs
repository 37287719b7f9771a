//! Queues by level: first in, first out within a level; the best level is found by one instruction.

use std::collections::VecDeque;

/// Levels that a set of queues can have.
pub(crate) const LEVELS: usize = u64::BITS as usize;

/// An empty queue with more room than this gives its memory back: a program that once queued a million tasks shall not
/// keep the room for them.
const ROOM_KEPT: usize = 1024;

/// A queue for each level.
#[derive(Debug)]
pub(crate) struct Levels<T> {
    /// Bit `n`: the queue of level `n` is not empty.
    present: u64,
    /// By level. It is as long as the highest level that was used.
    queues: Vec<VecDeque<T>>,
}

/// Whether a change has made a level non-empty or empty. Only then the best level may have changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    Same,
    Changed,
}

impl<T> Levels<T> {
    pub fn new() -> Levels<T> {
        Levels { present: 0, queues: Vec::new() }
    }

    /// The highest level that has an entry.
    #[inline(always)]
    pub fn best(&self) -> Option<usize> {
        self.present.checked_ilog2().map(|level| level as usize)
    }

    /// Adds an entry behind those of its level.
    #[inline(always)]
    pub fn push(&mut self, level: usize, entry: T) -> Presence {
        if level >= self.queues.len() {
            self.grow(level);
        }
        let queue = &mut self.queues[level];
        queue.push_back(entry);
        if queue.len() > 1 {
            return Presence::Same;
        }
        self.present |= 1 << level;
        Presence::Changed
    }

    #[cold]
    fn grow(&mut self, level: usize) {
        assert!(level < LEVELS, "there is no such level");
        self.queues.resize_with(level + 1, VecDeque::new);
    }

    /// Number of entries of a level that is not empty.
    pub fn len_at(&self, level: usize) -> usize {
        self.queues[level].len()
    }

    /// Takes the first entries of a level, but not all of them.
    pub fn take_first(&mut self, level: usize, count: usize) -> impl Iterator<Item = T> + '_ {
        let queue = &mut self.queues[level];
        debug_assert!(count < queue.len() || count == 0, "some stay");
        queue.drain(..count)
    }

    /// Takes the first entry of a level.
    #[inline(always)]
    pub fn pop(&mut self, level: usize) -> Option<(T, Presence)> {
        let queue = self.queues.get_mut(level)?;
        let entry = queue.pop_front()?;
        if !queue.is_empty() {
            return Some((entry, Presence::Same));
        }
        self.present &= !(1 << level);
        if queue.capacity() > ROOM_KEPT {
            *queue = VecDeque::new();
        }
        Some((entry, Presence::Changed))
    }
}
