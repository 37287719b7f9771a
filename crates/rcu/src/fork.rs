//! Tells a process from a forked copy of it.
//!
//! A child made by `fork` has its parent's memory, and so the parent's record of its slot. Two threads in one slot
//! would end each other's sections. So a record of a slot in private memory must lie in, or be checked against, memory
//! that the kernel wipes in the child.

use core::ptr;
use unspin_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use unspin_sys::Errno;
use unspin_sys::mem::Mapping;

/// The process in which this value was made. A comparison costs one load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessMark {
    word: &'static AtomicU64,
    value: u64,
}

impl ProcessMark {
    /// The calling process.
    pub(crate) fn here() -> Result<ProcessMark, Errno> {
        let word = word()?;
        // Odd, so not 0. It differs in every generation of processes, because the clock never reads the same before and
        // after a fork.
        let fresh = unspin_sys::clock::ticks() | 1;
        // Relaxed: it is only compared, by threads that got their copy of the value in other ways.
        let value = match word.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => fresh,
            Err(earlier) => earlier,
        };
        Ok(ProcessMark { word, value })
    }

    /// Whether the caller is the process of [`here`](ProcessMark::here), and not a child of it.
    #[inline]
    pub(crate) fn is_here(&self) -> bool {
        // Relaxed: as above.
        self.word.load(Ordering::Relaxed) == self.value
    }
}

/// The process's word, in a page that a forked child finds zeroed.
///
/// Not in a `OnceLock`: a child that is forked while another thread initialises it would wait for that thread, which
/// does not exist in the child.
fn word() -> Result<&'static AtomicU64, Errno> {
    static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
    // Acquire: partner is the exchange below: the page was mapped before the pointer to it was stored.
    let mut word = WORD.load(Ordering::Acquire);
    if word.is_null() {
        let page = Mapping::map_wiped_on_fork(size_of::<AtomicU64>())?;
        let new = page.start().as_ptr().cast();
        // Release: partner is the load above. Acquire on failure: the other thread's page is used.
        match WORD.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => word = page.leak().as_ptr().cast(),
            Err(theirs) => word = theirs,
        }
    }
    // SAFETY: the page was leaked: it is large enough, aligned, zeroed, never unmapped, and used for nothing else.
    Ok(unsafe { &*word })
}
