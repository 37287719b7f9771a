/// Most objects of one class: IPCMNI of `<linux/ipc.h>`, 15 bits of index.
pub const MAX_OBJECTS: u32 = 1 << 15;
/// Number of sequence numbers: `ipcid_seq_max()` of `ipc/util.h`, so that an id stays positive.
const MAX_SEQUENCE: u32 = (i32::MAX as u32) >> 15;

/// A System V identifier: an index, and a sequence number that tells an object from earlier ones with that index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Id(pub i32);

impl Id {
    /// Builds an id. It is positive even if `sequence` comes from an overwritten arena.
    pub fn new(index: u32, sequence: u32) -> Id {
        Id((((sequence % MAX_SEQUENCE) << 15) | index) as i32)
    }

    /// Index into the table.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.0 as usize & (MAX_OBJECTS as usize - 1)
    }

    /// The id with the same sequence number and another index.
    pub fn with_index(self, index: u32) -> Id {
        Id(self.0 & !(MAX_OBJECTS as i32 - 1) | index as i32)
    }

    /// The sequence number, which is shown in `ipc_perm.__seq`.
    pub fn sequence(self) -> u32 {
        self.0 as u32 >> 15
    }

    /// The sequence number after `sequence`.
    pub fn next_sequence(sequence: u32) -> u32 {
        sequence.wrapping_add(1) % MAX_SEQUENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_positive() {
        let last = Id::new(MAX_OBJECTS - 1, MAX_SEQUENCE - 1);
        assert!(last.0 > 0);
        assert_eq!((last.index() as u32, last.sequence()), (MAX_OBJECTS - 1, MAX_SEQUENCE - 1));
        assert_eq!(Id::next_sequence(MAX_SEQUENCE - 1), 0);
    }
}
