//! What a task asks for: its priority and its nice value.

/// How much a task lets others go first: -20 (least) to 19.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nice(pub(super) i8);

impl Nice {
    /// The nice value of a task that asks for none: 0.
    pub const DEFAULT: Nice = Nice(0);
    /// The nice value with the longest slices: -20.
    pub const LOWEST: Nice = Nice(-20);
    /// The nice value with the shortest slices: 19.
    pub const HIGHEST: Nice = Nice(19);

    /// This nice value; out of range it is clamped, as by nice(2).
    pub const fn new(nice: i32) -> Nice {
        match nice {
            ..-20 => Nice::LOWEST,
            20.. => Nice::HIGHEST,
            _ => Nice(nice as i8),
        }
    }

    /// The nice value as a number: -20 to 19.
    pub const fn value(self) -> i32 {
        self.0 as i32
    }

    /// The ticks of a whole slice: 1 to 11.
    #[inline(always)]
    pub const fn ticks(self) -> u8 {
        ((20 - self.0) >> 2) as u8 + 1
    }
}

/// A task's priority: real-time tasks precede all others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Priority {
    /// Shares the workers by slices and nice value.
    #[default]
    Normal,
    /// Precedes normal tasks, and real-time tasks of lower priority: 1 to 99. Such a task has no slice: it runs when
    /// it can.
    RealTime(u8),
}
