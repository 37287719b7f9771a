//! From the name of a lock to where it is recognised, by the program's files alone.

use super::closure::Closure;
use super::code;
use super::lock_name::{LockName, Meaning};
use super::nearest;
use super::place::Place;
use super::variable;
use crate::error::Error;
use crate::program::Program;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::Path;
use unspin_symbols::File;

/// Names that are offered in place of one that there is not.
const OFFERED: usize = 3;

/// Looks names up in the files of one program, which are opened when the first is asked for.
pub struct Resolver<'p> {
    program: &'p Program,
    closure: OnceCell<Closure>,
}

/// What came of a name.
pub enum Found {
    /// It is recognised at any of these.
    Places(Vec<Place>),
    /// It is several: so each is written.
    Several(Vec<String>),
    /// There is something of that name that cannot be it, and why.
    Unfit(String),
}

/// Files to look into, and what they are called together.
struct Scope<'f> {
    files: &'f [File],
    name: String,
}

impl<'p> Resolver<'p> {
    /// Nothing is opened yet.
    pub fn new(program: &'p Program) -> Resolver<'p> {
        Resolver { program, closure: OnceCell::new() }
    }

    fn closure(&self) -> &Closure {
        self.closure.get_or_init(|| Closure::of(self.program))
    }

    /// Refuses a program in which there is nothing to replace: that calls no mutex function of libc, and can neither load
    /// nor start anything that does.
    pub fn check_reach(&self) -> Result<(), Error> {
        let files = &self.closure().files;
        // What cannot be read cannot be judged.
        if files.is_empty() || files.iter().filter(|file| !is_libc(file)).any(may_lock) {
            return Ok(());
        }
        Err(Error::CannotRun(format!(
            "{}: neither it nor its libraries call a mutex function of libc, so there is no mutex to replace (Go's and \
             Rust's own locks are none)",
            self.program.path.display()
        )))
    }

    /// Where the lock of that name is recognised: in one file, or in the program and what it is linked with.
    pub fn places(&self, name: &LockName, module: Option<&Path>) -> Result<Vec<Place>, Error> {
        let opened;
        let scope = match module {
            Some(module) => {
                opened = File::open(module).ok_or_else(|| {
                    Error::Usage(format!(
                        "{}: is no readable program or library: {name} is looked for there",
                        module.display()
                    ))
                })?;
                Scope { files: std::slice::from_ref(&opened), name: opened.path().display().to_string() }
            }
            None => Scope { files: &self.closure().files, name: self.closure().describe() },
        };
        match find(name, scope.files) {
            Some(Found::Places(places)) => Ok(places),
            Some(Found::Unfit(why)) => Err(Error::Usage(format!("{name}: {why}"))),
            Some(Found::Several(labels)) => Err(Error::Usage(several(name, &labels))),
            None => Err(Error::Usage(scope.nothing(name))),
        }
    }
}

fn find(name: &LockName, files: &[File]) -> Option<Found> {
    match name.meaning() {
        Meaning::Line(line) => variable::declared_at(line, files).or_else(|| code::at_line(line, files)),
        Meaning::Named { name, origin } => variable::named(name, origin.as_ref(), files)
            .or_else(|| code::named(name, origin.as_ref(), files)),
    }
}

/// Libc locks for itself by other means, and defines what others call.
fn is_libc(file: &File) -> bool {
    ["libc.so", "libc-", "libpthread", "ld-linux"].iter().any(|name| file.name().starts_with(name))
}

/// What calls a mutex function; or loads or starts something else, which may do so.
fn may_lock(file: &File) -> bool {
    const OTHERS: [&str; 9] =
        ["dlopen", "dlmopen", "dlsym", "system", "popen", "fork", "vfork", "fexecve", "clone"];
    let calls = |symbol: &String| {
        ["pthread_mutex_", "mtx_", "exec", "posix_spawn"].iter().any(|start| symbol.starts_with(start))
            || OTHERS.contains(&symbol.as_str())
    };
    file.imports().iter().any(calls)
}

fn several(name: &LockName, labels: &[String]) -> String {
    let count = labels.len();
    let labels: Vec<String> = labels.iter().map(|label| format!("'{label}'")).collect();
    format!("{name} is the name of {count} locks: say which, by all of {}", labels.join(" or "))
}

impl Scope<'_> {
    /// What was looked for in vain, and what may have been meant.
    fn nothing(&self, name: &LockName) -> String {
        let ask = "`unspin meter` prints the names of a program's locks";
        match name.meaning() {
            Meaning::Line(line) if !self.files.iter().any(File::has_lines) => format!(
                "{name}: {} has no debug information, so that no line of {} is known (cc -g adds it); {ask}",
                self.name, line.file
            ),
            Meaning::Line(_) => {
                format!("{name}: no code or variable of {} is from that line; {ask}", self.name)
            }
            Meaning::Named { name: written, .. } => {
                let own = written.rsplit("::").next().unwrap_or(written);
                let mut names = HashSet::new();
                for file in self.files {
                    names.extend(file.variable_names(variable::MUTEX));
                    names.extend(file.function_names());
                }
                let near = nearest::several(written, names.iter().map(String::as_str), OFFERED);
                let near = if near.is_empty() && own != written {
                    nearest::several(own, names.iter().map(String::as_str), OFFERED)
                } else {
                    near
                };
                let meant = match near.is_empty() {
                    true => String::new(),
                    false => format!(" (meant: {}?)", near.join(", ")),
                };
                format!("{name}: there is no such variable or function in {}{meant}; {ask}", self.name)
            }
        }
    }
}
