//! `unspin dbt1`: output, bad input, and ways out after which nothing stays behind.

use crate::common::{Background, finish, gone, may_mount, program, skip, unspin, wait_until};
use std::fs;
use std::path::Path;
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// A small shop and short runs.
const SMALL: [&str; 9] =
    ["dbt1", "--items", "1000", "--scale", "1", "--browsers", "4", "--duration", "300ms"];

#[test]
fn mean_is_that_of_the_runs() {
    let (out, err, code) = finish(unspin(&SMALL).args(["--warm-up", "0", "--runs", "3"]));
    assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
    let rate = |line: &str, before: &str, after: &str| -> f64 {
        let (_, rest) = line.split_once(before).unwrap_or_else(|| panic!("no '{before}' in {out}"));
        rest.split_once(after).unwrap().0.parse().unwrap()
    };
    let rates: Vec<f64> =
        out.lines().filter(|line| line.starts_with("run ")).map(|line| rate(line, " s, ", " BT/s")).collect();
    assert_eq!(rates.len(), 3, "{out}");
    let mean = rates.iter().sum::<f64>() / 3.0;
    assert!((rate(&out, "bogotransactions per second: ", " (mean of 3 runs") - mean).abs() <= 0.1, "{out}");
    assert!(out.contains("\nStd Deviation 2 best  "), "{out}");
}

#[test]
fn file_of_the_database_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.db");
    let file = file.to_str().unwrap();
    let again = ["dbt1", "--database", file, "--runs", "1", "--duration", "100ms", "--warm-up", "0"];
    let first = finish(unspin(&again).args(["--items", "1000", "--scale", "1"]));
    assert_eq!((first.1.as_str(), first.2), ("", Some(0)), "{first:?}");
    let (out, err, code) = finish(&mut unspin(&again));
    assert_eq!((err.as_str(), code), ("", Some(0)));
    assert!(out.contains(": 1000 items, 2880 customers, shopping mix\n"), "{out}");
    let (out, err, code) = finish(unspin(&again).args(["--scale", "2"]));
    let expected = "unspin: dbt1: --scale 2: the database was populated with --scale 1: leave the option out, or name another database\n";
    assert_eq!((out.as_str(), err.as_str(), code), ("", expected, Some(2)));
}

#[test]
fn meter_shows_the_mutexes_of_pool_and_writers() {
    let (_, err, code) =
        finish(unspin(&["meter", "--level", "counts", "--all"]).args(SMALL).args(["--runs", "1"]));
    assert_eq!(code, Some(0), "{err}");
    // A mutex has the name of the function that made it, or if the compiler has inlined that, of its file.
    for names in [["dbt1::pool::Pool", "pool.rs:"], ["dbt1::sqlite::Sqlite::new", "sqlite.rs:"]] {
        let is_named = |line: &str| names.iter().any(|name| line.contains(name));
        assert!(
            err.lines().any(|line| line.contains("mutex initialised at") && is_named(line)),
            "{names:?}: {err}"
        );
    }
}

#[test]
fn missing_server_is_one_line() {
    if !may_mount("missing_server_is_one_line") {
        return;
    }
    // Debian's servers are found without PATH, so they are hidden.
    let script = format!(
        "[ ! -d /usr/lib/postgresql ] || mount -t tmpfs none /usr/lib/postgresql || exit 99; \
         PATH=/nonexistent exec {} dbt1 --db postgres",
        program().display()
    );
    let (out, err, code) = finish(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
    assert!(err.starts_with("unspin: dbt1: there is no PostgreSQL server in PATH"), "{err}");
    assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, Some(127)));
}

/// In a file system of 24 MiB, which has room for neither database.
#[test]
fn full_disk_is_one_line() {
    if !may_mount("full_disk_is_one_line") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    allow_others(folder.path());
    let unspin = program();
    let unspin = unspin.display();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let disk = disk.display();
    for db in ["sqlite", "postgres"] {
        let script = format!(
            "mount -t tmpfs -o size=24m,mode=1777 none {disk} || exit 99; \
             TMPDIR={disk} exec {unspin} dbt1 --db {db} --scale 10"
        );
        let (out, err, code) = finish(Command::new("unshare").args(["--mount", "sh", "-c", &script]));
        assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, Some(1)), "{err}");
        assert!(
            err.starts_with("unspin: dbt1: ") && (err.contains("full") || err.contains("No space left")),
            "{err}"
        );
    }
}

/// The folders of temporary files that a benchmark made below this one.
fn folders_in(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).unwrap().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("unspin-dbt1-"))
        .collect()
}

/// A benchmark of hours on PostgreSQL, once its server runs, with the server's pid.
fn endless(parent: &Path) -> Option<(Background, u32)> {
    if !Path::new("/usr/lib/postgresql").exists() {
        skip(
            "a benchmark on PostgreSQL",
            "there is no PostgreSQL server (Debian: apt-get install postgresql)",
        );
        return None;
    }
    let mut command = unspin(&SMALL);
    command.args(["--db", "postgres", "--warm-up", "1h"]).env("TMPDIR", parent);
    let run = Background::start(command);
    let mut server = None;
    wait_until("the server runs", || {
        let folder = folders_in(parent).pop();
        let file = folder.and_then(|folder| {
            fs::read_to_string(parent.join(folder).join("postgres/data/postmaster.pid")).ok()
        });
        server = file
            .filter(|text| text.contains("ready"))
            .and_then(|text| text.lines().next()?.trim().parse().ok());
        server.is_some()
    });
    Some((run, server?))
}

#[test]
fn interrupt_stops_the_server_and_removes_its_folder() {
    let parent = tempfile::tempdir().unwrap();
    allow_others(parent.path());
    let Some((mut run, server)) = endless(parent.path()) else { return };
    // Not SIGINT: a shell lets the commands that it starts in the background ignore it, and unspin keeps that.
    child::signal(run.pid(), Signal::Terminate).unwrap();
    assert_eq!(run.wait().code(), Some(130));
    assert_eq!(run.rest(), "unspin: dbt1: interrupted\n");
    assert!(gone(server));
    assert!(folders_in(parent.path()).is_empty());
}

#[test]
fn server_ends_with_a_killed_benchmark() {
    let parent = tempfile::tempdir().unwrap();
    allow_others(parent.path());
    let Some((mut run, server)) = endless(parent.path()) else { return };
    child::signal(run.pid(), Signal::Kill).unwrap();
    run.wait();
    wait_until("the server has ended", || gone(server));
    assert_eq!(folders_in(parent.path()).len(), 1);
    let (_, _, code) =
        finish(unspin(&SMALL).args(["--warm-up", "0", "--runs", "1"]).env("TMPDIR", parent.path()));
    assert_eq!(code, Some(0));
    assert!(folders_in(parent.path()).is_empty(), "the next benchmark removes the folder of a killed one");
}

/// The variables name a server of the user, at another port.
#[test]
fn variables_for_another_server_do_not_reach_ours() {
    if !Path::new("/usr/lib/postgresql").exists() {
        return skip(
            "variables_for_another_server_do_not_reach_ours",
            "there is no PostgreSQL server (Debian: apt-get install postgresql)",
        );
    }
    for (first, code) in [(&[][..], 0), (&["prove", "--waits", "poll", "--time-budget", "1s"], 3)] {
        let mut command = unspin(&[first, &SMALL[..]].concat());
        command.args(["--db", "postgres", "--warm-up", "0", "--runs", "1"]);
        // The user of the server cannot read the folder that the tests have for it.
        command.env_remove("XDG_CACHE_HOME");
        for (name, value) in [("PGPORT", "5999"), ("PGHOST", "/nonexistent"), ("PGOPTIONS", "-c no.such=")] {
            command.env(name, value);
        }
        // A proof does not fit in a second, but the first run of the server has gone well.
        let (out, err, found) = finish(&mut command);
        assert_eq!(found, Some(code), "{first:?}: {out}{err}");
    }
}

/// The server runs as another user if we are root.
fn allow_others(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
}
