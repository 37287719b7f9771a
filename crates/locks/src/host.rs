//! What the locks ask of the machine besides sleeping. In models the machine has one CPU with an unknown number, and
//! the model sets the time.

#[cfg(any(loom, shuttle))]
pub(crate) use model::{
    SPIN_ROUNDS, call_at_thread_exit, cpu, fence_of_reader, fence_of_writer, generation, prepare,
    prepare_table, reader_word, table, ticks, ticks_in,
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use readers::{
    call_at_thread_exit, fence_of_reader, fence_of_writer, prepare_table, reader_word, table,
};
#[cfg(not(any(loom, shuttle)))]
pub(crate) use unspin_sys::{
    clock::ticks, clock::ticks_in, cpu::get as cpu, cpu::prepare, generation::get as generation,
};

/// Spin rounds before a thread gives up its CPU. They take some microseconds, longer than any of our short internal
/// sections.
#[cfg(not(any(loom, shuttle)))]
pub(crate) const SPIN_ROUNDS: u32 = 100;

#[cfg(not(any(loom, shuttle)))]
pub(crate) mod readers;

#[cfg(any(loom, shuttle))]
pub(crate) mod model {
    use crate::rw::Table;
    use core::cell::Cell;
    use unspin_sync::machine::{AtomicBool, AtomicU64, Ordering};
    use unspin_sync::modelled::{lazy_static, thread_local};

    lazy_static! {
        /// How far each call of `ticks` moves the clock; 0 stops it.
        pub(crate) static ref STEP: AtomicU64 = AtomicU64::new(0);
        static ref NOW: AtomicU64 = AtomicU64::new(0);
        static ref TABLE: Table = Table::empty();
        /// Planted bug: readers of biased locks have no fence.
        pub(crate) static ref UNFENCED: AtomicBool = AtomicBool::new(false);
    }

    thread_local! {
        static READER: Cell<usize> = Cell::new(0);
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

    pub(crate) fn table() -> &'static Table {
        &TABLE
    }

    pub(crate) fn reader_word<R>(then: impl FnOnce(&Cell<usize>) -> R) -> R {
        READER.with(then)
    }

    /// Loom does not know `membarrier`, so both sides fence here.
    pub(crate) fn fence_of_reader() {
        // Relaxed: the threads of a model run one at a time.
        if !UNFENCED.load(Ordering::Relaxed) {
            unspin_sync::atomic::fence(unspin_sync::atomic::Ordering::SeqCst);
        }
    }

    pub(crate) fn fence_of_writer() {
        unspin_sync::atomic::fence(unspin_sync::atomic::Ordering::SeqCst);
    }

    pub(crate) fn prepare_table() {}

    pub(crate) fn call_at_thread_exit(_: extern "C-unwind" fn()) {}
}
