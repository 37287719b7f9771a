//! What a thread keeps about the locks that it holds for reading, in one word: how many they are, and its line of the table
//! of [slots](super::slots).

use super::host;

/// Low half of the word: one more than the index of the thread's line; 0 if it has none.
const LINE: usize = u32::MAX as usize;
/// One lock that the thread holds for reading, in the high half. It is counted once for each acquisition.
const HOLD: usize = 1 << 32;

/// Counts an acquisition.
#[inline(always)]
pub(super) fn count_acquisition() {
    host::reader_word(|word| word.set(word.get().wrapping_add(HOLD)));
}

/// Counts a release. A thread that releases what another one has acquired may have none left to count.
#[inline(always)]
pub(super) fn count_release() {
    host::reader_word(|word| {
        if word.get() >= HOLD {
            word.set(word.get() - HOLD);
        }
    });
}

/// How many locks the calling thread holds for reading, each counted as often as it holds it.
///
/// A thread whose locks others release counts them until it ends: it overtakes writers that wait.
pub fn holds() -> u32 {
    host::reader_word(|word| (word.get() / HOLD) as u32)
}

/// The index of the thread's line, if it has one.
#[inline(always)]
pub(super) fn line() -> Option<usize> {
    host::reader_word(|word| (word.get() & LINE).checked_sub(1))
}

/// Notes the line that the thread has claimed, or has given back.
pub(super) fn set_line(line: Option<usize>) {
    let field = line.map_or(0, |line| line + 1);
    host::reader_word(|word| word.set(word.get() & !LINE | field));
}
