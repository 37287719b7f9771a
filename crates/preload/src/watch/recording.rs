//! The recording, opened once per process image: by this library's constructor, or by a hook that an earlier
//! constructor called.
//!
//! A successful open allocates nothing, as the first lock of a program may be its allocator's. A thread that needs the
//! recording while another thread opens it is not recorded: waiting could deadlock.

use crate::{notice, plan};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use std::io::ErrorKind;
use std::path::Path;
use unspin_meter::Recording;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sys::sched;
use unspin_sys::signal::{Mask, set_mask};

/// No thread has begun to open it.
const UNKNOWN: u32 = 0;
/// A thread is opening it.
const OPENING: u32 = 1;
/// [`RECORDING`] contains it.
const ON: u32 = 2;
/// There is none: none was requested, or it could not be opened.
const OFF: u32 = 3;

/// UNKNOWN -> OPENING by the first thread; OPENING -> ON or OFF by the same thread. [`wait`] sets OFF if that thread
/// does not finish.
static PHASE: AtomicU32 = AtomicU32::new(UNKNOWN);
static RECORDING: Slot = Slot(UnsafeCell::new(MaybeUninit::uninit()));

struct Slot(UnsafeCell<MaybeUninit<Recording>>);

// SAFETY: written by the one thread that moved PHASE to OPENING; read only after PHASE is ON; a `Recording` is Sync.
unsafe impl Sync for Slot {}

/// Whether it is certain that nothing is recorded.
#[inline(always)]
pub fn is_off() -> bool {
    // Relaxed: no other data is read because of it.
    PHASE.load(Ordering::Relaxed) == OFF
}

/// The recording, if it is open or can be opened now.
pub fn get() -> Option<&'static Recording> {
    // Acquire: pairs with the Release store below.
    match PHASE.load(Ordering::Acquire) {
        // SAFETY: PHASE is ON, so the slot was initialised, and no thread writes it any more.
        ON => Some(unsafe { (*RECORDING.0.get()).assume_init_ref() }),
        UNKNOWN => open(),
        _ => None,
    }
}

/// As [`get`], but waits while another thread opens it.
pub fn wait() -> Option<&'static Recording> {
    loop {
        let found = get();
        // Acquire: as above. A child that was forked while another thread was opening the recording does not have that
        // thread, so OPENING would never end. The loop gives up after some thousand iterations.
        if found.is_some() || PHASE.load(Ordering::Acquire) != OPENING {
            return found;
        }
        for _ in 0..10_000 {
            sched::yield_or_sleep();
            // Relaxed: the value is read again above.
            if PHASE.load(Ordering::Relaxed) != OPENING {
                break;
            }
        }
        // Relaxed: a thread that replaces OPENING has nothing to read.
        let _ = PHASE.compare_exchange(OPENING, OFF, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Whether the recording's folder is gone: then its creator does not want it any more. A process that outlives the
/// creator and starts another program should not get an error message because of that.
fn is_dropped(path: &Path) -> bool {
    let folder = path.parent().map(std::fs::symlink_metadata);
    folder.is_some_and(|found| found.is_err_and(|error| error.kind() == ErrorKind::NotFound))
}

#[cold]
fn open() -> Option<&'static Recording> {
    // Signals are blocked: a handler in between would find no recording, and its use of a lock would not be recorded.
    let mask = set_mask(Mask::ALL);
    // Relaxed: only the order of the exchanges matters; no data of another thread is read.
    if PHASE.compare_exchange(UNKNOWN, OPENING, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        let phase = match plan::recording().map(|path| (path, Recording::open(path))) {
            None => OFF,
            Some((_, Ok(recording))) => {
                // SAFETY: this thread set PHASE to OPENING: no other thread writes, and none reads yet.
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
