//! Signals that end unspin. They are only recorded, so that the terminal is restored first.

use crate::error::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a signal has come.
pub struct Signals {
    flag: Arc<AtomicBool>,
}

impl Signals {
    /// Installs the handlers.
    pub fn install() -> Result<Signals, Error> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&flag))
                .map_err(|e| Error::Environment(format!("signal {signal} cannot be caught: {e}")))?;
        }
        Ok(Signals { flag })
    }

    /// Whether a signal has come since the last call.
    pub fn came(&self) -> bool {
        self.flag.swap(false, Ordering::SeqCst)
    }
}
