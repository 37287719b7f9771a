//! Lists of pages that grow at the head and never shrink: images, their tables, their texts and stacks.
//!
//! The first word of a page is the number of the next page. Readers follow the links at any time. In a damaged file a
//! walk ends after as many steps as there are pages.

use crate::pages::{Pages, WORDS};
use unspin_sync::atomic::{AtomicU64, Ordering, Ordering::*};

/// The word of a page that holds the link.
const NEXT: usize = 0;

/// Puts a page in front of the list. The page must be completely written.
pub(crate) fn push(head: &AtomicU64, words: &[AtomicU64; WORDS], page: u64) {
    // Release: pairs with the Acquire load in `walk`. A reader that finds the page sees its contents.
    push_with(head, &words[NEXT], page, Release);
}

/// [`push`] with its ordering as a parameter. A model uses it to show what a weaker ordering breaks.
fn push_with(head: &AtomicU64, next: &AtomicU64, page: u64, order: Ordering) {
    // Relaxed: the exchange below checks it.
    let mut first = head.load(Relaxed);
    loop {
        // Relaxed: published by the exchange below.
        next.store(first, Relaxed);
        // Relaxed on failure: the loop tries again. On success it continues the release sequence of the pages pushed
        // before, so they stay published.
        match head.compare_exchange(first, page, order, Relaxed) {
            Ok(_) => return,
            Err(now) => first = now,
        }
    }
}

/// The pages of a list with their numbers, latest first.
pub(crate) fn walk<'m>(
    pages: Pages<'m>,
    head: &AtomicU64,
) -> impl Iterator<Item = (u64, &'m [AtomicU64; WORDS])> {
    // Acquire: pairs with the Release in `push`. The links behind the first page were written before it was
    // published.
    let mut next = head.load(Acquire);
    let mut steps = pages.len();
    core::iter::from_fn(move || {
        let page = next;
        steps = steps.checked_sub(1)?;
        let words = pages.page(page).filter(|_| page != 0)?;
        // Relaxed: see above.
        next = words[NEXT].load(Relaxed);
        Some((page, words))
    })
}

#[cfg(test)]
mod models {
    use super::*;
    use unspin_sync::{model, sync::Arc, thread};

    /// Two threads push a page each. A reader that sees a page sees its contents.
    fn listed_pages_are_seen_whole(order: Ordering) {
        model(move || {
            // The head of the list; then for each page its link and one word of contents.
            let list: Arc<[AtomicU64; 5]> = Arc::new(core::array::from_fn(|_| AtomicU64::new(0)));
            let push = move |list: &[AtomicU64; 5], page: usize| {
                // Relaxed: the store that `order` must publish.
                list[2 * page].store(7, Relaxed);
                push_with(&list[0], &list[2 * page - 1], page as u64, order);
            };
            let other = {
                let list = Arc::clone(&list);
                thread::spawn(move || push(&list, 1))
            };
            push(&list, 2);
            // Acquire: as in `walk`.
            let mut next = list[0].load(Acquire) as usize;
            let mut seen = 0;
            while next != 0 {
                // Relaxed (both): as in `walk`.
                assert_eq!(list[2 * next].load(Relaxed), 7);
                (seen, next) = (seen + 1, list[2 * next - 1].load(Relaxed) as usize);
            }
            assert!(seen >= 1);
            other.join().unwrap();
        });
    }

    #[test]
    fn listed_page_is_seen_with_its_contents() {
        listed_pages_are_seen_whole(Release);
    }

    /// The planted bug: a page pushed without Release is seen before its contents.
    #[test]
    #[cfg(loom)]
    #[should_panic(expected = "left == right")]
    fn planted_relaxed_push_shows_empty_pages() {
        listed_pages_are_seen_whole(Relaxed);
    }
}
