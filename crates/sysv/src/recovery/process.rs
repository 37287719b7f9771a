//! A process with adjustments (`SEM_UNDO`), and its entry in the table of processes.

use crate::participant::MAX_PROCESSES;
use core::num::NonZeroU64;
use unspin_sync::atomic::Ordering::{Acquire, Relaxed};
use unspin_sync::atomic::{AtomicU32, AtomicU64};
use unspin_sys::process::ThreadGroup;
use unspin_sys::robust;

/// An entry in the table of processes. A generation identifies a process in its entry, and is used once.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct ProcessEntry {
    /// The process in this entry; 0: there was none yet.
    pub(super) generation: AtomicU64,
    /// The last generation that is known to be dead. If it equals `generation`, the entry is free.
    pub(super) ended: AtomicU64,
    pub(super) start_time: AtomicU64,
    pub(super) namespace: AtomicU64,
    pub(super) pid: AtomicU32,
}

/// A process, by the index and generation of its entry. The owner of a record of adjustments. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process(NonZeroU64);

const INDEX_BITS: u32 = MAX_PROCESSES.trailing_zeros();
const _: () = assert!(MAX_PROCESSES.is_power_of_two());

impl Process {
    pub(super) fn new(index: usize, generation: u64) -> Option<Process> {
        NonZeroU64::new(generation << INDEX_BITS | index as u64).map(Process)
    }

    /// The inverse of [`word`](Process::word).
    pub fn from_word(word: u64) -> Option<Process> {
        NonZeroU64::new(word).map(Process)
    }

    /// The process as one word.
    #[inline(always)]
    pub fn word(self) -> u64 {
        self.0.get()
    }

    #[inline(always)]
    pub(super) fn index(self) -> usize {
        self.word() as usize & (MAX_PROCESSES as usize - 1)
    }

    pub(super) fn generation(self) -> u64 {
        self.word() >> INDEX_BITS
    }
}

/// Whether a thread of the process holds its robust word.
#[inline(always)]
pub(crate) fn is_held(word: u32) -> bool {
    word & robust::OWNER_TID != 0
}

impl ProcessEntry {
    pub(super) fn is_free(&self) -> bool {
        // Acquire: partner of the Release in `Inner::enter`.
        self.ended.load(Acquire) >= self.generation.load(Acquire)
    }

    pub(super) fn group(&self) -> ThreadGroup {
        // Relaxed: ordered by the Acquire load of the generation. If the generation is the same before and after, these
        // fields belong together.
        ThreadGroup {
            pid: self.pid.load(Relaxed),
            start_time: self.start_time.load(Relaxed),
            namespace: self.namespace.load(Relaxed),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn process_word_round_trips() {
        assert_eq!(Process::new(0, 0), None);
        let last = Process::new(MAX_PROCESSES as usize - 1, 7).unwrap();
        assert_eq!((last.index(), last.generation()), (MAX_PROCESSES as usize - 1, 7));
        assert_eq!(Process::from_word(last.word()), Some(last));
    }
}
