//! In the place of the system's futex, for models: sleepers are parked, so that loom sees whoever is never woken as a
//! deadlock. No wait ever times out, so that no time hides a lost wake-up.

use loom::sync::Mutex;
use loom::thread::{Thread, current, park};
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sys::futex::{Until, Wake};

loom::lazy_static! {
    /// Who sleeps at which address, in order. Under a lock, as in the kernel, which compares and queues under it.
    static ref SLEEPERS: Mutex<Vec<(usize, Thread)>> = Mutex::new(Vec::new());
}

/// Sleeps while `*word == expected`; returns at the first wake-up.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _: Option<Until>) -> Wake {
    let mut sleepers = SLEEPERS.lock().unwrap();
    // Relaxed: the lock orders: who changes the word before he calls `wake` is seen here, or finds us there.
    let sleeps = word.load(Ordering::Relaxed) == expected;
    if sleeps {
        sleepers.push((core::ptr::from_ref(word) as usize, current()));
    }
    drop(sleepers);
    if sleeps {
        park();
    }
    Wake::Woken
}

/// Wakes at most `count` sleepers of the word at this address, and says how many there were.
pub(crate) fn wake(word: *const AtomicU32, count: u32) -> u32 {
    let mut sleepers = SLEEPERS.lock().unwrap();
    let mut woken = Vec::new();
    sleepers.retain(|(at, thread)| {
        let wakes = *at == word as usize && woken.len() < count as usize;
        if wakes {
            woken.push(thread.clone());
        }
        !wakes
    });
    drop(sleepers);
    woken.iter().for_each(Thread::unpark);
    woken.len() as u32
}
