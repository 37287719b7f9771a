//! Signals that end unspin or stop it. They are only recorded, so that the terminal is restored first.

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use unspin_launch::error::Error;

/// Whether signals have come.
pub struct Signals {
    end: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl Signals {
    /// Installs the handlers.
    pub fn install() -> Result<Signals, Error> {
        let [end, stop] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        for (signal, flag) in
            [(SIGHUP, &end), (SIGINT, &end), (SIGQUIT, &end), (SIGTERM, &end), (SIGTSTP, &stop)]
        {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .map_err(|e| Error::failed(&format!("signal {signal} cannot be caught"), &e))?;
        }
        Ok(Signals { end, stop })
    }

    /// Whether a signal to end has come since the last call.
    pub fn came(&self) -> bool {
        self.end.swap(false, Ordering::SeqCst)
    }

    /// Whether SIGTSTP has come since the last call.
    pub fn asked_to_stop(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }
}

/// Stops this process, as SIGTSTP does by default. Returns when it has been continued.
pub fn stop_process() {
    // It fails only for signals that do not exist.
    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
}
