//! The tally of this process alone, if the user wants a summary at its end or a status meanwhile.
//!
//! It lies in memory, and `unspin plan status` reads it there: no file is left by a process that is killed, executes a program or
//! changes its root.
//!
//! The decisions are rare, and the uses are those of threads that have waited, so counting costs nothing that a program notices.

use crate::{environment, notice, sandbox};
use core::ffi::CStr;
use unspin_locks::Waited;
use unspin_sys::tid;
use unspin_wire::plan::LockFamily;
use unspin_wire::{OwnTally, OwnTallyPlace, TallyUse};

/// `unspin plan status` finds it by its mark in the data of this library.
#[used]
static PLACE: OwnTallyPlace = OwnTallyPlace::none();

/// Begins the tally, if the user wants one. To be called when the plan at this path has been read.
pub fn begin(path: &CStr) {
    if !environment::wants_summary() && !environment::wants_status() {
        return;
    }
    match PLACE.begin() {
        Ok(tally) => tally.set_path(path.to_bytes()),
        Err(error) => notice::print(format_args!(
            "no summary and no `unspin plan status`: no memory for the counts: {error}; raise the limit of memory (ulimit -v), or \
             use Linux 4.14 or later"
        )),
    }
}

/// The tally of this process; `None` in a child that has counted nothing and is under a filter that may forbid getpid(2).
#[inline]
pub fn get() -> Option<OwnTally> {
    PLACE.get().filter(|tally| tally.process().is_some() || !sandbox::is_closed())
}

/// Notes how an acquisition of a replaced lock waited.
#[inline(always)]
pub fn note(family: LockFamily, waited: Waited) {
    if waited != Waited::No {
        note_wait(family, waited);
    }
}

#[cold]
#[inline(never)]
fn note_wait(family: LockFamily, waited: Waited) {
    note_use(if waited == Waited::Slept { TallyUse::Slept(family) } else { TallyUse::Spun(family) });
}

/// Counts one use, if uses are counted.
#[cold]
pub fn note_use(used: TallyUse) {
    if let Some(tally) = get() {
        tally.add_use(used, tid::get_cached());
    }
}
