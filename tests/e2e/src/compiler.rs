//! Compiling the programs of `c/`: `NAME.c`, or `NAME.cc` for those in C++.

use crate::{run, tools};
use std::ffi::OsString;
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
    compile(name, stem(name), &[])
}

/// Compiles a source into `libNAME.so`, as [`build`] does.
///
/// # Panics
/// If the compiler refuses the source.
pub fn build_library(name: &str) -> Option<Program> {
    compile(name, &format!("lib{}.so", stem(name)), &["-shared", "-fPIC"])
}

fn stem(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn compile(name: &str, output: &str, flags: &[&str]) -> Option<Program> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("c");
    let plus_plus = sources.join(format!("{name}.cc"));
    let language = if plus_plus.exists() { CPP } else { C };
    let Some(compiler) = language.compiler() else {
        tools::skip(name, language.missing);
        return None;
    };
    let directory = run::scratch();
    let path = directory.path().join(output);
    let source = if plus_plus.exists() { plus_plus } else { sources.join(format!("{name}.c")) };
    // The older programs give their compiler much to say; those of `pthread/` and `waits/` nothing.
    let is_strict = ["pthread/", "waits/"].iter().any(|folder| name.starts_with(folder));
    let warnings: &[&str] = if is_strict { &["-Wall", "-Wextra", "-Werror"] } else { &["-w"] };
    let result = Command::new(&compiler)
        .args(language.flags)
        .args(["-O1", "-g", "-pthread"])
        .args(warnings)
        .args(flags)
        .arg(&source)
        .arg("-o")
        .arg(&path)
        .arg("-ldl")
        .output()
        .expect("the compiler was found, so it starts");
    assert!(
        result.status.success(),
        "{} refuses {}:\n{}",
        compiler.display(),
        source.display(),
        String::from_utf8_lossy(&result.stderr)
    );
    Some(Program { path, _directory: directory })
}

/// A language, and how its compiler is found.
struct Language {
    variable: &'static str,
    command: &'static str,
    flags: &'static [&'static str],
    missing: &'static str,
}

const C: Language = Language {
    variable: "CC",
    command: "cc",
    flags: &[],
    missing: "there is no C compiler; install gcc or set CC",
};

const CPP: Language = Language {
    variable: "CXX",
    command: "c++",
    flags: &["-std=c++20"],
    missing: "there is no C++ compiler; install g++ or set CXX",
};

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
