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
mod table;

use self::table::{Builds, EVERY, LockTable, WaitTable};
use super::entry::{Plan, WaitEntry, Which};
use super::located::Located;
use super::place::By;
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
use unspin_wire::plan::{LockFamily, is_deployed};

/// A plan, and the program that it is for.
#[derive(Clone, Debug)]
pub struct PlanFile {
    /// The plan's name in error messages: behind the option that names it, if there is one.
    named: String,
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
    modules: Builds,
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
        Ok(PlanFile { named: String::new(), comment, document })
    }

    /// Reads the file that the option names.
    pub fn read(path: &Path) -> Result<PlanFile, Error> {
        PlanFile::read_named(path, format!("{OPTION} {}", path.display()))
    }

    /// Reads a file that is an argument of its own.
    pub fn read_argument(path: &Path) -> Result<PlanFile, Error> {
        PlanFile::read_named(path, path.display().to_string())
    }

    fn read_named(path: &Path, named: String) -> Result<PlanFile, Error> {
        let wrong = |why: String| Error::Usage(format!("{named}: {why}"));
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
        if is_deployed(text.as_bytes()) {
            return Err(wrong("is a compiled plan: name the plan file from which it was made".into()));
        }
        let document = toml::from_str(&text).map_err(|e| wrong(mistake::explain(&text, &e)))?;
        Ok(PlanFile { named, comment: String::new(), document })
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

    /// The program that it is for: a path, or the name of a workload; none: any program.
    pub fn program(&self) -> Option<&str> {
        self.document.program.as_deref()
    }

    /// Whether it names the builds of the files for which it was made.
    pub fn names_builds(&self) -> bool {
        !self.document.modules.is_empty()
    }

    /// The name of the plan in error messages.
    pub fn named(&self) -> &str {
        &self.named
    }

    /// The plan, if it is for this program in its present build.
    pub fn plan_for(&self, program: &Program) -> Result<Plan, Error> {
        let wrong = |why: String| Error::Usage(format!("{}: {why}", self.named));
        let (meant, given) = (self.document.program.as_deref(), name_of(program));
        if let Some(meant) = meant.filter(|meant| **meant != given && !is_same(meant, program)) {
            return Err(wrong(format!(
                "is a plan for {meant}, not for {}: remove its line `program`, with which it is for that file only",
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
                locks.push(table.entry(family, &self.document.modules).map_err(&wrong)?);
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
        let waits = wait.iter().map(|row| row.entry(&self.document.modules).map_err(&wrong));
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
mod tests;
