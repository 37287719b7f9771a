//! Telling a process from a copy of it.
//!
//! A child made by `fork` has its parent's memory, and so the parent's idea of which slot is its own. Two
//! threads in one slot would end each other's sections. So whoever keeps a slot in private memory keeps it
//! in, or beside, memory that the kernel wipes in the child.

use std::sync::OnceLock;
use unspin_sync::atomic::{AtomicU64, Ordering};
use unspin_sys::Errno;
use unspin_sys::mem::Mapping;

/// The process in which it was made. Comparing costs a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Birth {
    word: &'static AtomicU64,
    value: u64,
}

impl Birth {
    /// The calling process.
    pub(crate) fn here() -> Result<Birth, Errno> {
        static PAGE: OnceLock<Result<Mapping, Errno>> = OnceLock::new();
        let page =
            PAGE.get_or_init(|| Mapping::wiped_on_fork(size_of::<AtomicU64>())).as_ref().map_err(|&e| e)?;
        // SAFETY: the mapping is as large as the word, aligned to a page, zeroed, and never unmapped, as it is
        // in a static; nothing but such words is made of it.
        let word = unsafe { page.start().cast::<AtomicU64>().as_ref() };
        // Odd, so not 0; another one for every generation of processes, as the clock of a machine never
        // reads the same before and after a fork.
        let fresh = unspin_sys::clock::ticks() | 1;
        // Relaxed: compared by threads that got their copy of the value in other ways.
        let value = match word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => fresh,
            Err(earlier) => earlier,
        };
        Ok(Birth { word, value })
    }

    /// Whether the caller is the process of [`here`](Birth::here), not a child of it.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        // Relaxed: as above.
        self.word.load(Ordering::Relaxed) == self.value
    }
}
