//! The pages of a recording. They are allocated in order and never freed.
//!
//! A page is zero until the thread that allocated it writes to it. Its memory is reserved by [`Pages::populate`]
//! before the first write, so that a full file system is an error at that point and not a SIGBUS later.

use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::{Errno, mem::Mapping};

/// Words of a page.
pub(crate) const WORDS: usize = 512;
/// Bytes of a page.
pub(crate) const BYTES: usize = 4096;

/// The words of a mapped recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pages<'m> {
    words: &'m [AtomicU64],
    /// Reserves the memory of pages. None for plain memory, and for a recording that is only read.
    backing: Option<&'m Mapping>,
}

impl<'m> Pages<'m> {
    /// All words of a mapping. Not under loom, whose atomics cannot be mapped from a file.
    #[cfg(not(loom))]
    pub fn of(map: &'m Mapping) -> Pages<'m> {
        Pages { words: map.words(), backing: Some(map) }
    }

    /// Plain memory, which needs no reservation.
    #[cfg(all(test, not(loom)))]
    pub fn plain(words: &'m [AtomicU64]) -> Pages<'m> {
        Pages { words, backing: None }
    }

    /// The word with this number; none if it is out of range, which occurs only in a damaged file.
    #[inline(always)]
    pub fn word(&self, index: usize) -> Option<&'m AtomicU64> {
        self.words.get(index)
    }

    /// `N` words from a number on; none if they exceed the file.
    #[inline(always)]
    pub fn array<const N: usize>(&self, index: usize) -> Option<&'m [AtomicU64; N]> {
        self.words.get(index..)?.first_chunk()
    }

    /// All words, `N` at a time.
    pub fn slots<const N: usize>(&self) -> &'m [[AtomicU64; N]] {
        self.words.as_chunks().0
    }

    /// `len` words from a number on; none if they exceed the file.
    pub fn slice(&self, index: usize, len: usize) -> Option<&'m [AtomicU64]> {
        self.words.get(index..)?.get(..len)
    }

    /// The words of a page that has been allocated.
    pub fn page(&self, page: u64) -> Option<&'m [AtomicU64; WORDS]> {
        self.array(usize::try_from(page).ok()?.checked_mul(WORDS)?)
    }

    /// Number of pages, including the header's.
    pub fn len(&self) -> u64 {
        (self.words.len() / WORDS) as u64
    }

    /// Reserves memory for pages, so that they can be written to.
    pub fn populate(&self, page: u64, pages: u64) -> Result<(), Errno> {
        let Some(map) = self.backing else { return Ok(()) };
        match map.populate(page as usize * BYTES, pages as usize * BYTES) {
            // Kernels before 5.14 lack this function. There a full tmpfs causes SIGBUS at the first store.
            Err(Errno::EINVAL) => Ok(()),
            other => other,
        }
    }
}

/// Allocates `pages` adjacent pages. `counter` holds the number of the first free page; there are `all` pages.
/// Returns the first of them, or none if there are not enough. Page 0 is the header, so the number is 0 only where the
/// file was cut short and the memory is zero: then there are none either.
pub(crate) fn take(counter: &AtomicU64, all: u64, pages: u64) -> Option<u64> {
    // Relaxed: a guess, which the exchange below checks.
    let mut first = counter.load(Relaxed);
    loop {
        let end = first.checked_add(pages).filter(|&end| first != 0 && end <= all)?;
        // Relaxed: the exchange transfers only a number. The pages themselves are zero without any store of ours.
        match counter.compare_exchange(first, end, Relaxed, Relaxed) {
            Ok(_) => return Some(first),
            Err(now) => first = now,
        }
    }
}

#[cfg(test)]
mod models {
    use super::*;
    use unspin_sync::{model, sync::Arc, thread};

    #[test]
    fn pages_are_handed_out_once() {
        model(|| {
            let counter = Arc::new(AtomicU64::new(1));
            let other = {
                let counter = Arc::clone(&counter);
                thread::spawn(move || [take(&counter, 5, 2), take(&counter, 5, 2)])
            };
            let mine = take(&counter, 5, 2);
            let mut all: Vec<u64> = other.join().unwrap().into_iter().chain([mine]).flatten().collect();
            all.sort_unstable();
            assert_eq!(all, [1, 3]);
        });
    }
}
