//! A lock in the report: its row, the kinds of its use, and the callers of each.

use crate::figures::{number, spoken_percent, time};
use crate::kind::Kind;
use crate::row::Row;
use crate::times::Times;
use serde::{Deserialize, Serialize};

/// One lock; or several of one name and origin, folded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lock {
    /// How many locks these are. Their row is their sum; [`Lock::util_each`] is the mean.
    pub locks: u64,
    /// Where it is known from: `static, cache.c:31`, `initialised at queue.c:57`.
    pub origin: Option<String>,
    /// Process and address, if it is one lock.
    pub address: Option<Address>,
    /// When it was first used, in seconds since the recording began.
    pub first_used: f64,
    /// The lock's columns.
    #[serde(flatten)]
    pub row: Row,
    /// How long it was held at a time.
    pub holds: Times,
    /// How long it was waited for.
    pub waits: Times,
    /// The kinds of its use: one for most locks; reads and writes; first acquisitions and those at the end of a wait for a
    /// condition. They add up to the lock.
    pub uses: Vec<Use>,
}

/// Which lock it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Address {
    /// The process.
    pub pid: u32,
    /// Where the lock lies in it.
    pub address: u64,
}

/// One kind of use of a lock, with its callers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Use {
    /// Which.
    pub kind: Kind,
    /// Its columns.
    #[serde(flatten)]
    pub row: Row,
    /// The mean time from the first reader to the last, in seconds; 0 but for reads.
    pub busy_mean: f64,
    /// The longest such time.
    pub busy_max: f64,
    /// The callers, most time lost first. They add up to this use.
    pub callers: Vec<Caller>,
}

/// A place in the program that takes the lock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Caller {
    /// Its columns. The utilisation by one caller of a lock for reading is no share of anything, and is not printed.
    #[serde(flatten)]
    pub row: Row,
    /// Where it is: `sched.c:612`.
    pub place: Option<String>,
    /// How long it held the lock at a time.
    pub holds: Times,
    /// How long it waited.
    pub waits: Times,
}

impl Lock {
    /// All callers, of whatever kind, each with its kind.
    pub fn callers(&self) -> impl Iterator<Item = (Kind, &Caller)> {
        self.uses.iter().flat_map(|one| one.callers.iter().map(|caller| (one.kind, caller)))
    }

    /// The use of that kind.
    pub fn use_as(&self, kind: Kind) -> Option<&Use> {
        self.uses.iter().find(|one| one.kind == kind)
    }

    /// The name, with the number of locks where it is not one.
    pub fn label(&self) -> String {
        match self.locks {
            1 => self.row.name.clone(),
            n => format!("({n}) {}", self.row.name),
        }
    }

    /// Mean utilisation of the folded locks, as Hartner 2001 has it for its 8 run queues.
    pub fn util_each(&self) -> f64 {
        self.row.util / self.locks.max(1) as f64
    }

    /// The sentence of Hartner 2001: `The (8) runqueue_locks were utilized 6.85 % and spun for 0.34 % for a total of 0.58 of
    /// the 8 CPUs.` Of one lock without the `(1)` that it has there.
    pub fn headline(&self, cpus: u32) -> String {
        format!(
            "{} utilized {} and spun for {} for a total of {} of the {cpus} CPUs.",
            self.subject(),
            spoken_percent(self.util_each()),
            spoken_percent(self.row.spin_cpu),
            number(self.row.cpus),
        )
    }

    /// The same of a lock that nobody spun for.
    pub(crate) fn sleepers(&self) -> String {
        let them = if self.locks == 1 { "it" } else { "them" };
        format!(
            "{} utilized {}, and threads slept {} for {them}; without {them} the program could be at most {}x as fast.",
            self.subject(),
            spoken_percent(self.util_each()),
            time(self.row.lost),
            number(self.row.ceiling),
        )
    }

    fn subject(&self) -> String {
        let name = &self.row.name;
        if self.locks == 1 {
            return format!("The {name} was");
        }
        // Not every name has a plural.
        let plural = if name.ends_with("lock") { "s" } else { "" };
        format!("The ({}) {name}{plural} were", self.locks)
    }
}

impl Kind {
    /// What the table calls this kind of use beside the lock's name; none for what a lock is mostly used for.
    pub(crate) fn mark(self) -> Option<&'static str> {
        match self {
            Kind::Read => Some("(reads)"),
            Kind::Write => Some("(writes)"),
            Kind::Reacquired => Some("(after cond wait)"),
            _ => None,
        }
    }

    /// What it is, in a word or two.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Engine => "lock",
            Kind::Mutex | Kind::Reacquired => "mutex",
            Kind::Read | Kind::Write => "rwlock",
            Kind::Spin => "spin lock",
            Kind::Condition => "condition",
            Kind::Barrier => "barrier",
            Kind::Semaphore => "semaphore",
            Kind::Join => "join",
            Kind::Poll => "poll",
            Kind::Select => "select",
            Kind::Epoll => "epoll",
            Kind::Receive => "receive",
            Kind::Accept => "accept",
            Kind::Futex => "futex",
            Kind::EngineWait => "engine wait",
            Kind::Init => "initialisation",
        }
    }
}
