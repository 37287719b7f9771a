//! Tables that were given back, for the next thread of their process.
//!
//! A table that was given back keeps its counts; its next owner adds to them. The list is a Treiber stack
//! whose top carries a version, so that a table popped and pushed again in between is noticed. A process
//! killed between pop and use leaves one table unused, nothing else. Numbers read from the shared words are
//! checked before they are followed.

use unspin_sync::atomic::{AtomicU64, Ordering, Ordering::*};

/// Takes a table off the list. `link` is the list word of a table, none for a number that is no table's.
pub(crate) fn pop<'w>(top: &AtomicU64, link: impl Fn(u32) -> Option<&'w AtomicU64>) -> Option<u32> {
    // Acquire (also on failure): pairs with the Release in `push`: the former owner's counts and link are
    // seen before they are touched.
    let mut seen = top.load(Acquire);
    loop {
        let index = (seen as u32).checked_sub(1)?;
        // Relaxed: ordered by the load of the top; if the table has been taken meanwhile, the version in the
        // top has changed and the exchange below fails.
        let below = link(index)?.load(Relaxed) as u32;
        // Acquire: as above.
        match top.compare_exchange(seen, version_after(seen) | u64::from(below), Acquire, Acquire) {
            Ok(_) => return Some(index),
            Err(now) => seen = now,
        }
    }
}

/// Puts a table on the list; it must be the caller's.
pub(crate) fn push(top: &AtomicU64, link: &AtomicU64, index: u32) {
    // Release: pairs with the Acquire in `pop`.
    push_with(top, link, index, Release);
}

/// [`push`] with its ordering as a parameter, so that a model can show what a weaker one breaks.
fn push_with(top: &AtomicU64, link: &AtomicU64, index: u32, order: Ordering) {
    // Relaxed: the exchange below checks it.
    let mut seen = top.load(Relaxed);
    loop {
        // Relaxed: published by the exchange below.
        link.store(u64::from(seen as u32), Relaxed);
        // Relaxed on failure: only tried again.
        match top.compare_exchange(seen, version_after(seen) | u64::from(index + 1), order, Relaxed) {
            Ok(_) => return,
            Err(now) => seen = now,
        }
    }
}

/// The top's upper half, one up.
fn version_after(top: u64) -> u64 {
    ((top >> 32).wrapping_add(1)) << 32
}

#[cfg(test)]
mod models {
    use super::*;
    use crate::slot::bump;
    use unspin_sync::{model, sync::Arc, thread};

    /// A list of two tables, each with a counter that only its owner may touch.
    #[derive(Default)]
    struct Tables {
        top: AtomicU64,
        links: [AtomicU64; 2],
        counters: [AtomicU64; 2],
    }

    impl Tables {
        /// Takes a table, counts in it as an owner does, and gives it back. Whether there was one.
        fn use_one(&self, order: Ordering) -> bool {
            let Some(index) = pop(&self.top, |index| self.links.get(index as usize)) else { return false };
            bump(&self.counters[index as usize], 1);
            push_with(&self.top, &self.links[index as usize], index, order);
            true
        }
    }

    /// Two threads use tables; two counts in one table at once would lose one.
    fn tables_have_one_owner(order: Ordering) {
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
        tables_have_one_owner(Release);
    }

    /// The planted bug: a table given back without Release reaches its next owner before its counts.
    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "left == right")]
    fn a_relaxed_push_loses_counts() {
        tables_have_one_owner(Relaxed);
    }
}
