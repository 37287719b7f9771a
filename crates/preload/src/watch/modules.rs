//! The code that is already listed: the address ranges of the modules in the recording's list.
//!
//! A caller outside these ranges lies in code that was loaded later, so a new list is needed. Checked only when a row
//! is new.

use core::ops::Range;
use unspin_sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use unspin_wire::{Recording, Table};

/// Number of ranges that are remembered. In a program with more, callers in the others cause new lists, up to [`LISTS`]
/// times.
const RANGES: usize = 512;
/// Maximum number of lists: code that belongs to no file never appears in a list.
const LISTS: u32 = 200;

static BEGINS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static ENDS: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
static KNOWN: AtomicU32 = AtomicU32::new(0);
static LISTED: AtomicU32 = AtomicU32::new(0);
/// The image whose list it is: a child made by fork inherits what is remembered here, but not the list.
static LISTED_IMAGE: AtomicU64 = AtomicU64::new(0);

/// Ensures that the recording has a list that covers this code.
pub fn cover(recording: &Recording, table: &Table<'_>, code: u64) {
    // Relaxed (all here): two threads that list at the same time make one list too many. A range that is read torn
    // causes one list too many, or one that is missing. There are no other effects.
    let image = table.image();
    if LISTED_IMAGE.swap(image, Relaxed) != image {
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

/// To be called after code was unloaded: other code may be loaded at its addresses.
pub fn forget() {
    // Relaxed: as above.
    KNOWN.store(0, Relaxed);
    super::wrappers::forget();
}
