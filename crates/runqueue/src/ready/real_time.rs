//! Real-time tasks by priority.

use crate::ready::levels::{LEVELS, Levels};

/// Priorities 1 to 99 in two sets of levels: the higher ones and the lower ones.
#[derive(Debug)]
pub(crate) struct RealTimeTasks<T> {
    halves: [Levels<T>; 2],
    len: usize,
}

impl<T> RealTimeTasks<T> {
    pub fn new() -> RealTimeTasks<T> {
        RealTimeTasks { halves: [Levels::new(), Levels::new()], len: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The highest priority.
    #[cold]
    pub fn best(&self) -> Option<u16> {
        let best = |half: usize| self.halves[half].best().map(|level| (half * LEVELS + level) as u16);
        best(1).or_else(|| best(0))
    }

    /// Adds a task behind those of its priority.
    #[cold]
    pub fn push(&mut self, priority: u8, task: T) {
        let priority = usize::from(priority);
        self.halves[priority / LEVELS].push(priority % LEVELS, task);
        self.len += 1;
    }

    /// Takes the first task of the highest priority.
    #[cold]
    pub fn pop(&mut self) -> Option<T> {
        let priority = usize::from(self.best()?);
        let (task, _) = self.halves[priority / LEVELS].pop(priority % LEVELS)?;
        self.len -= 1;
        Some(task)
    }
}
