//! Which code has been seen: the ranges of the modules that the recording has a list of.
//!
//! A caller outside of them lies in code that was loaded since, so a new list is due. Asked only when a row is new.

use core::ops::Range;
use unspin_meter::{Recording, Table};
use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

/// Ranges that are remembered. A program with more has the later ones listed again and again, up to [`LISTS`] times.
const RANGES: usize = 512;
/// Lists in all: code that belongs to no file is never found in one.
const LISTS: u32 = 200;

static BEGINS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static ENDS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static KNOWN: AtomicU32 = AtomicU32::new(0);
static LISTED: AtomicU32 = AtomicU32::new(0);
/// The process whose list it is: a child made by fork inherits what is remembered here, but not the list.
static WHOSE: AtomicU64 = AtomicU64::new(0);

/// Sees to it that the recording has a list that covers this code.
pub fn cover(recording: &Recording, table: &Table<'_>, code: u64) {
    // Relaxed (all here): two threads that make a list at once make one too many, and a range that is read torn makes one
    // too many or misses one; nothing else follows.
    let image = table.image();
    if WHOSE.swap(image, Relaxed) != image {
        KNOWN.store(0, Relaxed);
        LISTED.store(0, Relaxed);
    }
    let known = (KNOWN.load(Relaxed) as usize).min(RANGES);
    let covers = |at: usize| (BEGINS[at].load(Relaxed)..ENDS[at].load(Relaxed)).contains(&code);
    if (0..known).any(covers) || LISTED.fetch_add(1, Relaxed) >= LISTS {
        return;
    }
    KNOWN.store(0, Relaxed);
    recording.note_modules(table, &mut add);
}

fn add(range: Range<u64>) {
    // Relaxed (all): as above.
    let at = KNOWN.load(Relaxed) as usize;
    if at < RANGES {
        BEGINS[at].store(range.start, Relaxed);
        ENDS[at].store(range.end, Relaxed);
        KNOWN.store(at as u32 + 1, Relaxed);
    }
}

/// Code has gone; what comes into its place is other code.
pub fn forget() {
    // Relaxed: as above.
    KNOWN.store(0, Relaxed);
    super::wrappers::forget();
}
