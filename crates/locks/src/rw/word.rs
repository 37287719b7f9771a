//! The bits of a lock's state.

/// A thread holds the lock for writing.
pub(super) const WRITER: u64 = 1;
/// A thread is in a [`Section`](super::section::Section), and no other thread changes the state.
pub(super) const BUSY: u64 = 1 << 1;
/// Writers are in the queue.
pub(super) const WRITERS: u64 = 1 << 2;
/// Readers are in the queue.
pub(super) const READERS: u64 = 1 << 3;
/// A queued writer is awake and looks at the lock before it sleeps. A release need not wake another one.
pub(super) const AWAKE: u64 = 1 << 4;
/// Readers publish themselves in [`slots`](super::slots) and are not counted here. Never set together with `WRITER`.
pub(super) const BIASED: u64 = 1 << 5;
/// The bias was revoked, and there may still be readers in slots. Never set together with `WRITER` or `BIASED`.
pub(super) const DRAINING: u64 = 1 << 6;
/// A writer waits for the readers in slots. Only while `DRAINING`.
pub(super) const DRAINER: u64 = 1 << 7;

/// A thread has acquired the lock: no slot contains its address from a lock that was at this address before. Never cleared. Only of
/// biased locks.
pub(super) const IN_TABLE: u64 = 1 << 8;

/// A queued writer keeps new readers out. Only together with `WRITERS`.
pub(super) const PRESSING: u64 = 1 << 9;

/// A queued reader waits only for the writer that has the lock. Only together with `READERS`.
pub(super) const OVERTAKERS: u64 = 1 << 10;

/// The bias is one that costs a reader a fence: a writer that revokes it needs no membarrier(2). Only together with `BIASED` or
/// `DRAINING`.
pub(super) const FENCED: u64 = 1 << 11;

/// One reader, in the field of the readers that are to be counted before the bias returns.
pub(super) const UNBIASED: u64 = 1 << UNBIASED_AT;
const UNBIASED_AT: u32 = 12;
const UNBIASED_BITS: u32 = 8;
/// The most that the field can count.
pub(super) const MAX_UNBIASED: u64 = (1 << UNBIASED_BITS) - 1;

/// One reader, in the field that counts them.
pub(super) const READER: u64 = 1 << READERS_AT;
const READERS_AT: u32 = UNBIASED_AT + UNBIASED_BITS;
const READERS_BITS: u32 = 25;
/// How many times a lock can be held for reading, and is counted: an eighth of libc's limit.
pub(super) const MAX_READERS: u32 = (1 << READERS_BITS) - 1;

/// Shift of the highest field: the generation of the process that was last in a section. If it is another generation, the
/// queued threads, and those in a section, do not exist in this process.
const GENERATION_AT: u32 = READERS_AT + READERS_BITS;

/// How many times the lock is held by readers that are counted in the state.
#[inline(always)]
pub(super) fn counted(state: u64) -> u32 {
    (state >> READERS_AT) as u32 & MAX_READERS
}

/// How many readers are to be counted before the bias returns.
#[inline(always)]
pub(super) fn unbiased(state: u64) -> u64 {
    state >> UNBIASED_AT & MAX_UNBIASED
}

/// The field of a process's generation.
pub(super) fn generation_field(generation: u32) -> u64 {
    u64::from(generation) << GENERATION_AT
}

/// The state as this process is to see it: what it says about threads of a parent process is removed.
pub(super) fn in_generation(state: u64, field: u64) -> u64 {
    const THREADS: u64 = BUSY | WRITERS | READERS | AWAKE | DRAINER | PRESSING | OVERTAKERS;
    let old = state >> GENERATION_AT << GENERATION_AT;
    if old == field { state } else { state & !old & !THREADS | field }
}

/// Whether a release need not look after the writers in the queue: there are none, or one of them is awake.
#[inline(always)]
pub(super) fn is_served(state: u64) -> bool {
    state & WRITERS == 0 || state & AWAKE != 0
}

/// Whether a writer may take the lock.
#[inline(always)]
pub(super) fn is_free(state: u64) -> bool {
    state & (WRITER | BIASED | DRAINING) == 0 && counted(state) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        let field = generation_field(u32::MAX);
        let state = field | (READER * u64::from(MAX_READERS)) | (UNBIASED * MAX_UNBIASED) | FENCED | WRITER;
        assert_eq!((counted(state), unbiased(state), field & (READER - 1)), (MAX_READERS, MAX_UNBIASED, 0));
        assert_eq!(state & (FENCED | WRITER), FENCED | WRITER);
        assert_eq!(in_generation(state, field), state);
    }

    #[test]
    fn child_drops_the_threads_of_its_parent_and_keeps_the_holds() {
        let parent =
            generation_field(1) | (READER * 3) | BUSY | WRITERS | READERS | AWAKE | DRAINING | DRAINER;
        assert_eq!(in_generation(parent, generation_field(2)), generation_field(2) | (READER * 3) | DRAINING);
    }
}
