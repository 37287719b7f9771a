//! The recording, opened once per process image: by this library's constructor, or by a hook that an earlier
//! constructor called.
//!
//! A successful open allocates nothing, as the first lock of a program may be its allocator's. A thread that needs the
//! recording while another thread opens it is not recorded: waiting could deadlock.

use crate::claim::{self, Claim, Claimed};
use crate::{notice, plan};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use std::io::ErrorKind;
use std::path::Path;
use unspin_sync::atomic::{AtomicU32, Ordering};
use unspin_sys::clock;
use unspin_sys::signal::{Mask, set_mask};
use unspin_wire::{Reason, Recording};

/// No thread has opened it.
const UNKNOWN: u32 = 0;
/// [`RECORDING`] contains it.
const ON: u32 = 1;
/// There is none: none was requested, or it could not be opened.
const OFF: u32 = 2;

/// UNKNOWN -> ON or OFF, by the thread that has the claim [`OPENING`].
static PHASE: AtomicU32 = AtomicU32::new(UNKNOWN);
static OPENING: Claim = Claim::free();
static RECORDING: Slot = Slot(UnsafeCell::new(MaybeUninit::uninit()));

struct Slot(UnsafeCell<MaybeUninit<Recording>>);

// SAFETY: written by the one thread that has the claim OPENING, while PHASE is UNKNOWN; read only after PHASE is ON; a
// `Recording` is Sync.
unsafe impl Sync for Slot {}

/// Whether it is certain that nothing is recorded.
#[inline(always)]
pub fn is_off() -> bool {
    // Relaxed: no other data is read because of it.
    PHASE.load(Ordering::Relaxed) == OFF
}

/// The recording, if it is open or can be opened now. `None` while another thread opens it.
pub fn get() -> Option<&'static Recording> {
    // Acquire: pairs with the Release store in `open`.
    match PHASE.load(Ordering::Acquire) {
        // SAFETY: PHASE is ON, so the slot was initialised, and no thread writes it any more.
        ON => Some(unsafe { (*RECORDING.0.get()).assume_init_ref() }),
        UNKNOWN => open().ok()?,
        _ => None,
    }
}

/// As [`get`], but waits while another thread opens it.
pub fn wait() -> Option<&'static Recording> {
    loop {
        // Acquire: as in `get`.
        if PHASE.load(Ordering::Acquire) != UNKNOWN {
            return get();
        }
        match open() {
            Ok(found) => return found,
            Err(IsBeingOpened) => claim::wait_for_owner(),
        }
    }
}

/// Whether the recording's folder is gone: then its creator does not want it any more. A process that outlives the
/// creator and starts another program should not get an error message because of that.
fn is_dropped(path: &Path) -> bool {
    let folder = path.parent().map(std::fs::symlink_metadata);
    folder.is_some_and(|found| found.is_err_and(|error| error.kind() == ErrorKind::NotFound))
}

/// Whether the recording was cut short after it was created: then its creator reports that, and every program that is
/// executed afterwards starts as by itself.
fn is_cut_short(path: &Path, reason: &Reason) -> bool {
    let is_empty = || std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
    matches!(reason, Reason::Truncated { .. }) || is_empty()
}

/// Another thread is opening the recording.
struct IsBeingOpened;

/// Opens the recording, unless it is open. Fails if another thread is opening it.
#[cold]
fn open() -> Result<Option<&'static Recording>, IsBeingOpened> {
    // Signals are blocked: a handler in between would find no recording, and its use of a lock would not be recorded.
    let mask = set_mask(Mask::ALL);
    let answer = match OPENING.take() {
        Claimed::Now => {
            // Relaxed: the claim orders it. Another thread may have opened the recording in the meantime.
            if PHASE.load(Ordering::Relaxed) == UNKNOWN {
                // Release: pairs with the Acquire loads; publishes RECORDING.
                PHASE.store(open_now(), Ordering::Release);
            }
            OPENING.give_up();
            Ok(get())
        }
        // A use of a lock on the way to the recording is not recorded.
        Claimed::Before => Ok(None),
        Claimed::ByAnother => Err(IsBeingOpened),
    };
    set_mask(mask);
    answer
}

/// Opens the recording, and returns the new phase.
fn open_now() -> u32 {
    let Some(path) = plan::recording() else { return OFF };
    match Recording::open(path) {
        Ok(recording) => {
            // SAFETY: this thread has the claim OPENING and PHASE is UNKNOWN: no other thread writes, and none reads yet.
            unsafe { (*RECORDING.0.get()).write(recording) };
            // Now rather than while the program holds a lock.
            clock::prepare();
            ON
        }
        // Its creator says so.
        Err(error) if is_dropped(path) || is_cut_short(path, &error.reason) => OFF,
        Err(error) => {
            notice::print(format_args!("nothing is recorded in {}: {error}", path.display()));
            OFF
        }
    }
}
