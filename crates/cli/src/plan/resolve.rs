//! Finds the places of a lock by its name, from the program's files alone.

use super::closure::Closure;
use super::code;
use super::lock_name::{LockName, Meaning};
use super::nearest;
use super::place::Place;
use super::site;
use super::site_name::{SiteMeaning, SiteName};
use super::variable;
use crate::error::Error;
use crate::program::Program;
use crate::reach;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::fmt::Display;
use std::path::Path;
use unspin_symbols::File;

/// Number of similar names that are suggested for an unknown one.
const OFFERED: usize = 3;

/// Looks names up in the files of one program, which are opened at the first lookup.
pub struct Resolver<'p> {
    program: &'p Program,
    closure: OnceCell<Closure>,
}

/// What a plan wants to replace in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Mutexes.
    Mutexes,
    /// Waits.
    Waits,
    /// Mutexes and waits: the program must have one of both.
    Either,
}

/// The result of looking a name up.
pub enum Found {
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
    /// The program or library of a name with a line.
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

    /// Refuses a program in which there is nothing to replace: it calls no function of libc that locks a mutex, or
    /// waits, and cannot load or start code that does.
    pub fn check_reach(&self, reach: Reach) -> Result<(), Error> {
        let Closure { files, is_complete, runtime, .. } = self.closure();
        let calls = |function: &str| match reach {
            Reach::Mutexes => is_of_mutexes(function),
            Reach::Waits => site::is_wait(function),
            Reach::Either => is_of_mutexes(function) || site::is_wait(function),
        };
        // A file that cannot be read may call anything.
        if !is_complete || files.iter().chain(runtime).any(|file| may_call(file, &calls)) {
            return Ok(());
        }
        let why = match reach {
            Reach::Mutexes => {
                "call a mutex function of libc, so there is no mutex to replace (Go and Rust have locks of their own)"
            }
            Reach::Waits => "call a function of libc that waits, so there is no wait to replace",
            Reach::Either => {
                "call a function of libc that locks a mutex or waits, so there is nothing to replace"
            }
        };
        let program = self.program.path.display();
        Err(Error::CannotRun(format!("{program}: neither it nor its libraries {why}")))
    }

    /// The places of the lock with this name: in one file, or in the program and its libraries.
    pub fn places(&self, name: &LockName, module: Option<&Path>) -> Result<Vec<Place>, Error> {
        let whole =
            self.look_up(name, "lock", module, &|scope| match find(name, scope.files, scope.runtime) {
                Some(found) => Ok(found),
                None => Err(scope.nothing(name)),
            });
        let alternatives = name.alternatives();
        // The name of a file may contain " or " too, so the whole name comes first.
        if whole.is_ok() || alternatives.is_empty() {
            return whole;
        }
        let places = alternatives.iter().map(|one| self.places(one, module));
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
        find: &dyn Fn(&Scope<'_>) -> Result<Found, String>,
    ) -> Result<Vec<Place>, Error> {
        let opened;
        let scope = match module {
            Some(module) => {
                opened = File::open(module).ok_or_else(|| {
                    Error::Usage(format!(
                        "{}: is not a readable program or library, in which {name} could be found",
                        module.display()
                    ))
                })?;
                Scope {
                    files: std::slice::from_ref(&opened),
                    runtime: &self.closure().runtime,
                    name: module.display().to_string(),
                    program: module.display().to_string(),
                }
            }
            None => {
                let Closure { program, files, runtime, .. } = self.closure();
                let program = program.display().to_string();
                Scope { files, runtime, name: self.closure().describe(), program }
            }
        };
        let script = module.is_none() && reach::interpreter(&self.program.path) != self.program.path;
        match find(&scope) {
            Ok(Found::Places(places)) => Ok(places),
            Ok(Found::Unfit(why)) => Err(Error::Usage(format!("{name}: {why}"))),
            Ok(Found::Several(labels)) => Err(Error::Usage(several(name, noun, &labels))),
            Err(_) if script => Err(Error::Usage(format!(
                "{name}: there is no such {noun} in {}, which runs the script {}; of a program that the script starts, name the \
                 program instead of the script, or its file as the `module` in a plan",
                scope.name,
                self.program.path.display()
            ))),
            Err(nothing) => Err(Error::Usage(nothing)),
        }
    }
}

fn find(name: &LockName, files: &[File], runtime: &[File]) -> Option<Found> {
    match name.meaning() {
        Meaning::Line(line) => {
            variable::declared_at(line, files).or_else(|| code::at_line(line, files, runtime))
        }
        Meaning::Named { name, origin } => variable::named(name, origin.as_ref(), files)
            .or_else(|| code::named(name, origin.as_ref(), files, runtime)),
    }
}

/// Whether a file calls one of these functions, or can load or start other code, which may.
fn may_call(file: &File, is_meant: &dyn Fn(&str) -> bool) -> bool {
    const OTHERS: [&str; 9] =
        ["dlopen", "dlmopen", "dlsym", "system", "popen", "fork", "vfork", "fexecve", "clone"];
    let calls = |symbol: &String| {
        is_meant(symbol)
            || ["exec", "posix_spawn"].iter().any(|start| symbol.starts_with(start))
            || OTHERS.contains(&symbol.as_str())
    };
    file.imports().iter().any(calls)
}

fn is_of_mutexes(function: &str) -> bool {
    ["pthread_mutex_", "mtx_"].iter().any(|start| function.starts_with(start))
}

fn several(name: &dyn Display, noun: &str, labels: &[String]) -> String {
    let count = labels.len();
    let labels: Vec<String> = labels.iter().map(|label| format!("'{label}'")).collect();
    format!("{name} is the name of {count} {noun}s: choose one by its full name, {}", labels.join(" or "))
}

impl Scope<'_> {
    /// The message for an unknown name, with suggestions.
    fn nothing(&self, name: &LockName) -> String {
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
                let variables = self.files.iter().flat_map(|file| file.variable_names(variable::MUTEX));
                let meant = meant(written, &self.functions().chain(variables).collect());
                format!("{name}: there is no such variable or function in {}{meant}; {ask}", self.name)
            }
        }
    }

    /// The same for a call site.
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
mod tests {
    use super::super::place::By;
    use super::super::testing::{self, Workshop, program};
    use super::*;

    fn places(program: &Program, name: &str) -> Result<Vec<Place>, String> {
        let resolver = Resolver::new(program);
        resolver.places(&LockName::new(name).unwrap(), None).map_err(|e| e.to_string())
    }

    /// The program and its library.
    fn two_files(workshop: &Workshop, flags: &[&str]) -> Option<(Program, std::path::PathBuf)> {
        let library = [&["-shared", "-fPIC", "-DOTHER"], flags].concat();
        let library = workshop.compile("same_names.c", &library, "libother.so")?;
        let linked = ["-Wl,-rpath,$ORIGIN", library.to_str().unwrap()];
        let path = workshop.compile("same_names.c", &[flags, &linked].concat(), "linked")?;
        Some((program(&path), library))
    }

    #[test]
    fn ambiguous_name_is_refused() {
        let workshop = Workshop::new();
        let Some((program, library)) = two_files(&workshop, &["-O1"]) else { return };
        let expected = "lock is the name of 2 locks: choose one by its full name, 'lock, static, libother.so' or 'lock, static, linked'";
        assert_eq!(places(&program, "lock"), Err(expected.into()));
        let one = places(&program, "lock, static, libother.so").unwrap();
        assert_eq!(
            one[0].spans.iter().map(|span| span.module.as_path()).collect::<Vec<_>>(),
            [library.as_path()]
        );
    }

    /// The dynamic linker merges variables that both define under one name.
    #[test]
    fn variable_exported_twice_is_one_lock() {
        let workshop = Workshop::new();
        let Some((program, library)) = two_files(&workshop, &["-g", "-rdynamic"]) else { return };
        let found = places(&program, "shared_lock").unwrap();
        let modules: Vec<_> = found[0].spans.iter().map(|span| span.module.as_path()).collect();
        assert_eq!(modules, [program.path.as_path(), &library]);
    }

    #[test]
    fn source_line_finds_variables_and_code() {
        let workshop = Workshop::new();
        let Some(program) = workshop.program("heap_locks.c", &["-g", "-O1"]) else { return };
        let found = places(&program, "heap_locks.c:18").unwrap();
        assert!(found.iter().any(|place| place.by == By::Init && place.spans.len() == 1), "{found:?}");
        let nothing = places(&program, "heap_locks.c:3").unwrap_err();
        assert!(nothing.starts_with("heap_locks.c:3: no code or variable of "), "{nothing}");
        let Some(program) = workshop.program("static_locks.c", &["-g", "-O1"]) else { return };
        let found = places(&program, "static_locks.c:4").unwrap();
        assert_eq!(found, places(&program, "cache_lock").unwrap());
        assert_eq!((found[0].by, found.len()), (By::Variable, 1));
    }

    #[test]
    fn source_line_without_debug_information_is_refused() {
        let workshop = Workshop::new();
        let Some(program) = workshop.program("static_locks.c", &["-O1"]) else { return };
        let error = places(&program, "static_locks.c:4").unwrap_err();
        assert!(
            error.contains("has no debug information, so that no line of static_locks.c is known"),
            "{error}"
        );
    }

    #[test]
    fn unknown_name_is_refused_with_suggestions() {
        let workshop = Workshop::new();
        let Some((program, _)) = two_files(&workshop, &["-g"]) else { return };
        let path = program.path.display();
        let ask = "`unspin meter` prints the names of a program's locks";
        let error = places(&program, "shraed_lock").unwrap_err();
        let expected =
            format!("shraed_lock: there is no such variable or function in {path} and its library");
        assert_eq!(error, format!("{expected} (meant: shared_lock?); {ask}"));
    }

    #[test]
    fn messages_name_the_program_as_the_user_did() {
        let workshop = Workshop::new();
        let Some(program) = workshop.program("static_locks.c", &["-g"]) else { return };
        let link = workshop.file("link");
        std::os::unix::fs::symlink(&program.path, &link).unwrap();
        let error = places(&testing::program(&link), "nothing").unwrap_err();
        assert!(error.contains(&format!(" in {};", link.display())), "{error}");
    }

    #[test]
    fn variable_too_small_for_a_mutex_is_refused() {
        let workshop = Workshop::new();
        let Some(program) = workshop.program("same_names.c", &["-g", "-shared", "-fPIC", "-DOTHER"]) else {
            return;
        };
        let error = places(&program, "counter").unwrap_err();
        assert!(error.starts_with("counter: the variable (counter, static, same_names.c:"), "{error}");
        assert!(error.contains(" has 8 bytes, too few for a mutex; "), "{error}");
    }

    #[test]
    fn wrapper_name_finds_the_call_chain() {
        let workshop = Workshop::new();
        let Some(program) = workshop.program("wrapped_locks.cc", &["-g", "-O1"]) else { return };
        let found = places(&program, "Journal::Journal ▸ port::Mutex::Mutex").unwrap();
        let own = |place: &&Place| place.spans.iter().all(|span| span.module == program.path);
        let own: Vec<&Place> = found.iter().filter(own).collect();
        assert_eq!((own.len(), own[0].by, own[0].spans.len()), (1, By::Init, 2), "{found:?}");
        let error = places(&program, "Index::Index ▸ port::Mutex::Lock").unwrap_err();
        let why = "it calls no function of libc that initialises a mutex: name the function that does, or for which it is done";
        assert_eq!(error, format!("Index::Index ▸ port::Mutex::Lock: {why}"));
        assert!(places(&program, "Index::Index").is_err(), "it calls what does");
        assert!(places(&program, "port::Mutex::Mutex").is_ok());
        assert!(places(&program, "Index::Index ▸ nobody").is_err());
    }

    /// The meter's name for code in a file without symbols is found again.
    #[test]
    fn call_in_stripped_file_is_found_by_offset() {
        let workshop = Workshop::new();
        let Some(whole) = workshop.program("heap_locks.c", &["-O1"]) else { return };
        let call = File::open(&whole.path).unwrap().calls(|name| name == "pthread_mutex_init")[0];
        let name = whole.path.file_name().unwrap().to_string_lossy().into_owned();
        let named = format!("{name}+{:#x}, mutex initialised there", call + 1);
        let Some(stripped) = workshop.program("heap_locks.c", &["-O1", "-s"]) else { return };
        let found = places(&stripped, &named).unwrap();
        assert!(found[0].by == By::Init && found[0].spans[0].range == (call..call + 1), "{found:?}");
        let error = places(&stripped, &format!("{name}+{:#x}", call + 2)).unwrap_err();
        assert!(error.contains("it calls no function of libc that initialises a mutex"), "{error}");
        assert!(places(&stripped, "other+0x1135").unwrap_err().contains("there is no such variable"));
    }

    #[test]
    fn file_name_that_contains_or_is_one_name() {
        let workshop = Workshop::new();
        let Some(program) = workshop.program("static_locks.c", &["-O1", "-s"]) else { return };
        let file = workshop.file("this or that");
        std::fs::rename(&program.path, &file).unwrap();
        let call = File::open(&file).unwrap().calls(|name| name == "pthread_mutex_lock")[0];
        let name = format!("mutex first used in this or that+{:#x}", call + 1);
        assert!(places(&testing::program(&file), &name).is_ok_and(|places| !places.is_empty()));
    }

    #[test]
    fn name_in_a_script_is_refused_with_a_hint() {
        let workshop = Workshop::new();
        let script = workshop.file("script");
        std::fs::write(&script, "#!/bin/sh\nexec ./server\n").unwrap();
        let error = places(&program(&script), "cache_lock").unwrap_err();
        assert!(error.starts_with("cache_lock: there is no such lock in /"), "{error}");
        assert!(error.contains(&format!(", which runs the script {}; ", script.display())), "{error}");
        assert!(error.contains("name the program instead of the script"), "{error}");
    }

    /// Like the JDK's launcher: a link to a program that finds its library in its own folder.
    #[test]
    fn origin_libraries_are_found_through_a_link() {
        let workshop = Workshop::new();
        let (library, source) = (workshop.file("beside.c"), workshop.file("launcher.c"));
        let locks = "#include <pthread.h>\nint beside(pthread_mutex_t *m) { return pthread_mutex_lock(m); }";
        std::fs::write(&library, locks).unwrap();
        std::fs::write(&source, "int beside(void *); int main(void) { return beside(0); }").unwrap();
        let library = library.to_str().unwrap();
        let Some(library) = workshop.compile(library, &["-shared", "-fPIC"], "libbeside.so") else { return };
        let flags = [library.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
        let Some(launcher) = workshop.compile(source.to_str().unwrap(), &flags, "launcher") else { return };
        let elsewhere = Workshop::new();
        std::os::unix::fs::symlink(launcher, elsewhere.file("link")).unwrap();
        let launcher = program(&elsewhere.file("link"));
        assert!(Resolver::new(&launcher).check_reach(Reach::Mutexes).is_ok(), "the library locks");
        std::fs::remove_file(library).unwrap();
        assert!(Resolver::new(&launcher).check_reach(Reach::Mutexes).is_ok(), "who knows what is missing?");
    }

    #[test]
    fn program_without_mutexes_is_refused() {
        let workshop = Workshop::new();
        let source = workshop.file("plain.c");
        std::fs::write(&source, "int main(void) { return 0; }").unwrap();
        let Some(plain) = workshop.program(source.to_str().unwrap(), &[]) else { return };
        let error = Resolver::new(&plain).check_reach(Reach::Mutexes).unwrap_err();
        assert!(matches!(error, Error::CannotRun(_)), "{error}");
        assert!(error.to_string().contains("plain") || error.to_string().contains("program"), "{error}");
        let shell = program(Path::new("/bin/sh"));
        assert!(Resolver::new(&shell).check_reach(Reach::Mutexes).is_ok(), "a shell starts others");
    }
}
