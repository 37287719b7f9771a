//! In the place of the system's futex, for models: sleepers are parked, so that loom sees whoever is never woken as a
//! deadlock. No wait ever times out, so that no patrol hides a lost wake-up.

use core::time::Duration;
use loom::thread::{Thread, current, park};
use std::sync::Mutex;
use unspin_sync::atomic::{AtomicU32, Ordering};
pub(crate) use unspin_sys::futex::Wake;

loom::lazy_static! {
    /// Who sleeps on which address. Not a lock of loom's: nothing is switched while it is held.
    static ref SLEEPERS: Mutex<Vec<(usize, Thread)>> = Mutex::new(Vec::new());
    /// In the place of the lock under which the kernel compares and queues, or takes from the queue.
    static ref TURN: AtomicU32 = AtomicU32::new(0);
}

fn address(word: &AtomicU32) -> usize {
    core::ptr::from_ref(word) as usize
}

/// Sleeps while `*word == expected`.
pub(crate) fn wait(word: &AtomicU32, expected: u32, _: Option<Duration>) -> Wake {
    let sleepers = &*SLEEPERS;
    // AcqRel: as the kernel's lock: who changes the word before he calls `wake` is seen here, or finds us there.
    TURN.fetch_add(1, Ordering::AcqRel);
    // Relaxed: ordered by that.
    if word.load(Ordering::Relaxed) == expected {
        sleepers.lock().unwrap().push((address(word), current()));
        while sleepers
            .lock()
            .unwrap()
            .iter()
            .any(|(at, who)| *at == address(word) && who.id() == current().id())
        {
            park();
        }
    }
    Wake::Woken
}

/// Wakes all sleepers of `word` and says how many there were. More than were asked for: a wake-up too many is allowed
/// to happen at any time.
pub(crate) fn wake(word: &AtomicU32, _: u32) -> u32 {
    let sleepers = &*SLEEPERS;
    // AcqRel: as in `wait`.
    TURN.fetch_add(1, Ordering::AcqRel);
    let (woken, rest): (Vec<_>, Vec<_>) =
        sleepers.lock().unwrap().drain(..).partition(|(at, _)| *at == address(word));
    *sleepers.lock().unwrap() = rest;
    woken.iter().for_each(|(_, thread)| thread.unpark());
    woken.len() as u32
}
