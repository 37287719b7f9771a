//! Groups rows: by name, or one group for each lock.

use crate::lock::{Address, Caller, Holder, Inverted, Lock, LockProperty, LockUse};
use crate::name::Name;
use crate::row::Row;
use crate::sum::Sum;
use crate::times::Times;
use crate::wait::{Short, Wait, WaitRow, Waiter};
use crate::wakes::{Details, Wakes};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use unspin_wire::{Class, Counts, Image, Key, Record, RecordKind, WakeUpCost, Window};

/// Which locks share a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// Locks of the same name and origin. Conditions and semaphores that are used as locks have rows of their own.
    #[default]
    ByName,
    /// None: each address of each process has its own row.
    Apart,
}

/// Identifies a row of the report.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct GroupKey {
    name: String,
    origin: Option<String>,
    /// Waits of different kinds never share a row.
    wait: Option<RecordKind>,
    /// The kind of an object that is used as a lock: it never shares a row with a mutex of the same name, nor a row of waits
    /// with an object that is not used as one. Whether an object is used as a lock may differ between two runs of one
    /// program, and between two objects of one name.
    used_as_lock: Option<RecordKind>,
    /// With [`Fold::Apart`]: number of the image, and the address. For a wait without an object, the call site takes
    /// the place of the address.
    apart: Option<(usize, u64)>,
}

/// All rows, by group.
#[derive(Default)]
pub(crate) struct Groups {
    fold: Fold,
    groups: BTreeMap<GroupKey, Group>,
}

#[derive(Default)]
struct Group {
    /// Number of the image, process, address. An engine's lock lies in memory that all processes share and has the
    /// same number in each, so image and process are 0.
    objects: BTreeSet<(usize, u32, u64)>,
    first_used: u64,
    uses: BTreeMap<RecordKind, Callers>,
    /// Rows of class [`Class::Detail`].
    details: Details,
}

/// The table in which a key has its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Section {
    /// That of the kind's class.
    OfItsClass,
    /// Locks: the object is used as one.
    Locks,
    /// Waits: the object is used as a lock, and has a row among the locks too.
    Waits,
}

type Callers = BTreeMap<(String, Option<String>), Sum>;

impl Groups {
    pub fn new(fold: Fold) -> Groups {
        Groups { fold, ..Groups::default() }
    }

    /// Adds the record of a key of the `number`th image.
    pub fn add(
        &mut self,
        number: usize,
        image: &Image,
        key: &Key,
        name: Name,
        record: &Record,
        section: Section,
    ) {
        let kind = kind(key);
        let (name, group) = self.group(number, image, key, name, section);
        let new = group.objects.is_empty();
        group.objects.insert(object(number, image, key));
        group.first_used =
            if new { record.first_use.ticks } else { group.first_used.min(record.first_use.ticks) };
        let callers = group.uses.entry(kind).or_default();
        callers.entry(name).or_default().merge(&Sum::of(kind, record));
    }

    /// Adds a fact about an object that has rows of another kind, in the table of `section`.
    pub fn add_detail(
        &mut self,
        number: usize,
        image: &Image,
        key: &Key,
        name: Name,
        record: &Record,
        section: Section,
    ) {
        let kind = kind(key);
        let ((caller, place), group) = self.group(number, image, key, name, section);
        group.details.entry((kind, caller, place)).or_default().merge(&record.counts);
    }

    /// The group of a key, and the name and the place of its caller.
    fn group(
        &mut self,
        number: usize,
        image: &Image,
        key: &Key,
        name: Name,
        section: Section,
    ) -> ((String, Option<String>), &mut Group) {
        let kind = kind(key);
        let (_, _, address) = object(number, image, key);
        let apart = match kind {
            kind if !kind.has_object() => (number, key.caller),
            RecordKind::Engine => (0, address),
            _ => (number, address),
        };
        let wait = match (section, kind.class()) {
            (Section::Locks, _) | (_, Class::Lock | Class::Init) => None,
            (_, Class::Wait) => Some(kind),
            // The rows of a condition's wake-ups belong to the condition; the others to the lock.
            (_, Class::Detail) => kind.is_of_condition().then_some(RecordKind::Condition),
        };
        let used_as_lock = match section {
            Section::OfItsClass => None,
            Section::Locks => Some(kind),
            Section::Waits => wait,
        };
        let group = GroupKey {
            name: name.lock,
            origin: name.origin,
            wait,
            used_as_lock,
            apart: (self.fold == Fold::Apart).then_some(apart),
        };
        ((name.caller, name.place), self.groups.entry(group).or_default())
    }

    /// Locks and waits, unsorted.
    pub fn finish(self, window: &Window, cost: Option<WakeUpCost>) -> (Vec<Lock>, Vec<Wait>) {
        let (mut locks, mut waits) = (Vec::new(), Vec::new());
        // Only details: the object has no row of its own, as a condition for which no thread has waited.
        for (key, group) in self.groups.into_iter().filter(|(_, group)| !group.uses.is_empty()) {
            match key.wait {
                Some(kind) => waits.push(group.wait(kind, key, window, cost)),
                None => locks.push(group.lock(key, window)),
            }
        }
        (locks, waits)
    }
}

/// Number of the image, process and address of the object of a key.
fn object(number: usize, image: &Image, key: &Key) -> (usize, u32, u64) {
    match kind(key) {
        RecordKind::Engine => (0, 0, key.address()),
        // A call site is one wait, in any number of processes.
        kind if !kind.has_object() => (0, 0, 0),
        _ => (number, image.pid, key.address()),
    }
}

/// The kind of a key. An unknown kind counts as an engine's lock.
pub(crate) fn kind(key: &Key) -> RecordKind {
    key.kind().unwrap_or(RecordKind::Engine)
}

impl Group {
    fn address(&self) -> Option<Address> {
        let mut objects = self.objects.iter();
        match (objects.next(), objects.next()) {
            (Some(&(_, pid @ 1.., address)), None) => Some(Address { pid, address }),
            _ => None,
        }
    }

    /// The number of locks. A lock that processes share has the same address in all processes that fork made.
    fn locks(&self, property: Option<LockProperty>) -> u64 {
        match property {
            Some(LockProperty::Shared) => {
                self.objects.iter().map(|(.., address)| address).collect::<BTreeSet<_>>().len() as u64
            }
            _ => self.objects.len() as u64,
        }
    }

    fn lock(self, key: GroupKey, window: &Window) -> Lock {
        let address = self.address();
        let property = LockProperty::first(|of| self.details.keys().any(|(kind, ..)| *kind == of));
        let locks = self.locks(property);
        let mut sum = Sum::default();
        let mut uses: Vec<LockUse> = Vec::new();
        for (kind, callers) in self.uses {
            let all = total(&callers);
            sum.merge(&all);
            let caller = |((name, place), sum): ((String, Option<String>), Sum)| Caller {
                row: Row::new(name, &sum, window),
                place,
                holds: Times::new(&sum.holds, window),
                waits: Times::new(&sum.waits, window),
            };
            let mut callers: Vec<Caller> = callers.into_iter().map(caller).collect();
            callers.sort_by(|a, b| by_loss(&a.row, &b.row));
            uses.push(LockUse {
                kind,
                row: Row::new(key.name.clone(), &all, window),
                busy_mean: window.to_seconds(all.counts.busy) / all.counts.periods.max(1) as f64,
                busy_max: window.to_seconds(all.counts.busy_max),
                callers,
            });
        }
        Lock {
            locks,
            origin: key.origin,
            address,
            first_used: window.to_seconds(self.first_used),
            row: Row::new(key.name, &sum, window),
            holds: Times::new(&sum.holds, window),
            waits: Times::new(&sum.waits, window),
            inverted: inverted(&self.details, window),
            holders: holders(&self.details, window),
            property,
            module: None,
            uses,
        }
    }

    fn wait(self, kind: RecordKind, key: GroupKey, window: &Window, cost: Option<WakeUpCost>) -> Wait {
        let address = self.address();
        let objects = self.objects.len() as u64;
        let callers = self.uses.into_values().next().unwrap_or_default();
        let sum = total(&callers);
        let mut all = Short::default();
        let mut waiters = Vec::new();
        for ((name, place), sum) in callers {
            // The estimate is made for each caller, so that the callers' values add up to that of their wait.
            let short = Short::of(kind, &sum, cost, window);
            all.merge(short);
            let times = Times::new(&sum.waits, window);
            waiters.push(Waiter { row: WaitRow::new(name, &sum, short, window), place, times });
        }
        waiters.sort_by(|a, b| by_wait(&a.row, &b.row));
        Wait {
            kind,
            objects,
            origin: key.origin,
            address,
            row: WaitRow::new(key.name, &sum, all, window),
            times: Times::new(&sum.waits, window),
            callers: waiters,
            used_as_lock: key.used_as_lock.is_some(),
            wakes: Wakes::of(&self.details),
        }
    }
}

fn inverted(details: &Details, window: &Window) -> Option<Inverted> {
    let mut sum = Counts::default();
    for ((kind, ..), counts) in details {
        if *kind == RecordKind::Inverted {
            sum.merge(counts);
        }
    }
    let (seconds, max) = (window.to_seconds(sum.sleep), window.to_seconds(sum.sleep_max));
    (sum.slept > 0).then_some(Inverted { waits: sum.slept, seconds, max })
}

fn holders(details: &Details, window: &Window) -> Vec<Holder> {
    let rows = details.iter().filter(|((kind, ..), _)| kind.is_holder());
    let mut holders: Vec<Holder> = rows
        .map(|((_, name, place), counts)| Holder {
            name: name.clone(),
            place: place.clone(),
            waits: counts.waiters(),
            seconds: window.to_seconds(counts.wait()),
            max: window.to_seconds(counts.wait_max),
        })
        .collect();
    holders.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.name.cmp(&b.name)));
    holders
}

fn total(callers: &Callers) -> Sum {
    let mut total = Sum::default();
    for sum in callers.values() {
        total.merge(sum);
    }
    total
}

/// Orders by time lost, descending. If no times are known, by number of waits; then by number of uses; then by name,
/// so that the order is deterministic.
pub(crate) fn by_loss(a: &Row, b: &Row) -> Ordering {
    let waiters = |row: &Row| row.spun.saturating_add(row.slept);
    let contended =
        if a.lost == 0.0 && b.lost == 0.0 { waiters(b).cmp(&waiters(a)) } else { Ordering::Equal };
    b.lost
        .total_cmp(&a.lost)
        .then(contended)
        .then(b.attempts.cmp(&a.attempts))
        .then_with(|| a.name.cmp(&b.name))
}

/// Orders by time waited, descending; then by number of waits, of calls, and by name.
pub(crate) fn by_wait(a: &WaitRow, b: &WaitRow) -> Ordering {
    b.waited
        .total_cmp(&a.waited)
        .then(b.waits.cmp(&a.waits))
        .then(b.calls.cmp(&a.calls))
        .then_with(|| a.name.cmp(&b.name))
}
