//! The pages of the tables of this process's threads, by thread id.
//!
//! A thread that waits for a mutex knows the owner's thread id, and looks up which call site of the owner holds the mutex. It
//! must not wait for that, so this is no map: two threads whose ids fall on one word overwrite each other, and the owner of a
//! page is compared when it is used. A child made by fork inherits its parent's words, of which none is valid in it.

use unspin_sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Thread ids are given in sequence, so that so many threads have words of their own.
const WORDS: usize = 4096;

static PAGES: [AtomicU32; WORDS] = [const { AtomicU32::new(0) }; WORDS];

/// Notes the page of a thread's table. A recording has no more than 2^24 pages.
pub fn set(tid: u32, page: u64) {
    // Relaxed: a hint; the reader compares the owner in that page.
    PAGES[tid as usize % WORDS].store(page as u32, Relaxed);
}

/// The page of the table that this thread may have.
pub fn get(tid: u32) -> u64 {
    // Relaxed: as above.
    PAGES[tid as usize % WORDS].load(Relaxed).into()
}
