//! Finds circles of uses between the source files of each crate (`a.rs` uses `b.rs`, which uses `a.rs`), and compares them with
//! a checked-in list, in which each has a reason.
//!
//! ```text
//! unspin-circles ROOT             fails if a circle is not in the list, or if a circle of the list is gone
//! unspin-circles ROOT --update    writes the list, and keeps its reasons
//! ```
//!
//! A file uses another file if it mentions a path whose target that other file defines, behind all re-exports. The use of an
//! ancestor's items does not count: a module is a part of its ancestors, and `super::` names what they share. Code that only
//! tests and models compile does not count either.

mod circles;
mod list;
mod modules;
mod tokens;

use list::{Circle, List};
use modules::Modules;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        [root] => check(Path::new(root)),
        [root, "--update"] => update(Path::new(root)),
        _ => Err(io::Error::other("usage: unspin-circles ROOT [--update]")),
    };
    done.unwrap_or_else(|e| {
        eprintln!("circles: {e}");
        ExitCode::FAILURE
    })
}

fn check(root: &Path) -> io::Result<ExitCode> {
    let complaints = List::read(root)?.complaints(&found(root)?);
    complaints.iter().for_each(|complaint| println!("{complaint}"));
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn update(root: &Path) -> io::Result<ExitCode> {
    let list = List::read(root)?.updated(&found(root)?);
    list.write(root)?;
    println!("{} uses in {} have no reason yet", list.without_reason(), list::PATH);
    Ok(ExitCode::SUCCESS)
}

/// Finds the circles of all crates.
fn found(root: &Path) -> io::Result<BTreeSet<Circle>> {
    let mut found = BTreeSet::new();
    let crates = std::fs::read_dir(root.join("crates"))?;
    let mut folders = crates.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    folders.extend(["bench", "tests/e2e", "ci/circles"].map(|folder| root.join(folder)));
    for folder in folders.iter().map(|folder| folder.join("src")) {
        for main in ["lib.rs", "main.rs"].map(|main| folder.join(main)).iter().filter(|main| main.exists()) {
            found.append(&mut circles_of(root, &folder, main)?);
        }
    }
    Ok(found)
}

fn circles_of(root: &Path, folder: &Path, main: &Path) -> io::Result<BTreeSet<Circle>> {
    let (modules, files) = Modules::read(main)?;
    let circles = circles::shortest_circles(&modules.uses(files.len()));
    let name = |file: usize| relative(&files[file], folder);
    let circle =
        |files: Vec<usize>| Circle::new(&relative(folder, root), files.into_iter().map(name).collect());
    Ok(circles.into_iter().map(circle).collect())
}

fn relative(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a crate of these files, and returns its circles as text.
    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("src").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let main = root.path().join("src/lib.rs");
        let found = circles_of(root.path(), &root.path().join("src"), &main).unwrap();
        found.iter().map(Circle::to_string).collect()
    }

    const CIRCLE: [&str; 1] = ["src: a.rs -> b.rs -> a.rs"];
    const NONE: [&str; 0] = [];

    /// `b` uses `a` by `use`; `a` uses `b` by `text`.
    fn with(text: &str) -> Vec<String> {
        circles(&[
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("a.rs", text),
            ("b.rs", "use crate::a; pub struct B;"),
        ])
    }

    #[test]
    fn every_form_of_a_path_counts() {
        for text in [
            "use crate::b::B;",
            "use crate::{x, b::{self as other}};",
            "use super::b;",
            "fn f() { self::super::b::g() }",
            "fn f() { assert!(crate::b::is_there()) }",
            "fn f(b: &Vec<crate::b::B>) {}",
            "use super::*; fn f() { b::g() }",
            "pub use crate::b::*;",
            "fn f() { use crate::{b::B}; }",
        ] {
            assert_eq!(with(text), CIRCLE, "{text}");
        }
    }

    #[test]
    fn a_re_export_leads_to_the_file_that_defines_the_name() {
        assert_eq!(with("use crate::B;"), CIRCLE);
        assert_eq!(with("use crate::A;"), NONE);
    }

    #[test]
    fn comments_strings_and_tests_do_not_count() {
        for text in [
            "// crate::b::B\nconst TEXT: &str = \"crate::b::B\";",
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "#[cfg(test)] use crate::b::B;",
            "#[cfg(all(test, loom))] mod models { use crate::b::B; }",
            "fn f() { ::b::g() }",
        ] {
            assert_eq!(with(text), NONE, "{text}");
        }
    }

    #[test]
    fn the_use_of_an_ancestor_does_not_count() {
        let files = [
            ("lib.rs", "mod a; pub struct Root;"),
            ("a/mod.rs", "mod inner; use inner::I; pub struct A;"),
            ("a/inner.rs", "use super::A; use crate::Root; pub struct I;"),
        ];
        assert_eq!(circles(&files), NONE);
    }

    #[test]
    fn a_circle_through_a_child_counts() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod inner; pub struct A;"),
            ("a/inner.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ];
        assert_eq!(circles(&files), NONE, "a.rs does not use its child");
        let files = files.map(|(path, text)| {
            if path == "a.rs" { (path, "mod inner; use inner::I; pub struct A;") } else { (path, text) }
        });
        assert_eq!(circles(&files), ["src: a.rs -> a/inner.rs -> b.rs -> a.rs"]);
    }
}
