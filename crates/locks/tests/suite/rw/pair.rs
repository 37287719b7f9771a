//! A read-write lock and the data that it protects.

use core::cell::UnsafeCell;
use unspin_locks::{RawRwLock, Recursion, Refused, Until, Waited};

/// See the module documentation. Twice the same number: a writer that is not alone, or a reader beside one, sees a difference.
pub struct Pair<L> {
    pub lock: L,
    numbers: UnsafeCell<[u64; 2]>,
}

// SAFETY: the numbers are used under the lock only.
unsafe impl<L: RawRwLock> Sync for Pair<L> {}

impl<L: RawRwLock> Pair<L> {
    /// Leaks its memory on purpose, as `Guarded::new` does.
    pub fn new() -> &'static Pair<L> {
        Box::leak(Box::new(Pair { lock: L::new(), numbers: UnsafeCell::new([0; 2]) }))
    }

    pub fn read(&self) -> Waited {
        self.lock.read(Recursion::Allowed, None).unwrap()
    }

    /// Holds it for reading as often.
    pub fn read_times(&self, times: u32) {
        (0..times).for_each(|_| {
            self.read();
        });
    }

    pub fn read_until(&self, until: Until) -> Result<Waited, Refused> {
        self.lock.read(Recursion::Allowed, Some(until))
    }

    pub fn try_read(&self) -> bool {
        self.lock.try_read(Recursion::Allowed).is_ok()
    }

    pub fn write(&self) -> Waited {
        self.lock.write(None).unwrap()
    }

    pub fn leave_read(&self) {
        // SAFETY: each test that calls this holds the lock, or misuses it on purpose and has no data.
        unsafe { self.lock.unlock_read() }
    }

    pub fn leave_write(&self) {
        // SAFETY: as above.
        unsafe { self.lock.unlock_write() }
    }

    /// Adds one, under the lock held for writing.
    pub fn add(&self) {
        // SAFETY: the caller holds the lock; if locks do not exclude, it shows here.
        let numbers = unsafe { &mut *self.numbers.get() };
        let before = core::hint::black_box(numbers[0]);
        assert_eq!(before, numbers[1], "another thread is in here");
        numbers[0] = before + 1;
        core::hint::black_box(&mut *numbers);
        numbers[1] = before + 1;
    }

    /// The number, under the lock held for reading.
    pub fn get(&self) -> u64 {
        // SAFETY: as in `add`.
        let numbers = unsafe { &*self.numbers.get() };
        let first = core::hint::black_box(numbers[0]);
        assert_eq!(first, core::hint::black_box(numbers)[1], "a writer is in here");
        first
    }

    /// How many were added. The lock is free then.
    pub fn sum(&self) -> u64 {
        assert!(!self.lock.is_write_locked() && self.lock.readers() == 0, "a thread holds it for ever");
        assert!(self.lock.try_write(), "it is not free");
        let sum = self.get();
        self.leave_write();
        sum
    }
}
