//! The futex waits, as data.

use super::folded::{Folded, name};
use super::futex_use::Futex;
use super::lens::FutexLens;
use super::origin;
use super::parked::{self, RowOf};
use super::sums::{FutexWaits, FutexWakes};
use crate::lens::callers::{Callers, UserFrame};
use crate::lens::conditions::Conditions;
use crate::lens::naming::Naming;
use crate::lens::spaces::SpaceId;
use serde::Serialize;
use std::collections::BTreeMap;
use unspin_report::next::lens::futex::{self, FutexFacts, FutexOrigin};
use unspin_report::next::{Next, Subject};
use unspin_trace::Stacks;

/// The futexes at which threads waited or that threads woke.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FutexReport {
    /// The processes that waited: `system`, `command`, or `process`.
    pub target: &'static str,
    /// Seconds observed.
    pub seconds: f64,
    /// Records that the kernel could not pass on, because a ring buffer was full.
    pub lost_records: u64,
    /// Records that could not be parsed.
    pub unreadable_records: u64,
    /// Calls without a known beginning or end: a record was lost, or they began before the observation.
    pub unpaired: u64,
    /// What the pthread lens explains of the waits; none if only one of the lenses ran.
    pub explained: Option<Explained>,
    /// All futexes together.
    pub total: FutexRow,
    /// All wakes together.
    pub wakes: FutexWakes,
    /// Most time waited first.
    pub futexes: Vec<FutexEntry>,
}

/// What the pthread lens explains of the futex waits.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Explained {
    /// Seconds that threads slept in libc's waits that use futexes, by the pthread lens.
    pub pthread_sleep: f64,
    /// Seconds of the futex waits that these do not explain; at least 0.
    pub unexplained: f64,
}

/// Waits at a futex, or of a caller. Times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FutexRow {
    /// The futex's or the caller's name.
    pub name: String,
    /// How many there were, by how they ended.
    #[serde(flatten)]
    pub counts: FutexWaits,
    /// Time waited.
    pub waited: f64,
    /// Mean wait.
    pub wait_mean: f64,
    /// Longest wait.
    pub wait_max: f64,
}

/// A futex.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FutexEntry {
    /// The futex's waits.
    #[serde(flatten)]
    pub row: FutexRow,
    /// `private`, `shared`, `several` (futex_waitv, whose list is at the address), or `threads` (those that parking_lot
    /// parked at one call site, each at a futex of its own).
    pub scope: &'static str,
    /// The process; none if processes share the futex.
    pub pid: Option<u32>,
    /// The process's name.
    pub process: Option<String>,
    /// The address as a hexadecimal number: in the process, or in the shared file. Empty for `threads`.
    pub address: String,
    /// The code that waits.
    pub origin: FutexOrigin,
    /// The calls that woke threads here.
    pub wakes: FutexWakes,
    /// Most time waited first.
    pub callers: Vec<FutexCaller>,
    /// Most calls first.
    pub wakers: Vec<FutexWaker>,
    /// What to do next.
    #[serde(flatten)]
    pub next: Next,
}

impl FutexEntry {
    /// The futex's name, with the process if it has one.
    pub fn label(&self) -> String {
        match (&self.process, self.pid) {
            (Some(process), Some(pid)) => format!("{} in {process} ({pid})", self.row.name),
            _ => self.row.name.clone(),
        }
    }
}

/// The waits of one caller.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FutexCaller {
    /// The caller's waits; the name is function and offset.
    #[serde(flatten)]
    pub row: FutexRow,
    /// The stacks, most time waited first.
    pub stacks: Vec<FutexStack>,
}

/// The waits with one stack.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FutexStack {
    /// Function and offset of each frame, innermost first.
    pub frames: Vec<String>,
    /// Waits.
    pub waits: u64,
    /// Time waited.
    pub waited: f64,
}

/// The wakes of one caller.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FutexWaker {
    /// Function and offset of the caller.
    pub name: String,
    /// The caller's calls.
    #[serde(flatten)]
    pub wakes: FutexWakes,
    /// Function and offset of each frame of its first stack, innermost first.
    pub frames: Vec<String>,
}

impl FutexReport {
    /// Of what the lens has seen, with names.
    pub fn new(lens: &FutexLens, stacks: &Stacks, naming: &Naming, conditions: &Conditions) -> FutexReport {
        let callers = Callers::new(&lens.spaces, &naming.programs);
        let (mut all, mut all_wakes) = (FutexWaits::default(), FutexWakes::default());
        lens.waits.values().for_each(|waits| all.merge(waits));
        lens.wakes.values().for_each(|wakes| all_wakes.merge(wakes));
        let mut futexes: Vec<FutexEntry> = parked::by_call_site(fold(lens, stacks, &callers))
            .into_iter()
            .map(|(row, folded)| entry(&row, folded, &callers, &conditions.subject))
            .collect();
        let rank = |entry: &FutexEntry| (entry.row.waited, entry.wakes.calls as f64);
        futexes.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).expect("these are sums"));
        FutexReport {
            target: conditions.target(),
            seconds: conditions.seconds,
            lost_records: conditions.losses.records,
            unreadable_records: conditions.losses.unreadable,
            unpaired: lens.unpaired,
            explained: None,
            total: row("*TOTAL*".into(), &all),
            wakes: all_wakes,
            futexes,
        }
    }

    /// Compares with the seconds that the pthread lens has seen threads sleep in waits that use futexes.
    pub fn compare(&mut self, pthread_sleep: f64) {
        let unexplained = (self.total.waited - pthread_sleep).max(0.0);
        self.explained = Some(Explained { pthread_sleep, unexplained });
    }

    /// Keeps the futexes at which threads waited at least so many seconds and whose names fit, with the callers that
    /// fit.
    pub fn keep(
        &mut self,
        min_waited: f64,
        futex_fits: &dyn Fn(&str) -> bool,
        caller_fits: &dyn Fn(&str) -> bool,
    ) {
        self.futexes.retain_mut(|futex| {
            let had_callers = !futex.callers.is_empty();
            futex.callers.retain(|caller| caller_fits(&caller.row.name));
            futex.wakers.retain(|waker| caller_fits(&waker.name));
            let has_fitting = !had_callers && !futex.wakers.is_empty() || !futex.callers.is_empty();
            futex.row.waited >= min_waited && futex_fits(&futex.row.name) && has_fitting
        });
    }
}

/// The waits and wakes of each futex, by stack.
fn fold(lens: &FutexLens, stacks: &Stacks, callers: &Callers<'_>) -> BTreeMap<Futex, Folded> {
    let mut folded = BTreeMap::<Futex, Folded>::new();
    for (one, waits) in &lens.waits {
        let frames = callers.frames(one.space, stacks.get(one.stack).user);
        folded.entry(one.futex.clone()).or_default().waits.entry(frames).or_default().merge(waits);
    }
    for (one, wakes) in &lens.wakes {
        let frames = callers.frames(one.space, stacks.get(one.stack).user);
        folded.entry(one.futex.clone()).or_default().wakes.entry(frames).or_default().merge(wakes);
    }
    folded
}

/// The names that the rows of the report have, for other views of the same waits.
pub(super) fn names(lens: &FutexLens, stacks: &Stacks, callers: &Callers<'_>) -> FutexNames {
    let folded = fold(lens, stacks, callers);
    let parked = folded
        .iter()
        .filter_map(|(futex, folded)| Some((futex.clone(), parked::parks_threads(futex, folded)?)));
    FutexNames { parked: parked.collect() }
}

/// The names of futexes.
pub(super) struct FutexNames {
    /// The futexes at which parking_lot parks threads.
    parked: BTreeMap<Futex, SpaceId>,
}

impl FutexNames {
    /// The name of the row of a wait with this stack, and the futex's address.
    pub fn of(&self, futex: &Futex, frames: &[UserFrame], callers: &Callers<'_>) -> (String, String) {
        let row = match self.parked.get(futex) {
            Some(&space) => RowOf::ParkedAt(space, name(frames)),
            None => RowOf::Futex(futex.clone()),
        };
        let of_futex = address_of(&RowOf::Futex(futex.clone()));
        (row_name(&row, &address_of(&row), callers), of_futex)
    }
}

/// The address of a row as a hexadecimal number: in the process, or in the shared file; empty for several futexes.
fn address_of(row_of: &RowOf) -> String {
    match row_of {
        RowOf::Futex(Futex::Private(_, address) | Futex::Several(_, address)) => format!("{address:#x}"),
        RowOf::Futex(Futex::Shared(place)) => format!("{:#x}", place.offset),
        RowOf::ParkedAt(..) => String::new(),
    }
}

fn row_name(row_of: &RowOf, address: &str, callers: &Callers<'_>) -> String {
    match row_of {
        RowOf::Futex(Futex::Private(space, at)) => {
            callers.variable(*space, *at).unwrap_or_else(|| address.to_owned())
        }
        RowOf::Futex(Futex::Several(..)) => format!("one of several ({address})"),
        RowOf::Futex(Futex::Shared(place)) => format!("{}+{address}", place.path),
        RowOf::ParkedAt(_, caller) => format!("parking_lot at {caller}"),
    }
}

fn entry(row_of: &RowOf, folded: Folded, callers: &Callers<'_>, subject: &Subject) -> FutexEntry {
    let (scope, space) = match row_of {
        RowOf::Futex(Futex::Private(space, _)) => ("private", Some(*space)),
        RowOf::Futex(Futex::Several(space, _)) => ("several", Some(*space)),
        RowOf::Futex(Futex::Shared(_)) => ("shared", None),
        RowOf::ParkedAt(space, _) => ("threads", Some(*space)),
    };
    let address = address_of(row_of);
    let process = space.map(|space| callers.space(space));
    let name = row_name(row_of, &address, callers);
    let (mut all, mut all_wakes) = (FutexWaits::default(), FutexWakes::default());
    folded.waits.values().for_each(|waits| all.merge(waits));
    folded.wakes.values().for_each(|wakes| all_wakes.merge(wakes));
    let (origin, shown) = (origin::of(folded.longest()), folded.shown());
    let facts = FutexFacts {
        waits: all.waits,
        woken: all.woken,
        waited_again: all.waited_again,
        value_changed: all.value_changed,
        timed_out: all.timed_out,
        unfinished: all.unfinished,
        threads_woken: all_wakes.woken,
        unknown_wakes: all_wakes.unknown,
        origin,
        shown,
    };
    FutexEntry {
        row: row(name, &all),
        scope,
        pid: process.map(|process| process.pid),
        process: process.map(|process| process.name.clone()),
        address,
        origin,
        wakes: all_wakes,
        callers: waiting(folded.waits),
        wakers: waking(folded.wakes),
        next: futex::next(&facts, subject),
    }
}

fn waiting(stacks: BTreeMap<Vec<UserFrame>, FutexWaits>) -> Vec<FutexCaller> {
    let mut callers = BTreeMap::<String, (FutexWaits, Vec<FutexStack>)>::new();
    for (frames, waits) in stacks {
        let caller = callers.entry(name(&frames)).or_default();
        caller.0.merge(&waits);
        let waited = seconds(waits.wait_ns);
        caller.1.push(FutexStack { frames: places(frames), waits: waits.waits, waited });
    }
    let caller = |(name, (waits, mut stacks)): (String, (FutexWaits, Vec<FutexStack>))| {
        stacks.sort_by(|a, b| b.waited.total_cmp(&a.waited));
        FutexCaller { row: row(name, &waits), stacks }
    };
    let mut callers: Vec<FutexCaller> = callers.into_iter().map(caller).collect();
    callers.sort_by(|a, b| b.row.waited.total_cmp(&a.row.waited));
    callers
}

fn waking(stacks: BTreeMap<Vec<UserFrame>, FutexWakes>) -> Vec<FutexWaker> {
    let mut callers = BTreeMap::<String, (FutexWakes, Vec<String>)>::new();
    for (frames, wakes) in stacks {
        let caller = callers.entry(name(&frames)).or_insert_with(|| (FutexWakes::default(), places(frames)));
        caller.0.merge(&wakes);
    }
    let waker = |(name, (wakes, frames))| FutexWaker { name, wakes, frames };
    let mut wakers: Vec<FutexWaker> = callers.into_iter().map(waker).collect();
    wakers.sort_by_key(|waker| std::cmp::Reverse(waker.wakes.calls));
    wakers
}

fn places(frames: Vec<UserFrame>) -> Vec<String> {
    frames.into_iter().map(|frame| frame.place).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

fn row(name: String, waits: &FutexWaits) -> FutexRow {
    let waited = seconds(waits.wait_ns);
    FutexRow {
        name,
        counts: *waits,
        waited,
        wait_mean: if waits.waits == 0 { 0.0 } else { seconds(waits.whole_ns) / waits.waits as f64 },
        wait_max: seconds(waits.max_ns),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::example;
    use super::*;

    #[test]
    fn futexes_have_their_waits_wakes_and_next_steps() {
        let report = example();
        let rows: Vec<(&str, u64, u64)> =
            report.futexes.iter().map(|one| (&*one.address, one.row.counts.waits, one.wakes.calls)).collect();
        assert_eq!(rows, [("0x10", 2, 2), ("0x20", 1, 0), ("0x30", 0, 1)]);
        assert!((report.total.waited - 0.003_01).abs() < 1e-9, "{:?}", report.total);
        assert_eq!((report.wakes.woken, report.wakes.none), (2, 1));
        assert_eq!(report.futexes[0].row.counts.waited_again, 1);
        for (futex, next) in report.futexes.iter().zip(["wait again at once", "timers", "needless"]) {
            assert!(futex.next.text.contains(next), "{:?}", futex.next);
        }
        let callers: f64 = report.futexes[0].callers.iter().map(|caller| caller.row.waited).sum();
        assert!((callers - report.futexes[0].row.waited).abs() < 1e-12);
    }

    #[test]
    fn pthread_lens_explains_at_most_all() {
        let mut report = example();
        report.compare(1.0);
        assert_eq!(report.explained, Some(Explained { pthread_sleep: 1.0, unexplained: 0.0 }));
    }
}
