//! A lock and the data that it protects.

use core::cell::UnsafeCell;
use unspin_locks::{RawLock, Until, Waited};

/// See the module documentation. Twice the same number: a thread without exclusive access sees or causes a difference.
pub struct Guarded<L> {
    pub lock: L,
    numbers: UnsafeCell<[u64; 2]>,
}

// SAFETY: the numbers are used under the lock only.
unsafe impl<L: RawLock> Sync for Guarded<L> {}

impl<L: RawLock> Guarded<L> {
    /// Leaks its memory on purpose. A sanitizer that does not see how the standard library joins threads would
    /// otherwise mistake the threads of an earlier test for users of the same address.
    pub fn new() -> &'static Guarded<L> {
        Box::leak(Box::new(Guarded { lock: L::new(), numbers: UnsafeCell::new([0; 2]) }))
    }

    pub fn lock(&self) -> Waited {
        self.lock.lock(&mut L::Node::default())
    }

    pub fn lock_until(&self, until: Until) -> Option<Waited> {
        self.lock.lock_until(&mut L::Node::default(), until)
    }

    pub fn unlock(&self) {
        // SAFETY: each test that calls this holds the lock, or misuses it on purpose and has no data.
        unsafe { self.lock.unlock() }
    }

    /// Adds one, under the lock; panics if another thread is inside too.
    pub fn add(&self) {
        // SAFETY: the caller holds the lock; if locks do not exclude, it shows here.
        let numbers = unsafe { &mut *self.numbers.get() };
        let before = core::hint::black_box(numbers[0]);
        assert_eq!(before, numbers[1], "somebody else is in here");
        numbers[0] = before + 1;
        core::hint::black_box(&mut *numbers);
        numbers[1] = before + 1;
    }

    /// How many were added.
    pub fn sum(&self) -> u64 {
        self.lock();
        // SAFETY: the lock is held.
        let sum = unsafe { (*self.numbers.get())[0] };
        self.unlock();
        sum
    }
}
