//! Waiting for something that another thread will have done in a moment, unless it is not on a CPU.

use crate::host;
use crate::park;
use core::time::Duration;
use unspin_sync::atomic::AtomicU32;
use unspin_sync::hint;

/// See the module. It spins, and then sleeps for a moment each time: yielding would not do, because a real-time thread
/// yields to its equals only, and the other may be a lesser one on the same CPU.
#[derive(Default)]
pub(crate) struct Patience {
    rounds: u32,
}

impl Patience {
    /// Lets some time pass.
    pub fn pause(&mut self) {
        if self.rounds < host::ROUNDS {
            self.rounds += 1;
            hint::spin_loop();
        } else {
            self.sleep();
        }
    }

    #[cold]
    fn sleep(&self) {
        let nobodys = AtomicU32::new(0);
        park::wait(&nobodys, 0, Some(crate::Until::after(Duration::from_micros(50))));
    }
}
