//! The loop for processes that unspin did not start: only the lenses observe them.

use super::lens_tabs::LiveLenses;
use super::signals::Signals;
use super::state::{Action, ProgramState, State};
use super::terminal::{Input, Terminal};
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_sys::process::{Liveness, ThreadGroup};

/// Maximum time between two checks of the process and of signals.
const TICK: Duration = Duration::from_millis(100);

/// Why the loop ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Left {
    /// The user left.
    ByUser,
    /// A signal came, or the terminal hung up.
    BySignal,
}

/// The state of the loop.
pub struct ObserveLoop {
    /// The lenses.
    pub lenses: LiveLenses,
    /// What is shown.
    pub state: State,
    signals: Signals,
    /// The observed process; none if all are observed.
    process: Option<ThreadGroup>,
}

impl ObserveLoop {
    /// Before the terminal is set up.
    pub fn new(
        lenses: LiveLenses,
        state: State,
        signals: Signals,
        process: Option<ThreadGroup>,
    ) -> ObserveLoop {
        ObserveLoop { lenses, state, signals, process }
    }

    /// Runs until the user leaves.
    pub fn run(&mut self, terminal: &mut Terminal) -> Result<Left, Error> {
        let mut due = Instant::now() + self.state.interval;
        let (mut changed, mut stop) = (true, false);
        loop {
            if std::mem::take(&mut stop) | self.signals.asked_to_stop() {
                if terminal.stop().is_err() {
                    return Ok(Left::BySignal);
                }
                changed = true;
            }
            if self.state.wants_readings() && Instant::now() >= due {
                self.lenses.read(&mut self.state.lenses);
                due = Instant::now() + self.state.interval;
                changed = true;
            }
            if std::mem::take(&mut changed) && terminal.draw(&mut self.state).is_err() {
                return Ok(Left::BySignal);
            }
            if self.signals.came() {
                return Ok(Left::BySignal);
            }
            changed |= self.notice_the_end();
            let Some(input) = terminal.input(TICK.min(due.saturating_duration_since(Instant::now()))) else {
                continue;
            };
            changed = true;
            let key = match input {
                Input::Key(key) => key,
                Input::Stop => {
                    stop = true;
                    continue;
                }
                Input::Redraw => continue,
                Input::HangUp => return Ok(Left::BySignal),
            };
            let interval = self.state.interval;
            match self.state.press(key) {
                Some(Action::Leave) => return Ok(Left::ByUser),
                Some(Action::OpenLens(number)) => {
                    self.lenses.open(number, &mut self.state.lenses[number]);
                }
                Some(Action::Read) => due = Instant::now(),
                Some(Action::End | Action::Kill) | None => {}
            }
            if interval != self.state.interval {
                due = Instant::now() + self.state.interval;
            }
        }
    }

    /// Whether the process has ended since the last call. The last reading stays on the screen.
    fn notice_the_end(&mut self) -> bool {
        let has_ended = self.state.program == ProgramState::Observed
            && self.process.is_some_and(|process| process.liveness() == Liveness::Dead);
        if has_ended {
            self.lenses.read(&mut self.state.lenses);
            self.state.program = ProgramState::Gone;
            self.state.paused = false;
        }
        has_ended
    }
}
