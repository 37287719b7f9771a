//! The waits of a lens with names.

use super::longest::LeftOutWaits;
use super::track::Track;
use crate::settings::Lens;

/// The waits of a lens.
#[derive(Debug)]
pub struct LensTimeline {
    /// The lens.
    pub lens: Lens,
    /// What is known of each wait.
    pub fields: &'static [WaitField],
    /// For what threads waited and where.
    pub labels: Vec<WaitLabel>,
    /// The waits, in the order of their beginnings.
    pub waits: Vec<NamedWait>,
    /// Those that there was no room for.
    pub left_out: LeftOutWaits,
}

/// What is known of a wait, with the words that a viewer shows.
#[derive(Clone, Copy, Debug)]
pub struct WaitField {
    /// The name in the file.
    pub key: &'static str,
    /// The name that is shown.
    pub label: &'static str,
    /// Where it comes from.
    pub value: WaitValue,
}

/// Where the value of a field comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitValue {
    /// One of [`WaitLabel::values`].
    Label(usize),
    /// [`NamedWait::outcome`].
    Outcome,
    /// [`NamedWait::waker`].
    Waker,
}

/// For what threads waited and where.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WaitLabel {
    /// The name of the lock, of the futex, or of the reason.
    pub name: String,
    /// The values of fields.
    pub values: Vec<String>,
    /// The functions of the stack, outermost first.
    pub frames: Vec<String>,
}

/// A wait. Times are in nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedWait {
    /// What waited.
    pub track: Track,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
    /// Index into [`LensTimeline::labels`].
    pub label: usize,
    /// How it ended; empty if the lens does not know that.
    pub outcome: &'static str,
    /// The thread that ended it, if that is known.
    pub waker: Option<Track>,
    /// The CPU time that the thread had used when the wait began, since it was observed; 0 if the lens does not know that.
    pub cpu_ns: u64,
}

impl NamedWait {
    /// Nanoseconds from its beginning to its end.
    pub fn ns(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}
