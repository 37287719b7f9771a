//! Turns: no task waits for ever, however good the tasks are that keep coming.
//!
//! By goodness alone a stream of new tasks, each with a whole slice, would keep back all tasks with less of theirs, and
//! would put off the recalculation. (In the kernel a child got half of its parent's slice.) So one take in [`TURN_EVERY`]
//! is a turn: it ignores goodness, and goes round all places in which tasks wait.

use crate::ready::array::Array;
use crate::ready::levels::Presence;

/// One take of so many is a turn. It is seldom enough to cost nothing: a task that waits for its turn only waits for this
/// number of tasks, times the places that others wait in.
pub(super) const TURN_EVERY: u32 = 64;

/// Where the next turn begins.
#[derive(Debug, Default)]
pub(super) struct Turns {
    takes: u32,
    /// The turn after one at this place is the next one's behind it: the array (1: spent), the level, and the group.
    last: Option<(usize, usize, usize)>,
}

impl Turns {
    /// Counts a take. Returns whether it is a turn.
    #[inline(always)]
    pub fn count(&mut self) -> bool {
        self.takes = self.takes.wrapping_add(1);
        self.takes.is_multiple_of(TURN_EVERY)
    }

    /// Takes the first task of the place behind the one of the last turn. Places are ordered by array, level and group.
    /// Returns the number of the array as well.
    #[cold]
    pub fn take<T>(&mut self, arrays: [&mut Array<T>; 2]) -> Option<(usize, T, Presence)> {
        let first = |from: (usize, usize, usize)| {
            (from.0..2).find_map(|array| {
                let (level, group) = if array == from.0 { (from.1, from.2) } else { (0, 0) };
                arrays[array].first_place(level, group).map(|(level, group)| (array, level, group))
            })
        };
        let behind = self.last.map_or((0, 0, 0), |(array, level, group)| (array, level, group + 1));
        let place = first(behind).or_else(|| first((0, 0, 0)))?;
        self.last = Some(place);
        let (array, level, group) = place;
        let (task, presence) = arrays[array].pop(group, level)?;
        Some((array, task, presence))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
impl Turns {
    /// Whether the next take is a turn.
    pub fn is_next(&self) -> bool {
        self.takes.wrapping_add(1).is_multiple_of(TURN_EVERY)
    }
}
