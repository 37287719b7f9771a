//! A plan as a file, written by `unspin prove` or by a user.
//!
//! ```toml
//! program = "/usr/bin/x"
//!
//! [[mutex]]
//! lock = "cache_lock"
//! kind = "adaptive"
//!
//! [[rwlock]]
//! lock = "table_lock"
//! kind = "rw-biased"
//!
//! [[spin]]
//! lock = "*"
//! kind = "adaptive"
//!
//! [[wait]]
//! site = "worker_loop+0x2d"
//! policy = "poll"
//! ```
//!
//! `lock` and `kind`, or `site` and `policy`, suffice: the name is then looked up in the program's files. `lock = "*"`
//! means every lock of the family that no other table names, and `site = "*"` every such wait. A plan that
//! was made from a recording contains the places of each lock and call site, so that nothing is looked up, and in
//! `modules` the builds of the files to which they apply.

mod mistake;

use super::entry::{Entry, Plan, WaitEntry, Which};
use super::kind;
use super::located::Located;
use super::lock_name::LockName;
use super::place::{By, Place};
use super::policy;
use super::site_name::SiteName;
use crate::error::Error;
use crate::machine::Build;
use crate::output::outfile;
use crate::plan::wait_notice::WaitNotice;
use crate::program::Program;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use unspin_symbols::File;
use unspin_sys::regular;
use unspin_wire::plan::LockFamily;

/// A plan, and the program that it is for.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The plan's name in error messages.
    path: PathBuf,
    /// The comment lines above it.
    comment: String,
    document: PlanDocument,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PlanDocument {
    /// The program that it is for: a path, or the name of a workload; none: any program.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    /// What older plans had instead of `wait`.
    #[serde(default, skip_serializing, deserialize_with = "no_longer")]
    #[expect(dead_code, reason = "it is read to be refused")]
    spin_waits: (),
    /// The builds of the files to which the places apply.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    modules: BTreeMap<PathBuf, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    mutex: Vec<LockTable>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rwlock: Vec<LockTable>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spin: Vec<LockTable>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    wait: Vec<WaitTable>,
}

impl PlanDocument {
    /// The tables for locks of this family.
    fn tables(&self, family: LockFamily) -> &[LockTable] {
        match family {
            LockFamily::Mutex => &self.mutex,
            LockFamily::RwLock => &self.rwlock,
            LockFamily::Spin => &self.spin,
        }
    }
}

fn no_longer<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom("spin-waits has been removed: write `[[wait]]`, and below it `policy = \"poll\"`"))
}

/// The replacement of one lock. The name of the table says of which family the lock is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockTable {
    /// The lock's name; [`EVERY`]: every lock of the family that no other table names. Without it the table is refused.
    lock: Option<String>,
    kind: String,
    /// The only file in which the name is looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<PathBuf>,
    /// The places that identify it; none: looked up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    places: Vec<Vec<String>>,
}

/// The policy of the waits of one call site.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitTable {
    /// The call site's name; [`EVERY`]: every wait that no other table names. Without it the table is refused.
    site: Option<String>,
    policy: String,
    /// The only file in which the name is looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<PathBuf>,
    /// The places that identify it; none: looked up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    places: Vec<Vec<String>>,
}

/// Bytes of the largest plan. The tables of all locks of a large program take a hundredth.
const BYTES_MAX: u64 = 16 << 20;

impl PlanFile {
    /// A plan that was found for a program. `comment` says how it was found and with which result; it is written above
    /// the plan.
    pub fn new(plan: &Plan, program: &Program, comment: &str) -> Result<PlanFile, Error> {
        let located = plan.locks.iter().filter_map(|entry| entry.which.located());
        let located = located.chain(plan.waits.iter().filter_map(|entry| entry.which.located()));
        let mut modules = BTreeMap::new();
        for span in located.flat_map(|located| &located.places).flat_map(|place| &place.spans) {
            if !modules.contains_key(&span.module) {
                modules.insert(span.module.clone(), build(&span.module)?);
            }
        }
        let mut comment = comment.to_owned();
        for entry in &plan.locks {
            let note = entry.which.located().and_then(|lock| note(entry.family(), lock));
            comment.extend(note.map(|note| format!("\n{note}")));
        }
        let tables = |family| plan.of_family(family).map(LockTable::of).collect();
        let document = PlanDocument {
            program: Some(name_of(program)),
            spin_waits: (),
            modules,
            mutex: tables(LockFamily::Mutex),
            rwlock: tables(LockFamily::RwLock),
            spin: tables(LockFamily::Spin),
            wait: plan.waits.iter().map(WaitTable::of).collect(),
        };
        Ok(PlanFile { path: PathBuf::new(), comment, document })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<PlanFile, Error> {
        let wrong = |why: String| Error::Usage(format!("{OPTION} {}: {why}", path.display()));
        // A pipe may have it, too. Without a writer, open(2) waits.
        let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
        let notice =
            (!is_file).then(|| WaitNotice::start(format!("waiting for the plan in {}", path.display())));
        let bytes = fs::File::open(path).and_then(|file| regular::read_open(file, BYTES_MAX));
        drop(notice);
        let text =
            bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into()));
        let text = text.map_err(|e| {
            wrong(match e.kind() {
                ErrorKind::FileTooLarge => "is not a plan: it has more than 16 MiB".into(),
                ErrorKind::NotFound => "there is no such file (`unspin prove --plan FILE` writes one)".into(),
                ErrorKind::InvalidData => "is not a plan: it is not text".into(),
                _ => e.to_string(),
            })
        })?;
        let document = toml::from_str(&text).map_err(|e| wrong(mistake::explain(&text, &e)))?;
        Ok(PlanFile { path: path.to_path_buf(), comment: String::new(), document })
    }

    /// Writes the file.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        outfile::write(path, self.text().as_bytes())
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let document = toml::to_string(&self.document).expect("strings and tables are TOML");
        // TOML allows no control character in a comment but the tab. Arguments of a program may contain any.
        let written = self.comment.replace(|c: char| c.is_control() && c != '\n' && c != '\t', "\u{fffd}");
        let comment = written.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n");
        let comment: String = comment.collect();
        let version = Build::VERSION;
        format!(
            "# A plan of unspin {version} for locks and waits; `unspin run {OPTION} FILE COMMAND` applies it.\n\
             {comment}\n{document}"
        )
    }

    /// The plan, if it is for this program in its present build.
    pub fn plan_for(&self, program: &Program) -> Result<Plan, Error> {
        let wrong = |why: String| Error::Usage(format!("{OPTION} {}: {why}", self.path.display()));
        let (meant, given) = (self.document.program.as_deref(), name_of(program));
        if let Some(meant) = meant.filter(|meant| **meant != given && !is_same(meant, program)) {
            return Err(wrong(format!(
                "is a plan for {meant}, not for {} (its line `program` says so)",
                shown_name(program)
            )));
        }
        for (module, known) in &self.document.modules {
            let now = File::open(module).and_then(|file| file.identity());
            if now.as_ref() != Some(known) {
                let (module, now) = (module.display(), now.map_or("gone".into(), |now| format!("now {now}")));
                return Err(wrong(format!(
                    "{module} has changed since the plan was made (build {known}, {now}): create the plan again with `unspin prove`, \
                     or remove the `places` and `modules`, so that the names are looked up"
                )));
            }
        }
        let mut locks = Vec::new();
        for family in LockFamily::ALL {
            let tables = self.document.tables(family);
            for table in tables {
                locks.push(table.entry(family, &self.document).map_err(&wrong)?);
            }
            let looked_up = tables.iter().filter(|row| row.places.is_empty());
            if let Some(lock) = named_twice(looked_up.map(|row| (&row.lock, &row.module))) {
                let every = format!("every {}", family.noun());
                return Err(wrong(format!(
                    "has two kinds for {}: leave one out",
                    lock.filter(|&lock| lock != EVERY).unwrap_or(&every)
                )));
            }
        }
        let wait = &self.document.wait;
        let waits = wait.iter().map(|row| row.entry(&self.document).map_err(&wrong));
        let waits = waits.collect::<Result<Vec<WaitEntry>, Error>>()?;
        let looked_up = wait.iter().filter(|row| row.places.is_empty());
        if let Some(site) = named_twice(looked_up.map(|row| (&row.site, &row.module))) {
            return Err(wrong(format!(
                "has two policies for {}: leave one out",
                site.filter(|&site| site != EVERY).unwrap_or("every wait")
            )));
        }
        let plan = Plan { locks, waits };
        match plan.is_empty() {
            true => {
                Err(wrong("replaces nothing: it has no [[mutex]], [[rwlock]], [[spin]] or [[wait]]".into()))
            }
            false => Ok(plan),
        }
    }
}

/// Refuses two tables for one name that is looked up, because they contradict each other.
fn named_twice<'r>(
    rows: impl Iterator<Item = (&'r Option<String>, &'r Option<PathBuf>)>,
) -> Option<Option<&'r str>> {
    let rows: Vec<_> = rows.collect();
    let second = (1..rows.len()).find(|&index| rows[..index].contains(&rows[index]))?;
    Some(rows[second].0.as_deref())
}

/// The name that stands for every lock, or every call site, without a table of its own.
const EVERY: &str = "*";

/// The option that names a plan file.
const OPTION: &str = "--use-plan";

impl<Name> Which<Name> {
    fn located(&self) -> Option<&Located> {
        match self {
            Which::Located(located) => Some(located),
            Which::All | Which::Named { .. } => None,
        }
    }
}

/// How a lock without an initialisation is recognised, and how many other locks cannot be told from it.
fn note(family: LockFamily, lock: &Located) -> Option<String> {
    let uses = lock.places.iter().filter(|place| place.by == By::Use).count();
    let others = match lock.mutexes {
        0 | 1 => String::new(),
        several => {
            format!(" {several} {} of the recording share them and are replaced together.", family.nouns())
        }
    };
    let sites =
        if uses == 1 { "at one call site".to_owned() } else { format!("at any of {uses} call sites") };
    (uses > 0).then(|| format!("{}: recognised by its first use, {sites}.{others}", lock.name))
}

fn words(located: &Located) -> Vec<Vec<String>> {
    located.places.iter().map(Place::words).collect()
}

/// The places of a table, if each is in a file of known build and of a kind that suits the table.
fn places(
    name: &str,
    written: &[Vec<String>],
    document: &PlanDocument,
    suits: &dyn Fn(By) -> bool,
) -> Result<Vec<Place>, String> {
    let parse = |words: &Vec<String>| {
        let known =
            |place: &Place| place.spans.iter().all(|span| document.modules.contains_key(&span.module));
        let place = Place::parse(words).filter(|place| suits(place.by));
        let place = place.ok_or_else(|| format!("{name}: {words:?} is not a place"))?;
        match known(&place) {
            true => Ok(place),
            false => {
                Err(format!("{name}: `modules` does not say which build of the file {words:?} is about"))
            }
        }
    };
    written.iter().map(parse).collect()
}

impl LockTable {
    fn of(entry: &Entry) -> LockTable {
        let lock = Some(EVERY.to_owned());
        let row = LockTable { lock, kind: entry.kind.to_string(), module: None, places: Vec::new() };
        match &entry.which {
            Which::All => row,
            Which::Named { name, module } => {
                LockTable { lock: Some(name.to_string()), module: module.clone(), ..row }
            }
            Which::Located(lock) => LockTable { lock: Some(lock.label()), places: words(lock), ..row },
        }
    }

    fn entry(&self, family: LockFamily, document: &PlanDocument) -> Result<Entry, String> {
        let kind = kind::parse_in_table(family, &self.kind)?;
        let (noun, table) = (family.noun(), family.table());
        let Some(lock) = &self.lock else {
            return Err(format!(
                "a [[{table}]] of kind {kind} has no lock: write `lock = \"NAME\"`, or `lock = \"{EVERY}\"` for every {noun} that \
                 no other [[{table}]] names"
            ));
        };
        if lock == EVERY {
            return match self.places.is_empty() && self.module.is_none() {
                true => Ok(Entry { kind, which: Which::All }),
                false => Err(format!(
                    "the {kind} for lock \"{EVERY}\" is for every {noun}: it has no places, and no module"
                )),
            };
        }
        let name = LockName::new(lock)
            .ok_or_else(|| format!("a lock has no name: write `lock = \"{EVERY}\"` to mean every {noun}"))?;
        if self.places.is_empty() {
            return Ok(Entry { kind, which: Which::Named { name, module: self.module.clone() } });
        }
        let suits = |by| by != By::Site && (by != By::Use || family.has_first_use());
        let places = places(lock, &self.places, document, &suits)?;
        Ok(Entry {
            kind,
            which: Which::Located(Located { name: lock.clone(), origin: None, places, mutexes: 0 }),
        })
    }
}

impl WaitTable {
    fn of(entry: &WaitEntry) -> WaitTable {
        let site = Some(EVERY.to_owned());
        let row = WaitTable { site, policy: entry.policy.name().into(), module: None, places: Vec::new() };
        match &entry.which {
            Which::All => row,
            Which::Named { name, module } => {
                WaitTable { site: Some(name.to_string()), module: module.clone(), ..row }
            }
            Which::Located(site) => WaitTable { site: Some(site.name.clone()), places: words(site), ..row },
        }
    }

    fn entry(&self, document: &PlanDocument) -> Result<WaitEntry, String> {
        let policy = policy::parse(&self.policy)?;
        let Some(site) = &self.site else {
            return Err(format!(
                "a [[wait]] of policy {policy} has no site: write `site = \"NAME\"`, or `site = \"{EVERY}\"` for every wait that \
                 no other [[wait]] names"
            ));
        };
        if site == EVERY {
            return match self.places.is_empty() && self.module.is_none() {
                true => Ok(WaitEntry { policy, which: Which::All }),
                false => Err(format!(
                    "the policy {policy} for site \"{EVERY}\" is for every wait: it has no places, and no module"
                )),
            };
        }
        let name = SiteName::new(site)
            .ok_or_else(|| format!("a site has no name: write `site = \"{EVERY}\"` to mean every wait"))?;
        if self.places.is_empty() {
            return Ok(WaitEntry { policy, which: Which::Named { name, module: self.module.clone() } });
        }
        let places = places(site, &self.places, document, &|by| by == By::Site)?;
        Ok(WaitEntry {
            policy,
            which: Which::Located(Located { name: site.clone(), origin: None, places, mutexes: 0 }),
        })
    }
}

/// The name of its program in a plan.
fn name_of(program: &Program) -> String {
    match program.workload() {
        Some(workload) => workload.to_owned(),
        None => absolute(&program.path).display().to_string(),
    }
}

/// The name for messages: as the user typed it.
fn shown_name(program: &Program) -> String {
    program.workload().map_or_else(|| program.path.display().to_string(), str::to_owned)
}

fn is_same(meant: &str, program: &Program) -> bool {
    program.workload().is_none()
        && meant.starts_with('/')
        && absolute(Path::new(meant)) == absolute(&program.path)
}

/// The path without symbolic links, if the file exists.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

fn build(module: &Path) -> Result<String, Error> {
    let identity = File::open(module).and_then(|file| file.identity());
    identity.ok_or_else(|| {
        Error::Environment(format!("{}: cannot be read any more, so no plan can name it", module.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::place::Span;
    use crate::plan::policy::WaitPolicy;
    use unspin_e2e::Workshop;
    use unspin_locks::{LockKind, RwLockKind, SpinKind};

    fn read(workshop: &Workshop, text: &str) -> Result<PlanFile, String> {
        let path = workshop.file("plan.toml");
        fs::write(&path, text).unwrap();
        let shown = |e: Error| e.to_string().replace(&*path.to_string_lossy(), "PLAN");
        PlanFile::read(&path).map_err(shown)
    }

    fn plan(workshop: &Workshop, text: &str) -> Result<Plan, String> {
        let path = workshop.file("plan.toml").display().to_string();
        let ourselves = std::env::current_exe().unwrap();
        let plan = read(workshop, text)?.plan_for(&Program::at(&ourselves));
        plan.map_err(|e| {
            e.to_string().replace(&path, "PLAN").replace(&*ourselves.to_string_lossy(), "PROGRAM")
        })
    }

    #[test]
    fn plan_with_names_only_is_read() {
        let workshop = Workshop::new();
        let text = "[[mutex]]\nlock = 'cache_lock'\nkind = 'adaptive'\n[[mutex]]\nlock = '*'\nkind = 'fair'\n\
                    [[wait]]\nsite = '*'\npolicy = 'poll'\n[[wait]]\nsite = 'f+0x2d'\npolicy = 'system'\n";
        let plan = plan(&workshop, text).unwrap();
        let name = LockName::new("cache_lock").unwrap();
        let entries = [
            Entry::new(LockKind::Adaptive, Which::Named { name, module: None }),
            Entry::new(LockKind::Fair, Which::All),
        ];
        let name = SiteName::new("f+0x2d").unwrap();
        let waits = [
            WaitEntry { policy: WaitPolicy::Poll, which: Which::All },
            WaitEntry { policy: WaitPolicy::System, which: Which::Named { name, module: None } },
        ];
        assert_eq!((&plan.locks[..], &plan.waits[..]), (&entries[..], &waits[..]));
    }

    #[test]
    fn plan_for_all_families_is_read() {
        let workshop = Workshop::new();
        let text = "[[spin]]\nlock = '*'\nkind = 'adaptive'\n[[rwlock]]\nlock = 'a'\nkind = 'rw-biased'\n\
                    [[mutex]]\nlock = 'a'\nkind = 'steal'\n[[rwlock]]\nlock = 'b'\nkind = 'system'\nmodule = '/x'\n";
        let plan = plan(&workshop, text).unwrap();
        let named = |name: &str, module: Option<&str>| Which::Named {
            name: LockName::new(name).unwrap(),
            module: module.map(Into::into),
        };
        let entries = [
            Entry::new(LockKind::Steal, named("a", None)),
            Entry::new(RwLockKind::Biased, named("a", None)),
            Entry::new(RwLockKind::System, named("b", Some("/x"))),
            Entry::new(SpinKind::Adaptive, Which::All),
        ];
        assert_eq!(plan.locks, entries);
    }

    #[test]
    fn invalid_plan_is_refused_with_its_line() {
        let workshop = Workshop::new();
        let kinds = kind::list(kind::offer(), LockKind::name);
        let rwlock_kinds = kind::list(kind::offer(), RwLockKind::name);
        let cases = [
            ("[[mutex]]\nlock = 'a'\n", "line 1: missing field `kind`"),
            ("\n[[mutex]\n", "line 2: "),
            (
                "\nspin-waits = true\n",
                "line 2: spin-waits has been removed: write `[[wait]]`, and below it `policy = \"poll\"`",
            ),
            ("[[wait]]\nsite = 'f'\n", "line 1: missing field `policy`"),
            ("[[wait]]\npolicy = 'pol'\n", "there is no wait policy \"pol\" (meant: poll?): poll, system"),
            (
                "[[wait]]\npolicy = 'poll'\nsite = '*'\n[[wait]]\npolicy = 'system'\nsite = '*'\n",
                "has two policies for every wait: leave one out",
            ),
            (
                "[[wait]]\npolicy = 'poll'\nsite = 'f'\nplaces = [['init', '1-2@/x']]\n",
                "f: [\"init\", \"1-2@/x\"] is not a place",
            ),
            ("[[mutex]]\nkind = 'fair'\nlok = 'a'\n", "line 3: unknown field `lok`, expected one of "),
            ("[[mutex]]\nkind = 'far'\n", &format!("there is no kind \"far\" (meant: fair?): {kinds}")),
            (
                "[[mutex]]\nkind = 'fair'\nlock = ''\n",
                "a lock has no name: write `lock = \"*\"` to mean every mutex",
            ),
            ("", "replaces nothing: it has no [[mutex]], [[rwlock]], [[spin]] or [[wait]]"),
            (
                "[rwlock]\nkind = 'rw-fair'\nlock = '*'\n",
                "line 1: there is no table `[rwlock]` in a plan: write `[[rwlock]]`, with two brackets",
            ),
            (
                "[[mutex]]\nkind = 'fair'\nlock = 'a'\n\n [ mutex ] # second\nkind = 'pi'\nlock = 'b'\n",
                "line 5: there is no table `[mutex]` in a plan: write `[[mutex]]`, with two brackets",
            ),
            (
                "[spin]\nkind = 'adaptive'\n[[spin]]\nkind = 'adaptive'\n",
                "line 1: there is no table `[spin]` in a plan: write `[[spin]]`, with two brackets",
            ),
            (
                "[[mutex]]\nkind = 'fair'\nlock = 'a'\n[wait]\nsite = '*'\n",
                "line 4: there is no table `[wait]` in a plan: write `[[wait]]`, with two brackets",
            ),
            (
                "\nmutex = {kind = 'fair'}\n",
                "line 2: `mutex` is a list of tables in a plan: write `[[mutex]]`, and its lines below",
            ),
            (
                "[rwlock.a]\nkind = 'rw-fair'\n",
                "line 1: `rwlock` is a list of tables in a plan: write `[[rwlock]]`, and its lines below",
            ),
            (
                "spin.kind = 'adaptive'\n",
                "line 1: `spin` is a list of tables in a plan: write `[[spin]]`, and its lines below",
            ),
            (
                "[[mutex]]\nkind = 'fair'\nlock = 'a'\nplaces = {}\n",
                "line 4: invalid type: map, expected a sequence",
            ),
            ("[[rwlok]]\n", "line 1: there is no `rwlok` in a plan: write `[[rwlock]]`"),
            (
                "[[rwlock]]\nkind = 'fair'\nlock = 'a'\n",
                &format!(
                    "there is no kind of read-write lock \"fair\" (it is a kind of mutex, for [[mutex]]): {rwlock_kinds}"
                ),
            ),
            (
                "[[mutex]]\nkind = 'rw-fair'\nlock = '*'\n",
                &format!(
                    "there is no kind \"rw-fair\" (it is a kind of read-write lock, for [[rwlock]]): {kinds}"
                ),
            ),
            (
                "[[rwlock]]\nkind = 'rw-fair'\n",
                "a [[rwlock]] of kind rw-fair has no lock: write `lock = \"NAME\"`, or `lock = \"*\"` for every read-write lock that no \
                 other [[rwlock]] names",
            ),
            (
                "[[spin]]\nkind = 'adaptive'\nlock = '*'\n[[spin]]\nkind = 'system'\nlock = '*'\n",
                "has two kinds for every spin lock: leave one out",
            ),
            (
                "[[spin]]\nkind = 'adaptive'\nlock = 'a'\nplaces = [['use', '1-2@/x']]\n",
                "a: [\"use\", \"1-2@/x\"] is not a place",
            ),
            (
                "[[mutex]]\nkind = 'fair'\nlock = 'a'\n[[mutex]]\nkind = 'steal'\nlock = 'a'\n",
                "has two kinds for a: leave one out",
            ),
            (
                "[[mutex]]\nkind = 'fair'\nlock = '*'\n[[mutex]]\nkind = 'pi'\nlock = '*'\n",
                "has two kinds for every mutex: leave one out",
            ),
            (
                "[[mutex]]\nkind = 'fair'\n",
                "a [[mutex]] of kind fair has no lock: write `lock = \"NAME\"`, or `lock = \"*\"` for every mutex that no other \
                 [[mutex]] names",
            ),
            (
                "[[wait]]\npolicy = 'poll'\n",
                "a [[wait]] of policy poll has no site: write `site = \"NAME\"`, or `site = \"*\"`",
            ),
            (
                "[[mutex]]\nkind = 'fair'\nlock = '*'\nmodule = '/x'\n",
                "the fair for lock \"*\" is for every mutex",
            ),
            ("[[mutex]]\nkind = 'fair'\nlock = 'a'\nplaces = [['init']]\n", "a: [\"init\"] is not a place"),
            (
                "[[mutex]]\nkind = 'fair'\nlock = 'a'\nplaces = [['init', '1-2@/x']]\n",
                "a: `modules` does not say which build of the file [\"init\", \"1-2@/x\"] is about",
            ),
            (
                "program = '/bin/other'\n",
                "is a plan for /bin/other, not for PROGRAM (its line `program` says so)",
            ),
            (
                "[modules]\n'/no/such' = 'ab'\n",
                "/no/such has changed since the plan was made (build ab, gone): create the plan again with `unspin prove`, or",
            ),
        ];
        for (text, expected) in cases {
            let error = plan(&workshop, text).unwrap_err();
            assert!(error.starts_with(&format!("--use-plan PLAN: {expected}")), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        let missing = PlanFile::read(&workshop.file("missing")).unwrap_err().to_string();
        assert!(
            missing.ends_with("missing: there is no such file (`unspin prove --plan FILE` writes one)"),
            "{missing}"
        );
        fs::write(workshop.file("binary"), [0x80]).unwrap();
        let binary = PlanFile::read(&workshop.file("binary")).unwrap_err().to_string();
        assert!(binary.ends_with("binary: is not a plan: it is not text"), "{binary}");
    }

    /// The comment repeats the command of `prove`.
    #[test]
    fn comment_with_control_characters_is_still_toml() {
        let workshop = Workshop::new();
        let ourselves = Program::at(&std::env::current_exe().unwrap());
        let file = PlanFile::new(&Plan::all(LockKind::Fair), &ourselves, "sh -c 'a\rb\u{1}'\nnext").unwrap();
        assert!(read(&workshop, &file.text()).is_ok(), "{}", file.text());
    }

    #[test]
    fn written_plan_is_read_back() {
        let workshop = Workshop::new();
        let ourselves = Program::at(&std::env::current_exe().unwrap());
        let module = ourselves.path.canonicalize().unwrap();
        let place = Place { by: By::Init, spans: vec![Span::new(&module, 1..2), Span::new(&module, 8..16)] };
        let (name, origin) = ("queue_new".to_owned(), Some("mutex initialised at queue.c:18".to_owned()));
        let mut plan = Plan::all(LockKind::Fair);
        let which = Which::Located(Located { name, origin, places: vec![place.clone()], mutexes: 0 });
        plan.locks.push(Entry::new(LockKind::Steal, which));
        let used = Place { by: By::Use, spans: vec![Span::new(&module, 16..17)] };
        let name = "rwlock first used in f".to_owned();
        let rwlock = Which::Located(Located {
            name: name.clone(),
            origin: None,
            places: vec![used.clone()],
            mutexes: 2,
        });
        plan.locks.push(Entry::new(RwLockKind::Biased, rwlock));
        let site = Place { by: By::Site, spans: vec![Span::new(&module, 4..5)] };
        let which =
            Which::Located(Located { name: "f+0x2d".into(), origin: None, places: vec![site], mutexes: 0 });
        plan.waits.push(WaitEntry { policy: WaitPolicy::Poll, which });
        let file = PlanFile::new(&plan, &ourselves, "1.42 times as fast,\n\nproven").unwrap();
        file.write(&workshop.file("plan.toml")).unwrap();
        let text = fs::read_to_string(workshop.file("plan.toml")).unwrap();
        let head: Vec<&str> = text.lines().take(5).collect();
        assert!(head[0].starts_with("# A plan of unspin "), "{text}");
        assert_eq!(
            head[1..],
            [
                "# 1.42 times as fast,",
                "#",
                "# proven",
                "# rwlock first used in f: recognised by its first use, at one call site. 2 read-write locks of the recording share \
             them and are replaced together."
            ],
            "{text}"
        );
        let again = PlanFile::read(&workshop.file("plan.toml")).unwrap().plan_for(&ourselves).unwrap();
        let label = "queue_new, mutex initialised at queue.c:18".to_owned();
        let located = Located { name: label, origin: None, places: vec![place], mutexes: 0 };
        assert_eq!(again.waits, plan.waits);
        assert_eq!(again.locks[0].which, Which::All);
        assert_eq!(again.locks[1], Entry::new(LockKind::Steal, Which::Located(located)));
        let located = Located { name, origin: None, places: vec![used], mutexes: 0 };
        assert_eq!(again.locks[2], Entry::new(RwLockKind::Biased, Which::Located(located)));
    }
}
