//! Whether another kind of lock could help, and the command that tries it.

use crate::lock::{Lock, LockProperty};
use crate::next::command;
use crate::report::MeterReport;
use crate::shell;
use unspin_wire::RecordKind;
use unspin_wire::plan::LockFamily;

/// The kind of read-write lock with readers that write to no line that they share.
pub(super) const BIASED: &str = "rw-biased";

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
    /// The family of the lock.
    fn family(self) -> LockFamily {
        match self {
            Replaceable::Mutex | Replaceable::InheritingMutex => LockFamily::Mutex,
            Replaceable::RwLock => LockFamily::RwLock,
            Replaceable::Spin => LockFamily::Spin,
        }
    }

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

/// The kind of lock that the run's plan gave the lock; none: it is libc's, or the plan names it in a way that the meter does not.
pub(super) fn kind_in_use<'r>(report: &'r MeterReport, lock: &Lock) -> Option<&'r str> {
    let class = unspin_replaces(lock).ok()?;
    report.invocation.kind_of(class.family(), |name| is_name_of(name, lock))
}

/// Whether a plan's name for a lock is this one's: as the meter prints it, with or without the origin and the file; one of the
/// functions of a first use; or the line of the origin.
fn is_name_of(text: &str, lock: &Lock) -> bool {
    let text = text.split_once(" in /").map_or(text, |(name, _)| name);
    let (name, origin) = (&lock.row.name, lock.origin.as_deref().unwrap_or_default());
    let is_alternative = || {
        functions(text)
            .is_some_and(|named| functions(name).is_some_and(|own| named.iter().any(|one| own.contains(one))))
    };
    let is_line = || origin.rsplit(' ').next().is_some_and(|line| line.contains(':') && line == text);
    text == name
        || text.strip_prefix(&**name).and_then(|rest| rest.strip_prefix(", ")) == Some(origin)
        || is_alternative()
        || is_line()
}

/// The functions of a name after the first use: `mutex first used in push or pop`.
fn functions(name: &str) -> Option<Vec<&str>> {
    let (_, functions) = name.split_once(" first used in ")?;
    Some(functions.split(" or ").collect())
}

/// `unspin prove --runqueue global,percpu -- ./server -t2`
pub(super) fn prove_run_queues(report: &MeterReport) -> String {
    format!("unspin prove --runqueue global,percpu -- {}", command::without_run_queue(report))
}

/// `unspin prove --mutex adaptive@cache_lock -- ./server -t2`, or with several kinds.
pub(super) fn prove(report: &MeterReport, lock: &Lock, class: Replaceable, kinds: &[&str]) -> String {
    let (option, nameless) = class.option();
    let name = &lock.row.name;
    let is_ambiguous = report.locks.iter().filter(|other| other.row.name == *name).count() > 1;
    // Without a name, as `mutex 0x7f12`, it can be replaced only together with all others.
    let has_name = !name.starts_with(nameless);
    let file = lock.module.as_ref().map_or(String::new(), |module| format!(" in {module}"));
    let choice = |kind: &&str| match &lock.origin {
        _ if !has_name => (*kind).to_owned(),
        Some(origin) if is_ambiguous => format!("{kind}@{name}, {origin}{file}"),
        _ => format!("{kind}@{name}{file}"),
    };
    let choices: Vec<String> = kinds.iter().map(choice).collect();
    format!("unspin prove {option} {} -- {}", shell::quoted(&choices.join(",")), command::of(report))
}
