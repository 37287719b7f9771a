//! Replacements for the locks and waits of a program.

use super::choice::Choice;
use super::compiled::Compiled;
use super::kind::{self, AnyKind, KindOfFamily};
use super::located::Located;
use super::lock_name::LockName;
use super::place::{By, Place};
use super::policy::WaitPolicy;
use super::resolve::{PlanTarget, Resolver};
use super::site_name::SiteName;
use super::wait_choice::WaitChoice;
use super::wakeup;
use crate::error::Error;
use crate::program::Program;
use std::fmt::{self, Display};
use std::path::PathBuf;
use unspin_locks::{RwLockKind, SpinKind};
use unspin_wire::plan::LockFamily;

/// All replacements. Of two entries for one lock or wait the first counts. An entry for all counts last, whatever its
/// position.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// For locks of all families, in order of precedence.
    pub locks: Vec<Entry>,
    /// For waits, in order of precedence.
    pub waits: Vec<WaitEntry>,
}

/// A kind of lock, and the locks that it replaces, which are of the kind's family.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The kind of lock.
    pub kind: AnyKind,
    /// The locks.
    pub which: Which<LockName>,
}

impl Entry {
    /// An entry for these locks of the kind's family.
    pub fn new(kind: impl KindOfFamily, which: Which<LockName>) -> Entry {
        Entry { kind: kind.any(), which }
    }

    /// The family of the locks.
    pub fn family(&self) -> LockFamily {
        self.kind.family()
    }

    /// Whether it is for all locks of its family.
    fn is_for_all(&self) -> bool {
        self.which == Which::All
    }
}

/// `adaptive@cache_lock`, `rw-biased`, `spin adaptive@pool.lock`
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = kind::label(self.kind);
        match &self.which {
            Which::All => write!(f, "{kind}"),
            Which::Named { name, .. } => write!(f, "{kind}@{name}"),
            Which::Located(lock) => write!(f, "{kind}@{}", lock.name),
        }
    }
}

/// A policy, and the waits to which it applies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitEntry {
    /// What a thread does before it sleeps.
    pub policy: WaitPolicy,
    /// The waits.
    pub which: Which<SiteName>,
}

/// In the form of `--waits`: `poll`, `poll@worker_loop+0x2d`.
impl fmt::Display for WaitEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.which {
            Which::All => write!(f, "{}", self.policy),
            Which::Named { name, .. } => write!(f, "{}@{name}", self.policy),
            Which::Located(site) => write!(f, "{}@{}", self.policy, site.name),
        }
    }
}

/// A selection of a program's locks or waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Which<Name> {
    /// All that can be replaced.
    All,
    /// Those of a name, which is looked up in the program's files.
    Named {
        /// The name.
        name: Name,
        /// The file in which to search, such as a plugin; none: the program and its libraries.
        module: Option<PathBuf>,
    },
    /// Those at known places.
    Located(Located),
}

impl Plan {
    /// A plan that replaces every lock of the kind's family.
    pub fn all(kind: impl KindOfFamily) -> Plan {
        Plan::of(Entry::new(kind, Which::All))
    }

    /// A plan of one entry for locks.
    pub fn of(entry: Entry) -> Plan {
        Plan { locks: vec![entry], waits: Vec::new() }
    }

    /// A plan of one entry for waits.
    pub fn of_wait(entry: WaitEntry) -> Plan {
        Plan { locks: Vec::new(), waits: vec![entry] }
    }

    /// A plan that leaves every lock of a family to libc: the control.
    pub fn control(family: LockFamily) -> Plan {
        Plan::of(Entry { kind: kind::libcs(family), which: Which::All })
    }

    /// A plan for every wait.
    pub fn all_waits(policy: WaitPolicy) -> Plan {
        Plan::of_wait(WaitEntry { policy, which: Which::All })
    }

    /// The plan of a command line. Two choices for all, or for one name, are an error.
    pub fn chosen(
        mutexes: &[Choice],
        rwlocks: &[Choice<RwLockKind>],
        spins: &[Choice<SpinKind>],
        waits: &[WaitChoice],
    ) -> Result<Plan, Error> {
        let mut locks = entries(mutexes)?;
        locks.extend(entries(rwlocks)?);
        locks.extend(entries(spins)?);
        refuse_contradiction(
            "--waits",
            ["every wait", "one call site"],
            waits.iter().map(|c| (c.policy.name(), c.site.as_ref())),
        )?;
        Ok(Plan { locks, waits: waits.iter().map(WaitEntry::from).collect() })
    }

    /// The entries for locks of a family.
    pub fn of_family(&self, family: LockFamily) -> impl Iterator<Item = &Entry> {
        self.locks.iter().filter(move |entry| entry.family() == family)
    }

    /// Whether it has an entry for locks of this family, the control included.
    pub fn has(&self, family: LockFamily) -> bool {
        self.of_family(family).next().is_some()
    }

    /// Whether it replaces locks of this family by locks other than libc's own.
    pub fn replaces(&self, family: LockFamily) -> bool {
        self.of_family(family).any(|entry| !kind::is_libcs(entry.kind))
    }

    /// Whether it replaces locks of any family by locks other than libc's own.
    pub fn replaces_locks(&self) -> bool {
        LockFamily::ALL.into_iter().any(|family| self.replaces(family))
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.waits.is_empty()
    }

    /// Warnings for the user before a program runs under it.
    pub fn warnings(&self) -> Vec<String> {
        let mut kinds: Vec<AnyKind> = self.locks.iter().map(|entry| entry.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds.into_iter().filter_map(kind::warning).collect()
    }

    /// This plan, followed by another one: where both apply to a lock or wait, this one counts.
    pub fn before(mut self, other: Plan) -> Plan {
        let settled: Vec<LockFamily> =
            self.locks.iter().filter(|entry| entry.is_for_all()).map(Entry::family).collect();
        let is_overruled = |entry: &Entry| entry.is_for_all() && settled.contains(&entry.family());
        self.locks.extend(other.locks.into_iter().filter(|entry| !is_overruled(entry)));
        let settled = self.waits.iter().any(|entry| entry.which == Which::All);
        self.waits.extend(other.waits.into_iter().filter(|entry| !(settled && entry.which == Which::All)));
        self
    }

    /// This plan with all the places of those locks that are named after their first use: those of the program's files,
    /// and those that a recording of the program has for the same lock. None if no name is found in the recording.
    pub fn with_first_uses(&self, recorded: &[Located], program: &Program) -> Result<Option<Plan>, Error> {
        let resolver = Resolver::new(program);
        let mut plan = self.clone();
        for entry in &mut plan.locks {
            let family = entry.family();
            let Which::Named { name, module } = &entry.which else { continue };
            let mut places = resolver.places(family, name, module.as_deref())?;
            let is_meant = |one: &&Located| {
                let by_use = |place: &&Place| place.by == By::Use;
                one.name == name.as_str()
                    || one
                        .places
                        .iter()
                        .filter(by_use)
                        .any(|exact| places.iter().any(|place| exact.is_within(place)))
            };
            let meant: Vec<&Located> = recorded.iter().filter(is_meant).collect();
            let mutexes = meant.iter().map(|one| one.mutexes).sum();
            let found: Vec<&Place> = meant.iter().flat_map(|one| &one.places).collect();
            if !found.iter().any(|place| place.by == By::Use) {
                continue;
            }
            // The recording has the calls through libraries exactly. Of the program's files only direct calls are added.
            places.retain(|place| place.spans.len() == 1);
            let is_new = |exact: &&Place| !places.iter().any(|place| exact.is_within(place));
            let new: Vec<Place> = found.into_iter().filter(is_new).cloned().collect();
            places.extend(new);
            let name = match meant[..] {
                [one] => one.name.clone(),
                _ => name.to_string(),
            };
            entry.which = Which::Located(Located { name, origin: None, places, mutexes });
        }
        Ok(Some(plan).filter(|plan| plan != self))
    }

    /// Finds the places of every name in the program's files, and compiles the plan for the preload library.
    pub fn compile(&self, program: &Program) -> Result<Compiled, Error> {
        let resolver = Resolver::new(program);
        let mut compiled = Compiled::new(PlanTarget {
            families: LockFamily::ALL.into_iter().filter(|&family| self.has(family)).collect(),
            waits: !self.waits.is_empty(),
        });
        for entry in &self.locks {
            match &entry.which {
                Which::All => compiled.all(entry.kind),
                Which::Located(lock) => compiled.add(entry.kind, &lock.name, &lock.places)?,
                Which::Named { name, module } => {
                    let places = resolver.places(entry.family(), name, module.as_deref())?;
                    compiled.add(entry.kind, name.as_str(), &places)?;
                }
            }
        }
        for entry in &self.waits {
            match &entry.which {
                Which::All => compiled.all_waits(entry.policy),
                Which::Located(site) => compiled.add_site(entry.policy, &site.name, &site.places)?,
                Which::Named { name, module } => {
                    let places = resolver.sites(name, module.as_deref())?;
                    compiled.add_site(entry.policy, name.as_str(), &places)?;
                }
            }
        }
        if !self.waits.is_empty() {
            compiled.set_wait_policies(self.waits.iter().map(ToString::to_string).collect());
        }
        // The control sleeps at once, whatever a wake-up costs.
        if compiled.polls() {
            compiled.set_wake_up(wakeup::cost_ns()?);
        }
        Ok(compiled)
    }
}

/// The entries of the choices of one option. Two for all, or for one name, are an error.
fn entries<K: KindOfFamily>(choices: &[Choice<K>]) -> Result<Vec<Entry>, Error> {
    let every = format!("every {}", K::FAMILY.noun());
    let named = choices.iter().map(|choice| (choice.kind.name(), choice.lock.as_ref()));
    refuse_contradiction(K::FAMILY.option(), [&every, "one lock"], named)?;
    Ok(choices.iter().map(Entry::from).collect())
}

/// Refuses two choices of one option for the same selection: for `all`, or for one name.
fn refuse_contradiction<'c, N: Display + PartialEq + 'c>(
    option: &str,
    [all, one]: [&str; 2],
    choices: impl Iterator<Item = (&'static str, Option<&'c N>)>,
) -> Result<(), Error> {
    let mut known: Vec<(&str, Option<&N>)> = Vec::new();
    for (second, name) in choices {
        if let Some((first, _)) = known.iter().find(|(_, other)| *other == name) {
            return Err(Error::Usage(match name {
                None => format!("{option} {first} and {option} {second} are both for {all}: leave one out"),
                Some(name) => {
                    format!("{option} {first}@{name} and {second}@{name} are for {one}: leave one out")
                }
            }));
        }
        known.push((second, name));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_locks::LockKind;

    fn chosen(mutexes: &[&str], waits: &[&str]) -> Result<Plan, String> {
        let mutexes: Vec<Choice> = mutexes.iter().map(|choice| choice.parse().unwrap()).collect();
        let waits: Vec<WaitChoice> = waits.iter().map(|choice| choice.parse().unwrap()).collect();
        Plan::chosen(&mutexes, &[], &[], &waits).map_err(|e| e.to_string())
    }

    fn of_other_families(rwlocks: &[&str], spins: &[&str]) -> Result<Plan, String> {
        let rwlocks: Vec<Choice<RwLockKind>> = rwlocks.iter().map(|choice| choice.parse().unwrap()).collect();
        let spins: Vec<Choice<SpinKind>> = spins.iter().map(|choice| choice.parse().unwrap()).collect();
        Plan::chosen(&[], &rwlocks, &spins, &[]).map_err(|e| e.to_string())
    }

    #[test]
    fn contradictory_choices_are_refused() {
        assert_eq!(
            chosen(&["steal", "mcs@a", "fair"], &[]),
            Err("--mutex steal and --mutex fair are both for every mutex: leave one out".into())
        );
        assert_eq!(
            chosen(&["steal@a", "mcs@a"], &[]),
            Err("--mutex steal@a and mcs@a are for one lock: leave one out".into())
        );
        assert!(chosen(&["steal", "mcs@a", "mcs@b"], &["poll", "system@a"]).is_ok());
        assert_eq!(
            chosen(&[], &["poll", "system"]),
            Err("--waits poll and --waits system are both for every wait: leave one out".into())
        );
        assert_eq!(
            chosen(&[], &["poll@f", "system@f"]),
            Err("--waits poll@f and system@f are for one call site: leave one out".into())
        );
        assert_eq!(
            of_other_families(&["rw-fair", "rw-biased"], &[]),
            Err("--rwlock rw-fair and --rwlock rw-biased are both for every read-write lock: leave one out"
                .into())
        );
        assert_eq!(
            of_other_families(&[], &["adaptive@a", "system@a"]),
            Err("--spin adaptive@a and system@a are for one lock: leave one out".into())
        );
        assert!(of_other_families(&["rw-fair@a", "rw-biased"], &["adaptive@a", "system"]).is_ok());
    }

    #[test]
    fn families_do_not_overrule_each_other() {
        let file =
            chosen(&["fair"], &[]).unwrap().before(of_other_families(&["rw-fair"], &["system"]).unwrap());
        let both = of_other_families(&["rw-biased", "rw-writer@t"], &[]).unwrap().before(file);
        let shown: Vec<String> = both.locks.iter().map(Entry::to_string).collect();
        assert_eq!(shown, ["rw-biased", "rw-writer@t", "fair", "spin system"]);
        let replaces = LockFamily::ALL.map(|family| both.replaces(family));
        assert_eq!(
            (replaces, LockFamily::ALL.map(|family| both.has(family))),
            ([true, true, false], [true; 3])
        );
        assert!(!Plan::control(LockFamily::RwLock).replaces_locks());
        assert_eq!(Plan::control(LockFamily::RwLock), Plan::all(RwLockKind::System));
    }

    #[test]
    fn command_line_takes_precedence_over_plan_file() {
        let file = chosen(&["mcs@a", "fair"], &["poll@f", "poll"]).unwrap();
        let kinds = |plan: &Plan| plan.locks.iter().map(|entry| entry.kind).collect::<Vec<_>>();
        let any = |kinds: &[LockKind]| kinds.iter().map(|kind| kind.any()).collect::<Vec<_>>();
        let policies = |plan: &Plan| plan.waits.iter().map(|entry| entry.policy).collect::<Vec<_>>();
        let both = chosen(&["steal"], &["system"]).unwrap().before(file.clone());
        assert_eq!(
            kinds(&both),
            any(&[LockKind::Steal, LockKind::Mcs]),
            "the file's kind for all is overruled"
        );
        assert_eq!(policies(&both), [WaitPolicy::System, WaitPolicy::Poll]);
        let both = chosen(&["steal@b"], &[]).unwrap().before(file);
        assert_eq!(kinds(&both), any(&[LockKind::Steal, LockKind::Mcs, LockKind::Fair]));
        assert_eq!(policies(&both), [WaitPolicy::Poll, WaitPolicy::Poll]);
    }
}
