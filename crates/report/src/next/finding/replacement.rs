//! Whether another kind of lock could help, and the command that tries it.

use crate::lock::{Lock, MutexProperty};
use crate::next::command;
use crate::report::MeterReport;
use crate::shell;
use unspin_wire::RecordKind;

/// Whether the lock is a mutex that can be replaced; otherwise the sentence that says why not.
pub(super) fn unspin_replaces(lock: &Lock) -> Result<(), String> {
    let kind = match lock.uses.first().map(|one| one.kind) {
        Some(RecordKind::Mutex | RecordKind::Reacquired) | None => {
            let property = lock.property.filter(|property| *property != MutexProperty::Inheriting);
            return property.map_or(Ok(()), |kept| Err(format!("unspin replaces no {}.", kept.mutexes())));
        }
        Some(RecordKind::Read | RecordKind::Write) => "read-write locks",
        Some(RecordKind::Spin) => "spin locks",
        Some(RecordKind::RunQueue) => "locks of run queues",
        Some(RecordKind::Semaphore) => "semaphores",
        Some(RecordKind::Condition) => "conditions that are used as locks",
        Some(_) => "locks of this kind",
    };
    Err(format!("unspin replaces no {kind}, only mutexes."))
}

/// `unspin prove --runqueue global,percpu -- ./server -t2`
pub(super) fn prove_run_queues(report: &MeterReport) -> String {
    format!("unspin prove --runqueue global,percpu -- {}", command::without_run_queue(report))
}

/// `unspin prove --mutex adaptive@cache_lock -- ./server -t2`
pub(super) fn prove(report: &MeterReport, lock: &Lock, kind: &str) -> String {
    let name = &lock.row.name;
    let is_ambiguous = report.locks.iter().filter(|other| other.row.name == *name).count() > 1;
    // Without a name, as `mutex 0x7f12`, it can be replaced only together with all others.
    let has_name = !name.starts_with("mutex 0x");
    let file = lock.module.as_ref().map_or(String::new(), |module| format!(" in {module}"));
    let choice = match &lock.origin {
        _ if !has_name => kind.to_owned(),
        Some(origin) if is_ambiguous => format!("{kind}@{name}, {origin}{file}"),
        _ => format!("{kind}@{name}{file}"),
    };
    format!("unspin prove --mutex {} -- {}", shell::quoted(&choice), command::of(report))
}
