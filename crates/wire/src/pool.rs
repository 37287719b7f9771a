//! The released tables of a process, for reuse by its next thread.
//!
//! A released table keeps its counts, and its next owner adds to them. The list is a Treiber stack whose top word
//! contains a version number, so that a table that was popped and pushed again in between is detected (ABA). If a
//! process is killed between pop and use, one table remains unused; nothing else happens. Numbers read from the
//! shared words are checked before they are used.

use unspin_sync::atomic::{AtomicU64, Ordering, Ordering::*};

/// Pops a table off the stack. `link` returns the link word of a table, or none if the number is not that of a table.
pub(crate) fn pop<'w>(top: &AtomicU64, link: impl Fn(u32) -> Option<&'w AtomicU64>) -> Option<u32> {
    // Acquire (also on failure): pairs with the Release in `push`. The new owner sees the former owner's counts and
    // link before it changes them.
    let mut seen = top.load(Acquire);
    loop {
        let index = (seen as u32).checked_sub(1)?;
        // Relaxed: ordered by the load of the top. If another thread has taken the table meanwhile, the version in
        // the top word has changed and the exchange below fails.
        let below = link(index)?.load(Relaxed) as u32;
        // Acquire: as above.
        match top.compare_exchange(seen, version_after(seen) | u64::from(below), Acquire, Acquire) {
            Ok(_) => return Some(index),
            Err(now) => seen = now,
        }
    }
}

/// Pushes a table onto the stack. The caller must own the table.
pub(crate) fn push(top: &AtomicU64, link: &AtomicU64, index: u32) {
    // Release: pairs with the Acquire in `pop`.
    push_with(top, link, index, Release);
}

/// [`push`] with its ordering as a parameter. A model uses it to show what a weaker ordering breaks.
fn push_with(top: &AtomicU64, link: &AtomicU64, index: u32, order: Ordering) {
    // Relaxed: the exchange below checks it.
    let mut seen = top.load(Relaxed);
    loop {
        // Relaxed: published by the exchange below.
        link.store(u64::from(seen as u32), Relaxed);
        // Relaxed on failure: the loop tries again.
        match top.compare_exchange(seen, version_after(seen) | u64::from(index + 1), order, Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

/// The version of the top word, incremented, with a lower half of 0.
fn version_after(top: u64) -> u64 {
    ((top >> 32).wrapping_add(1)) << 32
}

#[cfg(test)]
mod models {
    use super::*;
    use crate::slot::increment;
    use unspin_sync::{model, sync::Arc, thread};

    /// A stack of two tables, each with a counter that only its owner may change.
    #[derive(Default)]
    struct Tables {
        top: AtomicU64,
        links: [AtomicU64; 2],
        counters: [AtomicU64; 2],
    }

    impl Tables {
        /// Takes a table, increments its counter as an owner does, and releases the table. False if there was no
        /// table.
        fn use_one(&self, order: Ordering) -> bool {
            let Some(index) = pop(&self.top, |index| self.links.get(index as usize)) else { return false };
            increment(&self.counters[index as usize]);
            push_with(&self.top, &self.links[index as usize], index, order);
            true
        }
    }

    /// Two threads use tables. If both owned one table at once, an increment would be lost.
    fn table_has_one_owner_with_three_threads(order: Ordering) {
        model(move || {
            let tables = Arc::new(Tables::default());
            for index in 0..2 {
                push(&tables.top, &tables.links[index as usize], index);
            }
            let other = {
                let tables = Arc::clone(&tables);
                thread::spawn(move || u64::from(tables.use_one(order)) + u64::from(tables.use_one(order)))
            };
            let used = u64::from(tables.use_one(order)) + other.join().unwrap();
            // Relaxed: the other thread was joined.
            let counted: u64 = tables.counters.iter().map(|c| c.load(Relaxed)).sum();
            assert_eq!((used, counted), (3, 3));
        });
    }

    #[test]
    fn a_table_has_one_owner_at_a_time() {
        table_has_one_owner_with_three_threads(Release);
    }

    /// The planted bug: without Release the next owner gets the table before its counts.
    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "left == right")]
    fn planted_relaxed_push_loses_counts() {
        table_has_one_owner_with_three_threads(Relaxed);
    }
}
