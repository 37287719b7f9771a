//! The futex of a model. Sleepers are parked, so that the checker reports a thread that is never woken as a deadlock.
//! There are no spurious wake-ups, which could hide a lost wake-up. A wait with a timeout may time out at any moment.

use crate::Until;
use crate::park::Wake;
use core::time::Duration;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};
use unspin_sync::modelled::{Mutex, Thread, current, lazy_static, park};

struct Sleeper {
    at: usize,
    sort: u32,
    /// Identifies the wait, because one thread sleeps many times.
    number: u64,
    thread: Thread,
}

#[derive(Default)]
struct Kernel {
    sleepers: Vec<Sleeper>,
    waits: u64,
}

impl Kernel {
    fn sleeps(&self, number: u64) -> bool {
        self.sleepers.iter().any(|sleeper| sleeper.number == number)
    }
}

lazy_static! {
    /// Protected by a lock, as in the kernel, which compares and queues under one lock.
    static ref KERNEL: Mutex<Kernel> = Mutex::new(Kernel::default());
    /// Planted bug: the kernel wakes no thread.
    pub(crate) static ref FORGETS: AtomicBool = AtomicBool::new(false);
}

/// Sleeps while `*word == expected`.
pub fn wait(word: &AtomicU32, expected: u32, until: Option<Until>) -> Wake {
    wait_as(u32::MAX, word, expected, until)
}

/// [`wait`] as a sleeper of these sorts (bits).
pub(crate) fn wait_as(sort: u32, word: &AtomicU32, expected: u32, until: Option<Until>) -> Wake {
    let number = {
        let mut kernel = KERNEL.lock().unwrap();
        // Relaxed: the lock orders. If a thread changes the word before it calls `wake`, either we see the change or it
        // finds us.
        if word.load(Ordering::Relaxed) != expected {
            return Wake::Woken;
        }
        kernel.waits += 1;
        let number = kernel.waits;
        kernel.sleepers.push(Sleeper { at: address(word), sort, number, thread: current() });
        number
    };
    loop {
        if until.is_some() {
            let mut kernel = KERNEL.lock().unwrap();
            if kernel.sleeps(number) {
                kernel.sleepers.retain(|sleeper| sleeper.number != number);
                return Wake::TimedOut;
            }
            return Wake::Woken;
        }
        park();
        if !KERNEL.lock().unwrap().sleeps(number) {
            return Wake::Woken;
        }
    }
}

/// Wakes the first `count` sleepers of `word` and returns how many it woke.
pub fn wake(word: *const AtomicU32, count: u32) -> u32 {
    wake_as(u32::MAX, word, count)
}

/// [`wake`] for sleepers that have one of these sorts.
pub(crate) fn wake_as(sort: u32, word: *const AtomicU32, count: u32) -> u32 {
    // Relaxed: the threads of a model run one at a time.
    if FORGETS.load(Relaxed) {
        return 0;
    }
    let mut woken = Vec::new();
    let mut kernel = KERNEL.lock().unwrap();
    while woken.len() < count as usize {
        let first = |sleeper: &Sleeper| sleeper.at == word as usize && sleeper.sort & sort != 0;
        let Some(at) = kernel.sleepers.iter().position(first) else { break };
        woken.push(kernel.sleepers.remove(at));
    }
    drop(kernel);
    woken.iter().for_each(|sleeper| sleeper.thread.unpark());
    woken.len() as u32
}

/// A model has one process.
pub(crate) fn wait_shared(word: &AtomicU32, expected: u32) {
    wait(word, expected, None);
}

/// As [`wait_shared`]. A time passes at any moment, as for [`wait`].
pub(crate) fn wait_shared_for(word: &AtomicU32, expected: u32, limit: Option<Duration>) -> Wake {
    wait(word, expected, limit.map(Until::after))
}

/// As [`wait_shared`].
pub(crate) fn wake_shared_at(word: *const AtomicU32, count: u32) {
    wake(word, count);
}

/// As [`wait_shared`].
pub(crate) fn wake_shared(word: &AtomicU32) {
    wake(word, u32::MAX);
}

fn address(word: &AtomicU32) -> usize {
    core::ptr::from_ref(word) as usize
}
