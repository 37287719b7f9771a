//! The first page of a recording: format version, sizes, clock, and facts about the machine.

use crate::disturbance::Disturbance;
use crate::error::Reason;
use crate::histogram::BUCKETS;
use crate::level::Level;
use crate::pages::{BYTES, WORDS};
use crate::table::KEYS;
use crate::wakeup::WakeUpCost;
use crate::window::Window;
use unspin_sync::atomic::{AtomicU64, Ordering::*};
use unspin_sys::clock;
use unspin_sys::process::Liveness;

/// "UNSPINLK" in the byte order of the file.
const MAGIC_NUMBER: u64 = u64::from_le_bytes(*b"UNSPINLK");

// Indices of the header's words. The other words are reserved and zero.
/// Written last. A file without it is still being created.
const MAGIC: usize = 0;
const VERSION: usize = 1;
/// The sizes that [`layout`] lists.
const LAYOUT: usize = 2;
const PAGES: usize = 6;
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
/// Two words, see [`Level::to_words`].
const LEVEL: usize = 15;
/// Time of the owner's latest [`beat`]; 0 if there was none.
const SEEN_MONOTONIC: usize = 17;
const SEEN_TICKS: usize = 18;
/// Cost of a wake-up on this machine in nanoseconds, by futex and by epoll; 0: not measured.
const WAKE_UP_FUTEX: usize = 19;
const WAKE_UP_EPOLL: usize = 20;
/// The words of [`Disturbance::to_words`].
const DISTURBANCE: [usize; 3] = [21, 22, 24];
/// Checksum of a recording that was saved; 0: there is none.
pub(crate) const CHECKSUM: usize = 23;
// Word 63, and words from 64 on: how the program was started, see `invocation`.
// Each word that recorded threads write has a cache line of its own.
/// Number of the first free page.
pub(crate) const FREE: usize = 32;
/// Head of the list of images.
pub(crate) const IMAGES: usize = 40;
/// Number of claims for which there was no table.
pub(crate) const REFUSED: usize = 48;

/// Sizes on which reader and writer must agree.
fn layout() -> [u64; 4] {
    [WORDS as u64, crate::slot::WHOLE as u64, KEYS as u64, BUCKETS as u64]
}

/// The version of the recording's format.
pub(crate) fn version(words: &[AtomicU64]) -> u64 {
    // Relaxed: checked before the recording was mapped; it never changes.
    words[VERSION].load(Relaxed)
}

/// Fills the header of a new file.
pub(crate) fn write(words: &[AtomicU64], pages: u64, cpus: u32, level: Level) {
    // Relaxed: published by the magic number.
    let put = |index: usize, value: u64| words[index].store(value, Relaxed);
    put(VERSION, crate::format::VERSION);
    for (index, size) in layout().into_iter().enumerate() {
        put(LAYOUT + index, size);
    }
    put(PAGES, pages);
    put(TICKS_PER_SECOND, clock::ticks_per_second());
    put(CPUS, u64::from(cpus));
    let [kind, every] = level.to_words();
    put(LEVEL, kind);
    put(LEVEL + 1, every);
    put(FREE, 1);
    start(words);
    // Release: the file is normally opened after exec and open(2), which order everything, so no partner is needed.
    // For a reader that maps the file earlier the Release makes the magic number the last store.
    words[MAGIC].store(MAGIC_NUMBER, Release);
}

/// (Re)starts the clock.
pub(crate) fn start(words: &[AtomicU64]) {
    // Relaxed (all): only the recording's owner writes these words, before the recorded program starts.
    words[START_REALTIME].store(clock::realtime_ns(), Relaxed);
    words[START_MONOTONIC].store(clock::monotonic_ns(), Relaxed);
    words[START_TICKS].store(clock::ticks(), Relaxed);
    words[END_MONOTONIC].store(0, Relaxed);
}

/// Stores the cost of a wake-up.
pub(crate) fn set_wake_up(words: &[AtomicU64], cost: WakeUpCost) {
    // Relaxed (both): only the recording's owner writes these words, before the recorded program starts.
    words[WAKE_UP_FUTEX].store(cost.futex_ns, Relaxed);
    words[WAKE_UP_EPOLL].store(cost.epoll_ns, Relaxed);
}

/// The cost of a wake-up; none if it was not measured.
pub(crate) fn wake_up(words: &[AtomicU64]) -> Option<WakeUpCost> {
    // Relaxed (both): see `set_wake_up`.
    let [futex_ns, epoll_ns] = [WAKE_UP_FUTEX, WAKE_UP_EPOLL].map(|index| words[index].load(Relaxed));
    (futex_ns != 0 && epoll_ns != 0).then_some(WakeUpCost { futex_ns, epoll_ns })
}

/// Stores the disturbance until now.
pub(crate) fn set_disturbance(words: &[AtomicU64], disturbance: Disturbance) {
    for (at, word) in DISTURBANCE.into_iter().zip(disturbance.to_words()) {
        // Relaxed: a share that readers take as it is.
        words[at].store(word, Relaxed);
    }
}

/// The disturbance; none if it was not measured.
pub(crate) fn disturbance(words: &[AtomicU64]) -> Option<Disturbance> {
    // Relaxed: as in `set_disturbance`.
    Disturbance::from_words(DISTURBANCE.map(|at| words[at].load(Relaxed)))
}

/// Whether the clock was stopped.
pub(crate) fn is_finished(words: &[AtomicU64]) -> bool {
    // Acquire: pairs with the Release store in `finish`.
    words[END_MONOTONIC].load(Acquire) != 0
}

/// Stops the clock.
pub(crate) fn finish(words: &[AtomicU64], cpu_time_ns: u64) {
    // Relaxed (both): published by the next store.
    words[CPU_TIME].store(cpu_time_ns, Relaxed);
    words[END_TICKS].store(clock::ticks(), Relaxed);
    // Release: pairs with the Acquire load in `end`.
    words[END_MONOTONIC].store(clock::monotonic_ns(), Release);
}

/// HeaderFields about the whole file, from the header.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct HeaderFields {
    /// Number of pages that the writers may use.
    pub pages: u64,
    /// Number of pages in use.
    pub used: u64,
    /// Checksum of the pages in use, without itself; 0: there is none.
    pub checksum: u64,
    pub level: Level,
}

/// Checks the header of a file of `bytes` bytes. `oldest` is the first version that will do; `word` reads one of the first
/// [`WORDS`] words.
pub(crate) fn check(bytes: u64, oldest: u64, word: impl Fn(usize) -> u64) -> Result<HeaderFields, Reason> {
    let page = BYTES as u64;
    if word(MAGIC) != MAGIC_NUMBER {
        return Err(Reason::NotARecording);
    }
    if bytes < page {
        return Err(Reason::Truncated { expected: page, found: bytes });
    }
    if !(oldest..=crate::format::VERSION).contains(&word(VERSION)) {
        return Err(Reason::Version { found: word(VERSION) });
    }
    if !layout().into_iter().enumerate().all(|(index, size)| word(LAYOUT + index) == size) {
        return Err(Reason::Damaged("sizes of another layout"));
    }
    let pages = match word(PAGES) {
        n @ 1..=crate::format::MAX_PAGES => n,
        _ => return Err(Reason::Damaged("number of pages")),
    };
    let used = match word(FREE) {
        n if (1..=pages).contains(&n) => n,
        _ => return Err(Reason::Damaged("number of pages in use")),
    };
    if bytes < used * page {
        return Err(Reason::Truncated { expected: used * page, found: bytes });
    }
    if !(1..=1 << 40).contains(&word(TICKS_PER_SECOND)) {
        return Err(Reason::Damaged("clock rate"));
    }
    if !(1..=1 << 20).contains(&word(CPUS)) {
        return Err(Reason::Damaged("number of CPUs"));
    }
    let level = Level::from_words([word(LEVEL), word(LEVEL + 1)]).ok_or(Reason::Damaged("level"))?;
    Ok(HeaderFields { pages, used, checksum: word(CHECKSUM), level })
}

/// When the clock was started, in nanoseconds since the epoch.
pub(crate) fn start_time(words: &[AtomicU64]) -> u64 {
    // Relaxed: see `start`.
    words[START_REALTIME].load(Relaxed)
}

/// Records that a participant of the recording is alive now.
pub(crate) fn update_last_seen(words: &[AtomicU64]) {
    // Relaxed (both): a reader that loads between the two stores finds ticks that are some microseconds old.
    words[SEEN_TICKS].store(clock::ticks(), Relaxed);
    words[SEEN_MONOTONIC].store(clock::monotonic_ns(), Relaxed);
}

/// The end of the recording, in nanoseconds and in ticks. If the clock was never stopped: now, while a recorded
/// process lives; otherwise the time of the latest [`beat`].
fn end(words: &[AtomicU64], program: Liveness) -> (u64, u64) {
    // Relaxed: see `start`, `finish` and `beat`.
    let get = |index: usize| words[index].load(Relaxed);
    // Acquire: pairs with the Release store in `finish`.
    let end = words[END_MONOTONIC].load(Acquire);
    match (end, get(SEEN_MONOTONIC), program) {
        (0, seen @ 1.., Liveness::Dead) => (seen, get(SEEN_TICKS)),
        (0, _, _) => (clock::monotonic_ns(), clock::ticks()),
        (end, _, _) => (end, get(END_TICKS)),
    }
}

/// Start and end of the recording, in ticks.
pub(crate) fn ticks(words: &[AtomicU64], program: Liveness) -> (u64, u64) {
    // Relaxed: see `start`.
    (words[START_TICKS].load(Relaxed), end(words, program).1)
}

/// The time metered: up to now, or the whole time if the recording is finished.
///
/// From 10 ms on, ticks are converted at the rate measured over the recording itself. That rate is more exact than
/// the short calibration in the header.
pub(crate) fn window(words: &[AtomicU64], program: Liveness) -> Window {
    // Relaxed: see `start` and `finish`.
    let get = |index: usize| words[index].load(Relaxed);
    let (end, end_ticks) = end(words, program);
    let ns = end.saturating_sub(get(START_MONOTONIC)).max(1);
    let ticks = end_ticks.saturating_sub(get(START_TICKS));
    let calibrated = get(TICKS_PER_SECOND) as f64;
    let measured = ticks as f64 * 1e9 / ns as f64;
    // If the measured rate is far from the calibrated one, the file is damaged or a clock was stopped.
    let plausible = ns >= 10_000_000 && (0.9..1.1).contains(&(measured / calibrated));
    Window {
        seconds: ns as f64 / 1e9,
        cpus: get(CPUS) as u32,
        ticks_per_second: if plausible { measured } else { calibrated },
        cpu_seconds: Some(get(CPU_TIME)).filter(|&t| t > 0).map(|t| t as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_without_owner_ends_when_a_participant_was_last_seen() {
        let words: Vec<AtomicU64> = (0..WORDS).map(|_| AtomicU64::new(0)).collect();
        write(&words, 100, 2, Level::Full);
        // Relaxed (all): one thread.
        let began = words[START_MONOTONIC].load(Relaxed);
        assert!(window(&words, Liveness::Dead).seconds < 60.0, "nobody has been seen yet");
        update_last_seen(&words);
        words[START_MONOTONIC].store(began - 60_000_000_000, Relaxed);
        words[SEEN_MONOTONIC].store(began - 50_000_000_000, Relaxed);
        assert_eq!(window(&words, Liveness::Dead).seconds, 10.0);
        assert!(window(&words, Liveness::Alive).seconds >= 60.0, "it goes on");
        finish(&words, 0);
        assert!(window(&words, Liveness::Dead).seconds >= 60.0, "he says himself when it ended");
    }
}
