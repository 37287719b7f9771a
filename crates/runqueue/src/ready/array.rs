//! Normal tasks by group and level. A group is a set of tasks that have the affinity bonus on the same workers.

use crate::ready::batch::Batch;
use crate::ready::levels::{LEVELS, Levels, Presence};

/// Groups in one word of a set of groups.
const WORD: usize = u64::BITS as usize;

/// The normal tasks of a ready list.
#[derive(Debug)]
pub(crate) struct Array<T> {
    groups: Box<[Levels<T>]>,
    /// Bit `n`: a group has an entry at level `n`.
    present: u64,
    /// The set of groups that have an entry at a level, for all levels.
    holders: Box<[u64]>,
    /// Words of a set of groups.
    words: usize,
    /// The group after the one that was served last by [`pop_best`](Array::pop_best), so that groups take turns.
    next: usize,
}

impl<T> Array<T> {
    pub fn new(groups: usize) -> Array<T> {
        let words = groups.div_ceil(WORD);
        Array {
            groups: (0..groups).map(|_| Levels::new()).collect(),
            present: 0,
            holders: vec![0; words * LEVELS].into(),
            words,
            next: 0,
        }
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.present == 0
    }

    /// The highest level of all groups.
    #[inline(always)]
    pub fn best(&self) -> Option<usize> {
        self.present.checked_ilog2().map(|level| level as usize)
    }

    /// The highest level of a group.
    #[inline(always)]
    pub fn best_of(&self, group: usize) -> Option<usize> {
        self.groups[group].best()
    }

    #[inline(always)]
    pub fn push(&mut self, group: usize, level: usize, entry: T) -> Presence {
        let presence = self.groups[group].push(level, entry);
        if presence == Presence::Changed {
            self.holders[level * self.words + group / WORD] |= 1 << (group % WORD);
            self.present |= 1 << level;
        }
        presence
    }

    /// Takes the first entry of a group at a level.
    #[inline(always)]
    pub fn pop(&mut self, group: usize, level: usize) -> Option<(T, Presence)> {
        let (entry, presence) = self.groups[group].pop(level)?;
        if presence == Presence::Changed {
            self.remove_holder(group, level);
        }
        Some((entry, presence))
    }

    fn remove_holder(&mut self, group: usize, level: usize) {
        self.holders[level * self.words + group / WORD] &= !(1 << (group % WORD));
        if self.holders(level).iter().all(|&word| word == 0) {
            self.present &= !(1 << level);
        }
    }

    /// Takes the first entry of a group that has one at the highest level. Groups take turns.
    pub fn pop_best(&mut self) -> Option<(T, Presence)> {
        let level = self.best()?;
        let group = self.holder(level)?;
        self.next = group + 1;
        self.pop(group, level)
    }

    /// Takes the first half of the entries of a group that has some at the highest level, as far as the batch has room.
    pub fn take_batch(&mut self, mut batch: Batch<T>) -> Batch<T> {
        let found = self.best().and_then(|level| Some((self.holder(level)?, level)));
        if let Some((group, level)) = found {
            (batch.group, batch.level) = (group, level);
            let count = (self.groups[group].len_at(level) / 2).min(batch.tasks.capacity());
            // Half of them stay, so the group still has some at this level.
            batch.tasks.extend(self.groups[group].take_first(level, count));
        }
        batch
    }

    /// The first level and group with an entry from these on, by level, then by group.
    pub fn first_place(&self, level: usize, group: usize) -> Option<(usize, usize)> {
        let above = self.present & u64::MAX.checked_shl(level as u32 + 1).unwrap_or(0);
        let next_level = || (above != 0).then(|| above.trailing_zeros() as usize);
        let in_level = |level: usize, from: usize| Some((level, self.first_holder(level, from)?));
        in_level(level, group).or_else(|| in_level(next_level()?, 0))
    }

    fn holders(&self, level: usize) -> &[u64] {
        &self.holders[level * self.words..][..self.words]
    }

    /// The first group from `next` on that has an entry at this level, else the first of all.
    fn holder(&self, level: usize) -> Option<usize> {
        self.first_holder(level, self.next).or_else(|| self.first_holder(level, 0))
    }

    /// The first group from this one on that has an entry at this level.
    fn first_holder(&self, level: usize, from: usize) -> Option<usize> {
        let holders = self.holders(level);
        let (word, bit) = (from / WORD, from % WORD);
        let masked = holders.get(word).map(|&bits| bits & u64::MAX << bit);
        let rest = holders.iter().copied().skip(word + 1);
        let mut words = masked.into_iter().chain(rest).enumerate();
        words
            .find(|&(_, bits)| bits != 0)
            .map(|(at, bits)| (word + at) * WORD + bits.trailing_zeros() as usize)
    }
}
