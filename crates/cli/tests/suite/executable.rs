//! The executable that users install: what a backtrace in a bug report names, and its size. `cargo test` builds it in the profile for
//! tests; ci/nightly.sh, with all other tests, in that of `cargo install`.

use crate::common::{program, skip};
use std::path::Path;
use std::process::Command;
use unspin_symbols::File;

/// A function of each crate of ours in which a command begins, and its source file.
const FUNCTIONS: [(&str, &str); 4] = [
    ("unspin_launch::error::Error::exit_code", "crates/launch/src/error.rs"),
    ("unspin_observe::meter::run", "crates/observe/src/meter/"),
    ("unspin_trial::session::Session::run", "crates/trial/src/session"),
    ("unspin_workloads::semopbench::run", "crates/workloads/src/semopbench/"),
];

/// Runs a program of binutils. None if it is not installed.
fn binutils(name: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(name).args(arguments).output().ok()?;
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("paths of sources are text"))
}

/// What addr2line(1) says of the beginnings of the functions: a line `FILE:LINE` for each.
fn lines(file: &Path, addresses: &[String]) -> Option<Vec<String>> {
    let file = file.to_str().expect("the target folder's name is text");
    let mut arguments = vec!["-e", file];
    arguments.extend(addresses.iter().map(String::as_str));
    Some(binutils("addr2line", &arguments)?.lines().map(str::to_owned).collect())
}

/// Whether a line of addr2line(1) names this source file, or one in this folder, and a line in it.
fn names(found: &str, source: &str) -> bool {
    let Some((file, line)) = found.rsplit_once(':') else { return false };
    let line = line.split(' ').next().unwrap_or_default();
    file.contains(source) && line.parse::<u32>().is_ok_and(|line| line > 0)
}

#[test]
fn backtrace_names_files_and_lines_unless_debug_sections_are_stripped() {
    const TEST: &str = "backtrace_names_files_and_lines_unless_debug_sections_are_stripped";
    let file = File::open(&program()).expect("it is a program");
    let addresses = FUNCTIONS.map(|(function, _)| {
        let found = file.functions_named(function);
        format!("{:#x}", found.first().unwrap_or_else(|| panic!("{function} has no symbol")).start)
    });
    let Some(found) = lines(file.path(), &addresses) else { return skip(TEST, "there is no addr2line") };
    for (found, (function, source)) in found.iter().zip(FUNCTIONS) {
        assert!(names(found, source), "{function}: {found}");
    }

    let folder = tempfile::tempdir().unwrap();
    let stripped = folder.path().join("stripped");
    let paths = [file.path(), &stripped].map(|path| path.to_str().expect("the target folder's name is text"));
    if binutils("strip", &["--strip-debug", "-o", paths[1], paths[0]]).is_none() {
        return skip(TEST, "there is no strip");
    }
    let found = lines(&stripped, &addresses).expect("it was there before");
    assert!(found.iter().zip(FUNCTIONS).all(|(found, (_, source))| !names(found, source)), "{found:?}");
}

/// An address within an inlined call has two frames: a backtrace names the line of the call, not only one of the standard library.
#[test]
fn backtrace_names_callers_of_inlined_functions() {
    const TEST: &str = "backtrace_names_callers_of_inlined_functions";
    let file = File::open(&program()).expect("it is a program");
    let (function, source) = FUNCTIONS[3];
    let range = file.functions_named(function).first().expect("the function has a symbol").clone();
    let mut arguments = vec!["-i".into(), "-a".into(), "-e".into(), file.path().display().to_string()];
    arguments.extend(range.step_by(8).take(2_000).map(|address| format!("{address:#x}")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let Some(found) = binutils("addr2line", &arguments) else { return skip(TEST, "there is no addr2line") };
    // Behind each address, its lines: that of the inlined function first.
    let frames = found.split("\n0x").map(|one| one.lines().skip(1).collect::<Vec<_>>());
    let inlined =
        frames.filter(|lines| lines.len() > 1 && lines.last().is_some_and(|last| names(last, source)));
    assert!(inlined.count() > 0, "{found}");
}

/// Debug information of dependencies, or of inlined functions, makes it several times as large.
#[test]
#[cfg(not(debug_assertions))]
fn executable_has_at_most_25_mb() {
    let size = std::fs::metadata(program()).unwrap().len();
    assert!(size <= 25_000_000, "{size} bytes");
}
