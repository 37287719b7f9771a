//! The terminal: taken at the beginning, given back in any case.

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

/// A terminal in our hands. Dropping it gives it back, and so does a panic; signals that would end us are noted instead (see
/// `signals`), so that it is dropped. Only SIGKILL leaves it as it is.
pub struct Terminal {
    /// Never dropped: when the terminal is gone, dropping it complains of that to the same terminal, and panics.
    terminal: ManuallyDrop<DefaultTerminal>,
    /// What comes from the terminal, read by a thread: crossterm reads the end of a terminal again and again without ever
    /// coming back.
    events: Receiver<Event>,
    palette: Palette,
}

/// Something came from the terminal.
pub enum Input {
    /// A key.
    Key(KeyEvent),
    /// The window has another size, or there is another reason to draw.
    Redraw,
    /// The terminal is gone.
    HangUp,
}

impl Terminal {
    /// Whether there is a terminal to show anything on, and a person to press keys.
    pub fn check() -> Result<(), Error> {
        if is_there() {
            return Ok(());
        }
        Err(Error::Usage(
            "top: standard input and output must be a terminal; `unspin meter` needs none".into(),
        ))
    }

    /// Takes the terminal: its alternate screen, and each key as it is pressed.
    pub fn enter() -> Result<Terminal, Error> {
        // This installs a panic hook that gives the terminal back.
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore()).map_err(failed)?;
        let (sender, events) = mpsc::channel();
        thread::spawn(move || {
            // After an error nothing more will come: the sender goes, which is how the receiver learns of it.
            while let Ok(event) = event::read()
                && sender.send(event).is_ok()
            {}
        });
        let terminal = ManuallyDrop::new(terminal);
        Ok(Terminal { terminal, events, palette: Palette::from_environment() })
    }

    /// Draws the picture.
    pub fn draw(&mut self, state: &mut State) -> Result<(), Error> {
        let palette = self.palette;
        self.terminal.draw(|frame| draw::draw(frame, state, palette)).map(drop).map_err(failed)
    }

    /// What comes from the terminal within that time.
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
        // A terminal that is gone needs neither.
        let _ = ratatui::try_restore();
        let _ = self.terminal.show_cursor();
    }
}

/// Whether both are a terminal, and one that has not been hung up: to that the kernel answers nothing but errors.
fn is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn failed(error: std::io::Error) -> Error {
    Error::Environment(format!("the terminal: {error}"))
}
