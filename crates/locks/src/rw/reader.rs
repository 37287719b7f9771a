//! What a thread keeps about the locks that it holds for reading, in one word: how many they are, and its line of the table
//! of [slots](super::slots).

use super::host;

/// Low half of the word: the number of locks that the thread holds for reading, counted once for each acquisition.
const HOLDS: usize = u32::MAX as usize;
/// Shift of the high half: one more than the index of the thread's line; 0 if it has none.
const LINE_AT: u32 = 32;

/// Counts an acquisition.
#[inline(always)]
pub(super) fn count_acquisition() {
    host::reader_word(|word| word.set(word.get() + 1));
}

/// Counts a release. A thread that releases what another one has acquired may have none left to count.
#[inline(always)]
pub(super) fn count_release() {
    host::reader_word(|word| {
        if word.get() & HOLDS != 0 {
            word.set(word.get() - 1);
        }
    });
}

/// How many locks the calling thread holds for reading, each counted as often as it holds it.
///
/// A thread whose locks others release counts them until it ends: it overtakes writers that wait.
pub fn holds() -> u32 {
    host::reader_word(|word| (word.get() & HOLDS) as u32)
}

/// The index of the thread's line, if it has one.
#[inline(always)]
pub(super) fn line() -> Option<usize> {
    host::reader_word(|word| (word.get() >> LINE_AT).checked_sub(1))
}

/// Notes the line that the thread has claimed, or has given back.
pub(super) fn set_line(line: Option<usize>) {
    let field = line.map_or(0, |line| line + 1) << LINE_AT;
    host::reader_word(|word| word.set(word.get() & HOLDS | field));
}
