//! Planted bugs for `ci/tsan.sh`: a spin lock that releases with Relaxed, so that nothing orders one owner's stores before
//! the next owner's. On x86-64 it happens to exclude; only a checker of the memory model sees it. Each function races in
//! another place: in a line of its own, in a line of the standard library, and in a copy of memory.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

type Block = [u64; 64];

struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is accessed under the lock; that the lock does not keep its promise is the planted bug.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    const fn new(value: T) -> Lock<T> {
        Lock { held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    fn with(&self, change: impl FnOnce(&mut T)) {
        // Acquire: has no partner.
        while self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        // SAFETY: under the lock; see above.
        change(unsafe { &mut *self.value.get() });
        // Relaxed: the bug. It should be Release.
        self.held.store(false, Ordering::Relaxed);
    }
}

static COUNT: Lock<u64> = Lock::new(0);
static LIST: Lock<Vec<u64>> = Lock::new(Vec::new());
static BLOCK: Lock<Block> = Lock::new([0; 64]);

#[inline(never)]
fn add() {
    COUNT.with(|count| *count += 1);
}

#[inline(never)]
fn push() {
    LIST.with(|list| list.push(1));
}

#[inline(never)]
fn copy(from: &Block) {
    BLOCK.with(|block| *block = *from);
}

fn main() {
    let work = || {
        let block = std::hint::black_box([1; 64]);
        for _ in 0..10_000 {
            add();
            push();
            copy(&block);
        }
    };
    let other = std::thread::spawn(work);
    work();
    other.join().expect("it does not panic");
}
