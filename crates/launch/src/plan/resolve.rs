//! Finds the places of a lock by its name, from the program's files alone.

use super::closure::Closure;
use super::code;
use super::lock_name::{LockName, Meaning, split_first_use};
use super::nearest;
use super::place::Place;
use super::site;
use super::site_name::{SiteMeaning, SiteName};
use super::variable;
use crate::error::Error;
use crate::program::Program;
use crate::program::reach;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;
use unspin_symbols::File;
use unspin_wire::plan::LockFamily;

/// Number of similar names that are suggested for an unknown one.
const OFFERED: usize = 3;

/// Looks names up in the files of one program, which are opened at the first lookup.
pub struct Resolver<'p> {
    program: &'p Program,
    closure: OnceCell<Closure>,
}

/// What a plan wants to replace in a program, which must have one of all that.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PlanTarget {
    /// The families of locks.
    pub families: Vec<LockFamily>,
    /// Whether it wants waits to poll.
    pub waits: bool,
}

/// The result of looking a name up.
pub enum NameMatch {
    /// Each of these places identifies it.
    Places(Vec<Place>),
    /// The name is ambiguous: the full name of each match.
    Several(Vec<String>),
    /// There is a match, but of another sort; the reason.
    Unfit(String),
}

/// The files in which to search, and their common name in messages.
struct Scope<'f> {
    files: &'f [File],
    runtime: &'f [File],
    /// The files as messages name them.
    name: String,
    /// The program or library that a name with a source line belongs to.
    program: String,
}

impl<'p> Resolver<'p> {
    /// Before the first lookup.
    pub fn new(program: &'p Program) -> Resolver<'p> {
        Resolver { program, closure: OnceCell::new() }
    }

    fn closure(&self) -> &Closure {
        self.closure.get_or_init(|| Closure::of(self.program))
    }

    /// Refuses a program with nothing to replace. Such a program calls no function of libc that uses such a lock or waits, and
    /// it cannot load or start other code.
    pub fn check_reach(&self, reach: &PlanTarget) -> Result<(), Error> {
        let Closure { files, is_complete, runtime, .. } = self.closure();
        let calls = |function: &str| {
            reach.families.iter().any(|&family| code::verb(family, function).is_some())
                || reach.waits && site::is_wait(function)
        };
        // A file that cannot be read may call anything.
        if !is_complete || files.iter().chain(runtime).any(|file| may_call(file, &calls)) {
            return Ok(());
        }
        let program = self.program.path.display();
        Err(Error::CannotRun(format!("{program}: neither it nor its libraries {}", self.nothing_of(reach))))
    }

    /// The families of locks of which the program, or a library of it, calls functions.
    pub fn called_families(&self) -> Vec<LockFamily> {
        let files = &self.closure().files;
        let calls = |&family: &LockFamily| {
            let is_of_family = |symbol: &String| code::verb(family, symbol).is_some();
            files.iter().any(|file| file.imports().iter().any(is_of_family))
        };
        LockFamily::ALL.into_iter().filter(calls).collect()
    }

    /// What the program does not do. It calls none of these functions.
    fn nothing_of(&self, reach: &PlanTarget) -> String {
        match (&reach.families[..], reach.waits) {
            ([family], false) => {
                let noun = family.noun();
                match self.called_families().first() {
                    Some(other) => format!(
                        "call a {noun} function of libc; they call those of {}, which {} replaces",
                        other.nouns(),
                        other.option()
                    ),
                    None => format!(
                        "call a {noun} function of libc, so there is no {noun} to replace (Go and Rust have locks of their own)"
                    ),
                }
            }
            ([], _) => "call a function of libc that waits, so there is no wait to replace".into(),
            (families, waits) => {
                let locks = families.iter().map(|family| format!("locks a {}", family.noun()));
                let all: Vec<String> = locks.chain(waits.then(|| "waits".to_owned())).collect();
                format!("call a function of libc that {}, so there is nothing to replace", all.join(" or "))
            }
        }
    }

    /// The places of the lock of this family with this name: in one file, or in the program and its libraries.
    pub fn places(
        &self,
        family: LockFamily,
        name: &LockName,
        module: Option<&Path>,
    ) -> Result<Vec<Place>, Error> {
        if let Some(other) = name.family().filter(|&other| other != family) {
            let (noun, option) = (other.noun(), other.option());
            return Err(Error::Usage(format!("{name}: it is the name of a {noun}, which {option} replaces")));
        }
        let whole = self.look_up(name, "lock", module, &|scope| {
            find(family, name, scope.files, scope.runtime).ok_or_else(|| scope.nothing(family, name))
        });
        let alternatives = name.alternatives();
        // The name of a file may contain " or " too, so the whole name comes first.
        if whole.is_ok() || alternatives.is_empty() {
            return whole;
        }
        let places = alternatives.iter().map(|one| self.places(family, one, module));
        Ok(places.collect::<Result<Vec<_>, Error>>()?.concat())
    }

    /// The places of the waits of a call site: in one file, or in the program and its libraries.
    pub fn sites(&self, name: &SiteName, module: Option<&Path>) -> Result<Vec<Place>, Error> {
        self.look_up(name, "call site", module, &|scope| match site::find(name, scope.files, scope.runtime) {
            Some(found) => Ok(found),
            None => Err(scope.no_site(name)),
        })
    }

    /// `find` returns what a name means, or why it means nothing.
    fn look_up(
        &self,
        name: &dyn Display,
        noun: &str,
        module: Option<&Path>,
        find: &dyn Fn(&Scope<'_>) -> Result<NameMatch, String>,
    ) -> Result<Vec<Place>, Error> {
        let found = match module {
            Some(module) => self.find_in_module(name, module, find)?,
            None => {
                let Closure { program, files, runtime, .. } = self.closure();
                let program = program.display().to_string();
                find(&Scope { files, runtime, name: self.closure().describe(), program })
            }
        };
        match found {
            Ok(NameMatch::Places(places)) => Ok(places),
            Ok(NameMatch::Unfit(why)) => Err(Error::Usage(format!("{name}: {why}"))),
            Ok(NameMatch::Several(labels)) => Err(Error::Usage(several(name, noun, &labels))),
            Err(nothing) if module.is_some() => Err(Error::Usage(nothing)),
            Err(nothing) => Err(Error::Usage(self.in_no_file(name, noun, nothing))),
        }
    }

    /// What a name means in a file. If it means nothing there, the files that are loaded with it and with the program
    /// are searched too, because a chain of calls may go through several files.
    fn find_in_module(
        &self,
        name: &dyn Display,
        module: &Path,
        find: &dyn Fn(&Scope<'_>) -> Result<NameMatch, String>,
    ) -> Result<Result<NameMatch, String>, Error> {
        let shown = module.display().to_string();
        let Closure { mut files, mut runtime, .. } = Closure::of_file(module);
        if files.is_empty() {
            return Err(Error::Usage(format!(
                "{shown}: is not a readable program or library, in which {name} could be found"
            )));
        }
        let own = self.closure();
        add_missing(&mut runtime, &own.runtime);
        let find_in = |files: &[File]| {
            find(&Scope { files, runtime: &runtime, name: shown.clone(), program: shown.clone() })
        };
        let alone = find_in(&files[..1]);
        if !matches!(alone, Ok(NameMatch::Unfit(_)) | Err(_)) {
            return Ok(alone);
        }
        add_missing(&mut files, &own.files);
        let around = find_in(&files);
        Ok(if matches!(around, Ok(NameMatch::Places(_))) { around } else { alone })
    }

    /// The message for a name that is in none of the files with which the program starts: it may be in a file that is
    /// started or opened later.
    fn in_no_file(&self, name: &dyn Display, noun: &str, nothing: String) -> String {
        let closure = self.closure();
        let of_file = format!("'{name} in /path/of/the/file'");
        if reach::interpreter(&self.program.path) != self.program.path {
            return format!(
                "{name}: there is no such {noun} in {}, which runs the script {}; for a program that the script starts, add \
                 its file to the name, {of_file}: `unspin meter` prints the whole option",
                closure.describe(),
                self.program.path.display()
            );
        }
        let opens_others = |file: &File| file.imports().iter().any(|symbol| is_of_other_files(symbol));
        match noun == "lock" && closure.files.iter().any(opens_others) {
            true => format!(
                "{nothing}; for a file that is started or opened later, add it to the name, {of_file}"
            ),
            false => nothing,
        }
    }
}

/// Opens those of `others` that `files` lacks, and adds them.
fn add_missing(files: &mut Vec<File>, others: &[File]) {
    for other in others {
        if !files.iter().any(|known| known.path() == other.path()) {
            files.extend(File::open(other.path()));
        }
    }
}

fn find(family: LockFamily, name: &LockName, files: &[File], runtime: &[File]) -> Option<NameMatch> {
    match name.meaning() {
        Meaning::Named { name, .. } if is_unusable(family, name) => Some(NameMatch::Unfit(
            "the first use does not identify a spin lock, because pthread_spin_init(3) initialises each: name its variable, or \
             the function that initialises it"
                .into(),
        )),
        Meaning::Line(line) => variable::declared_at(family, line, files)
            .or_else(|| code::at_line(family, line, files, runtime)),
        Meaning::Named { name, origin } => variable::find(family, name, origin.as_ref(), files)
            .or_else(|| code::find(family, name, origin.as_ref(), files, runtime)),
    }
}

/// Whether a name means a first use, by which no lock of the family is recognised.
fn is_unusable(family: LockFamily, name: &str) -> bool {
    !family.has_first_use() && split_first_use(name).is_some()
}

/// Whether a file calls one of these functions, or can load or start other code, which may.
fn may_call(file: &File, is_meant: &dyn Fn(&str) -> bool) -> bool {
    file.imports().iter().any(|symbol| is_meant(symbol) || is_of_other_files(symbol))
}

/// Whether a function of libc loads or starts other code.
fn is_of_other_files(function: &str) -> bool {
    const OTHERS: [&str; 9] =
        ["dlopen", "dlmopen", "dlsym", "system", "popen", "fork", "vfork", "fexecve", "clone"];
    ["exec", "posix_spawn"].iter().any(|start| function.starts_with(start)) || OTHERS.contains(&function)
}

fn several(name: &dyn Display, noun: &str, labels: &[String]) -> String {
    let count = labels.len();
    let labels: Vec<String> = labels.iter().map(|label| format!("'{label}'")).collect();
    format!("{name} is the name of {count} {noun}s: choose one by its full name, {}", labels.join(" or "))
}

impl Scope<'_> {
    /// The message for an unknown name, with suggestions.
    fn nothing(&self, family: LockFamily, name: &LockName) -> String {
        let ask = "`unspin meter` prints the names of a program's locks";
        match name.meaning() {
            Meaning::Line(line) if !self.files.first().is_some_and(File::has_lines) => format!(
                "{name}: {} has no debug information, so that no line of {} is known (cc -g adds it); {ask}",
                self.program, line.file
            ),
            Meaning::Line(_) => {
                format!("{name}: no code or variable of {} is from that line; {ask}", self.name)
            }
            Meaning::Named { name: written, .. } => {
                let variables =
                    self.files.iter().flat_map(|file| file.variable_names(variable::bytes(family)));
                // `job.m_` may mean a part of `jobs`.
                let whole = written.split(['.', '[']).next().unwrap_or(written);
                let is_near = |variable: &str| nearest::of(whole, [variable]).is_some();
                let parts = self.files.iter().flat_map(|file| file.part_names(is_near));
                let meant = meant(written, &self.functions().chain(variables).chain(parts).collect());
                format!("{name}: there is no such variable or function in {}{meant}; {ask}", self.name)
            }
        }
    }

    /// The error for a name of a call site that the program does not have.
    fn no_site(&self, name: &SiteName) -> String {
        let ask = "`unspin meter` prints the call sites of a program's waits";
        match name.meaning() {
            SiteMeaning::Line(line) if !self.files.first().is_some_and(File::has_lines) => format!(
                "{name}: {} has no debug information, so that no line of {} is known (cc -g adds it); {ask}",
                self.program, line.file
            ),
            SiteMeaning::Line(_) => format!("{name}: no code of {} is from that line; {ask}", self.name),
            SiteMeaning::Call { within, .. } if self.functions().any(|function| function == within) => {
                format!("{name}: {within} is shorter; {ask}")
            }
            SiteMeaning::Function(written) | SiteMeaning::Call { within: written, .. } => {
                let meant = meant(written, &self.functions().collect());
                format!("{name}: there is no such function in {}{meant}; {ask}", self.name)
            }
        }
    }

    fn functions(&self) -> impl Iterator<Item = String> {
        self.files.iter().flat_map(File::function_names)
    }
}

/// ` (meant: cache_lock?)`, if there are names similar to the text, or to its last part.
fn meant(written: &str, names: &HashSet<String>) -> String {
    let near = |written: &str| nearest::several(written, names.iter().map(String::as_str), OFFERED);
    let own = written.rsplit("::").next().unwrap_or(written);
    let mut found = near(written);
    if found.is_empty() && own != written {
        found = near(own);
    }
    if found.is_empty() { String::new() } else { format!(" (meant: {}?)", found.join(", ")) }
}

#[cfg(test)]
mod tests;
