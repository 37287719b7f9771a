//! Message queues: answers, errors, texts, counts.

mod compare;
mod model;
mod program;

pub use model::Flaw;
pub use program::Call;

use super::Family;
use super::bytes::Bytes;
use program::Command;
use unspin_sysv::Engine;

/// msgget(2), msgsnd(2), msgrcv(2), msgctl(2).
#[derive(Clone, Copy, Debug)]
pub enum Messages {}

impl Family for Messages {
    type Call = Call;
    type Flaw = Flaw;
    const FLAWS: &'static [Flaw] =
        &[Flaw::LastOfEquals, Flaw::BytesOnly, Flaw::FaultsKeep, Flaw::TooLargeLoses];
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
