//! A plan that is applied without `unspin`: the library reads its file by itself.
//!
//! `unspin plan compile` writes it, in the form that `unspin_wire::plan` describes, and `unspin plan status` reads it for the
//! names of the entries. It says for which builds of which files it is, because the library cannot ask a plan file.

use super::closure::Closure;
use super::compiled::Compiled;
use super::file::PlanFile;
use super::kind::{self, AnyKind};
use super::place::Place;
use super::policy::WaitPolicy;
use crate::error::Error;
use crate::machine::Build;
use crate::program::Program;
use crate::program::reach;
use crate::program::workload::Workload;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use unspin_symbols::File;
use unspin_sys::regular::{self, Links};
use unspin_wire::plan::{self, BuiltFile, FileBuild, Line, TEXT, Wrong};
use unspin_wire::{TallyCount, TallyRow};

/// A plan, and the programs in which it is to be in effect.
#[derive(Debug)]
pub struct Deployment {
    /// The plan file's name in messages.
    named: String,
    /// The programs.
    pub programs: Vec<PathBuf>,
    /// The plan, with the names looked up in the programs' present builds.
    pub compiled: Compiled,
}

impl Deployment {
    /// The plan of a file for the program that the file names, or for these programs: a script starts others. An error if it does not
    /// fit their present builds, or if the library cannot be loaded into one.
    pub fn of(file: &PlanFile, programs: &[PathBuf]) -> Result<Deployment, Error> {
        let wrong = |why: String| Error::Usage(format!("{}: {why}", file.named()));
        let meant = file.program();
        if let Some(workload) = meant.filter(|name| Workload::named(OsStr::new(name)).is_some()) {
            return Err(wrong(format!("is a plan for the workload {workload}, which unspin itself runs")));
        }
        let first = meant.map(PathBuf::from).or_else(|| programs.first().cloned());
        let first = first.ok_or_else(|| {
            wrong("does not say for which program it is: name the program with --program, or in a line `program = \"/path\"`".into())
        })?;
        let program = Program::find_any(&[first.into_os_string()])?;
        let compiled = file.plan_for(&program)?.compile(&program)?;
        let mut in_effect = match programs {
            [] => programs_of(&program, &compiled),
            named => named.iter().map(|path| found(path)).collect::<Result<_, _>>()?,
        };
        in_effect.sort();
        in_effect.dedup();
        if in_effect.is_empty() {
            return Err(wrong(format!(
                "is for the script {}: name the program that the script starts, in which the plan is to be in effect, with --program",
                program.path.display()
            )));
        }
        for path in &in_effect {
            reach::check_for_any_user(path)?;
            if reach::interpreter(path) != *path {
                return Err(Error::Usage(format!(
                    "--program {}: is a script: name the program that it starts",
                    path.display()
                )));
            }
        }
        Ok(Deployment { named: file.named().to_owned(), programs: in_effect, compiled })
    }

    /// What it replaces, each with a label, a noun, and the places that identify it; none for everything.
    pub fn rows(&self) -> Vec<(String, &'static str, &[Place])> {
        self.compiled.rows()
    }

    /// The text of the plan's file.
    pub fn text(&self) -> Result<String, Error> {
        let mut lines = format!("{}\n", Line::<AnyKind>::Library(VERSION.as_bytes()));
        for path in &self.programs {
            let build = OwnedBuild::of(path)?;
            lines += &format!("{}\n", Line::<AnyKind>::Program(build.of_file(path)));
        }
        for path in
            self.compiled.modules().filter(|module| !self.programs.iter().any(|program| program == module))
        {
            let build = OwnedBuild::of(path)?;
            lines += &format!("{}\n", Line::<AnyKind>::Module(build.of_file(path)));
        }
        lines += &self.compiled.lines_by_entry();
        let text = plan::seal(&lines);
        match text.len() < TEXT {
            true => Ok(text),
            false => Err(Error::Usage(format!(
                "{}: its compiled form has {} bytes, and there is room for {TEXT}: name fewer locks",
                self.named,
                text.len()
            ))),
        }
    }
}

/// The version of the library that this unspin writes.
const VERSION: &str = Build::THIS.version;

fn found(path: &Path) -> Result<PathBuf, Error> {
    let program = Program::find_any(&[path.as_os_str().to_owned()])?;
    program.path.canonicalize().map_err(|e| Error::at(&program.path, "cannot be found", e))
}

/// The program itself; of a script the programs among the files of the plan's places.
fn programs_of(program: &Program, compiled: &Compiled) -> Vec<PathBuf> {
    if reach::interpreter(&program.path) == program.path {
        return vec![program.path.canonicalize().unwrap_or_else(|_| program.path.clone())];
    }
    let is_program = |path: &&Path| {
        *path != Closure::of(program).program
            && File::open(path).is_some_and(|file| file.interpreter().is_some())
    };
    compiled.modules().filter(is_program).map(Path::to_path_buf).collect()
}

/// The build of a file.
enum OwnedBuild {
    Id(String),
    Length(u64),
}

impl OwnedBuild {
    fn of(path: &Path) -> Result<OwnedBuild, Error> {
        let identity = File::open(path).and_then(|file| file.identity());
        let length = fs::metadata(path).map(|about| about.len()).ok();
        match (identity, length) {
            // The checksum of a file without a build id would have to be computed at each start.
            (Some(identity), Some(length)) if identity.contains(':') => Ok(OwnedBuild::Length(length)),
            (Some(id), _) => Ok(OwnedBuild::Id(id)),
            _ => Err(Error::Environment(format!(
                "{}: cannot be read, so no plan can be for its build",
                path.display()
            ))),
        }
    }

    fn of_file<'f>(&'f self, path: &'f Path) -> BuiltFile<'f> {
        let build = match self {
            OwnedBuild::Id(id) => FileBuild::Id(id.as_bytes()),
            OwnedBuild::Length(bytes) => FileBuild::Length(*bytes),
        };
        BuiltFile { path: path.as_os_str().as_bytes(), build }
    }
}

/// The file of a deployed plan, as it was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeployedPlan {
    /// The version of the library that it is for.
    pub library: String,
    /// The programs in which it is in effect, each with its build.
    pub programs: Vec<(PathBuf, String)>,
    /// The other files of its places, each with its build.
    pub modules: Vec<(PathBuf, String)>,
    /// The entries.
    pub entries: Vec<DeployedEntry>,
}

/// An entry of a deployed plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeployedEntry {
    /// As the user has written it: `adaptive@cache_lock`.
    pub label: String,
    /// What counts what it replaces.
    pub counts: Vec<TallyCount>,
}

impl DeployedPlan {
    /// Whether a file begins as that of a deployed plan of this version.
    pub fn is_at(path: &Path) -> bool {
        read(path).is_ok_and(|text| plan::is_deployed(&text))
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<DeployedPlan, Error> {
        let wrong = |why: &str| Error::Input(format!("{}: {why}", path.display()));
        let text = read(path).map_err(|e| wrong(&e.to_string()))?;
        DeployedPlan::parse(&text).map_err(|error| {
            wrong(match error {
                Wrong::Title => "is no compiled plan of this version: let `unspin plan compile` write it",
                Wrong::Damaged => "is damaged or cut short: let `unspin plan compile` write it again",
                Wrong::Line(_) | Wrong::TooLong => {
                    "has a line that this version does not know: let `unspin plan compile` write it"
                }
            })
        })
    }

    fn parse(text: &[u8]) -> Result<DeployedPlan, Wrong> {
        let mut read = DeployedPlan::default();
        let (mut rules, mut sites) = (0, 0);
        plan::parse(text, |line: Line<'_, AnyKind>| {
            let counts = match line {
                Line::Library(version) => {
                    read.library = String::from_utf8_lossy(version).into_owned();
                    None
                }
                Line::Program(file) => {
                    read.programs.push(built(file));
                    None
                }
                Line::Module(file) => {
                    read.modules.push(built(file));
                    None
                }
                Line::Entry(label) => {
                    let label = String::from_utf8_lossy(label).into_owned();
                    read.entries.push(DeployedEntry { label, counts: Vec::new() });
                    None
                }
                Line::All(kind) => {
                    (!kind::is_libcs(kind)).then_some(TallyCount::Replaced(kind.family(), TallyRow::All))
                }
                Line::Waits(WaitPolicy::Poll) => Some(TallyCount::Sites(TallyRow::All)),
                Line::Locks(kind, ..) => {
                    rules += 1;
                    (!kind::is_libcs(kind))
                        .then_some(TallyCount::Replaced(kind.family(), TallyRow::Rule(rules - 1)))
                }
                Line::Site(policy, _) => {
                    sites += 1;
                    (policy == WaitPolicy::Poll).then_some(TallyCount::Sites(TallyRow::Rule(sites - 1)))
                }
                Line::Waits(WaitPolicy::System) | Line::WakeUp(_) | Line::ForcePolls | Line::ForceReady => {
                    None
                }
            };
            if let (Some(counts), Some(entry)) = (counts, read.entries.last_mut()) {
                entry.counts.push(counts);
            }
            true
        })?;
        Ok(read)
    }

    /// Why it is not in effect in the installed builds of its files; none if it is.
    pub fn obstacle(&self) -> Option<String> {
        if self.library != VERSION {
            return Some(format!(
                "is for the library of unspin {}, and this is unspin {VERSION}",
                self.library
            ));
        }
        self.programs.iter().chain(&self.modules).find_map(|(path, build)| {
            let now = OwnedBuild::of(path).ok().map(|build| build.of_file(path).build.to_string());
            let shown = path.display();
            match now {
                Some(now) if now == *build => None,
                Some(now) => {
                    Some(format!("{shown} is of another build ({now}) than the plan is for ({build})"))
                }
                None => Some(format!("{shown} cannot be read")),
            }
        })
    }
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    regular::read(path, Links::Followed, TEXT as u64)
}

fn built(file: BuiltFile<'_>) -> (PathBuf, String) {
    (OsStr::from_bytes(file.path).into(), file.build.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::resolve::PlanTarget;
    use crate::plan::{By, KindOfFamily, Place, Span};
    use unspin_locks::{LockKind, RwLockKind};
    use unspin_wire::plan::LockFamily;

    #[test]
    fn entries_are_read_with_what_counts_them() {
        let program = std::env::current_exe().unwrap().canonicalize().unwrap();
        let place = |at: u64| Place { by: By::Variable, spans: vec![Span::new(&program, at..at + 40)] };
        let site = Place { by: By::Site, spans: vec![Span::new(&program, 8..9)] };
        let mut compiled = Compiled::new(PlanTarget::default());
        compiled.add(LockKind::Adaptive.any(), "a", &[place(0), place(100)]).unwrap();
        compiled.add_site(WaitPolicy::Poll, "f+0x8", &[site]).unwrap();
        compiled.add(LockKind::System.any(), "kept", &[place(200)]).unwrap();
        compiled.all(RwLockKind::Fair.any());
        compiled.all_waits(WaitPolicy::Poll);
        let programs = vec![program.clone()];
        let text = Deployment { named: "p".into(), programs, compiled }.text().unwrap();
        let read = DeployedPlan::parse(text.as_bytes()).unwrap();
        let replaced = |row| TallyCount::Replaced(LockFamily::Mutex, row);
        let expected = [
            ("adaptive@a", vec![replaced(TallyRow::Rule(0)), replaced(TallyRow::Rule(1))]),
            ("poll@f+0x8", vec![TallyCount::Sites(TallyRow::Rule(0))]),
            ("system@kept", vec![]),
            ("rw-fair", vec![TallyCount::Replaced(LockFamily::RwLock, TallyRow::All)]),
            ("poll", vec![TallyCount::Sites(TallyRow::All)]),
        ];
        let entries: Vec<_> =
            read.entries.iter().map(|entry| (entry.label.as_str(), entry.counts.clone())).collect();
        assert_eq!(entries, expected);
        assert_eq!((read.programs[0].0.as_path(), read.modules.len()), (program.as_path(), 0));
        assert_eq!(read.obstacle(), None);
        let other = DeployedPlan { library: "0".into(), ..read.clone() };
        assert!(other.obstacle().unwrap().starts_with("is for the library of unspin 0, and"));
        let mut rebuilt = read;
        rebuilt.programs[0].1 = "id:00".into();
        assert!(rebuilt.obstacle().unwrap().contains(" is of another build ("));
    }
}
