//! `unspin run --mutex KIND@LOCK`: exactly the locks of this name are replaced.

use crate::common::{compiled_with, finish, skip, unspin};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Every lock of `named_mutexes.cc`, in the order of their first use.
const LOCKS: [&str; 15] = [
    "cache_lock",
    "buckets[0]",
    "buckets[3]",
    "shards[0].lock",
    "shards[2].lock",
    "shards[1].ends[0].guard",
    "shards[1].ends[1].guard",
    "plain",
    "Cache::table_lock",
    "work::guard",
    "queue_new",
    "ring_open",
    "Journal",
    "Index",
    "wild_use",
];

/// The kind of each lock.
fn replaced(arguments: &[&str]) -> BTreeMap<String, String> {
    let (out, err, code) = finish(&mut unspin(arguments));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{arguments:?}");
    let line = |line: &str| line.rsplit_once(' ').map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    out.lines().map(|text| line(text).unwrap()).collect()
}

/// The locks that a name selects: all others are `steal`.
fn meant_by(name: &str, program: &str) -> Vec<String> {
    let choice = format!("fair@{name}");
    let replaced = replaced(&["run", "--mutex", "steal", "--mutex", &choice, program]);
    assert_eq!(replaced.len(), LOCKS.len(), "{replaced:?}");
    assert!(replaced.values().all(|kind| kind == "fair" || kind == "steal"), "{name}: {replaced:?}");
    let meant = LOCKS.into_iter().filter(|&lock| replaced[lock] == "fair");
    meant.map(str::to_owned).collect()
}

/// The number of the line that is marked `line: NAME`.
fn line_of(name: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/named_mutexes.cc");
    let text = fs::read_to_string(source).unwrap();
    let number = text.lines().position(|line| line.ends_with(&format!("line: {name}"))).unwrap() + 1;
    format!("named_mutexes.cc:{number}")
}

#[test]
fn lock_name_replaces_exactly_the_lock_of_that_name() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [&["-O0"][..], &["-O2"], &["-O2", "-no-pie"]] {
        let Some(path) = compiled_with("named_mutexes.cc", flags, folder.path()) else { return };
        let program = path.to_str().unwrap();
        let cases: &[(&str, &[&str])] = &[
            ("cache_lock", &["cache_lock"]),
            ("cache_lock, static, named_mutexes.cc:8", &["cache_lock"]),
            ("buckets", &["buckets[0]", "buckets[3]"]),
            ("buckets[3]", &["buckets[3]"]),
            ("shards.lock", &["shards[0].lock", "shards[2].lock"]),
            ("shards[1].ends.guard", &["shards[1].ends[0].guard", "shards[1].ends[1].guard"]),
            ("plain", &["plain"]),
            ("Cache::table_lock", &["Cache::table_lock"]),
            ("work::guard", &["work::guard"]),
            ("queue_new", &["queue_new"]),
            ("prepare", &["ring_open"]),
            ("ring_open", &["ring_open"]),
            ("Journal::Journal ▸ port::Mutex::Mutex", &["Journal"]),
            ("port::Mutex::Mutex", &["Journal", "Index"]),
            ("mutex first used in wild_use", &["wild_use"]),
            (&line_of("cache_lock"), &["cache_lock"]),
            (&line_of("queue_new"), &["queue_new"]),
            (&line_of("ring_open"), &["ring_open"]),
            (&line_of("wild_use"), &["wild_use"]),
        ];
        for (name, locks) in cases {
            assert_eq!(meant_by(name, program), *locks, "{name} {flags:?}");
        }
    }
}

/// Symbols alone contain variables and functions, but not their parts.
#[test]
fn names_work_without_debug_information() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compiled_with("named_mutexes.cc", &["-O1"], folder.path()) else { return };
    match Command::new("strip").arg("--strip-debug").arg(&path).status() {
        Ok(status) => assert!(status.success()),
        Err(error) => {
            return skip("names without debug information", &format!("strip: {error}: install binutils"));
        }
    }
    let program = path.to_str().unwrap();
    let cases: &[(&str, &[&str])] = &[
        ("cache_lock", &["cache_lock"]),
        ("buckets", &["buckets[0]", "buckets[3]"]),
        ("buckets+0x78", &["buckets[3]"]),
        ("shards+0x8", &["shards[0].lock"]),
        ("plain", &["plain"]),
        ("queue_new", &["queue_new"]),
        ("Index::Index ▸ port::Mutex::Mutex", &["Index"]),
        ("mutex first used in wild_use", &["wild_use"]),
    ];
    for (name, locks) in cases {
        assert_eq!(meant_by(name, program), *locks, "{name}");
    }
}

#[test]
fn plan_written_by_hand_is_applied() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compiled_with("loads_plugin.c", &[], folder.path()) else { return };
    let plugin = folder.path().join("plugin.so");
    let built = compiled_with("plugin.c", &["-shared", "-fPIC"], folder.path()).unwrap();
    fs::rename(built, &plugin).unwrap();
    let plan = folder.path().join("plan.toml");
    let text = format!(
        "program = {path:?}\n[[mutex]]\nlock = \"plugin_lock\"\nmodule = {plugin:?}\nkind = \"adaptive\"\n\
         [[mutex]]\nlock = \"*\"\nkind = \"rt-steal\"\n"
    );
    fs::write(&plan, text).unwrap();
    let [path, plugin, plan] = [path, plugin, plan].map(|path| path.into_os_string().into_string().unwrap());
    let expected = |lock: &str, other: &str| {
        BTreeMap::from([
            ("plugin_lock".to_owned(), lock.to_owned()),
            ("plugin_new".to_owned(), other.to_owned()),
        ])
    };
    let planned = ["run", "--use-plan", &plan];
    assert_eq!(replaced(&[&planned[..], &[&path, &plugin]].concat()), expected("adaptive", "rt-steal"));
    let more = ["--mutex", "fair", &path, &plugin];
    assert_eq!(replaced(&[&planned[..], &more].concat()), expected("adaptive", "fair"));
    let (_, err, code) = finish(&mut unspin(&[&planned[..], &["sh", "-c", "true"]].concat()));
    assert!(err.contains(&format!("is a plan for {path}, not for ")), "{err}");
    assert_eq!(code, Some(2));
}

/// The meter records a program under a plan like without one.
#[test]
fn metered_program_runs_under_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compiled_with("named_mutexes.cc", &["-O1"], folder.path()) else { return };
    let table = folder.path().join("table").into_os_string().into_string().unwrap();
    let arguments = ["meter", "--all", "-o", &table, "--mutex", "fair@plain", "--mutex", "adaptive"];
    let replaced = replaced(&[&arguments[..], &[path.to_str().unwrap()]].concat());
    let expected = |lock: &str| if lock == "plain" { "fair" } else { "adaptive" };
    for (lock, kind) in &replaced {
        assert_eq!(kind, expected(lock), "{lock}");
    }
    let table = fs::read_to_string(table).unwrap();
    assert!(
        table.contains("cache_lock, static") && table.contains("queue_new, mutex initialised"),
        "{table}"
    );
}
