//! The threads of a process in which nothing is recorded.

use super::woken::WokenFrom;
use super::{ABSENT, IDLE, Thread};
use crate::watch::sample_rng::SampleRng;
use crate::watch::wrappers::WrapperCandidates;
use core::cell::Cell;

/// Stands for every thread if nothing is recorded.
pub static NOT_RECORDED: NotRecorded = NotRecorded::new(ABSENT);
/// Stands for every thread if nothing is recorded and there is no plan.
pub static NOTHING_TO_DO: NotRecorded = NotRecorded::new(IDLE);

/// A thread that is never recorded.
#[repr(transparent)]
pub struct NotRecorded(Thread);

// SAFETY: no thread writes to a `Thread` that is absent or idle.
unsafe impl Sync for NotRecorded {}

impl NotRecorded {
    const fn new(phase: u32) -> NotRecorded {
        NotRecorded(Thread {
            phase: Cell::new(phase),
            countdown: Cell::new(0),
            every: Cell::new(0),
            stretch: Cell::new(0),
            until_sample: Cell::new(0),
            random: SampleRng::new(),
            waiting: Cell::new(0),
            woken: Cell::new(0),
            woken_from: Cell::new(WokenFrom::NONE),
            candidates: WrapperCandidates::none(),
            recording: Cell::new(None),
        })
    }

    /// Whether the thread is one of these.
    pub fn is(thread: &Thread) -> bool {
        core::ptr::eq(thread, &raw const NOT_RECORDED.0) || core::ptr::eq(thread, &raw const NOTHING_TO_DO.0)
    }
}
