//! The console examples of the documents do what they say, and their links lead somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// In a folder of their own, as one of them makes an arena where it stands. The other test names its files from the root.
#[test]
fn examples_of_the_documents() {
    let folder = tempfile::tempdir().unwrap();
    std::env::set_current_dir(folder.path()).unwrap();
    let cases = trycmd::TestCases::new();
    cases.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for document in ["arenas", "hackbench", "meter", "run", "semopbench"] {
        cases.case(root().join(format!("docs/{document}.md")));
    }
    cases.run();
    assert!(Path::new("my.arena").exists(), "the examples were not run");
}

#[test]
fn links_between_documents_lead_somewhere() {
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
