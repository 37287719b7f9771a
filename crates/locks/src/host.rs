//! What a lock asks of the machine besides sleeping. In models the machine has one CPU that nobody knows, and the time is
//! what the model says it is.

#[cfg(any(loom, shuttle))]
pub(crate) use model::{ROUNDS, cpu, generation, prepare, ticks};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use unspin_sys::{clock::ticks, cpu::get as cpu, cpu::prepare, generation::get as generation};

/// Rounds of looking before a thread gives up its CPU: some microseconds, more than any of our sections takes.
#[cfg(not(any(loom, shuttle)))]
pub(crate) const ROUNDS: u32 = 100;

#[cfg(any(loom, shuttle))]
pub(crate) mod model {
    use unspin_sync::machine::{AtomicU64, Ordering};
    use unspin_sync::modelled::lazy_static;

    lazy_static! {
        /// By how much each question moves the clock: 0 stops it.
        pub(crate) static ref STEP: AtomicU64 = AtomicU64::new(0);
        static ref NOW: AtomicU64 = AtomicU64::new(0);
    }

    /// Nobody is ever taken from his CPU.
    pub(crate) const ROUNDS: u32 = u32::MAX;

    pub(crate) fn ticks() -> u64 {
        // Relaxed: a model's threads take turns.
        let step = STEP.load(Ordering::Relaxed);
        NOW.fetch_add(step, Ordering::Relaxed)
    }

    pub(crate) fn cpu() -> u32 {
        0
    }

    pub(crate) fn prepare() {}

    pub(crate) fn generation() -> u32 {
        1
    }
}
