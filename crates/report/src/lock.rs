//! A lock in the report: its row, its kinds of use, and the callers of each.

use crate::figures::{Percent, number, time};
use crate::row::Row;
use crate::serial;
use crate::times::Times;
use serde::{Deserialize, Serialize};
use unspin_wire::RecordKind;
use unspin_wire::plan::LockFamily;

/// One lock, or several locks of one name and origin, folded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lock {
    /// Number of locks. The row is their sum; [`Lock::util_each`] is the mean.
    pub locks: u64,
    /// How the name is known: `static, cache.c:31`, `initialised at queue.c:57`.
    pub origin: Option<String>,
    /// Process and address, if the row is one lock.
    pub address: Option<Address>,
    /// When it was first used, in seconds since the recording began.
    pub first_used: f64,
    /// The lock's columns.
    #[serde(flatten)]
    pub row: Row,
    /// Hold times.
    pub holds: Times,
    /// Wait times.
    pub waits: Times,
    /// Long waits behind an owner of lower priority; none if there were none.
    #[serde(default)]
    pub inverted: Option<Inverted>,
    /// The callers that held the lock when waits for it began, most time first. Empty if that is not known, as at level
    /// `counts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holders: Vec<Holder>,
    /// The property of a mutex or of a read-write lock that keeps it libc's; none for most locks, and for mutexes without a
    /// wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub property: Option<LockProperty>,
    /// The file in which `--mutex` finds the name, if it is neither the program that is started nor a library with which
    /// that program starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The kinds of use. Most locks have one. Others have reads and writes, or first acquisitions and those at the
    /// end of a wait for a condition. The sum of the uses is the lock's row.
    pub uses: Vec<LockUse>,
}

/// Waits of about a millisecond or longer for a mutex whose owner had a lower priority than the waiting thread.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Inverted {
    /// Number of waits.
    pub waits: u64,
    /// Their sum in seconds. It is part of the row's `lost`.
    pub seconds: f64,
    /// The longest, in seconds.
    pub max: f64,
}

/// A place in the program that held a lock when waits for it began.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// The caller that had acquired the lock: a name as that of a [`Caller`].
    pub name: String,
    /// Where it is: `sched.c:612`.
    pub place: Option<String>,
    /// Number of waits.
    pub waits: u64,
    /// Their sum in seconds. It is part of the row's `lost`.
    pub seconds: f64,
    /// The longest, in seconds.
    pub max: f64,
}

/// A property of a mutex or of a read-write lock that keeps it libc's. Of several the first one counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockProperty {
    /// PTHREAD_PROCESS_SHARED.
    Shared,
    /// PTHREAD_MUTEX_ROBUST.
    Robust,
    /// PTHREAD_PRIO_PROTECT.
    Ceiling,
    /// PTHREAD_PRIO_INHERIT. Only kinds that inherit priorities replace it.
    Inheriting,
}

impl LockProperty {
    /// Every property, in the order in which they count. glibc marks every robust mutex as shared too.
    const ALL: [LockProperty; 4] =
        [LockProperty::Robust, LockProperty::Shared, LockProperty::Ceiling, LockProperty::Inheriting];

    /// The property that counts, of those that a lock has.
    pub(crate) fn first(has: impl Fn(RecordKind) -> bool) -> Option<LockProperty> {
        LockProperty::ALL.into_iter().find(|property| property.kinds().iter().any(|&kind| has(kind)))
    }

    /// The kinds of the rows that record it.
    fn kinds(self) -> &'static [RecordKind] {
        match self {
            LockProperty::Shared => &[RecordKind::Shared, RecordKind::SharedRwLock],
            LockProperty::Robust => &[RecordKind::Robust],
            LockProperty::Ceiling => &[RecordKind::Ceiling],
            LockProperty::Inheriting => &[RecordKind::Inheriting],
        }
    }

    /// The locks of this family that have it.
    pub fn locks(self, family: LockFamily) -> &'static str {
        match self {
            LockProperty::Shared if family == LockFamily::RwLock => "process-shared read-write locks",
            LockProperty::Shared => "process-shared mutexes",
            LockProperty::Robust => "robust mutexes",
            LockProperty::Ceiling => "mutexes with a priority ceiling",
            LockProperty::Inheriting => "mutexes with priority inheritance",
        }
    }
}

/// Identity of a lock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Address {
    /// The process.
    pub pid: u32,
    /// The lock's address in it.
    pub address: u64,
}

/// One kind of use of a lock, with its callers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LockUse {
    /// The kind.
    #[serde(with = "serial::RecordKind")]
    pub kind: RecordKind,
    /// The columns.
    #[serde(flatten)]
    pub row: Row,
    /// Mean time from the arrival of the first reader to the departure of the last one, in seconds; 0 for all other
    /// kinds.
    pub busy_mean: f64,
    /// The longest such time.
    pub busy_max: f64,
    /// The callers, most time lost first. Their sum is this use's row.
    pub callers: Vec<Caller>,
}

/// A place in the program that takes the lock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Caller {
    /// The columns. For a caller of a lock for reading the utilisation is not a share of any total, and is not
    /// printed.
    #[serde(flatten)]
    pub row: Row,
    /// Where it is: `sched.c:612`.
    pub place: Option<String>,
    /// Hold times.
    pub holds: Times,
    /// Wait times.
    pub waits: Times,
}

impl Lock {
    /// All callers of all kinds of use, each with its kind.
    pub fn callers(&self) -> impl Iterator<Item = (RecordKind, &Caller)> {
        self.uses.iter().flat_map(|one| one.callers.iter().map(|caller| (one.kind, caller)))
    }

    /// The use of that kind.
    pub fn use_as(&self, kind: RecordKind) -> Option<&LockUse> {
        self.uses.iter().find(|one| one.kind == kind)
    }

    /// The name, with the number of locks if there are several.
    pub fn label(&self) -> String {
        match self.locks {
            1 => self.row.name.clone(),
            n => format!("({n}) {}", self.row.name),
        }
    }

    /// Mean utilisation of the folded locks; Hartner 2001 gives it for 8 run queues.
    pub fn util_each(&self) -> f64 {
        self.row.util / self.locks.max(1) as f64
    }

    /// The sentence of Hartner 2001: `The (8) runqueue_locks were utilized 6.85 % and spun for 0.34 % for a total of
    /// 0.58 of the 8 CPUs.` For one lock the `(1)` of that report is omitted. For several locks the sentence says that
    /// the first figure is a mean, and adds the sum, which is the one of the table.
    pub fn headline(&self, cpus: u32) -> String {
        format!(
            "{} utilized {} and spun for {} for a total of {} of the {cpus} CPUs.",
            self.subject(),
            self.spoken_util(),
            Percent::ThreeDigits.of(self.row.spin_cpu),
            number(self.row.cpus),
        )
    }

    /// The corresponding sentence for a lock for which no thread spun.
    pub(crate) fn sleepers(&self) -> String {
        let them = self.them();
        let slept = self.slept();
        format!("{slept}; without {them} the program could be at most {}x as fast.", number(self.row.ceiling))
    }

    /// How long threads slept for the lock, in a sentence, where the bound on the speed-up is not known.
    pub(crate) fn sleepers_without_bound(&self) -> String {
        self.slept() + "; the run was disturbed, so what that cost is not known."
    }

    fn slept(&self) -> String {
        let (util, slept) = (self.spoken_util(), time(self.row.lost));
        format!("{} utilized {util}, and threads slept {slept} for {}", self.subject(), self.them())
    }

    fn them(&self) -> &'static str {
        if self.locks == 1 { "it" } else { "them" }
    }

    /// `6.85 %`; for several locks `6.85 % each (54.8 % together)`.
    fn spoken_util(&self) -> String {
        let each = Percent::ThreeDigits.of(self.util_each());
        match self.locks {
            0 | 1 => each,
            _ => format!("{each} each ({} together)", Percent::ThreeDigits.of(self.row.util)),
        }
    }

    fn subject(&self) -> String {
        let name = &self.row.name;
        if self.locks == 1 {
            return format!("The {name} was");
        }
        // Only names that end in "lock" get a plural ending.
        let plural = if name.ends_with("lock") { "s" } else { "" };
        format!("The ({}) {name}{plural} were", self.locks)
    }
}
