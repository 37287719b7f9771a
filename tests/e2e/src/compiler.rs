//! Compiling the programs of the tests: those of `c/`, `NAME.c` or `NAME.cc`, and those that other crates bring.
//!
//! What was compiled once is copied: `target/compiled` has the output of each call, named after the hash of all that
//! decides on it. That is the compiler, its options, and the source with what it includes by `#include "FILE"`; not the
//! headers of the system: after an update of those, delete the folder.

use crate::{kept, run, tools};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A compiled program or library, deleted when dropped.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    _directory: tempfile::TempDir,
}

impl Program {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Compiles `c/NAME.c` or `c/NAME.cc`; `None`, and a line that says so, if there is no compiler for it.
///
/// # Panics
/// If the compiler refuses the program.
pub fn build(name: &str) -> Option<Program> {
    build_as(name, stem(name), &[])
}

/// Compiles a source into `libNAME.so`, as [`build`] does.
///
/// # Panics
/// If the compiler refuses the source.
pub fn build_library(name: &str) -> Option<Program> {
    build_as(name, &format!("lib{}.so", stem(name)), &["-shared", "-fPIC"])
}

fn stem(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn build_as(name: &str, output: &str, flags: &[&str]) -> Option<Program> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    let plus_plus = sources.join(format!("{name}.cc"));
    let is_plus_plus = plus_plus.exists();
    let source = if is_plus_plus { plus_plus } else { sources.join(format!("{name}.c")) };
    // Compilers print many warnings about the older programs, and none about those of `pthread/`, `rwlock/` and `waits/`.
    let is_strict = ["pthread/", "rwlock/", "waits/"].iter().any(|folder| name.starts_with(folder));
    let warnings: &[&str] = if is_strict { &["-Wall", "-Wextra", "-Werror"] } else { &["-w"] };
    let standard: &[&str] = if is_plus_plus { &["-std=c++20"] } else { &[] };
    let options = [standard, &["-O1", "-g", "-pthread"], warnings, flags, &["-ldl"]].concat();
    let directory = run::scratch();
    let path = directory.path().join(output);
    compile(&source, &options, &path).then_some(Program { path, _directory: directory })
}

/// Compiles a source of C, or of C++ if its name ends in `.cc`, to the file `to`. Returns false, and says so in one line
/// that begins with `SKIPPED`, if there is no compiler for it.
///
/// # Panics
/// If the compiler refuses the source.
pub fn compile<S: AsRef<OsStr>>(source: &Path, options: &[S], to: &Path) -> bool {
    let language = if source.extension().is_some_and(|end| end == "cc") { CPP } else { C };
    let Some(compiler) = language.compiler() else {
        tools::skip(&source.display().to_string(), language.missing);
        return false;
    };
    let mut command = Command::new(&compiler);
    // Options that name libraries stand behind the source that needs them.
    command.arg(source).args(options).arg("-o");
    if options.iter().any(|option| is_temporary(option.as_ref())) {
        run_compiler(command.arg(to));
        return true;
    }
    let kept = place(&compiler, source, options);
    if !kept.exists() {
        kept::keep(&kept, |file| {
            run_compiler(command.arg(file));
            Ok(())
        })
        .unwrap_or_else(|e| panic!("{}: {e}", kept.display()));
    }
    copy_program(&kept, to);
    true
}

/// Copies a program that is to be executed, by another process: while this one writes a file, a child that another thread
/// forks has it open too, and nothing can execute it (ETXTBSY, execve(2)).
///
/// # Panics
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) {
    let status =
        Command::new("cp").args(["--preserve=mode", "--"]).args([from, to]).status().expect("there is cp");
    assert!(status.success(), "{} cannot be copied to {}", from.display(), to.display());
}

/// Whether an option names a file that a test has just built: another call may find it changed, or not at all.
fn is_temporary(option: &OsStr) -> bool {
    [std::env::temp_dir(), "/dev/shm".into()].iter().any(|folder| {
        let folder = folder.as_os_str().as_bytes();
        option.as_bytes().windows(folder.len()).any(|part| part == folder)
    })
}

fn run_compiler(command: &mut Command) {
    let result = command.output().expect("the compiler was found, so it starts");
    assert!(result.status.success(), "{command:?} fails:\n{}", String::from_utf8_lossy(&result.stderr));
}

/// Where the output of a call is kept.
fn place<S: AsRef<OsStr>>(compiler: &Path, source: &Path, options: &[S]) -> PathBuf {
    let version =
        Command::new(compiler).arg("--version").output().expect("the compiler was found, so it starts");
    let mut parts = vec![compiler.as_os_str().as_bytes().to_vec(), version.stdout];
    parts.extend(options.iter().map(|option| option.as_ref().as_bytes().to_vec()));
    let mut files = BTreeSet::new();
    collect_included(source, &mut files);
    for file in files {
        parts.push(file.as_os_str().as_bytes().to_vec());
        parts.push(fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display())));
    }
    kept::place("compiled", &parts)
}

/// Adds a source and the files of this project that it includes.
fn collect_included(source: &Path, files: &mut BTreeSet<PathBuf>) {
    if !files.insert(source.to_owned()) {
        return;
    }
    let text = fs::read(source).unwrap_or_else(|e| panic!("{}: {e}", source.display()));
    let folder = source.parent().expect("a source lies in a folder");
    for line in String::from_utf8_lossy(&text).lines() {
        let name =
            line.trim_start().strip_prefix('#').and_then(|line| line.trim_start().strip_prefix("include"));
        let Some((name, _)) = name.and_then(|rest| rest.trim_start().strip_prefix('"')?.split_once('"'))
        else {
            continue;
        };
        let included = folder.join(name);
        if included.exists() {
            collect_included(&included, files);
        }
    }
}

/// A language, and how its compiler is found.
struct Language {
    variable: &'static str,
    command: &'static str,
    missing: &'static str,
}

const C: Language =
    Language { variable: "CC", command: "cc", missing: "there is no C compiler; install gcc or set CC" };

const CPP: Language =
    Language { variable: "CXX", command: "c++", missing: "there is no C++ compiler; install g++ or set CXX" };

impl Language {
    fn compiler(&self) -> Option<PathBuf> {
        let wanted = std::env::var_os(self.variable).unwrap_or_else(|| OsString::from(self.command));
        if Path::new(&wanted).is_absolute() {
            Some(wanted.into())
        } else {
            tools::find_tool(wanted.to_str()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The place of a program that includes a header with this text.
    fn place_with(folder: &Path, header: &str, options: &[&str]) -> PathBuf {
        fs::write(folder.join("header.h"), header).unwrap();
        let source = folder.join("program.c");
        fs::write(&source, "#include \"header.h\"\nint main(void) { return VALUE; }\n").unwrap();
        place(Path::new("/bin/true"), &source, options)
    }

    #[test]
    fn place_follows_headers_and_options() {
        let folder = tempfile::tempdir().unwrap();
        let first = place_with(folder.path(), "#define VALUE 0\n", &["-O1"]);
        assert_eq!(first, place_with(folder.path(), "#define VALUE 0\n", &["-O1"]));
        assert_ne!(first, place_with(folder.path(), "#define VALUE 1\n", &["-O1"]));
        assert_ne!(first, place_with(folder.path(), "#define VALUE 0\n", &["-O2"]));
    }

    #[test]
    fn options_with_temporary_files_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        assert!(is_temporary(format!("-L{}", folder.path().display()).as_ref()));
        assert!(!is_temporary("-ldl".as_ref()));
    }
}
