//! The first page of a recording: what it is and when it was made.

use crate::error::Reason;
use crate::slot::SLOT_WORDS;
use crate::table;
use crate::window::Window;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::clock;

/// Words of the header, one page.
pub(crate) const WORDS: usize = 512;
/// Words of a table: its header page and its slots.
pub(crate) const TABLE_WORDS: usize = table::HEAD_WORDS + table::SLOTS * SLOT_WORDS;

/// "UNSPINLK" in the order of the file's bytes.
const MAGIC_NUMBER: u64 = u64::from_le_bytes(*b"UNSPINLK");

// Words of the header; the rest is reserved and zero.
/// Written last: a file without it is not finished being made.
const MAGIC: usize = 0;
const VERSION: usize = 1;
/// The sizes that [`layout`] lists.
const LAYOUT: usize = 2;
const TABLES: usize = 6;
const TICKS_PER_SECOND: usize = 7;
const CPUS: usize = 8;
const START_REALTIME: usize = 9;
const START_MONOTONIC: usize = 10;
const START_TICKS: usize = 11;
/// 0 while the recording runs.
const END_MONOTONIC: usize = 12;
const END_TICKS: usize = 13;
/// CPU time of the recorded program in nanoseconds; 0 if unknown.
const CPU_TIME: usize = 14;
// Each of the words that claiming threads write has a cache line of its own.
/// Tables handed out so far.
pub(crate) const NEXT: usize = 32;
/// Top of the list of released tables.
pub(crate) const RELEASED: usize = 40;
/// Claims that found no table.
pub(crate) const REFUSED: usize = 48;

/// Sizes in words that a reader must share with the writer.
fn layout() -> [u64; 4] {
    [WORDS as u64, TABLE_WORDS as u64, table::SLOTS as u64, SLOT_WORDS as u64]
}

/// Bytes of a file with so many tables.
pub(crate) fn file_bytes(tables: u32) -> u64 {
    8 * (WORDS as u64 + u64::from(tables) * TABLE_WORDS as u64)
}

/// Fills the header of a new file.
pub(crate) fn write(words: &[AtomicU64], tables: u32, cpus: u32) {
    // Relaxed: published by the magic number.
    let put = |index: usize, value: u64| words[index].store(value, Relaxed);
    put(VERSION, crate::recording::VERSION);
    for (index, size) in layout().into_iter().enumerate() {
        put(LAYOUT + index, size);
    }
    put(TABLES, u64::from(tables));
    put(TICKS_PER_SECOND, clock::ticks_per_second());
    put(CPUS, u64::from(cpus));
    start(words);
    // Release: no partner is needed on the way through exec and open(2), which order everything; it keeps
    // the number last for a reader that maps the file early.
    words[MAGIC].store(MAGIC_NUMBER, Release);
}

/// (Re)starts the clock.
pub(crate) fn start(words: &[AtomicU64]) {
    // Relaxed (all): only the recording's owner writes these, before the program that is recorded starts.
    words[START_REALTIME].store(clock::realtime_ns(), Relaxed);
    words[START_MONOTONIC].store(clock::monotonic_ns(), Relaxed);
    words[START_TICKS].store(clock::ticks(), Relaxed);
    words[END_MONOTONIC].store(0, Relaxed);
}

/// Stops the clock.
pub(crate) fn finish(words: &[AtomicU64], cpu_time_ns: u64) {
    // Relaxed (both): published by the next store.
    words[CPU_TIME].store(cpu_time_ns, Relaxed);
    words[END_TICKS].store(clock::ticks(), Relaxed);
    // Release: pairs with the Acquire load in `window`.
    words[END_MONOTONIC].store(clock::monotonic_ns(), Release);
}

/// Checks the header of a file of `bytes` bytes; returns its number of tables. `word` reads one of the
/// first [`WORDS`] words.
pub(crate) fn check(bytes: u64, word: impl Fn(usize) -> u64) -> Result<u32, Reason> {
    if word(MAGIC) != MAGIC_NUMBER {
        return Err(Reason::NotARecording);
    }
    if bytes < 8 * WORDS as u64 {
        return Err(Reason::CutShort { expected: file_bytes(1), found: bytes });
    }
    if word(VERSION) != crate::recording::VERSION {
        return Err(Reason::Version { found: word(VERSION) });
    }
    if !layout().into_iter().enumerate().all(|(index, size)| word(LAYOUT + index) == size) {
        return Err(Reason::Damaged("sizes of another layout"));
    }
    let tables = match u32::try_from(word(TABLES)) {
        Ok(n @ 1..=crate::recording::MAX_TABLES) => n,
        _ => return Err(Reason::Damaged("number of tables")),
    };
    if bytes < file_bytes(tables) {
        return Err(Reason::CutShort { expected: file_bytes(tables), found: bytes });
    }
    if !(1..=1 << 40).contains(&word(TICKS_PER_SECOND)) {
        return Err(Reason::Damaged("clock rate"));
    }
    if !(1..=1 << 20).contains(&word(CPUS)) {
        return Err(Reason::Damaged("number of CPUs"));
    }
    Ok(tables)
}

/// The time metered so far, or in all if it is finished.
///
/// Once there are 10 ms to measure, ticks are converted at the rate measured over the recording itself, which
/// is more exact than the short calibration in the header.
pub(crate) fn window(words: &[AtomicU64]) -> Window {
    // Acquire: pairs with the Release store in `finish`.
    let end = words[END_MONOTONIC].load(Acquire);
    // Relaxed: see `start` and `finish`.
    let get = |index: usize| words[index].load(Relaxed);
    let (end, end_ticks) = match end {
        0 => (clock::monotonic_ns(), clock::ticks()),
        _ => (end, get(END_TICKS)),
    };
    let ns = end.saturating_sub(get(START_MONOTONIC)).max(1);
    let ticks = end_ticks.saturating_sub(get(START_TICKS));
    let calibrated = get(TICKS_PER_SECOND) as f64;
    let measured = ticks as f64 * 1e9 / ns as f64;
    // A measured rate far from the calibrated one is a damaged file or a clock that was stopped.
    let plausible = ns >= 10_000_000 && (0.9..1.1).contains(&(measured / calibrated));
    Window {
        seconds: ns as f64 / 1e9,
        cpus: get(CPUS) as u32,
        ticks_per_second: if plausible { measured } else { calibrated },
        cpu_seconds: Some(get(CPU_TIME)).filter(|&t| t > 0).map(|t| t as f64 / 1e9),
    }
}
