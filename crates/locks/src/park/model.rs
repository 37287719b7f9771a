//! The futex of a model. Sleepers are parked, so that whoever is never woken is a deadlock that the checker reports. Nobody
//! returns spuriously, so that no accident hides a lost wake-up; a wait with a time may be over at any moment.

use crate::Until;
use crate::park::Wake;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sync::machine::{AtomicBool, Ordering::Relaxed};
use unspin_sync::modelled::{Mutex, Thread, current, lazy_static, park};

struct Sleeper {
    at: usize,
    sort: u32,
    /// Which wait: one thread sleeps many times.
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
    /// Under a lock, as in the kernel, which compares and queues under it.
    static ref KERNEL: Mutex<Kernel> = Mutex::new(Kernel::default());
    /// A planted bug: a kernel that wakes nobody.
    pub(crate) static ref FORGETS: AtomicBool = AtomicBool::new(false);
}

/// Sleeps while `*word == expected`.
pub(crate) fn wait(word: &AtomicU32, expected: u32, until: Option<Until>) -> Wake {
    wait_as(u32::MAX, word, expected, until)
}

/// [`wait`] as a sleeper of these sorts.
pub(crate) fn wait_as(sort: u32, word: &AtomicU32, expected: u32, until: Option<Until>) -> Wake {
    let number = {
        let mut kernel = KERNEL.lock().unwrap();
        // Relaxed: the lock orders: who changes the word before he calls `wake` is seen here, or finds us there.
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

/// Wakes the first `count` sleepers of `word` and says how many there were.
pub(crate) fn wake(word: *const AtomicU32, count: u32) -> u32 {
    wake_as(u32::MAX, word, count)
}

/// [`wake`] for sleepers of one of these sorts.
pub(crate) fn wake_as(sort: u32, word: *const AtomicU32, count: u32) -> u32 {
    // Relaxed: a model's threads take turns.
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

/// As [`wait_shared`].
pub(crate) fn wake_shared(word: &AtomicU32) {
    wake(word, u32::MAX);
}

fn address(word: &AtomicU32) -> usize {
    core::ptr::from_ref(word) as usize
}
