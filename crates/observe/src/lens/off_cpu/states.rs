//! The states of one thread, and how long it was in each.

use unspin_trace::StackId;

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum State {
    /// It has a CPU.
    OnCpu,
    /// It could run, and has no CPU.
    Runnable,
    /// It waits for something.
    Blocked(Blocked),
}

/// How a thread blocked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Blocked {
    /// At this stack, in this state.
    At(StackId, Sleep),
    /// Before the observation, in the system call with this number, if it is known.
    Before(Option<u64>, Sleep),
}

/// Whether a signal could end it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Sleep {
    /// Yes: `S`.
    Interruptible,
    /// No: `D`.
    Uninterruptible,
    /// The thread is stopped or traced: `T`, `t`.
    Stopped,
}

/// A time spent in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The state.
    pub state: State,
    /// Its length in nanoseconds.
    pub ns: u64,
}

/// The state of a thread since a time.
#[derive(Clone, Copy, Debug)]
pub struct States {
    state: State,
    since: u64,
    /// Whether the state was read from `/proc`, so that it may have changed before.
    is_guess: bool,
}

impl States {
    /// A thread that begins in a state that is certain.
    pub fn new(state: State, now: u64) -> States {
        States { state, since: now, is_guess: false }
    }

    /// A thread whose state was read from `/proc`.
    pub fn read(state: State, now: u64) -> States {
        States { state, since: now, is_guess: true }
    }

    /// The thread gets a CPU.
    pub fn on_cpu(&mut self, now: u64) -> Interval {
        self.change(State::OnCpu, now)
    }

    /// The thread leaves its CPU.
    pub fn leaves_cpu(&mut self, next: State, now: u64) -> Interval {
        // What was read did not hold any more: only a thread that has a CPU can leave one.
        if self.is_guess {
            self.state = State::OnCpu;
        }
        self.change(next, now)
    }

    /// The thread is woken; nothing changes if it is not blocked.
    pub fn woken(&mut self, now: u64) -> Option<Interval> {
        matches!(self.state, State::Blocked(_)).then(|| self.change(State::Runnable, now))
    }

    /// The time in the last state.
    pub fn end(self, now: u64) -> Interval {
        Interval { state: self.state, ns: now.saturating_sub(self.since) }
    }

    /// Divides the time in the present state: returns the part until now. The rest goes on.
    pub fn cut(&mut self, now: u64) -> Interval {
        let interval = self.end(now);
        self.since = now.max(self.since);
        interval
    }

    fn change(&mut self, next: State, now: u64) -> Interval {
        let interval = self.end(now);
        *self = States::new(next, now.max(self.since));
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKED: State = State::Blocked(Blocked::Before(None, Sleep::Interruptible));

    #[test]
    fn time_is_divided_among_the_states() {
        let mut states = States::new(State::Runnable, 10);
        assert_eq!(states.on_cpu(15), Interval { state: State::Runnable, ns: 5 });
        assert_eq!(states.leaves_cpu(BLOCKED, 25), Interval { state: State::OnCpu, ns: 10 });
        assert_eq!(states.woken(30), Some(Interval { state: BLOCKED, ns: 5 }));
        assert_eq!(states.woken(31), None, "it is runnable already");
        assert_eq!(states.on_cpu(40), Interval { state: State::Runnable, ns: 10 });
        assert_eq!(states.end(41), Interval { state: State::OnCpu, ns: 1 });
    }

    #[test]
    fn state_that_was_read_yields_to_the_first_record() {
        let mut states = States::read(BLOCKED, 10);
        assert_eq!(states.leaves_cpu(BLOCKED, 12), Interval { state: State::OnCpu, ns: 2 });
        assert_eq!(states.on_cpu(15), Interval { state: BLOCKED, ns: 3 });
    }
}
