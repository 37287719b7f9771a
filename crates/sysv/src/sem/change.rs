//! The change that an operation makes to one semaphore, packed into a word, so that it can be stored in shared memory
//! as an atomic.

/// A new value, and the new adjustment of the caller's process if that changes.
///
/// | bits | meaning |
/// |---|---|
/// | 0–15 | the value |
/// | 16–31 | the adjustment |
/// | 32–47 | used by the redo record: index of the semaphore |
/// | 48 | whether there is an adjustment |
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Change {
    /// The semaphore's value, 0 to SEMVMX.
    pub value: i32,
    /// The new adjustment (`semadj`), -32768 to 32767; `None` if it does not change.
    pub adjustment: Option<i32>,
}

const ADJUSTS: u64 = 1 << 48;

impl Change {
    /// A change of the value alone.
    #[inline(always)]
    pub fn to(value: i32) -> Change {
        Change { value, adjustment: None }
    }

    /// The change as one word.
    #[inline(always)]
    pub fn word(self) -> u64 {
        let value = self.value as u64 & 0xFFFF;
        self.adjustment.map_or(value, |adjustment| value | (adjustment as u64 & 0xFFFF) << 16 | ADJUSTS)
    }

    /// The inverse of [`Change::word`].
    pub fn from_word(word: u64) -> Change {
        let adjustment = (word & ADJUSTS != 0).then_some((word >> 16) as u16 as i16 as i32);
        Change { value: (word & 0xFFFF) as i32, adjustment }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_signs() {
        for adjustment in [None, Some(0), Some(-1), Some(-32_768), Some(32_767)] {
            let change = Change { value: 32_767, adjustment };
            assert_eq!(Change::from_word(change.word() | 31_999 << 32), change);
        }
    }
}
