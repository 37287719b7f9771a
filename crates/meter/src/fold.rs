//! Groups rows: by name, or one group for each lock.

use crate::event::Key;
use crate::kind::{Class, RecordKind};
use crate::lock::{Address, Caller, Lock, LockUse};
use crate::name::Name;
use crate::row::Row;
use crate::snapshot::{Image, Record};
use crate::sum::Sum;
use crate::times::Times;
use crate::wait::{Short, Wait, WaitRow, Waiter};
use crate::wakeup::WakeUpCost;
use crate::window::Window;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Which locks share a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fold {
    /// Locks of the same name and origin.
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
}

type Callers = BTreeMap<(String, Option<String>), Sum>;

impl Groups {
    pub fn new(fold: Fold) -> Groups {
        Groups { fold, ..Groups::default() }
    }

    /// Adds the record of a key of the `number`th image.
    pub fn add(&mut self, number: usize, image: &Image, key: &Key, name: Name, record: &Record) {
        let kind = kind(key);
        let object = match kind {
            RecordKind::Engine => (0, 0, key.address()),
            // A call site is one wait, in any number of processes.
            kind if !kind.has_object() => (0, 0, 0),
            _ => (number, image.pid, key.address()),
        };
        let apart = match kind {
            kind if !kind.has_object() => (number, key.caller),
            _ => (object.0, object.2),
        };
        let group = GroupKey {
            name: name.lock,
            origin: name.origin,
            wait: (kind.class() == Class::Wait).then_some(kind),
            apart: (self.fold == Fold::Apart).then_some(apart),
        };
        let group = self.groups.entry(group).or_default();
        let new = group.objects.is_empty();
        group.objects.insert(object);
        group.first_used =
            if new { record.first_use.ticks } else { group.first_used.min(record.first_use.ticks) };
        let callers = group.uses.entry(kind).or_default();
        callers.entry((name.caller, name.place)).or_default().merge(&Sum::of(kind, record));
    }

    /// Locks and waits, unsorted.
    pub fn finish(self, window: &Window, cost: Option<WakeUpCost>) -> (Vec<Lock>, Vec<Wait>) {
        let (mut locks, mut waits) = (Vec::new(), Vec::new());
        for (key, group) in self.groups {
            match key.wait {
                Some(kind) => waits.push(group.wait(kind, key, window, cost)),
                None => locks.push(group.lock(key, window)),
            }
        }
        (locks, waits)
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

    fn lock(self, key: GroupKey, window: &Window) -> Lock {
        let address = self.address();
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
            locks: self.objects.len() as u64,
            origin: key.origin,
            address,
            first_used: window.to_seconds(self.first_used),
            row: Row::new(key.name, &sum, window),
            holds: Times::new(&sum.holds, window),
            waits: Times::new(&sum.waits, window),
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
        }
    }
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
