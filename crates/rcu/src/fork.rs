//! Telling a process from a copy of it.
//!
//! A child made by `fork` has its parent's memory, and so the parent's idea of which slot is its own. Two
//! threads in one slot would end each other's sections. So whoever keeps a slot in private memory keeps it
//! in, or beside, memory that the kernel wipes in the child.

use core::ptr;
use unspin_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
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
        let word = word()?;
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

/// The process's word, in a page that a forked child finds zeroed.
///
/// Not in a `OnceLock`: a child forked while another thread initialises one would wait for that thread, which
/// it does not have.
fn word() -> Result<&'static AtomicU64, Errno> {
    static WORD: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
    // Acquire: partner is the exchange below; the page is older than the pointer to it.
    let mut word = WORD.load(Ordering::Acquire);
    if word.is_null() {
        let page = Mapping::wiped_on_fork(size_of::<AtomicU64>())?;
        let new = page.start().as_ptr().cast();
        // Release: partner is the load above. Acquire: on failure, the other's page is used.
        match WORD.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => word = page.leak().as_ptr().cast(),
            Err(theirs) => word = theirs,
        }
    }
    // SAFETY: a page that was leaked: large enough, aligned, zeroed, never unmapped; used as nothing else.
    Ok(unsafe { &*word })
}
