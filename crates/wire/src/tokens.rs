//! The semaphores from which a thread has taken a token that it has not posted yet, kept in its table. A semaphore
//! whose tokens are posted by the threads that took them is used as a lock: the time in between is a hold, and the table
//! of a thread that waits for ever says which semaphores it has.
//!
//! The list of held locks ([`held`](crate::held)) does not serve: a thread that only consumes never posts, and would
//! fill it. Here an entry is found by a hash of the semaphore. A token of another semaphore with the same hash
//! overwrites it, and its hold is not recorded.

use crate::pages::WORDS;
use unspin_sync::atomic::{AtomicU64, Ordering::*};

/// Number of semaphores that are followed at a time, per thread.
const ENTRIES: usize = 16;
/// Words of an entry.
const ENTRY: usize = 4;
/// First entry, in the table's first page: behind the index, as `table` checks.
pub(crate) const FIRST: usize = 448;
const _: () = assert!(FIRST + ENTRIES * ENTRY <= WORDS);

// Indices of the words of an entry.
/// The semaphore's key; 0: none.
const LOCK: usize = 0;
/// First word of the table's row.
const ROW: usize = 1;
/// Time at which the token was taken, in ticks.
const SINCE: usize = 2;

/// The entries of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tokens<'m> {
    page: &'m [AtomicU64; WORDS],
}

/// A token that a thread has taken and not posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    /// [`Key::lock`](crate::Key::lock).
    pub lock: u64,
    /// First word of the table's row.
    pub row: u64,
    /// Time at which it was taken, in ticks.
    pub since: u64,
}

impl<'m> Tokens<'m> {
    pub fn new(page: &'m [AtomicU64; WORDS]) -> Tokens<'m> {
        Tokens { page }
    }

    fn entry(&self, index: usize) -> &'m [AtomicU64; ENTRY] {
        let words = &self.page[FIRST..FIRST + ENTRIES * ENTRY];
        &words.as_chunks().0[index % ENTRIES]
    }

    /// The entry of a semaphore: Fibonacci hashing of its address.
    fn entry_of(&self, lock: u64) -> &'m [AtomicU64; ENTRY] {
        self.entry((lock.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize)
    }

    /// The thread has taken a token.
    pub fn take(&self, token: Token) {
        let entry = self.entry_of(token.lock);
        // Relaxed (both): published by the next store.
        entry[ROW].store(token.row, Relaxed);
        entry[SINCE].store(token.since, Relaxed);
        // Release: pairs with the Acquire in `iter`.
        entry[LOCK].store(token.lock, Release);
    }

    /// The thread posts the semaphore: the token that it has taken, if it has one.
    pub fn give_back(&self, lock: u64) -> Option<Token> {
        let entry = self.entry_of(lock);
        // Relaxed (all): only this thread writes the words.
        (entry[LOCK].load(Relaxed) == lock).then(|| {
            entry[LOCK].store(0, Relaxed);
            Token { lock, row: entry[ROW].load(Relaxed), since: entry[SINCE].load(Relaxed) }
        })
    }

    /// The tokens, for a reader. A thread that takes a token at this moment may show an entry of two: then the hold is
    /// attributed to the wrong call, until the next snapshot.
    pub fn iter(&self) -> impl Iterator<Item = Token> + use<'m> {
        let tokens = *self;
        (0..ENTRIES).filter_map(move |at| {
            let entry = tokens.entry(at);
            // Acquire: pairs with the Release in `take`.
            let lock = entry[LOCK].load(Acquire);
            // Relaxed (both): as the comment above says.
            (lock != 0).then(|| Token {
                lock,
                row: entry[ROW].load(Relaxed),
                since: entry[SINCE].load(Relaxed),
            })
        })
    }

    /// Removes all entries, for a new owner of the table.
    pub fn clear(&self) {
        for at in 0..ENTRIES {
            // Relaxed: the table was acquired with its page.
            self.entry(at)[LOCK].store(0, Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn page() -> Box<[AtomicU64; WORDS]> {
        Box::new(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    #[test]
    fn token_is_given_back_once() {
        let page = page();
        let tokens = Tokens::new(&page);
        let token = Token { lock: 0x22 << 56 | 0x7000, row: 64, since: 9 };
        assert_eq!(tokens.give_back(token.lock), None);
        tokens.take(token);
        assert_eq!(tokens.iter().collect::<Vec<_>>(), [token]);
        assert_eq!(tokens.give_back(token.lock), Some(token));
        assert_eq!(tokens.give_back(token.lock), None);
    }

    #[test]
    fn consumer_that_never_posts_fills_no_more_than_the_entries() {
        let page = page();
        let tokens = Tokens::new(&page);
        for lock in 1..1000 {
            tokens.take(Token { lock: 32 * lock, row: 64, since: lock });
        }
        assert!(tokens.iter().count() <= ENTRIES);
        tokens.clear();
        assert_eq!(tokens.iter().count(), 0);
    }
}
