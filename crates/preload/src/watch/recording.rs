//! The recording, opened once per process image by whoever comes first: our constructor, or a hook that an earlier
//! constructor called.
//!
//! Opening allocates nothing while all goes well, as the first lock of a program may be its allocator's. Who comes while
//! another thread is opening goes unrecorded: waiting could be a deadlock.

use crate::{notice, plan};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use std::io::ErrorKind;
use std::path::Path;
use unspin_meter::Recording;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sys::sched;
use unspin_sys::signal::{Mask, set_mask};

/// Nobody has begun.
const UNKNOWN: u32 = 0;
/// Somebody is opening it.
const OPENING: u32 = 1;
/// [`RECORDING`] holds it.
const ON: u32 = 2;
/// There is none: not asked for, or not to be had.
const OFF: u32 = 3;

/// UNKNOWN -> OPENING by whoever comes first; OPENING -> ON or OFF by the same thread.
static PHASE: AtomicU32 = AtomicU32::new(UNKNOWN);
static RECORDING: Slot = Slot(UnsafeCell::new(MaybeUninit::uninit()));

struct Slot(UnsafeCell<MaybeUninit<Recording>>);

// SAFETY: written by the one thread that moved PHASE to OPENING, read only after PHASE says ON; a `Recording` is Sync.
unsafe impl Sync for Slot {}

/// Whether it is settled that nothing is recorded.
#[inline(always)]
pub fn is_off() -> bool {
    // Relaxed: nothing is read on the strength of it.
    PHASE.load(Ordering::Relaxed) == OFF
}

/// The recording, if there is one and it is open, or can be opened now.
pub fn get() -> Option<&'static Recording> {
    // Acquire: pairs with the Release store below.
    match PHASE.load(Ordering::Acquire) {
        // SAFETY: PHASE is ON, so the slot was initialised, and nobody writes it any more.
        ON => Some(unsafe { (*RECORDING.0.get()).assume_init_ref() }),
        UNKNOWN => open(),
        _ => None,
    }
}

/// As [`get`], but waits for a thread that is opening it.
pub fn wait() -> Option<&'static Recording> {
    loop {
        let found = get();
        // Acquire: as above. (In a child that was forked while another thread was opening this would not end; its parent's
        // thread is not here to finish. It gives up after some thousand turns.)
        if found.is_some() || PHASE.load(Ordering::Acquire) != OPENING {
            return found;
        }
        for _ in 0..10_000 {
            sched::give_way();
            // Relaxed: looked at again above.
            if PHASE.load(Ordering::Relaxed) != OPENING {
                break;
            }
        }
        // Relaxed: who finds it OPENING finds nothing to read.
        let _ = PHASE.compare_exchange(OPENING, OFF, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Whether who made the recording wants it no more: it goes with its folder. A process that outlives it, and starts another,
/// is not to hear of it.
fn is_dropped(path: &Path) -> bool {
    let folder = path.parent().map(std::fs::symlink_metadata);
    folder.is_some_and(|found| found.is_err_and(|error| error.kind() == ErrorKind::NotFound))
}

#[cold]
fn open() -> Option<&'static Recording> {
    // A handler in between would find nothing, and its use of a lock go unrecorded.
    let mask = set_mask(Mask::ALL);
    // Relaxed: only the question who came first matters; nothing is read that another wrote.
    if PHASE.compare_exchange(UNKNOWN, OPENING, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        let phase = match plan::recording().map(|path| (path, Recording::open(path))) {
            None => OFF,
            Some((_, Ok(recording))) => {
                // SAFETY: PHASE says OPENING by our hand: nobody else writes, and nobody reads yet.
                unsafe { (*RECORDING.0.get()).write(recording) };
                ON
            }
            Some((path, Err(_))) if is_dropped(path) => OFF,
            Some((path, Err(error))) => {
                notice::print(format_args!("nothing is recorded in {}: {error}", path.display()));
                OFF
            }
        };
        // Release: pairs with the Acquire loads above; publishes RECORDING.
        PHASE.store(phase, Ordering::Release);
    }
    set_mask(mask);
    // Acquire: as in `get`.
    match PHASE.load(Ordering::Acquire) {
        // SAFETY: as in `get`.
        ON => Some(unsafe { (*RECORDING.0.get()).assume_init_ref() }),
        _ => None,
    }
}
