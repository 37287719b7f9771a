//! Replaces the system's futex in models. Sleepers are parked, so that loom reports a thread that is never woken as a
//! deadlock. No wait times out, so that no periodic check hides a lost wake-up.

use core::time::Duration;
use loom::sync::Mutex;
use loom::thread::{Thread, current, park};
use unspin_sync::atomic::{AtomicU32, Ordering};
pub(crate) use unspin_sys::futex::Wake;

loom::lazy_static! {
    /// Which threads sleep on which address. Under a lock, because the kernel too compares and queues under a lock.
    static ref SLEEPERS: Mutex<Vec<(usize, Thread)>> = Mutex::new(Vec::new());
}

fn address(word: &AtomicU32) -> usize {
    core::ptr::from_ref(word) as usize
}

/// Sleeps while `*word == expected`; returns at the first wake-up.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _: Option<Duration>) -> Wake {
    let mut sleepers = SLEEPERS.lock().unwrap();
    // Relaxed: the lock orders. A thread that changes the word before it calls `wake` is either seen here, or finds us
    // in the list.
    let sleeps = word.load(Ordering::Relaxed) == expected;
    if sleeps {
        sleepers.push((address(word), current()));
    }
    drop(sleepers);
    if sleeps {
        park();
    }
    Wake::Woken
}

/// Sleeps while each word has the value beside it; returns at the first wake-up on any of them.
pub(crate) fn wait_any(words: &[(&AtomicU32, u32)]) {
    let mut sleepers = SLEEPERS.lock().unwrap();
    // Relaxed: as in `wait`.
    let sleeps = words.iter().all(|(word, expected)| word.load(Ordering::Relaxed) == *expected);
    if sleeps {
        sleepers.extend(words.iter().map(|(word, _)| (address(word), current())));
    }
    drop(sleepers);
    if sleeps {
        park();
        let mut sleepers = SLEEPERS.lock().unwrap();
        sleepers.retain(|(_, thread)| thread.id() != current().id());
    }
}

/// Wakes all sleepers on `word` and returns how many there were. These may be more than the caller asked for: surplus
/// wake-ups are allowed at any time.
pub(crate) fn wake(word: &AtomicU32, _: u32) -> u32 {
    let mut sleepers = SLEEPERS.lock().unwrap();
    let (woken, rest): (Vec<_>, Vec<_>) = sleepers.drain(..).partition(|(at, _)| *at == address(word));
    *sleepers = rest;
    drop(sleepers);
    woken.iter().for_each(|(_, thread)| thread.unpark());
    woken.len() as u32
}
