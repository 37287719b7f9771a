//! Whether another kind of lock could help, and the command that tries it.

use crate::lock::{Lock, LockProperty};
use crate::next::command;
use crate::report::MeterReport;
use crate::shell;
use unspin_wire::RecordKind;
use unspin_wire::plan::LockFamily;

/// A class of locks that unspin replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Replaceable {
    /// A mutex.
    Mutex,
    /// A mutex that inherits priorities: only some kinds replace it.
    InheritingMutex,
    /// A read-write lock.
    RwLock,
    /// A spin lock.
    Spin,
}

impl Replaceable {
    /// The option that chooses a kind, and how a lock without a name is shown.
    fn option(self) -> (&'static str, &'static str) {
        match self {
            Replaceable::Mutex | Replaceable::InheritingMutex => ("--mutex", "mutex 0x"),
            Replaceable::RwLock => ("--rwlock", "rwlock 0x"),
            Replaceable::Spin => ("--spin", "spin lock 0x"),
        }
    }
}

/// The class of the lock, if it can be replaced; otherwise the sentence that says why not.
pub(super) fn unspin_replaces(lock: &Lock) -> Result<Replaceable, String> {
    let kind = match lock.uses.first().map(|one| one.kind) {
        Some(RecordKind::Mutex | RecordKind::Reacquired) | None => match lock.property {
            None => return Ok(Replaceable::Mutex),
            Some(LockProperty::Inheriting) => return Ok(Replaceable::InheritingMutex),
            Some(kept) => return Err(format!("unspin replaces no {}.", kept.locks(LockFamily::Mutex))),
        },
        Some(RecordKind::Read | RecordKind::Write) => match lock.property {
            None => return Ok(Replaceable::RwLock),
            Some(kept) => return Err(format!("unspin replaces no {}.", kept.locks(LockFamily::RwLock))),
        },
        Some(RecordKind::Spin) => return Ok(Replaceable::Spin),
        Some(RecordKind::RunQueue) => "locks of run queues",
        Some(RecordKind::Semaphore) => "semaphores",
        Some(RecordKind::Condition) => "conditions that are used as locks",
        Some(_) => "locks of this kind",
    };
    Err(format!("unspin replaces no {kind}, only mutexes, read-write locks and spin locks."))
}

/// `unspin prove --runqueue global,percpu -- ./server -t2`
pub(super) fn prove_run_queues(report: &MeterReport) -> String {
    format!("unspin prove --runqueue global,percpu -- {}", command::without_run_queue(report))
}

/// `unspin prove --mutex adaptive@cache_lock -- ./server -t2`
pub(super) fn prove(report: &MeterReport, lock: &Lock, class: Replaceable, kind: &str) -> String {
    let (option, nameless) = class.option();
    let name = &lock.row.name;
    let is_ambiguous = report.locks.iter().filter(|other| other.row.name == *name).count() > 1;
    // Without a name, as `mutex 0x7f12`, it can be replaced only together with all others.
    let has_name = !name.starts_with(nameless);
    let file = lock.module.as_ref().map_or(String::new(), |module| format!(" in {module}"));
    let choice = match &lock.origin {
        _ if !has_name => kind.to_owned(),
        Some(origin) if is_ambiguous => format!("{kind}@{name}, {origin}{file}"),
        _ => format!("{kind}@{name}{file}"),
    };
    format!("unspin prove {option} {} -- {}", shell::quoted(&choice), command::of(report))
}
