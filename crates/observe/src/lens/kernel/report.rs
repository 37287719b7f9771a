//! The table of the kernel's locks, as data.

use super::contention::Unpaired;
use super::lens::KernelLens;
use super::naming::{self, KernelFrame, LockClass};
use super::sums::Sums;
use crate::lens::conditions::Conditions;
use crate::lens::naming::Naming;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use unspin_report::next::lens::kernel;
use unspin_report::next::{Next, is_worth_it};
use unspin_trace::{KernelSymbols, Stacks};

/// The kernel's locks for which threads waited.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelReport {
    /// The processes that waited: `system`, `command`, or `process`.
    pub target: &'static str,
    /// Seconds observed.
    pub seconds: f64,
    /// Number of CPUs of the machine.
    pub cpus: usize,
    /// Records that the kernel could not pass on, because a ring buffer was full.
    pub lost_records: u64,
    /// Records that could not be parsed.
    pub unreadable_records: u64,
    /// Ends of waits without a beginning, and beginnings without an end: of lost records, and of waits that began before.
    pub unpaired: u64,
    /// Waits that had not ended.
    pub unfinished: u64,
    /// Whether the kernel lists its variables, so that static locks are named after them.
    pub has_variables: bool,
    /// All locks together.
    pub total: KernelRow,
    /// Most time lost first.
    pub locks: Vec<KernelLock>,
}

/// Waits for a lock, or of a caller. Times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelRow {
    /// The lock's or the caller's name.
    pub name: String,
    /// Attempts that had to wait.
    pub waits: u64,
    /// Of the waits, those that only spun.
    pub spun: u64,
    /// Of the waits, those that slept at some time.
    pub slept: u64,
    /// Of the waits, those that ended without the lock.
    pub rejected: u64,
    /// Time spun.
    pub spin: f64,
    /// Time slept.
    pub sleep: f64,
    /// Time waited: the sum of both.
    pub lost: f64,
    /// Mean wait.
    pub wait_mean: f64,
    /// Longest wait.
    pub wait_max: f64,
    /// Time spun as a share of the CPU time of the machine.
    pub spin_cpu: f64,
}

/// A lock, or all dynamic locks of one name.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelLock {
    /// The lock's waits.
    #[serde(flatten)]
    pub row: KernelRow,
    /// `spinlock`, `rwlock`, `mutex`, `rwsem`, `rt-mutex`, `pcpu-sem`, `semaphore`.
    pub kind: &'static str,
    /// Where the name comes from.
    pub origin: LockOrigin,
    /// Number of locks (addresses) of this name.
    pub locks: usize,
    /// The address, if it is one lock; as a hexadecimal number.
    pub address: Option<String>,
    /// By kind of use: `rwsem:R` and `rwsem:W` of an rwsem; else one.
    pub uses: Vec<KernelUse>,
    /// What to do next; none if too little time is lost.
    #[serde(flatten)]
    pub next: Option<Next>,
}

/// Where the name of a lock comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockOrigin {
    /// The variable of the kernel in which it lies.
    Symbol,
    /// A function that waits for locks of one sort only.
    Function,
    /// The lock's kind, and the function that waited the longest.
    Caller,
}

/// The waits of one kind of use.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelUse {
    /// The kind.
    pub kind: &'static str,
    /// The lock's waits.
    #[serde(flatten)]
    pub row: KernelRow,
    /// By caller, most time lost first.
    pub callers: Vec<KernelCaller>,
}

/// The waits of one caller.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelCaller {
    /// The caller's waits; the name is function and offset.
    #[serde(flatten)]
    pub row: KernelRow,
    /// The stacks from the caller outwards, most time lost first.
    pub stacks: Vec<KernelStack>,
}

/// The waits with one stack.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct KernelStack {
    /// Function and offset of each frame; the caller first.
    pub frames: Vec<String>,
    /// Attempts that had to wait.
    pub waits: u64,
    /// Time waited.
    pub lost: f64,
}

/// The waits for one lock, at an address.
#[derive(Default)]
struct AtAddress {
    kind: &'static str,
    class: Option<LockClass>,
    uses: BTreeMap<&'static str, BTreeMap<Vec<KernelFrame>, Sums>>,
}

/// Identifies a row: kind, name, and where the name comes from.
type Identity = (&'static str, String, LockOrigin);

/// The waits of a row.
#[derive(Default)]
struct Folded {
    addresses: BTreeSet<u64>,
    uses: BTreeMap<&'static str, BTreeMap<Vec<KernelFrame>, Sums>>,
}

impl KernelReport {
    /// Of what the lens has seen, with names.
    pub fn new(lens: &KernelLens, stacks: &Stacks, naming: &Naming, conditions: &Conditions) -> KernelReport {
        let symbols = &naming.kernel;
        let mut rows = BTreeMap::<Identity, Folded>::new();
        for ((address, kind), lock) in by_address(lens, stacks, symbols) {
            let (name, origin) = lock.name(address, symbols);
            let row = rows.entry((kind, name, origin)).or_default();
            row.addresses.insert(address);
            for (kind, callers) in lock.uses {
                let into = row.uses.entry(kind).or_default();
                for (frames, sums) in callers {
                    into.entry(frames).or_default().merge(&sums);
                }
            }
        }
        let scale = Scale { cpu_seconds: conditions.seconds * conditions.cpus as f64 };
        let mut locks: Vec<KernelLock> =
            rows.into_iter().map(|(identity, folded)| scale.lock(identity, folded)).collect();
        locks.sort_by(|a, b| b.row.lost.total_cmp(&a.row.lost));
        for lock in &mut locks {
            lock.next = is_worth_it(lock.row.lost, conditions.seconds)
                .then(|| kernel::next(&lock.row.name, &conditions.subject));
        }
        let mut all = Sums::default();
        lens.sums.values().for_each(|sums| all.merge(sums));
        let Unpaired { ends, beginnings, unfinished } = lens.unpaired();
        KernelReport {
            target: conditions.target(),
            seconds: conditions.seconds,
            cpus: conditions.cpus,
            lost_records: conditions.losses.records,
            unreadable_records: conditions.losses.unreadable,
            unpaired: ends + beginnings,
            unfinished,
            has_variables: symbols.has_variables(),
            total: scale.row("*TOTAL*".into(), &all),
            locks,
        }
    }

    /// Keeps the locks on which at least so many seconds were lost and whose names fit, with the callers that fit.
    pub fn keep(
        &mut self,
        min_lost: f64,
        lock_fits: &dyn Fn(&str) -> bool,
        caller_fits: &dyn Fn(&str) -> bool,
    ) {
        self.locks.retain_mut(|lock| {
            for one in &mut lock.uses {
                one.callers.retain(|caller| caller_fits(&caller.row.name));
            }
            lock.uses.retain(|one| !one.callers.is_empty());
            lock.row.lost >= min_lost && lock_fits(&lock.row.name) && !lock.uses.is_empty()
        });
    }
}

/// The waits for each lock.
fn by_address(
    lens: &KernelLens,
    stacks: &Stacks,
    symbols: &KernelSymbols,
) -> BTreeMap<(u64, &'static str), AtAddress> {
    let mut locks = BTreeMap::<(u64, &'static str), AtAddress>::new();
    for (one, sums) in &lens.sums {
        let frames = naming::frames(symbols, stacks.get(one.stack).kernel);
        let kind = one.flags.lock_kind();
        let lock = locks.entry((one.lock, kind)).or_default();
        lock.kind = kind;
        lock.class = lock.class.into_iter().chain(naming::class(kind, &frames)).min();
        let callers = naming::callers(&frames).to_vec();
        lock.uses.entry(one.flags.kind()).or_default().entry(callers).or_default().merge(sums);
    }
    locks
}

/// The name of each lock, by address and kind.
pub(super) fn names(
    lens: &KernelLens,
    stacks: &Stacks,
    symbols: &KernelSymbols,
) -> BTreeMap<(u64, &'static str), String> {
    let locks = by_address(lens, stacks, symbols).into_iter();
    locks.map(|((address, kind), lock)| ((address, kind), lock.name(address, symbols).0)).collect()
}

impl AtAddress {
    fn name(&self, address: u64, symbols: &KernelSymbols) -> (String, LockOrigin) {
        if let Some(variable) = naming::variable(symbols, address) {
            return (variable, LockOrigin::Symbol);
        }
        if let Some(class) = self.class {
            return (class.name().to_owned(), LockOrigin::Function);
        }
        let callers = self.uses.values().flatten();
        let longest = callers.max_by_key(|(_, sums)| sums.wait_ns()).and_then(|(frames, _)| frames.first());
        let name = match longest {
            Some(frame) if !frame.function.is_empty() => format!("{} in {}", self.kind, frame.function),
            _ => self.kind.to_owned(),
        };
        (name, LockOrigin::Caller)
    }
}

/// Converts sums into rows.
struct Scale {
    cpu_seconds: f64,
}

impl Scale {
    fn row(&self, name: String, sums: &Sums) -> KernelRow {
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let lost = seconds(sums.wait_ns());
        KernelRow {
            name,
            waits: sums.waits,
            spun: sums.waits - sums.slept,
            slept: sums.slept,
            rejected: sums.gave_up,
            spin: seconds(sums.spin_ns),
            sleep: seconds(sums.sleep_ns),
            lost,
            wait_mean: if sums.waits == 0 { 0.0 } else { seconds(sums.whole_ns) / sums.waits as f64 },
            wait_max: seconds(sums.max_ns),
            spin_cpu: if self.cpu_seconds > 0.0 { seconds(sums.spin_ns) / self.cpu_seconds } else { 0.0 },
        }
    }

    fn lock(&self, (kind, name, origin): Identity, folded: Folded) -> KernelLock {
        let mut all = Sums::default();
        folded.uses.values().flat_map(BTreeMap::values).for_each(|sums| all.merge(sums));
        let mut uses: Vec<KernelUse> =
            folded.uses.into_iter().map(|(kind, callers)| self.kernel_use(kind, callers)).collect();
        uses.sort_by(|a, b| b.row.lost.total_cmp(&a.row.lost));
        let only = folded.addresses.first().filter(|_| folded.addresses.len() == 1);
        KernelLock {
            row: self.row(name, &all),
            kind,
            origin,
            locks: folded.addresses.len(),
            address: only.map(|address| format!("{address:#x}")),
            uses,
            next: None,
        }
    }

    fn kernel_use(&self, kind: &'static str, stacks: BTreeMap<Vec<KernelFrame>, Sums>) -> KernelUse {
        let mut all = Sums::default();
        let mut callers = BTreeMap::<String, (Sums, Vec<KernelStack>)>::new();
        for (frames, sums) in stacks {
            all.merge(&sums);
            let name = frames.first().map_or_else(|| "(no stack)".into(), |frame| frame.place.clone());
            let caller = callers.entry(name).or_default();
            caller.0.merge(&sums);
            let frames = frames.into_iter().map(|frame| frame.place).collect();
            let lost = sums.wait_ns() as f64 * 1e-9;
            caller.1.push(KernelStack { frames, waits: sums.waits, lost });
        }
        let caller = |(name, (sums, mut stacks)): (String, (Sums, Vec<KernelStack>))| {
            stacks.sort_by(|a, b| b.lost.total_cmp(&a.lost));
            KernelCaller { row: self.row(name, &sums), stacks }
        };
        let mut callers: Vec<KernelCaller> = callers.into_iter().map(caller).collect();
        callers.sort_by(|a, b| b.row.lost.total_cmp(&a.row.lost));
        KernelUse { kind, row: self.row(kind.to_owned(), &all), callers }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::example;

    #[test]
    fn locks_are_named_by_variable_function_or_caller() {
        let report = example();
        let names: Vec<(&str, &str, usize)> =
            report.locks.iter().map(|lock| (&*lock.row.name, lock.kind, lock.locks)).collect();
        assert_eq!(
            names,
            [
                ("rwsem in other", "rwsem", 1),
                ("run-queue lock", "spinlock", 2),
                ("semaphore set (System V)", "spinlock", 1),
                ("tasklist_lock", "rwlock", 1),
            ]
        );
        assert_eq!(report.locks[3].address.as_deref(), Some("0xffffffff82000000"));
        assert_eq!((report.total.waits, report.unfinished, report.lost_records), (6, 1, 3));
        let run_queue = &report.locks[1];
        assert_eq!((run_queue.row.waits, run_queue.row.slept), (3, 0));
        let callers = &run_queue.uses[0].callers;
        let names: Vec<&str> = callers.iter().map(|caller| &*caller.row.name).collect();
        assert_eq!(names, ["__schedule+0x10", "other+0x10"]);
        assert_eq!(callers[0].stacks[0].frames, ["__schedule+0x10", "schedule+0x10"]);
    }

    #[test]
    fn sums_of_callers_are_those_of_the_lock() {
        let report = example();
        for lock in &report.locks {
            let callers = lock.uses.iter().flat_map(|one| &one.callers);
            let (waits, lost) = callers
                .fold((0, 0.0), |(waits, lost), caller| (waits + caller.row.waits, lost + caller.row.lost));
            assert_eq!(waits, lock.row.waits);
            assert!((lost - lock.row.lost).abs() < 1e-12);
        }
        let lost: f64 = report.locks.iter().map(|lock| lock.row.lost).sum();
        assert!((lost - report.total.lost).abs() < 1e-12);
    }
}
