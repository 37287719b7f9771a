//! The console examples in the documents print what they say, and links are valid.

use crate::common::util_linux::is_installed;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Set in the process that runs the examples.
const CHILD: &str = "UNSPIN_RUNS_EXAMPLES";

/// In a process of its own with a folder of its own, because one example creates an arena in the current folder.
#[test]
fn examples_in_documents_print_what_they_say() {
    if std::env::var_os(CHILD).is_some() {
        return run_examples();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "readme::examples_in_documents_print_what_they_say"]);
    let output = command.env(CHILD, "1").current_dir(folder.path()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    let arenas = is_installed("examples of docs/arenas.md");
    assert_eq!(folder.path().join("my.arena").exists(), arenas, "the examples were not run");
}

fn run_examples() {
    let cases = trycmd::TestCases::new();
    cases.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let arenas = is_installed("examples of docs/arenas.md");
    let documents = ["hackbench", "meter", "run", "semopbench"].into_iter().chain(arenas.then_some("arenas"));
    for document in documents {
        cases.case(root().join(format!("docs/{document}.md")));
    }
    cases.run();
}

#[test]
fn links_between_documents_are_valid() {
    let root = root();
    let folders = [root.clone(), root.join("docs")];
    let documents = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let documents = documents.map(|entry| entry.unwrap().path());
    let mut links = 0;
    for document in documents.filter(|path| path.extension().is_some_and(|e| e == "md")) {
        let text = fs::read_to_string(&document).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.contains("://")) {
            let file = document.parent().unwrap().join(target.split('#').next().unwrap());
            assert!(file.exists(), "{}: the link to {target} is dead", document.display());
            links += 1;
        }
    }
    assert!(links > 10, "{links} links: these are not our documents");
}
