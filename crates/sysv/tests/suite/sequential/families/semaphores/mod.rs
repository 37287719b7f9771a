//! Semaphores: answers, errors, values, pids, and what a process leaves when it ends.

mod compare;
pub mod ended;
mod model;
mod program;

pub use model::Flaw;
pub use program::Call;

use super::Family;
use super::bytes::Bytes;
use program::Command;
use unspin_sysv::Engine;

/// Mistakes that show when a process has ended.
pub const FLAWS_OF_ENDS: &[Flaw] =
    &[Flaw::UndoesEverything, Flaw::AdjustmentsOutliveSetval, Flaw::UndoesWithoutEnd];

/// semget(2), semop(2), semctl(2).
#[derive(Clone, Copy, Debug)]
pub enum Semaphores {}

impl Family for Semaphores {
    type Call = Call;
    type Flaw = Flaw;
    const FLAWS: &'static [Flaw] =
        &[Flaw::HalfVectors, Flaw::ZeroLeavesNoPid, Flaw::RangeFirst, Flaw::KeysOutliveSets];
    const LONGEST: usize = program::LONGEST;

    fn call(bytes: &mut Bytes<'_>) -> Call {
        program::call(bytes)
    }

    fn names_object_by_index(call: &Call) -> bool {
        matches!(call, Call::Control { command: Command::StatIndex, .. })
    }

    fn compare(engine: &Engine, first_key: i32, calls: &[Call], flaw: Flaw) -> Result<(), String> {
        compare::compare(engine, first_key, calls, flaw)
    }
}
