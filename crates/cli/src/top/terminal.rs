//! The terminal: set up at the start, restored in any case.

use super::draw::{self, Palette};
use super::state::State;
use crate::error::Error;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use std::io::IsTerminal;
use std::mem::ManuallyDrop;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The terminal in raw mode. Dropping it restores the terminal, and so does a panic. Signals that would end unspin are
/// recorded instead (see `signals`), so that it is dropped. Only SIGKILL leaves the terminal as it is.
pub struct Terminal {
    /// Never dropped: after a hang-up its destructor would report an error to the same terminal, and panic.
    terminal: ManuallyDrop<DefaultTerminal>,
    /// Input of the terminal. A thread reads it, because crossterm's read never returns after a hang-up.
    events: Receiver<Event>,
    palette: Palette,
}

/// Input from the terminal.
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// The window has another size, or must be drawn again for another reason.
    Redraw,
    /// The terminal has hung up.
    HangUp,
}

impl Terminal {
    /// Whether standard output and standard input are terminals.
    pub fn check() -> Result<(), Error> {
        if is_there() {
            return Ok(());
        }
        Err(Error::Usage(
            "top: standard input and output must be a terminal; `unspin meter` needs none".into(),
        ))
    }

    /// Sets up the terminal: alternate screen, and every key without waiting for a line.
    pub fn enter() -> Result<Terminal, Error> {
        // This installs a panic hook that restores the terminal.
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore()).map_err(failed)?;
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            // No input follows an error. The sender is dropped, which tells the receiver.
            while let Ok(event) = event::read()
                && sender.send(event).is_ok()
            {}
        });
        let terminal = ManuallyDrop::new(terminal);
        Ok(Terminal { terminal, events, palette: Palette::from_environment() })
    }

    /// Draws the screen.
    pub fn draw(&mut self, state: &mut State) -> Result<(), Error> {
        let palette = self.palette;
        self.terminal.draw(|frame| draw::draw(frame, state, palette)).map(drop).map_err(failed)
    }

    /// Input that arrives within the timeout.
    pub fn input(&self, timeout: Duration) -> Option<Input> {
        match self.events.recv_timeout(timeout) {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Some(Input::Key(key)),
            Ok(_) => Some(Input::Redraw),
            Err(RecvTimeoutError::Timeout) if is_there() => None,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Some(Input::HangUp),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // After a hang-up neither is necessary.
        let _ = ratatui::try_restore();
        let _ = self.terminal.show_cursor();
    }
}

/// Whether both are terminals that have not hung up: after a hang-up the kernel returns errors for everything.
fn is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn failed(error: std::io::Error) -> Error {
    Error::Environment(format!("the terminal: {error}"))
}
