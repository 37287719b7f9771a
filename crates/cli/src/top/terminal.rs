//! The terminal: set up at the start, restored in any case.

use super::draw::{self, Palette};
use super::signals;
use super::state::State;
use ratatui::DefaultTerminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{self, EnterAlternateScreen};
use std::io::IsTerminal;
use std::mem::ManuallyDrop;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::Builder;
use std::time::Duration;
use unspin_launch::error::Error;

/// The terminal in raw mode. Dropping it restores the terminal, and so does a panic. Signals that would end or stop
/// unspin are recorded instead (see `signals`). Only SIGKILL and SIGSTOP leave the terminal as it is.
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
    /// ^Z, which is only a key in raw mode.
    Stop,
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
        let read = move || {
            // No input follows an error. The sender is dropped, which tells the receiver.
            while let Ok(event) = event::read()
                && sender.send(event).is_ok()
            {}
        };
        Builder::new().spawn(read).inspect_err(|_| ratatui::restore()).map_err(|e| Error::no_thread(&e))?;
        let terminal = ManuallyDrop::new(terminal);
        Ok(Terminal { terminal, events, palette: Palette::from_environment() })
    }

    /// Draws the screen.
    pub fn draw(&mut self, state: &mut State) -> Result<(), Error> {
        let palette = self.palette;
        self.terminal.draw(|frame| draw::draw(frame, state, palette)).map(drop).map_err(failed)
    }

    /// Gives the terminal back to the shell, stops this process, and takes the terminal again when it is continued.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.give_back();
        signals::stop_process();
        terminal::enable_raw_mode().map_err(failed)?;
        execute!(std::io::stdout(), EnterAlternateScreen).map_err(failed)?;
        // With nothing on it. To clear the old one would ask the terminal for the cursor, whose answer the thread of events would read.
        let terminal = ratatui::Terminal::new(CrosstermBackend::new(std::io::stdout())).map_err(failed)?;
        self.terminal = ManuallyDrop::new(terminal);
        Ok(())
    }

    fn give_back(&mut self) {
        // After a hang-up neither is necessary.
        let _ = ratatui::try_restore();
        let _ = self.terminal.show_cursor();
    }

    /// Input that arrives within the timeout.
    pub fn input(&self, timeout: Duration) -> Option<Input> {
        match self.events.recv_timeout(timeout) {
            Ok(Event::Key(key)) if is_stop(key) => Some(Input::Stop),
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Some(Input::Key(key)),
            Ok(_) => Some(Input::Redraw),
            Err(RecvTimeoutError::Timeout) if is_there() => None,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Some(Input::HangUp),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Whether both are terminals that have not hung up: after a hang-up the kernel returns errors for everything.
fn is_there() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn is_stop(key: KeyEvent) -> bool {
    key.kind != KeyEventKind::Release
        && key.code == KeyCode::Char('z')
        && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn failed(error: std::io::Error) -> Error {
    Error::Environment(format!("the terminal: {error}"))
}
