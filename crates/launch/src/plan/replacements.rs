//! What a plan replaced in one run of a program, and what the user is told about it.

use super::compiled::{Compiled, EntryKind};
use crate::error::Error;
use crate::machine::looks;
use crate::output::shell;
use crate::replace::run_queue::{self, RunQueue};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fmt, fs};
use unspin_locks::LockKind;
use unspin_sys::creds::Creds;
use unspin_wire::environment::TALLY;
use unspin_wire::plan::LockFamily;
use unspin_wire::{Tally, TallyCount, TallyRow};

/// The tally of one run, and its file.
#[derive(Debug)]
pub struct RunTally {
    tally: Tally,
    path: PathBuf,
}

impl RunTally {
    /// Creates a tally in a folder that belongs to this process.
    ///
    /// The programs that root starts may give up root, and must reach it nevertheless. So the folder lets others pass,
    /// and the file has a name that they cannot guess: only the program's environment contains it.
    pub fn create(folder: &Path) -> Result<RunTally, Error> {
        let failed = |e| Error::at(folder, "no file can be created here", e);
        let random = RandomState::new();
        let path = folder.join(format!("tally-{:016x}{:016x}", random.hash_one(0u8), random.hash_one(1u8)));
        let is_root = Creds::current().uid == 0;
        let tally = Tally::create(&path, 0o600).map_err(failed)?;
        if is_root {
            let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
            mode(&path, 0o666).and_then(|()| mode(folder, 0o711)).map_err(failed)?;
        }
        Ok(RunTally { tally, path })
    }

    /// The file, for `UNSPIN_TALLY`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The reason why the replacements are unknown: the tally file was cut short. None if it is whole.
    pub fn why_lost(&self) -> Option<String> {
        self.tally.is_lost().then(|| {
            format!(
                "{}: the tally was cut short while the program ran, and what was replaced is not known: find what truncates \
                 the file that {TALLY} names",
                shell::quote(&self.path)
            )
        })
    }

    /// Executed programs into which the preload library was loaded so far.
    pub fn programs(&self) -> u64 {
        self.tally.get(TallyCount::Programs)
    }

    /// Executors of the crate `unspin-runqueue` that have started with this run queue so far.
    pub fn executors(&self, run_queue: RunQueue) -> u64 {
        self.tally.get(match run_queue {
            RunQueue::Global => TallyCount::GlobalRunQueues,
            RunQueue::Percpu => TallyCount::PerCpuRunQueues,
        })
    }

    /// The run queue of all executors that have started so far, if there are some and they have the same one.
    pub fn run_queue(&self) -> Option<RunQueue> {
        match [RunQueue::Global, RunQueue::Percpu].map(|run_queue| self.executors(run_queue) > 0) {
            [true, false] => Some(RunQueue::Global),
            [false, true] => Some(RunQueue::Percpu),
            _ => None,
        }
    }

    /// Why a run under this run queue says nothing about it: no executor used it. None if one did.
    pub fn without_run_queue(&self, run_queue: RunQueue) -> Option<String> {
        let name = run_queue.name();
        (self.executors(run_queue) == 0).then(|| {
            format!(
                "no executor of unspin-runqueue used the run queue {name}: the program started none that reads {}",
                run_queue::VARIABLE
            )
        })
    }

    /// The warning for the user of a run queue that no executor of the program used.
    pub fn run_queue_warning(&self, run_queue: RunQueue) -> Option<String> {
        let why = self.without_run_queue(run_queue)?;
        let name = run_queue.name();
        Some(format!("--runqueue {name} replaced nothing: {why}; {}", run_queue::NEEDS_THE_CRATE))
    }

    /// What the plan has replaced so far.
    pub fn replacements(&self, plan: &Compiled) -> Replacements {
        let get = |count| self.tally.get(count);
        let entries = plan.counted().map(|entry| {
            let sum = |count: &dyn Fn(TallyRow) -> TallyCount| -> u64 {
                entry.rows.iter().map(|&row| get(count(row))).sum()
            };
            let (replaced, kept) = match entry.subject.family() {
                None => (sum(&TallyCount::Sites), 0),
                Some(family) => {
                    (sum(&|row| TallyCount::Replaced(family, row)), sum(&|row| TallyCount::Kept(family, row)))
                }
            };
            let is_all = entry.rows.contains(&TallyRow::All);
            Replaced { label: entry.label.clone(), subject: entry.subject, replaced, kept, is_all }
        });
        let entries: Vec<Replaced> = entries.collect();
        let used = |family| {
            let own = entries.iter().filter(|entry| entry.subject.family() == Some(family));
            let named: u64 = own.map(|entry| entry.replaced + entry.kept).sum();
            get(TallyCount::Others(family)) + named
        };
        Replacements {
            programs: self.programs(),
            filters: get(TallyCount::Filters),
            obstacle: (get(TallyCount::Filters) > 0)
                .then(|| looks::poll_support().obstacle.as_ref().map(ToString::to_string))
                .flatten(),
            used: LockFamily::ALL.map(used),
            wrapped: get(TallyCount::Wrapped),
            bypassed: get(TallyCount::Bypassed),
            entries,
        }
    }
}

impl Drop for RunTally {
    fn drop(&mut self) {
        // Its folder may be gone already.
        let _ = fs::remove_file(&self.path);
    }
}

/// What one entry of a plan replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Replaced {
    label: String,
    subject: EntryKind,
    /// Locks; or call sites of waits, counted once for each process.
    replaced: u64,
    /// Locks to which it applies, and which stay libc's.
    kept: u64,
    /// Whether it is for everything that no other entry names.
    is_all: bool,
}

/// What a plan replaced in one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replacements {
    entries: Vec<Replaced>,
    /// Executed programs into which the preload library was loaded.
    programs: u64,
    /// Seccomp filters of the programs, and programs in which no wait polls, or not every wait.
    filters: u64,
    /// Why no wait of any program polls here, if the programs counted filters and that is the reason.
    obstacle: Option<String>,
    /// Locks of each family that the program used or initialised.
    used: [u64; LockFamily::ALL.len()],
    /// Programs in which another library wraps the lock functions.
    wrapped: u64,
    /// Programs in which there is code whose calls bypass the hooks.
    bypassed: u64,
}

/// Why an entry replaced nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum UnusedReason {
    NotLoaded,
    Wrapped,
    Bypassed,
    NoLock(LockFamily),
    OtherNames(LockFamily),
    OtherFirstUse(LockFamily),
    StaysLibcs(LockFamily),
    NamedByOthers(LockFamily),
    Filtered,
    NoWait,
    OtherSites,
}

impl Replacements {
    /// The entries for locks that replaced at least one.
    pub fn in_effect(&self) -> BTreeSet<String> {
        let replaced = self.of_locks().filter(|entry| entry.replaced > 0);
        replaced.map(|entry| entry.label.clone()).collect()
    }

    fn of_locks(&self) -> impl Iterator<Item = &Replaced> {
        self.entries.iter().filter(|entry| entry.subject.family().is_some())
    }

    fn used(&self, family: LockFamily) -> u64 {
        self.used[family as usize]
    }

    /// Whether no entry replaced anything.
    pub fn is_nothing(&self) -> bool {
        self.entries.iter().all(|entry| entry.replaced == 0)
    }

    /// Why a run under the plan says nothing about it: no lock was replaced. None if one was, or if the plan replaces
    /// none.
    pub fn without_effect(&self) -> Option<String> {
        let families: BTreeSet<LockFamily> =
            self.of_locks().filter_map(|entry| entry.subject.family()).collect();
        let noun = match Vec::from_iter(families)[..] {
            [] => return None,
            [family] => family.noun(),
            _ => "lock",
        };
        if !self.in_effect().is_empty() {
            return None;
        }
        let why: BTreeSet<String> =
            self.of_locks().filter_map(|entry| Some(self.why(self.reason(entry)?))).collect();
        Some(format!("it replaced no {noun}: {}", Vec::from_iter(why).join("; ")))
    }

    /// The reason why calls of the program went past the replacements, if they did.
    pub fn passed_on(&self) -> Option<String> {
        let reason = match (self.wrapped, self.bypassed) {
            (0, 0) => return None,
            (0, _) => UnusedReason::Bypassed,
            _ => UnusedReason::Wrapped,
        };
        Some(self.why(reason))
    }

    /// Whether so few locks of a family of the plan were used that a runtime with locks of its own may have used them all:
    /// Go's cgo uses one or two mutexes.
    pub fn has_few_locks(&self) -> bool {
        let few = |family| if family == LockFamily::Mutex { 4 } else { 1 };
        let mut families = self.of_locks().filter_map(|entry| entry.subject.family());
        families.any(|family| self.used(family) < few(family))
    }

    /// A line for each reason why entries replaced nothing, with the next step.
    pub fn warnings(&self, names: &NamesFrom<'_>) -> Vec<String> {
        let mut by_reason: Vec<(UnusedReason, Vec<&str>)> = Vec::new();
        for entry in &self.entries {
            let Some(reason) = self.reason(entry) else { continue };
            match by_reason.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, labels)) => labels.push(&entry.label),
                None => by_reason.push((reason, vec![&entry.label])),
            }
        }
        let line = |(reason, labels): (UnusedReason, Vec<&str>)| {
            format!("{} replaced nothing: {}; {}", labels.join(" and "), self.why(reason), names.next(reason))
        };
        by_reason.into_iter().map(line).collect()
    }

    fn reason(&self, entry: &Replaced) -> Option<UnusedReason> {
        if entry.replaced > 0 {
            return None;
        }
        let others = self.entries.iter().any(|other| other.subject == EntryKind::Waits && other.replaced > 0);
        let used = entry.subject.family().map_or(0, |family| self.used(family));
        Some(match (entry.subject, entry.is_all) {
            _ if self.programs == 0 => UnusedReason::NotLoaded,
            _ if self.wrapped > 0 => UnusedReason::Wrapped,
            _ if self.bypassed > 0 => UnusedReason::Bypassed,
            // A plan names single call sites first. Every call site that waited may be among them.
            (EntryKind::Waits, true) if others => return None,
            (EntryKind::Waits, _) if self.filters > 0 => UnusedReason::Filtered,
            (EntryKind::Waits, true) => UnusedReason::NoWait,
            (EntryKind::Waits, false) => UnusedReason::OtherSites,
            (EntryKind::Locks(family) | EntryKind::FirstUsed(family), _) if used == 0 => {
                UnusedReason::NoLock(family)
            }
            (EntryKind::Locks(family) | EntryKind::FirstUsed(family), _) if entry.kept > 0 => {
                UnusedReason::StaysLibcs(family)
            }
            (EntryKind::Locks(family) | EntryKind::FirstUsed(family), true) => {
                UnusedReason::NamedByOthers(family)
            }
            (EntryKind::FirstUsed(family), false) => UnusedReason::OtherFirstUse(family),
            (EntryKind::Locks(family), false) => UnusedReason::OtherNames(family),
        })
    }

    fn why(&self, reason: UnusedReason) -> String {
        let used = |family: LockFamily| match self.used(family) {
            1 => format!("the one pthread {} that was {}", family.noun(), seen(family)),
            several => format!("each of the {several} pthread {} that were {}", family.nouns(), seen(family)),
        };
        match reason {
            UnusedReason::NotLoaded => "the preload library was loaded into no program that ran".into(),
            UnusedReason::Wrapped => {
                "a sanitizer, or another library in the program that wraps libc's lock functions, \
                has to see their calls"
                    .into()
            }
            UnusedReason::Bypassed => {
                "the program has loaded a library with RTLD_DEEPBIND or by dlmopen, or has looked up a lock \
                function in libc itself (dlsym), and so calls libc's functions directly: nothing is replaced from then on"
                    .into()
            }
            UnusedReason::NoLock(family) => format!(
                "no private pthread {} was {} where the preload library was loaded ({} are other locks)",
                family.noun(),
                seen(family),
                other_locks(family)
            ),
            UnusedReason::OtherNames(family) => format!("{} has another name", used(family)),
            UnusedReason::OtherFirstUse(family) => {
                format!("{} has another name, or was first used elsewhere in this run", used(family))
            }
            UnusedReason::StaysLibcs(LockFamily::Mutex) => {
                "the mutex is shared between processes, robust, or has a priority protocol, and stays libc's"
                    .into()
            }
            UnusedReason::StaysLibcs(family) => {
                format!("the {} is shared between processes, and stays libc's", family.noun())
            }
            UnusedReason::NamedByOthers(family) => {
                format!("other rules name all {} that were {}", family.nouns(), seen(family))
            }
            UnusedReason::Filtered => self.obstacle.clone().unwrap_or_else(|| {
                "a seccomp filter was in force that the program or its launcher has installed, or that forbids the calls of these \
                 polls: it could kill the program for a call that only polling makes"
                    .into()
            }),
            UnusedReason::NoWait => {
                "where the preload library was loaded, no thread waited in a function of libc that can poll".into()
            }
            UnusedReason::OtherSites => "no thread waited there".into(),
        }
    }
}

/// What is seen of a lock when its kind is decided: of spin locks only the initialisation.
fn seen(family: LockFamily) -> &'static str {
    if family.has_first_use() { "used" } else { "initialised" }
}

/// Locks that a user may take for locks of this family.
fn other_locks(family: LockFamily) -> &'static str {
    match family {
        LockFamily::Mutex => {
            "the mutexes of Rust's std, parking_lot and Go, the monitors of a JVM and read-write locks"
        }
        LockFamily::RwLock => {
            "the RwLock of Rust's std and of parking_lot, Go's RWMutex, the read-write locks of a JVM and mutexes"
        }
        LockFamily::Spin => "spin locks that a program builds of atomic operations",
    }
}

/// Where the user finds the names of locks and call sites.
#[derive(Clone, Copy, Debug)]
pub enum NamesFrom<'c> {
    /// In the report of the meter, for this program with its arguments.
    Meter(&'c [OsString]),
    /// In the report above.
    Above,
}

impl NamesFrom<'_> {
    /// The next step for the user.
    fn next(&self, reason: UnusedReason) -> String {
        let report = match self {
            NamesFrom::Above => "the report above".to_owned(),
            NamesFrom::Meter(command) => format!("`unspin meter -- {}`", shell::line(command)),
        };
        match reason {
            UnusedReason::NotLoaded => format!("{report} says why"),
            UnusedReason::Wrapped => "run the program without it".into(),
            UnusedReason::Bypassed => "docs/semantics.md says more".into(),
            UnusedReason::NoLock(_) | UnusedReason::NoWait => {
                format!("{report} shows where its threads wait")
            }
            UnusedReason::OtherNames(_) => format!("{report} has the names"),
            UnusedReason::OtherFirstUse(family) => {
                format!("{report} has the names, each with the functions that use the {}", family.noun())
            }
            UnusedReason::OtherSites => format!("{report} has the call sites of waits"),
            UnusedReason::StaysLibcs(LockFamily::Mutex) => format!(
                "the kinds {} also replace mutexes with PTHREAD_PRIO_INHERIT; the others cannot be replaced \
                 (docs/semantics.md)",
                inheriting_kinds()
            ),
            UnusedReason::StaysLibcs(_) => "only private ones can be replaced (docs/semantics.md)".into(),
            UnusedReason::NamedByOthers(_) => "leave it out".into(),
            UnusedReason::Filtered => "docs/containers.md has what polling needs".into(),
        }
    }
}

/// `rt-fair, rt-steal and rt-adaptive`: without libc's kind, as which such a mutex behaves already.
fn inheriting_kinds() -> String {
    let inherits = |kind: &LockKind| kind.inherits_priority() && *kind != LockKind::Pi;
    let names: Vec<&str> = LockKind::ALL.into_iter().filter(inherits).map(LockKind::name).collect();
    match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

/// `adaptive@cache_lock: 1 mutex, rw-biased: 3 read-write locks, poll: 4 call sites`
impl fmt::Display for Replacements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let plural = if entry.replaced == 1 { "" } else { "s" };
            let (noun, plural, note) = match entry.subject.family() {
                None => ("call site", plural, " (counted in each process)"),
                Some(family) if entry.replaced == 1 => (family.noun(), "", ""),
                Some(family) => (family.nouns(), "", ""),
            };
            write!(f, "{comma}{}: {} {noun}{plural}{note}", entry.label, entry.replaced)?;
            if entry.kept > 0 {
                write!(f, " ({} more stay libc's)", entry.kept)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUTEXES: EntryKind = EntryKind::Locks(LockFamily::Mutex);
    const RWLOCKS: EntryKind = EntryKind::Locks(LockFamily::RwLock);
    const SPINS: EntryKind = EntryKind::Locks(LockFamily::Spin);

    fn entry(label: &str, subject: EntryKind, replaced: u64) -> Replaced {
        Replaced { label: label.into(), subject, replaced, kept: 0, is_all: !label.contains('@') }
    }

    fn replacements(entries: Vec<Replaced>, used: [u64; 3]) -> Replacements {
        Replacements { entries, programs: 1, filters: 0, obstacle: None, used, wrapped: 0, bypassed: 0 }
    }

    fn warnings(entries: Vec<Replaced>, used: u64) -> Vec<String> {
        replacements(entries, [used; 3]).warnings(&NamesFrom::Meter(&["./a b".into(), "-x".into()]))
    }

    #[test]
    fn entry_without_effect_is_reported_with_reason_and_next_step() {
        let named = || entry("adaptive@q", MUTEXES, 0);
        let next = "`unspin meter -- './a b' -x`";
        assert_eq!(warnings(vec![entry("adaptive", MUTEXES, 2)], 2), Vec::<String>::new());
        let nothing = warnings(vec![entry("adaptive", MUTEXES, 0)], 0).remove(0);
        assert!(
            nothing.starts_with(
                "adaptive replaced nothing: no private pthread mutex was used where the preload"
            ),
            "{nothing}"
        );
        assert!(nothing.ends_with(&format!("{next} shows where its threads wait")), "{nothing}");
        assert_eq!(
            warnings(vec![named(), entry("steal@r", MUTEXES, 0)], 3),
            [format!(
                "adaptive@q and steal@r replaced nothing: each of the 3 pthread mutexes that were used has another name; \
                 {next} has the names"
            )]
        );
        let first = warnings(
            vec![entry("fair@mutex first used in f", EntryKind::FirstUsed(LockFamily::Mutex), 0)],
            1,
        )
        .remove(0);
        assert!(first.contains("or was first used elsewhere in this run; "), "{first}");
        let kept = warnings(vec![Replaced { kept: 1, ..named() }], 1).remove(0);
        assert!(kept.contains(" stays libc's; the kinds rt-fair"), "{kept}");
        let poll = warnings(vec![entry("poll@f+0x2d", EntryKind::Waits, 0)], 0).remove(0);
        assert_eq!(
            poll,
            format!(
                "poll@f+0x2d replaced nothing: no thread waited there; {next} has the call sites of waits"
            )
        );
    }

    #[test]
    fn each_family_has_words_of_its_own() {
        let next = "`unspin meter -- './a b' -x`";
        let said = |entry, used| warnings(vec![entry], used).remove(0);
        let kept = said(Replaced { kept: 1, ..entry("rw-biased@t", RWLOCKS, 0) }, 1);
        assert_eq!(
            kept,
            "rw-biased@t replaced nothing: the read-write lock is shared between processes, and stays libc's; only private \
             ones can be replaced (docs/semantics.md)"
        );
        assert_eq!(
            said(entry("rw-biased@t", RWLOCKS, 0), 3),
            format!(
                "rw-biased@t replaced nothing: each of the 3 pthread read-write locks that were used has another name; {next} \
                 has the names"
            )
        );
        let first =
            said(entry("rw-fair@rwlock first used in f", EntryKind::FirstUsed(LockFamily::RwLock), 0), 1);
        assert!(first.ends_with("each with the functions that use the read-write lock"), "{first}");
        let none = said(entry("spin adaptive", SPINS, 0), 0);
        assert!(
            none.starts_with(
                "spin adaptive replaced nothing: no private pthread spin lock was initialised where"
            ),
            "{none}"
        );
        assert_eq!(
            said(entry("spin adaptive@p", SPINS, 0), 1),
            format!(
                "spin adaptive@p replaced nothing: the one pthread spin lock that was initialised has another name; {next} \
                 has the names"
            )
        );
        let others = said(entry("rw-fair", RWLOCKS, 0), 1);
        assert!(
            others.contains("other rules name all read-write locks that were used; leave it out"),
            "{others}"
        );
        let both = warnings(vec![entry("adaptive@q", MUTEXES, 0), entry("rw-fair@q", RWLOCKS, 0)], 1);
        assert_eq!(both.len(), 2, "{both:?}");
    }

    #[test]
    fn runtime_may_have_used_the_few_locks() {
        let has_few = |entries, used| replacements(entries, used).has_few_locks();
        assert!(has_few(vec![entry("fair", MUTEXES, 2)], [2, 9, 9]));
        assert!(!has_few(vec![entry("fair", MUTEXES, 4)], [4, 0, 0]));
        assert!(has_few(vec![entry("rw-fair", RWLOCKS, 0)], [9, 0, 9]));
        assert!(!has_few(vec![entry("rw-fair", RWLOCKS, 1)], [0, 1, 0]));
        assert!(!has_few(vec![entry("poll", EntryKind::Waits, 1)], [0; 3]));
    }

    #[test]
    fn filter_is_the_reason_why_no_wait_polled() {
        let replacements =
            Replacements { filters: 1, ..replacements(vec![entry("poll", EntryKind::Waits, 0)], [0; 3]) };
        let said = replacements.warnings(&NamesFrom::Above).remove(0);
        assert!(said.starts_with("poll replaced nothing: a seccomp filter was in force"), "{said}");
    }

    #[test]
    fn counts_are_printed_in_one_line() {
        let entries = vec![
            Replaced { kept: 2, ..entry("adaptive@q", MUTEXES, 1) },
            entry("fair", MUTEXES, 12),
            Replaced { kept: 1, ..entry("rw-biased@table", RWLOCKS, 1) },
            entry("spin adaptive", SPINS, 2),
            entry("poll", EntryKind::Waits, 4),
        ];
        let replacements = replacements(entries, [15, 2, 2]);
        assert_eq!(
            replacements.to_string(),
            "adaptive@q: 1 mutex (2 more stay libc's), fair: 12 mutexes, \
             rw-biased@table: 1 read-write lock (1 more stay libc's), spin adaptive: 2 spin locks, \
             poll: 4 call sites (counted in each process)"
        );
        assert_eq!(replacements.in_effect().len(), 4);
        assert_eq!(replacements.without_effect(), None);
    }

    #[test]
    fn run_that_replaced_no_mutex_says_why() {
        let poll = entry("poll", EntryKind::Waits, 3);
        let named = entry("adaptive@q", MUTEXES, 0);
        let all = |entries| replacements(entries, [2, 0, 0]).without_effect();
        assert_eq!(all(vec![poll.clone()]), None, "it is not for mutexes");
        assert_eq!(
            all(vec![named.clone(), poll]).unwrap(),
            "it replaced no mutex: each of the 2 pthread mutexes that were used has another name"
        );
        let rwlock = entry("rw-fair", RWLOCKS, 0);
        let none = "no private pthread read-write lock was used where the preload library was loaded (the RwLock of Rust's std";
        let why = all(vec![rwlock.clone()]).unwrap();
        assert!(why.starts_with(&format!("it replaced no read-write lock: {none}")), "{why}");
        let why = all(vec![named, rwlock]).unwrap();
        assert!(why.starts_with("it replaced no lock: each of the 2 pthread mutexes"), "{why}");
        assert_eq!(all(vec![entry("rw-fair", RWLOCKS, 0), entry("fair", MUTEXES, 1)]), None);
    }

    #[test]
    fn run_whose_calls_went_past_the_replacements_says_why() {
        let run = |wrapped, bypassed| Replacements {
            wrapped,
            bypassed,
            ..replacements(vec![entry("adaptive", MUTEXES, 0)], [2, 0, 0])
        };
        assert_eq!(run(0, 0).passed_on(), None);
        assert!(run(1, 0).passed_on().unwrap().starts_with("a sanitizer, or another library"));
        assert!(run(0, 1).passed_on().unwrap().contains("RTLD_DEEPBIND"));
        let why = run(0, 1).without_effect().unwrap();
        assert!(why.starts_with("it replaced no mutex: the program has loaded a library with"), "{why}");
    }
}
