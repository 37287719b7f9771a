//! ^C, and its kin.

use crate::error::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether one of SIGINT, SIGTERM and SIGHUP has come. A second one ends unspin at once.
#[derive(Debug)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on these signals are noted.
    pub fn watch() -> Result<Interrupt, Error> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The first of the two runs first, and does nothing as long as the flag is not set.
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&flag))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
                .map_err(|e| Error::Environment(format!("signal {signal} cannot be caught: {e}")))?;
        }
        Ok(Interrupt { flag })
    }

    /// Whether one came.
    pub fn came(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }
}
