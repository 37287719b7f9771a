//! What tests of run queues queue: a name and a schedule.

use crate::schedule::{Nice, Priority, Schedulable, Schedule};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<N> {
    pub name: N,
    pub schedule: Schedule,
}

impl<N> Token<N> {
    /// An ordinary task that has not run yet.
    pub fn new(name: N) -> Token<N> {
        Token::with(name, Priority::Normal, 0)
    }

    /// A task that has not run yet.
    pub fn with(name: N, priority: Priority, nice: i32) -> Token<N> {
        Token { name, schedule: Schedule::new(priority, Nice::new(nice)) }
    }
}

impl<N: Send> Schedulable for Token<N> {
    fn schedule(&self) -> Schedule {
        self.schedule
    }

    fn set_schedule(&mut self, schedule: Schedule) {
        self.schedule = schedule;
    }
}
