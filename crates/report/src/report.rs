//! The report: locks by time lost, their callers, the waits, and further facts about the run.

use crate::deadlock::{self, Deadlock};
use crate::disturbance::is_too_much;
use crate::filter::LeftOut;
use crate::fold::{self, Fold, Groups, Section};
use crate::lock::Lock;
use crate::lock_id::LockId;
use crate::name::{Name, Names};
use crate::process::{self, Blocked, LockInUse, Process, ThreadTimes};
use crate::row::Row;
use crate::serial;
use crate::sum::Sum;
use crate::used_as_lock::UsedAsLocks;
use crate::wait::Wait;
use serde::{Deserialize, Serialize};
use unspin_wire::{
    Class, Disturbance, Event, Image, Invocation, Key, Level, RecordKind, Recording, Snapshot, Unrecorded,
    WakeUpCost, Window,
};

/// Value of [`MeterReport::schema`].
pub const SCHEMA: &str = "unspin-locks";
/// Value of [`MeterReport::version`]. It is raised when a field changes its meaning or is removed.
pub const SCHEMA_VERSION: u32 = 3;

/// The number of occurrences of an event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EventCount {
    /// The event.
    #[serde(with = "serial::Event")]
    pub event: Event,
    /// The number.
    pub count: u64,
}

/// The report as data: everything that the printed forms show, and the contents of the JSON form. Times are seconds,
/// shares fractions of 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct MeterReport {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`SCHEMA_VERSION`].
    pub version: u32,
    /// Start of the recording, in nanoseconds since the epoch; 0 if unknown.
    pub started: u64,
    /// Seconds metered.
    pub seconds: f64,
    /// CPUs that the program could run on.
    pub cpus: u32,
    /// CPU time of the program in seconds, where known.
    pub cpu_seconds: Option<f64>,
    /// How much was recorded of each acquisition.
    #[serde(with = "serial::Level")]
    pub level: Level,
    /// The cost of a wake-up on the machine; none if it was not measured.
    #[serde(default, with = "serial::optional_wake_up_cost")]
    pub wake_up: Option<WakeUpCost>,
    /// What took CPU time from the program; none if it was not measured. If it is too much, the printed table does not
    /// give `ceiling`.
    #[serde(default, with = "serial::optional_disturbance")]
    pub disturbance: Option<Disturbance>,
    /// How the program was started.
    #[serde(with = "serial::Invocation")]
    pub invocation: Invocation,
    /// Which locks share a row.
    pub fold: Fold,
    /// The processes, in the order of their first use of a lock.
    pub processes: Vec<Process>,
    /// The sum of all locks. A thread that holds two locks counts for both, so `util` and `cpus` of this row are not
    /// shares of any total and are not printed.
    pub total: Row,
    /// The sums by kind of use.
    pub totals: Totals,
    /// The locks, most time lost first.
    pub locks: Vec<Lock>,
    /// Waits for objects other than locks, most time waited first.
    pub waits: Vec<Wait>,
    /// Locks that threads wait for at the end of the recording.
    pub waiting: Vec<LockInUse>,
    /// Locks that threads hold at the end of the recording.
    pub held: Vec<LockInUse>,
    /// Locks that threads held when their process ended before the recording did. Such a hold counts until the process
    /// was last seen alive.
    #[serde(default)]
    pub left_locked: Vec<LockInUse>,
    /// Threads that wait for each other in a ring at the end of the recording.
    #[serde(default)]
    pub deadlocks: Vec<Deadlock>,
    /// How long the threads were blocked, and how much of that the report explains.
    pub blocked: Blocked,
    /// The events that occurred.
    pub events: Vec<EventCount>,
    /// How much is missing from the tables.
    #[serde(with = "serial::Unrecorded")]
    pub unrecorded: Unrecorded,
    /// How much a filter has left out.
    pub left_out: LeftOut,
}

/// Sums of locks in Lockmeter's three sections.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Totals {
    /// Locks with one holder at a time: mutexes, spin locks.
    pub exclusive: Row,
    /// Locks for reading.
    pub reads: Row,
    /// Read-write locks, acquired for writing.
    pub writes: Row,
}

/// Inputs of a report besides the recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportOptions<'a> {
    /// Which locks share a row.
    pub fold: Fold,
    /// CPU times of threads that still exist, or their latest known values.
    pub threads: &'a [ThreadTimes],
}

impl MeterReport {
    /// The report of a recording as it is now. Keys that `names` does not know are shown as numbers.
    pub fn from_recording(recording: &Recording, names: &Names<'_>) -> MeterReport {
        MeterReport::new(&recording.snapshot(), names)
    }

    /// The report of a snapshot.
    pub fn new(snapshot: &Snapshot, names: &Names<'_>) -> MeterReport {
        MeterReport::with(snapshot, names, ReportOptions::default())
    }

    /// The report of a snapshot, with options.
    pub fn with(snapshot: &Snapshot, names: &Names<'_>, options: ReportOptions<'_>) -> MeterReport {
        let window = &snapshot.window;
        let mut groups = Groups::new(options.fold);
        let mut sums = Sums::default();
        let used_as_locks = UsedAsLocks::of(&snapshot.images);
        for (number, image) in snapshot.images.iter().enumerate() {
            for (key, record) in &image.rows {
                let kind = fold::kind(key);
                let named = || name(names, image, key);
                match kind.class() {
                    Class::Init => (),
                    Class::Detail => {
                        let is_of_lock = used_as_locks.has_condition_of(number, key);
                        let section = if is_of_lock { Section::Waits } else { Section::OfItsClass };
                        groups.add_detail(number, image, key, named(), record, section);
                    }
                    Class::Lock | Class::Wait if !used_as_locks.has(number, key) => {
                        groups.add(number, image, key, named(), record, Section::OfItsClass);
                        sums.add(kind, &Sum::of(kind, record));
                    }
                    Class::Lock | Class::Wait => {
                        groups.add(number, image, key, named(), record, Section::Locks);
                        groups.add(number, image, key, named(), record, Section::Waits);
                        sums.add_as_lock(&Sum::of(kind, record));
                    }
                }
            }
        }
        let (mut locks, mut waits) = groups.finish(window, snapshot.wake_up);
        locks.sort_by(|a, b| fold::by_loss(&a.row, &b.row).then_with(|| a.origin.cmp(&b.origin)));
        waits.sort_by(|a, b| fold::by_wait(&a.row, &b.row).then_with(|| a.origin.cmp(&b.origin)));
        let (total, totals) = sums.finish(window);
        let asleep = |by_design: bool| {
            let waits = waits.iter().filter(|wait| !wait.used_as_lock && wait.is_by_design() == by_design);
            // Starts from 0 because the sum of no floating-point numbers is -0.
            waits.fold(0.0, |sum, wait| sum + wait.row.sleep)
        };
        let polled = waits
            .iter()
            .filter(|wait| !wait.used_as_lock)
            .fold(0.0, |sum, wait| sum + (wait.row.waited - wait.row.sleep).max(0.0));
        let blocked = Blocked {
            for_locks: total.sleep,
            by_design: asleep(true),
            other_waits: asleep(false),
            spun: total.spin + polled,
            ..Blocked::of_threads(snapshot, options.threads)
        };
        let happened = |event: Event| {
            let count = snapshot.event(event);
            (count > 0).then_some(EventCount { event, count })
        };
        let lock_and_caller = |image: &Image, key: &Key| {
            let Name { lock, caller, .. } = name(names, image, key);
            (lock, caller)
        };
        MeterReport {
            schema: SCHEMA.into(),
            version: SCHEMA_VERSION,
            started: snapshot.started,
            seconds: window.seconds,
            cpus: window.cpus,
            cpu_seconds: window.cpu_seconds,
            level: snapshot.level,
            wake_up: snapshot.wake_up,
            disturbance: snapshot.disturbance,
            invocation: snapshot.invocation.clone(),
            fold: options.fold,
            processes: process::processes(snapshot),
            waiting: process::waiting(snapshot, &lock_and_caller),
            held: process::held(snapshot, &lock_and_caller),
            left_locked: process::left_locked(snapshot, &lock_and_caller),
            deadlocks: deadlock::find(snapshot, &|image, key| name(names, image, key)),
            blocked,
            total,
            totals,
            locks,
            waits,
            events: Event::ALL.into_iter().filter_map(happened).collect(),
            unrecorded: snapshot.unrecorded,
            left_out: LeftOut::default(),
        }
    }

    /// Whether times were recorded: at level `counts` all are 0, because they are unknown.
    pub fn has_times(&self) -> bool {
        self.level != Level::Counts
    }

    /// Whether other programs took so much CPU time that the bounds on the speed-up mean nothing.
    pub fn is_disturbed(&self) -> bool {
        self.disturbance.is_some_and(|disturbance| is_too_much(&disturbance))
    }

    /// The lock of that name; of several the one for which most time was lost.
    pub fn lock(&self, name: &str) -> Option<&Lock> {
        self.locks.iter().find(|lock| lock.row.name == name)
    }

    /// The lock of this report with the identity of another report's lock.
    pub fn same_lock(&self, id: &LockId) -> Option<&Lock> {
        self.locks.iter().find(|lock| lock.id() == *id)
    }
}

/// The names of a key; for an unknown key its kind and address.
pub(crate) fn name(names: &Names<'_>, image: &Image, key: &Key) -> Name {
    let unknown = || {
        let kind = fold::kind(key);
        let lock = match key.address() {
            0 => format!("{}: more than there was room for", kind.noun()),
            _ if !kind.has_object() => format!("{} at {:#x}", kind.noun(), key.caller),
            address => format!("{} {address:#x}", kind.noun()),
        };
        Name { lock, caller: format!("{:#x}", key.caller), ..Name::default() }
    };
    names(image, key).unwrap_or_else(unknown)
}

#[derive(Default)]
struct Sums {
    exclusive: Sum,
    reads: Sum,
    writes: Sum,
}

impl Sums {
    fn add(&mut self, kind: RecordKind, sum: &Sum) {
        match kind {
            RecordKind::Read => self.reads.merge(sum),
            RecordKind::Write => self.writes.merge(sum),
            _ if kind.class() == Class::Lock => self.exclusive.merge(sum),
            _ => (),
        }
    }

    /// Adds a semaphore or a condition that is used as a lock.
    fn add_as_lock(&mut self, sum: &Sum) {
        self.exclusive.merge(sum);
    }

    fn finish(self, window: &Window) -> (Row, Totals) {
        let row = |sum: &Sum| Row::new("*TOTAL*", sum, window);
        let totals =
            Totals { exclusive: row(&self.exclusive), reads: row(&self.reads), writes: row(&self.writes) };
        let mut all = self.exclusive;
        all.merge(&self.reads);
        all.merge(&self.writes);
        (row(&all), totals)
    }
}
