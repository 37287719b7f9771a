//! Shared memory: answers, errors, mapped pages and their contents, counts, and removal at the last detachment.

mod compare;
mod model;
mod program;

pub use model::Flaw;
pub use program::Call;

use super::Family;
use super::bytes::Bytes;
use program::Command;
use unspin_sysv::Engine;

/// shmget(2), shmat(2), shmdt(2), shmctl(2), and munmap(2) of attachments.
#[derive(Clone, Copy, Debug)]
pub enum Segments {}

impl Family for Segments {
    type Call = Call;
    type Flaw = Flaw;
    const FLAWS: &'static [Flaw] = &[
        Flaw::CountsAttachments,
        Flaw::RemovedAtOnce,
        Flaw::KeysOutliveRemoval,
        Flaw::DetachesAnywhere,
        Flaw::NeverRoundsDown,
    ];
    const LONGEST: usize = program::LONGEST;

    fn call(bytes: &mut Bytes<'_>) -> Call {
        program::call(bytes)
    }

    fn names_object_by_index(call: &Call) -> bool {
        matches!(call, Call::Control { command: Command::List, .. })
    }

    /// No other thread of the process may fork meanwhile, as a fork counts as attaching.
    fn compare(engine: &Engine, first_key: i32, calls: &[Call], flaw: Flaw) -> Result<(), String> {
        compare::compare(engine, first_key, calls, flaw)
    }
}
