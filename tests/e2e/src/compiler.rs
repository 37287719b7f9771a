//! Compiling the programs of `c/`.

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

/// Compiles `c/NAME.c`; `None`, and a line that says so, if there is no C compiler.
///
/// # Panics
/// If the compiler refuses the program.
pub fn build(name: &str) -> Option<Program> {
    compile(name, name, &["-pthread"])
}

/// Compiles `c/NAME.c` into `libNAME.so`, as [`build`] does.
///
/// # Panics
/// If the compiler refuses the source.
pub fn build_library(name: &str) -> Option<Program> {
    compile(name, &format!("lib{name}.so"), &["-pthread", "-shared", "-fPIC"])
}

fn compile(name: &str, output: &str, flags: &[&str]) -> Option<Program> {
    let Some(compiler) = compiler() else {
        tools::skip(name, "there is no C compiler; install gcc or set CC");
        return None;
    };
    let directory = run::scratch();
    let path = directory.path().join(output);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(format!("{name}.c"));
    let result = Command::new(&compiler)
        .args(["-O1", "-g", "-w"])
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

fn compiler() -> Option<PathBuf> {
    let wanted = std::env::var_os("CC").unwrap_or_else(|| OsString::from("cc"));
    if Path::new(&wanted).is_absolute() { Some(wanted.into()) } else { tools::find_tool(wanted.to_str()?) }
}
