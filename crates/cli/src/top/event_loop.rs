//! The loop that reads the recording, draws the screen, handles keys and waits for the program.

use super::lens_tabs::LiveLenses;
use super::program_output::ProgramOutput;
use super::reading::Reader;
use super::signals::Signals;
use super::state::{Action, ProgramState, State};
use super::terminal::{Input, Terminal};
use super::termination::Termination;
use std::thread;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_meter::Snapshot;
use unspin_observe::meter::running::Running;
use unspin_sys::child::End;

/// Maximum time between two checks of the program and of signals.
const TICK: Duration = Duration::from_millis(100);
/// Reading and naming may take this share of one CPU's time: huge tables are read less often.
const SHARE: u32 = 10;

/// Why the loop ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitReason {
    /// The program had ended by itself.
    Over(End),
    /// The user left, and the program goes on.
    GoesOn,
    /// The user had the program ended.
    Ended,
    /// A signal came or the terminal hung up, and the program was ended.
    Signalled,
}

/// The state of the loop.
pub struct EventLoop<'s> {
    pub running: Running<'s>,
    pub reader: Reader,
    pub lenses: LiveLenses,
    state: State,
    signals: Signals,
    ending: Option<Termination>,
    /// Whether a signal or the hang-up of the terminal ends the program.
    signalled: bool,
    /// Whether the user wants to stop unspin.
    stop: bool,
    /// Whether the terminal has hung up: it shows nothing and sends no keys.
    pub hung_up: bool,
    /// The recording at the moment when the program ended. Processes that it left running no longer count.
    last: Option<Snapshot>,
    /// When the next reading is due.
    due: Instant,
    /// Whether the screen must be drawn again.
    changed: bool,
}

impl<'s> EventLoop<'s> {
    pub fn new(
        running: Running<'s>,
        reader: Reader,
        lenses: LiveLenses,
        state: State,
        signals: Signals,
    ) -> EventLoop<'s> {
        let due = Instant::now();
        EventLoop {
            running,
            reader,
            lenses,
            state,
            signals,
            ending: None,
            signalled: false,
            stop: false,
            hung_up: false,
            last: None,
            due,
            changed: true,
        }
    }

    /// Runs until the user leaves, or a signal or hang-up has ended the program.
    pub fn run(&mut self, terminal: &mut Terminal, output: &ProgramOutput) -> Result<ExitReason, Error> {
        while !self.hung_up {
            output.trim();
            if self.state.wants_readings() && Instant::now() >= self.due {
                self.read();
            }
            if std::mem::take(&mut self.changed) && terminal.draw(&mut self.state).is_err() {
                self.hung_up = true;
            }
            if let Some(left) = self.take_all(terminal) {
                return Ok(left);
            }
            if std::mem::take(&mut self.stop) | self.signals.asked_to_stop() {
                // If the terminal cannot be set up again, it has hung up.
                self.hung_up = terminal.stop().is_err();
                self.changed = true;
            }
            if let Some(left) = self.check()? {
                return Ok(left);
            }
        }
        loop {
            thread::sleep(TICK);
            output.trim();
            if let Some(left) = self.check()? {
                return Ok(left);
            }
        }
    }

    /// Waits for input from the terminal and handles all input that has arrived, so that keys do not lag behind. It
    /// returns after a tick at most, so that fast input does not delay the checks of program and signals.
    fn take_all(&mut self, terminal: &Terminal) -> Option<ExitReason> {
        let began = Instant::now();
        let mut wait = match self.state.wants_readings() {
            true => TICK.min(self.due.saturating_duration_since(began)),
            false => TICK,
        };
        while !self.hung_up
            && began.elapsed() <= TICK
            && let Some(input) = terminal.input(wait)
        {
            wait = Duration::ZERO;
            if let Some(left) = self.take(input) {
                return Some(left);
            }
        }
        None
    }

    /// Ends the program without drawing.
    pub fn end(&mut self) -> Result<(), Error> {
        let mut ending = self.ending.take().unwrap_or_else(|| Termination::begin(self.state.pid));
        while !self.is_over() {
            ending.check();
            if let Some(ended) = self.running.wait(TICK)? {
                self.state.program = ProgramState::Ended(ended.end);
            }
        }
        Ok(())
    }

    /// The recording up to now, or up to the program's end.
    pub fn snapshot(&self) -> Snapshot {
        self.last.clone().unwrap_or_else(|| self.running.snapshot())
    }

    fn is_over(&self) -> bool {
        matches!(self.state.program, ProgramState::Ended(_))
    }

    fn read(&mut self) {
        let began = Instant::now();
        let snapshot = self.running.snapshot();
        // The latest reading stays on the screen if there is nothing more to read.
        if !self.running.has_lost_recording() {
            self.state.show(self.reader.read(snapshot));
        }
        self.lenses.read(&mut self.state.lenses);
        let interval = self.state.interval.max(SHARE * began.elapsed());
        self.due = began + interval;
        self.changed = true;
    }

    fn take(&mut self, input: Input) -> Option<ExitReason> {
        self.changed = true;
        let key = match input {
            Input::Key(key) => key,
            Input::Stop => {
                self.stop = true;
                return None;
            }
            Input::Redraw => return None,
            Input::HangUp => {
                self.hung_up = true;
                return None;
            }
        };
        let interval = self.state.interval;
        let wish = self.state.press(key);
        if interval != self.state.interval {
            self.due = Instant::now() + self.state.interval;
        }
        match wish? {
            Action::Leave => {
                return Some(match self.state.program {
                    ProgramState::Ended(end) => ExitReason::Over(end),
                    _ => ExitReason::GoesOn,
                });
            }
            Action::End => self.ending = Some(Termination::begin(self.state.pid)),
            Action::Kill => self.ending.iter_mut().for_each(Termination::kill),
            Action::Read => self.due = Instant::now(),
            Action::OpenLens(number) => {
                self.lenses.open(number, &mut self.state.lenses[number]);
            }
        }
        None
    }

    /// Checks for signals, hang-up and the end of the program.
    fn check(&mut self) -> Result<Option<ExitReason>, Error> {
        let asked = self.signals.came() || self.hung_up && !self.signalled;
        if asked {
            if let ProgramState::Ended(end) = self.state.program {
                return Ok(Some(ExitReason::Over(end)));
            }
            self.signalled = true;
            self.changed = true;
            self.state.program = ProgramState::Ending;
            self.ending.get_or_insert_with(|| Termination::begin(self.state.pid));
        }
        if let Some(ending) = &mut self.ending {
            ending.check();
        }
        if self.is_over() {
            return Ok(None);
        }
        let Some(ended) = self.running.wait(Duration::ZERO)? else { return Ok(None) };
        let last = self.running.snapshot();
        self.state.survivors = self.running.surviving();
        self.lenses.read(&mut self.state.lenses);
        self.state.end(ended.end, self.reader.read(last.clone()));
        self.last = Some(last);
        self.changed = true;
        Ok(match (self.signalled, &self.ending) {
            (true, _) => Some(ExitReason::Signalled),
            (false, Some(_)) => Some(ExitReason::Ended),
            (false, None) => None,
        })
    }
}

/// After a panic of unspin, no program is left running without a display.
impl Drop for EventLoop<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.is_over() {
            Termination::begin(self.state.pid);
        }
    }
}
