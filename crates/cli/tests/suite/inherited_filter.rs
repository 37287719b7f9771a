//! A deployed plan where a seccomp filter was in force before the program: nothing tells what that permits, and the program runs as by
//! itself.

use crate::common::{compiled, compiled_with, finish, skip, unspin};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The number of getrusage(2), which every poll makes.
#[cfg(target_arch = "x86_64")]
const GETRUSAGE: &str = "98";
/// The number of no call: everything is permitted.
const NONE: &str = "9999";
const UNFILTERED: i32 = 77;

struct Filtered {
    folder: TempDir,
    filter: PathBuf,
    program: PathBuf,
}

impl Filtered {
    /// The programs, and a plan for one of its locks and all its waits. None and a line if there is no compiler.
    fn new() -> Option<Filtered> {
        let folder = tempfile::tempdir().unwrap();
        let filter = compiled("under_filter.c", folder.path())?;
        let program = compiled_with("odd_maps.c", &["-Wl,--build-id"], folder.path())?;
        let plan = format!(
            "program = \"{}\"\n[[mutex]]\nlock = \"cache_lock\"\nkind = \"adaptive\"\n[[wait]]\nsite = \"*\"\npolicy = \"poll\"\n",
            program.display()
        );
        fs::write(folder.path().join("service.toml"), plan).unwrap();
        let compile = [Path::new("plan"), Path::new("compile"), &folder.path().join("service.toml")];
        let (_, err, code) = finish(unspin(&[]).args(compile).arg("--output").arg(folder.path()));
        assert_eq!(code, Some(0), "{err}");
        Some(Filtered { folder, filter, program })
    }

    /// The exit code of the program under the plan and a filter that kills for a call, started by a command.
    fn run(&self, launcher: &[&str], call: &str) -> (String, Option<i32>) {
        let mut command =
            Command::new(launcher.first().map_or(self.filter.as_os_str(), |word| word.as_ref()));
        if let Some((_, rest)) = launcher.split_first() {
            command.args(rest).arg(&self.filter);
        }
        let library = format!("LD_PRELOAD={}", self.folder.path().join("libunspin_preload.so").display());
        let plan = format!("UNSPIN_PLAN={}", self.folder.path().join("service.plan").display());
        let (out, err, code) = finish(command.args([call, "env", &library, &plan]).arg(&self.program));
        (out + &err, code)
    }
}

#[test]
fn files_that_cannot_be_read_where_they_are_mapped_do_no_harm() {
    let Some(filtered) = Filtered::new() else { return };
    let (said, code) = filtered.run(&[], NONE);
    if code == Some(UNFILTERED) {
        return skip("files_that_cannot_be_read_where_they_are_mapped_do_no_harm", said.trim());
    }
    assert_eq!(code, Some(7), "{said}");
}

/// The list of groups stands before the number of filters in /proc/self/status.
#[test]
fn filter_is_seen_behind_a_long_list_of_groups() {
    let test = "filter_is_seen_behind_a_long_list_of_groups";
    let Some(filtered) = Filtered::new() else { return };
    let groups: Vec<String> = (0..300).map(|group| (1_234_500_000 + group).to_string()).collect();
    let groups = groups.join(",");
    let launcher = ["setpriv", "--groups", &groups];
    if !Command::new(launcher[0])
        .args(&launcher[1..])
        .arg("true")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return skip(test, "this user may not have other groups");
    }
    let (said, code) = filtered.run(&launcher, GETRUSAGE);
    if code == Some(UNFILTERED) {
        return skip(test, said.trim());
    }
    assert_eq!(code, Some(7), "{said}");
}

/// What `unspin plan looks` finds lets the waits of a deployed plan poll under that filter, and is not what another filter permits.
#[test]
fn looks_are_printed_and_written_under_the_filter_that_is_in_force() {
    let test = "looks_are_printed_and_written_under_the_filter_that_is_in_force";
    let Some(filtered) = Filtered::new() else { return };
    let file = filtered.folder.path().join("looks");
    let looks = |call: &str| {
        let program = unspin(&[]).get_program().to_owned();
        let words = ["plan", "looks", "--output"];
        finish(Command::new(&filtered.filter).arg(call).arg(program).args(words).arg(&file))
    };
    let (out, err, code) = looks(NONE);
    if code == Some(UNFILTERED) {
        return skip(test, out.trim());
    }
    assert_eq!((out.as_str(), code), ("", Some(0)), "{err}");
    let here = finish(&mut unspin(&["plan", "looks"])).0;
    let (name, unfiltered) = here.split_once(':').unwrap();
    let number: u32 = name.strip_prefix("UNSPIN_LOOKS=").unwrap().parse().unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("UNSPIN_LOOKS={}:{unfiltered}", number + 1));
    let (_, err, code) = looks(GETRUSAGE);
    assert!(code == Some(0) && err.contains("getrusage(2) kills a process that makes it here"), "{err}");
    let stated = fs::read_to_string(&file).unwrap();
    assert!(
        stated.starts_with(&format!("UNSPIN_LOOKS={}:", number + 1)) && !stated.contains("pause"),
        "{stated}"
    );
}
