//! `unspin run --rwlock KIND@LOCK`: exactly the read-write locks of this name are replaced.

use crate::common::{compiled_with, finish, schema, unspin};
use serde_json::Value;
use std::fs;

/// What `run -v` prints of the entries, without the reasons of those that replaced nothing.
fn replaced(arguments: &[&str]) -> String {
    let (_, err, code) = finish(&mut unspin(&[&["run", "-v"], arguments].concat()));
    assert_eq!(code, Some(5), "{arguments:?}: {err}");
    let line = err.lines().find_map(|line| line.strip_prefix("unspin: replaced: "));
    line.unwrap_or_else(|| panic!("{arguments:?}: {err}")).to_owned()
}

/// The names of the meter, also with the file.
#[test]
fn name_of_the_meter_replaces_exactly_the_lock_of_that_name() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [&["-g", "-O1"][..], &["-O2"]] {
        let Some(path) = compiled_with("named_rwlocks.c", flags, folder.path()) else { return };
        let program = path.to_str().unwrap();
        let json = folder.path().join("report.json");
        let (_, err, _) = finish(&mut unspin(&["meter", "--json", json.to_str().unwrap(), program]));
        let report: Value = schema::read("locks", &json);
        let names: Vec<&str> =
            report["locks"].as_array().unwrap().iter().map(|lock| lock["name"].as_str().unwrap()).collect();
        for name in ["table_lock", "index_new", "rwlock first used in wild_read"] {
            assert!(names.contains(&name), "{name}: {names:?} {err}");
            for name in [name.to_owned(), format!("{name} in {program}")] {
                let choice = format!("rw-biased@{name}");
                let others = ["--rwlock", "rw-fair", program];
                let expected = format!(
                    "rw-biased@{}: 1 read-write lock, rw-fair: 2 read-write locks (1 more stay libc's)",
                    name.split(" in /").next().unwrap()
                );
                assert_eq!(replaced(&[&["--rwlock", &choice], &others[..]].concat()), expected, "{flags:?}");
            }
        }
    }
}

#[test]
fn plan_file_replaces_locks_of_several_families() {
    let folder = tempfile::tempdir().unwrap();
    let Some(path) = compiled_with("named_rwlocks.c", &[], folder.path()) else { return };
    let plan = folder.path().join("plan.toml");
    let text = format!(
        "program = {path:?}\n[[rwlock]]\nlock = \"table_lock\"\nkind = \"rw-biased\"\n\
         [[rwlock]]\nlock = \"*\"\nkind = \"rw-fair\"\n[[spin]]\nlock = \"*\"\nkind = \"adaptive\"\n"
    );
    fs::write(&plan, text).unwrap();
    let [program, plan] = [path, plan].map(|path| path.into_os_string().into_string().unwrap());
    let kept = "(1 more stay libc's)";
    assert_eq!(
        replaced(&["--use-plan", &plan, &program]),
        format!(
            "rw-biased@table_lock: 1 read-write lock, rw-fair: 2 read-write locks {kept}, spin adaptive: 0 spin locks"
        )
    );
    assert_eq!(
        replaced(&["--rwlock", "rw-writer", "--mutex", "fair", "--use-plan", &plan, &program]),
        format!(
            "fair: 0 mutexes, rw-writer: 2 read-write locks {kept}, rw-biased@table_lock: 1 read-write lock, \
             spin adaptive: 0 spin locks"
        ),
        "the command line takes precedence over a kind for all"
    );
}
