//! `unspin man-pages`: what man(1) and mandoc(1) make of the pages.

use crate::common::{finish, skip, unspin};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;
use unspin_e2e::find_tool;

/// The pages, in a folder that the command makes.
fn pages() -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    let (out, err, code) = finish(&mut unspin(&["man-pages", pages.to_str().unwrap()]));
    assert_eq!((out.as_str(), err.as_str(), code), ("", "", Some(0)));
    let mut files: Vec<PathBuf> = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    (folder, files)
}

#[test]
fn each_command_has_a_page_without_a_warning_of_mandoc() {
    let test = "each_command_has_a_page_without_a_warning_of_mandoc";
    let (_folder, pages) = pages();
    for name in [
        "unspin.1",
        "unspin-prove.1",
        "unspin-doctor.1",
        "unspin-dbt1.1",
        "unspin-arenas-show.1",
        "unspin-lab.1",
    ] {
        assert!(pages.iter().any(|page| page.ends_with(name)), "{name}: {pages:?}");
    }
    if find_tool("mandoc").is_none() {
        return skip(test, "there is no mandoc: install it");
    }
    for page in pages {
        let (out, err, code) = finish(Command::new("mandoc").args(["-T", "lint", "-W", "style"]).arg(&page));
        // Lines of examples stay as long as they are, and the manual's other pages are not installed.
        let is_wanted = |line: &&str| {
            !line.contains("input text line longer than") && !line.contains("referenced manual not found")
        };
        let warnings: Vec<&str> = out.lines().filter(is_wanted).collect();
        assert!(warnings.is_empty() && err.is_empty(), "{}: {warnings:?} {err} {code:?}", page.display());
    }
}

#[test]
fn page_reads_as_the_help_does() {
    let test = "page_reads_as_the_help_does";
    let (_folder, pages) = pages();
    if find_tool("mandoc").is_none() {
        return skip(test, "there is no mandoc: install it");
    }
    let page = pages.iter().find(|page| page.ends_with("unspin-volano.1")).unwrap();
    let (text, _, _) = finish(Command::new("mandoc").args(["-T", "ascii", "-O", "width=78"]).arg(page));
    // Bold letters are printed twice, with a backspace between.
    let mut plain = String::new();
    for letter in text.chars() {
        if letter == '\u{8}' { _ = plain.pop() } else { plain.push(letter) }
    }
    let text = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "unspin-volano - Let the users of chat rooms send messages to each other",
        "--rooms <NUM> [default: 10] Chat rooms",
        "EXIT STATUS 0 every message was sent once, and received once and in order by each other user of its room 1 a message was lost",
        "EXAMPLES unspin volano # 10 rooms of 20 users",
        "SEE ALSO unspin(1)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn folder_that_cannot_be_made_is_named() {
    let (_, err, code) = finish(&mut unspin(&["man-pages", "/proc/no/such"]));
    assert_eq!((err.lines().count(), code), (1, Some(125)), "{err}");
    assert!(err.starts_with("unspin: /proc/no/such: the folder cannot be made"), "{err}");
}
