//! What the locks ask of the machine besides sleeping. In models the machine has one CPU with an unknown number, and
//! the model sets the time.

#[cfg(any(loom, shuttle))]
pub(crate) use model::{SPIN_ROUNDS, cpu, generation, prepare, ticks, ticks_in};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use unspin_sys::{
    clock::ticks, clock::ticks_in, cpu::get as cpu, cpu::prepare, generation::get as generation,
};

/// Spin rounds before a thread gives up its CPU. They take some microseconds, longer than any of our short internal
/// sections.
#[cfg(not(any(loom, shuttle)))]
pub(crate) const SPIN_ROUNDS: u32 = 100;

#[cfg(any(loom, shuttle))]
pub(crate) mod model {
    use unspin_sync::machine::{AtomicU64, Ordering};
    use unspin_sync::modelled::lazy_static;

    lazy_static! {
        /// How far each call of `ticks` moves the clock; 0 stops it.
        pub(crate) static ref STEP: AtomicU64 = AtomicU64::new(0);
        static ref NOW: AtomicU64 = AtomicU64::new(0);
    }

    /// A model never preempts a thread, so spinning never has to end.
    pub(crate) const SPIN_ROUNDS: u32 = u32::MAX;

    pub(crate) fn ticks() -> u64 {
        // Relaxed: the threads of a model run one at a time.
        let step = STEP.load(Ordering::Relaxed);
        NOW.fetch_add(step, Ordering::Relaxed)
    }

    /// A tick of the model's clock is a nanosecond.
    pub(crate) fn ticks_in(ns: u64) -> u64 {
        ns
    }

    pub(crate) fn cpu() -> u32 {
        0
    }

    pub(crate) fn prepare() {}

    pub(crate) fn generation() -> u32 {
        1
    }
}
