//! What `unspin prove dbt1` gets from `unspin-lab`.

use crate::common::skip;
use std::ffi::OsString;
use std::sync::atomic::AtomicBool;
use unspin_launch::error::Error;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

#[test]
fn plan_is_applied_to_no_database_of_the_session() {
    for (db, program) in [("sqlite", None), ("postgres", Some("postgres"))] {
        let command = words(&format!("dbt1 --db {db} --items 1000 --scale 1"));
        let preparation = unspin_trial::web_shop(&command).unwrap();
        let prepared = match (preparation.prepare)(&AtomicBool::new(false)) {
            Err(Error::NotFound(reason)) if reason.contains("PostgreSQL") => {
                return skip("a plan for PostgreSQL", &reason);
            }
            other => other.unwrap().unwrap(),
        };
        assert_eq!(
            (prepared.service.is_some(), prepared.applied_to.is_some()),
            (db == "postgres", db == "postgres")
        );
        if let Some((applied_to, program)) = prepared.applied_to.zip(program) {
            assert_eq!(applied_to[1..], ["-D", "DATA"]);
            assert!(applied_to[0].to_string_lossy().ends_with(&format!("/{program}")), "{applied_to:?}");
        }
    }
}

/// The benchmark says itself what is wrong.
#[test]
fn wrong_command_line_is_not_prepared() {
    let command = words("dbt1 --no-such");
    let preparation = unspin_trial::web_shop(&command).unwrap();
    let prepared = (preparation.prepare)(&AtomicBool::new(false)).unwrap().unwrap();
    assert_eq!(prepared.program.arguments, command);
}

#[test]
fn preparation_that_is_stopped_has_no_result() {
    let preparation = unspin_trial::web_shop(&words("dbt1 --items 100000")).unwrap();
    assert!((preparation.prepare)(&AtomicBool::new(true)).unwrap().is_none());
}
