//! Waits and wakes of one row, by stack.

use super::sums::{FutexWaits, FutexWakes};
use crate::lens::callers::{UserFrame, from_caller};
use std::collections::BTreeMap;
use unspin_report::next::lens::futex::Shown;

/// The waits and the wakes of one row.
#[derive(Default)]
pub struct Folded {
    /// By the stack that waited, innermost frame first.
    pub waits: BTreeMap<Vec<UserFrame>, FutexWaits>,
    /// By the stack that made the call.
    pub wakes: BTreeMap<Vec<UserFrame>, FutexWakes>,
}

impl Folded {
    /// The stack at which threads waited longest.
    pub fn longest(&self) -> &[UserFrame] {
        self.waits.iter().max_by_key(|(_, waits)| waits.wait_ns).map_or(&[], |(frames, _)| frames)
    }

    /// What a table shows of it.
    pub fn shown(&self) -> Shown {
        let is_known = |frames: &Vec<UserFrame>| !from_caller(frames).is_empty();
        match (self.waits.keys().any(is_known), self.wakes.keys().any(is_known)) {
            (true, true) => Shown::CallersAndWakers,
            (true, false) => Shown::Callers,
            (false, true) => Shown::Wakers,
            (false, false) => Shown::Nothing,
        }
    }
}

/// The caller's name, with the function that called it.
pub fn name(frames: &[UserFrame]) -> String {
    match from_caller(frames) {
        [] => "(no stack, or it waited already)".into(),
        [caller] => caller.place.clone(),
        [caller, outer, ..] => format!("{}  from {}", caller.place, outer.place),
    }
}
