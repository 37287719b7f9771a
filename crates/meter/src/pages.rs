//! The pages of a recording: handed out from first to last, never given back.
//!
//! A page is zero until its taker writes to it, and exists in memory from the moment it is reserved: a full file system is
//! an error then, not a SIGBUS later.

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
    /// What makes pages exist; none for plain memory, and for a recording that is only read.
    backing: Option<&'m Mapping>,
}

impl<'m> Pages<'m> {
    /// All words of a mapping. Loom's words have no place in one.
    #[cfg(not(loom))]
    pub fn of(map: &'m Mapping) -> Pages<'m> {
        Pages { words: map.words(), backing: Some(map) }
    }

    /// Plain memory, whose pages exist.
    #[cfg(all(test, not(loom)))]
    pub fn plain(words: &'m [AtomicU64]) -> Pages<'m> {
        Pages { words, backing: None }
    }

    /// The word with this number; the file's first for a number that is none, which only a damaged file holds.
    #[inline(always)]
    pub fn word(&self, index: usize) -> &'m AtomicU64 {
        self.words.get(index).unwrap_or(&self.words[0])
    }

    /// `N` words from a number on; none beyond the end.
    #[inline(always)]
    pub fn array<const N: usize>(&self, index: usize) -> Option<&'m [AtomicU64; N]> {
        self.words.get(index..)?.first_chunk()
    }

    /// The `N` words that are the `index`-th of all stretches of so many; none beyond the end.
    #[inline(always)]
    pub fn stretch<const N: usize>(&self, index: usize) -> Option<&'m [AtomicU64; N]> {
        self.words.as_chunks().0.get(index)
    }

    /// Words from a number on; none beyond the end.
    pub fn slice(&self, index: usize, len: usize) -> Option<&'m [AtomicU64]> {
        self.words.get(index..)?.get(..len)
    }

    /// A page that has been handed out.
    pub fn page(&self, page: u64) -> Option<&'m [AtomicU64; WORDS]> {
        self.array(usize::try_from(page).ok()?.checked_mul(WORDS)?)
    }

    /// How many pages there are, the header's included.
    pub fn len(&self) -> u64 {
        (self.words.len() / WORDS) as u64
    }

    /// Makes sure that pages can be written to.
    pub fn populate(&self, page: u64, pages: u64) -> Result<(), Errno> {
        let Some(map) = self.backing else { return Ok(()) };
        match map.populate(page as usize * BYTES, pages as usize * BYTES) {
            // Kernels before 5.14 cannot; there a full tmpfs is SIGBUS at the first store.
            Err(Errno::EINVAL) => Ok(()),
            other => other,
        }
    }
}

/// Takes `pages` neighbouring pages off `counter`, which holds the number of the first that is free, of `all`.
pub(crate) fn take(counter: &AtomicU64, all: u64, pages: u64) -> Option<u64> {
    // Relaxed: a guess that the exchange below checks.
    let mut first = counter.load(Relaxed);
    loop {
        let end = first.checked_add(pages).filter(|&end| end <= all)?;
        // Relaxed: what is handed out is a number, and pages of zeroes that no store of ours made.
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
