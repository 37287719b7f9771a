//! Backoff for a wait that lasts only moments, unless the thread waited for is not on a CPU.

use crate::host;
use crate::park;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sync::hint;

/// Spins first, then sleeps for a short time at each call. sched_yield(2) would not do: a real-time thread yields only
/// to threads of its own priority, and the thread waited for may have a lower priority on the same CPU.
#[derive(Default)]
pub(crate) struct Backoff {
    rounds: u32,
}

impl Backoff {
    /// Lets some time pass.
    pub fn pause(&mut self) {
        if self.rounds < host::SPIN_ROUNDS {
            self.rounds += 1;
            hint::spin_loop();
        } else {
            self.sleep();
        }
    }

    #[cold]
    fn sleep(&self) {
        let private_word = AtomicU32::new(0);
        park::wait(&private_word, 0, Some(crate::Until::after(Duration::from_micros(50))));
    }
}
