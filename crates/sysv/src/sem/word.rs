//! The word of one semaphore.
//!
//! | bits | meaning | set by | cleared by |
//! |---|---|---|---|
//! | 0–15 | value, 0..=32767 | whoever succeeds with an operation | – |
//! | 16 | `SLOW`: operations must take the set's lock | the lock's holder | the lock's holder |
//! | 32–63 | pid of the last operation (`sempid`) | together with the value | – |
//!
//! With `SLOW` clear an operation on this one semaphore is one compare-and-swap: value and pid change
//! together and there is no lock to die in. `SLOW` is set while somebody waits for this semaphore, while the
//! lock's holder changes several words at once, and for good once the set is removed. A `SLOW` that should be
//! clear costs time only; a clear one that should be set would let an operation pass a waiter by, so whoever
//! enqueues sets it *before* reading the value it decides on.

/// A semaphore's value, last pid and `SLOW` bit, as one load gave them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Word(pub u64);

const VALUE: u64 = 0xFFFF;
/// See the module's table.
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

    /// The semaphore's value; of a slow word a number that lies beyond [`SEMVMX`](unspin_sys::ipc::SEMVMX), even when
    /// any `sem_op` has been added to it.
    #[inline(always)]
    pub fn value_or_beyond(self) -> i32 {
        (self.0 & (VALUE | SLOW)) as i32
    }

    /// Process of the last operation, 0 if none.
    #[inline(always)]
    pub fn pid(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether operations must take the lock.
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
    fn nothing_brings_a_slow_word_back_into_range() {
        let word = Word(Word::new(0, 7).0 | SLOW);
        assert!(word.value_or_beyond() + i32::from(i16::MIN) > SEMVMX);
        assert_eq!(Word::new(SEMVMX, 7).value_or_beyond(), SEMVMX);
    }
}
