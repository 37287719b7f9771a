//! One operation of a vector, packed into a word, so that it can be stored in shared memory as an atomic.

use crate::participant::{MAX_OPS, ParticipantRecord, WaitList};
use unspin_sync::atomic::Ordering;
use unspin_sys::ipc::{Sembuf, flag};

/// A packed [`Sembuf`]. For an operation that was granted to a waiter it also has the pid (`sempid`) that the grant
/// displaced.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Op(pub u64);

/// The flags that affect an operation: two adjacent bits.
const FLAGS: u64 = (flag::IPC_NOWAIT | flag::SEM_UNDO) as u64;
const FLAGS_FROM: u32 = FLAGS.trailing_zeros();
/// Bit positions of the flags and of the pid. No pid is above 2^22 (`PID_MAX_LIMIT`).
const FLAGS_AT: u32 = 32;
const PID_AT: u32 = 34;
const _: () = assert!(FLAGS == 0b11 << FLAGS_FROM);

impl Op {
    /// Packs an operation, with those of its flags that affect it.
    #[inline(always)]
    pub fn new(op: Sembuf) -> Op {
        let flags = (op.sem_flg as u64 & FLAGS) >> FLAGS_FROM;
        Op(op.sem_num as u64 | (op.sem_op as u16 as u64) << 16 | flags << FLAGS_AT)
    }

    /// The unpacked operation.
    #[inline(always)]
    pub fn unpack(self) -> Sembuf {
        let flags = self.0 >> FLAGS_AT << FLAGS_FROM & FLAGS;
        Sembuf { sem_num: self.0 as u16, sem_op: (self.0 >> 16) as i16, sem_flg: flags as i16 }
    }

    /// Adds the pid that the operation displaces.
    #[inline(always)]
    pub fn with_displaced_pid(self, pid: u32) -> Op {
        Op(self.0 & ((1 << PID_AT) - 1) | u64::from(pid) << PID_AT)
    }

    /// The pid that it displaced.
    pub fn displaced_pid(self) -> u32 {
        (self.0 >> PID_AT) as u32
    }

    /// Index of the semaphore.
    #[inline(always)]
    pub fn sem(self) -> usize {
        (self.0 & 0xFFFF) as usize
    }

    /// The number that is added to the value; 0 waits for zero.
    #[inline(always)]
    pub fn delta(self) -> i32 {
        (self.0 >> 16) as u16 as i16 as i32
    }

    /// Whether `IPC_NOWAIT` is set.
    #[inline(always)]
    pub fn has_nowait(self) -> bool {
        self.unpack().sem_flg as i32 & flag::IPC_NOWAIT != 0
    }

    /// Whether `SEM_UNDO` is set.
    #[inline(always)]
    pub fn has_undo(self) -> bool {
        self.unpack().sem_flg as i32 & flag::SEM_UNDO != 0
    }
}

impl WaitList {
    /// The list for a waiter with these operations.
    pub(crate) fn of(ops: impl ExactSizeIterator<Item = Op> + Clone) -> WaitList {
        let alters = ops.clone().any(|op| op.delta() != 0);
        match (ops.len(), alters) {
            (1, true) => WaitList::Alter,
            (1, false) => WaitList::Zero,
            (_, true) => WaitList::ComplexAlter,
            (_, false) => WaitList::ComplexZero,
        }
    }
}

impl ParticipantRecord {
    /// The operations that the thread waits for.
    pub(crate) fn ops(&self) -> impl ExactSizeIterator<Item = Op> + Clone + '_ {
        // Relaxed: the waiter wrote them before it entered the queue under the set's lock, which the reader holds.
        let n = (self.waiter.nsops.load(Ordering::Relaxed) as usize).min(MAX_OPS);
        self.lines[..n].iter().map(|line| Op(line.op.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_keeps_index_delta_and_flags() {
        let op = Sembuf { sem_num: 31_999, sem_op: -7, sem_flg: (flag::IPC_NOWAIT | flag::SEM_UNDO) as i16 };
        let packed = Op::new(op);
        assert_eq!(packed.unpack(), op);
        assert_eq!(
            (packed.sem(), packed.delta(), packed.has_nowait(), packed.has_undo()),
            (31_999, -7, true, true)
        );
        let granted = packed.with_displaced_pid(9).with_displaced_pid(1 << 22);
        assert_eq!((granted.unpack(), granted.displaced_pid(), packed.displaced_pid()), (op, 1 << 22, 0));
    }

    #[test]
    fn packing_drops_unknown_flags() {
        let op = Sembuf { sem_num: 1, sem_op: 1, sem_flg: !FLAGS as i16 };
        let packed = Op::new(op).with_displaced_pid(u32::MAX >> 2);
        assert_eq!(packed.unpack(), Sembuf { sem_flg: 0, ..op });
        assert!(!packed.has_nowait() && !packed.has_undo());
    }
}
