//! SIGINT (^C), SIGTERM and SIGHUP during a measurement.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use unspin_launch::command::ignored_signals::without_ignored;
use unspin_launch::error::Error;

/// Whether a signal has come. The first one ends the measurement, and the results are reported. A second one, which may
/// be a repeated key, only kills the program without waiting.
#[derive(Debug)]
pub struct Interrupt {
    /// Set by a signal, and cleared when the signal has been counted.
    pending: Arc<AtomicBool>,
    /// Set when a signal may end unspin.
    may_end: Arc<AtomicBool>,
    count: Cell<u32>,
}

/// Time for printing the report, after which a signal ends unspin: the reader of the report may have stopped reading.
const PRINTING: Duration = Duration::from_secs(3);

impl Interrupt {
    /// Installs the handlers. A signal that unspin was started to ignore stays ignored.
    pub fn install() -> Result<Interrupt, Error> {
        let (pending, may_end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in without_ignored(&[SIGINT, SIGTERM, SIGHUP]) {
            signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&may_end))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&pending)))
                .map_err(|e| Error::failed(&format!("signal {signal} cannot be caught"), &e))?;
        }
        Ok(Interrupt { pending, may_end, count: Cell::new(0) })
    }

    /// Whether a signal has come.
    pub fn has_come(&self) -> bool {
        self.count() >= 1
    }

    /// Whether another signal has come after the first one had been seen.
    pub fn has_come_again(&self) -> bool {
        self.count() >= 2
    }

    /// Set when a signal has come that was not counted yet, for code that has no other means to ask.
    pub fn pending(&self) -> &AtomicBool {
        &self.pending
    }

    fn count(&self) -> u32 {
        if self.pending.swap(false, Ordering::SeqCst) {
            self.count.set(self.count.get().saturating_add(1));
        }
        self.count.get()
    }

    /// Call it before the report is printed. If printing takes too long, a signal then ends unspin.
    pub fn allow_signals_to_exit(&self) {
        let may_end = Arc::clone(&self.may_end);
        let at_once = Arc::clone(&may_end);
        let wait = move || {
            thread::sleep(PRINTING);
            may_end.store(true, Ordering::SeqCst);
        };
        // Where no thread is permitted (ulimit -u), a signal ends unspin from now on.
        if thread::Builder::new().spawn(wait).is_err() {
            at_once.store(true, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signal_before_the_first_check_counts_as_first() {
        let interrupt = Interrupt {
            pending: Arc::new(AtomicBool::new(false)),
            may_end: Arc::new(AtomicBool::new(false)),
            count: Cell::new(0),
        };
        assert!(!interrupt.has_come());
        interrupt.pending.store(true, Ordering::SeqCst);
        interrupt.pending.store(true, Ordering::SeqCst);
        assert!(interrupt.has_come() && interrupt.has_come() && !interrupt.has_come_again());
        interrupt.pending.store(true, Ordering::SeqCst);
        assert!(interrupt.has_come_again() && interrupt.has_come());
    }
}
