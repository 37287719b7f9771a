//! One operation of a vector, packed into a word so that it can lie in shared memory as an atomic.

use unspin_sys::ipc::{Sembuf, flag};

/// A packed [`Sembuf`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op(pub u64);

impl Op {
    /// Packs an operation.
    #[inline(always)]
    pub fn new(op: Sembuf) -> Op {
        Op(op.sem_num as u64 | (op.sem_op as u16 as u64) << 16 | (op.sem_flg as u16 as u64) << 32)
    }

    /// The operation as it was.
    #[inline(always)]
    pub fn unpack(self) -> Sembuf {
        Sembuf { sem_num: self.0 as u16, sem_op: (self.0 >> 16) as i16, sem_flg: (self.0 >> 32) as i16 }
    }

    /// Index of the semaphore.
    #[inline(always)]
    pub fn sem(self) -> usize {
        (self.0 & 0xFFFF) as usize
    }

    /// What is added to the value; 0 waits for zero.
    #[inline(always)]
    pub fn delta(self) -> i32 {
        (self.0 >> 16) as u16 as i16 as i32
    }

    /// Whether `IPC_NOWAIT` is set.
    #[inline(always)]
    pub fn nowait(self) -> bool {
        (self.0 >> 32) as i32 & flag::IPC_NOWAIT != 0
    }

    /// Whether `SEM_UNDO` is set.
    #[inline(always)]
    pub fn undo(self) -> bool {
        (self.0 >> 32) as i32 & flag::SEM_UNDO != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_all_three() {
        let op = Sembuf { sem_num: 31_999, sem_op: -7, sem_flg: (flag::IPC_NOWAIT | flag::SEM_UNDO) as i16 };
        let packed = Op::new(op);
        assert_eq!(packed.unpack(), op);
        assert_eq!((packed.sem(), packed.delta(), packed.nowait(), packed.undo()), (31_999, -7, true, true));
    }
}
