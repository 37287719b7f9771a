//! The word of one semaphore.
//!
//! | bits | meaning | set by | cleared by |
//! |---|---|---|---|
//! | 0–15 | value, 0..=32767 | the thread that performs an operation | – |
//! | 16 | `SLOW`: operations must take the set's lock | the lock's holder | the lock's holder |
//! | 32–63 | pid of the last operation (`sempid`) | the same store as the value | – |
//!
//! With `SLOW` clear an operation on this one semaphore is one compare-and-swap: value and pid change together, and
//! there is no lock that a dying thread could hold. `SLOW` is set while a thread waits for this semaphore, while a
//! process has an adjustment for it, while the lock's holder changes several words at once, and for good once the set
//! is removed. It stays set after an operation with `SEM_UNDO` until an operation without that flag takes the lock. (In
//! the `global` engine it is always set.) A bit that is set and should be clear costs only time. A bit that is clear and
//! should be set would let an operation overtake a waiter. So the enqueuing thread sets it *before* it reads the value
//! that it decides on.

/// A semaphore's value, last pid and `SLOW` bit, as read by one load.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(pub u64);

const VALUE: u64 = 0xFFFF;
/// The bit that sends operations to the set's lock: see the module's table.
pub const SLOW: u64 = 1 << 16;

impl Word {
    /// A word with `SLOW` clear.
    #[inline(always)]
    pub fn new(value: i32, pid: u32) -> Word {
        Word(value as u64 & VALUE | (pid as u64) << 32)
    }

    /// The semaphore's value.
    #[inline(always)]
    pub fn value(self) -> i32 {
        (self.0 & VALUE) as i32
    }

    /// The semaphore's value. For a slow word it is a number above [`SEMVMX`](unspin_sys::ipc::SEMVMX), which stays
    /// above it when any `sem_op` is added.
    #[inline(always)]
    pub fn value_or_beyond(self) -> i32 {
        (self.0 & (VALUE | SLOW)) as i32
    }

    /// Pid of the last operation's process, 0 if there was none.
    #[inline(always)]
    pub fn pid(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether operations must take the set's lock.
    #[inline(always)]
    pub fn is_slow(self) -> bool {
        self.0 & SLOW != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_sys::ipc::SEMVMX;

    #[test]
    fn slow_word_never_computes_in_range() {
        let word = Word(Word::new(0, 7).0 | SLOW);
        assert!(word.value_or_beyond() + i32::from(i16::MIN) > SEMVMX);
        assert_eq!(Word::new(SEMVMX, 7).value_or_beyond(), SEMVMX);
    }
}
