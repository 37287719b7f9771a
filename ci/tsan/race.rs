//! A planted bug for `ci/tsan.sh`: a spin lock that releases with Relaxed, so that nothing orders one owner's stores
//! before the next owner's. On x86-64 it happens to count correctly; only a checker of the memory model sees it.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

struct Lock {
    held: AtomicBool,
    count: UnsafeCell<u64>,
}

// SAFETY: `count` is accessed under the lock; that the lock does not keep its promise is the planted bug.
unsafe impl Sync for Lock {}

static LOCK: Lock = Lock { held: AtomicBool::new(false), count: UnsafeCell::new(0) };

fn add() {
    for _ in 0..10_000 {
        // Acquire: has no partner.
        while LOCK.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        // SAFETY: under the lock; see above.
        unsafe { *LOCK.count.get() += 1 };
        // Relaxed: the bug. It should be Release.
        LOCK.held.store(false, Ordering::Relaxed);
    }
}

fn main() {
    let other = std::thread::spawn(add);
    add();
    other.join().expect("it does not panic");
}
