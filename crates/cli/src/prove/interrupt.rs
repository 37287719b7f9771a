//! ^C, and its kin.

use crate::error::Error;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Whether one of SIGINT, SIGTERM and SIGHUP has come. The first ends the measurement, and what was measured is reported. A
/// second one, which may be the same key pressed twice, only ends the program without asking it first.
#[derive(Debug)]
pub struct Interrupt {
    /// Set by a signal, and cleared when it has been counted.
    pending: Arc<AtomicBool>,
    /// Set when a signal may end unspin.
    may_end: Arc<AtomicBool>,
    count: Cell<u32>,
}

/// How long a report is printed before a signal ends unspin: longer, and its reader does not read.
const PRINTING: Duration = Duration::from_secs(3);

impl Interrupt {
    /// From now on these signals are noted.
    pub fn install() -> Result<Interrupt, Error> {
        let (pending, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&may_end))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&pending)))
                .map_err(|e| Error::Environment(format!("signal {signal} cannot be caught: {e}")))?;
        }
        Ok(Interrupt { pending, may_end, count: Cell::new(0) })
    }

    /// Whether one came.
    pub fn came(&self) -> bool {
        self.count() >= 1
    }

    /// Whether another one came after the first had been seen.
    pub fn came_again(&self) -> bool {
        self.count() >= 2
    }

    fn count(&self) -> u32 {
        if self.pending.swap(false, Ordering::SeqCst) {
            self.count.set(self.count.get().saturating_add(1));
        }
        self.count.get()
    }

    /// The report is about to be printed. If that does not end soon, a signal ends unspin.
    pub fn expect_the_end(&self) {
        let may_end = Arc::clone(&self.may_end);
        thread::spawn(move || {
            thread::sleep(PRINTING);
            may_end.store(true, Ordering::SeqCst);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_that_comes_before_the_first_is_seen_is_the_first() {
        let interrupt = Interrupt {
            pending: Arc::new(AtomicBool::new(false)),
            may_end: Arc::new(AtomicBool::new(false)),
            count: Cell::new(0),
        };
        assert!(!interrupt.came());
        interrupt.pending.store(true, Ordering::SeqCst);
        interrupt.pending.store(true, Ordering::SeqCst);
        assert!(interrupt.came() && interrupt.came() && !interrupt.came_again());
        interrupt.pending.store(true, Ordering::SeqCst);
        assert!(interrupt.came_again() && interrupt.came());
    }
}
