//! Files of unspin that are truncated while programs and unspin have them mapped: the program goes on, and one line says
//! what is lost.

use crate::common::{compiled, finish, unspin};

/// Runs a program that truncates its recording to so many bytes while its threads lock a mutex, and ends with the exit
/// code that may follow, or 7.
fn metered(options: &[&str], arguments: &[&str]) -> Option<(String, String, Option<i32>)> {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("truncates.c", folder.path())?;
    let command = [options, &[program.to_str().unwrap()], arguments].concat();
    Some(finish(&mut unspin(&command)))
}

#[test]
fn recording_that_is_cut_short_is_reported_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let stored = folder.path().join("stored");
    let with_record = ["meter", "--record", stored.to_str().unwrap()];
    for (options, left) in [(&["meter"][..], "0"), (&["meter"], "4096"), (&with_record, "0")] {
        let Some((out, err, code)) = metered(options, &[left]) else { return };
        assert_eq!((out.as_str(), err.lines().count(), code), ("80000\n", 1, Some(125)), "{left}: {err}");
        for part in ["/recording: the recording was cut short", "UNSPIN_RECORD", "ended with exit code 7"] {
            assert!(err.contains(part), "{left}: {err}");
        }
    }
    assert!(!stored.exists(), "nothing is stored");
}

#[test]
fn recording_that_is_cut_behind_its_records_is_reported_with_a_note() {
    let Some((out, err, code)) = metered(&["meter"], &["4000000"]) else { return };
    assert_eq!((out.as_str(), code), ("80000\n", Some(7)), "{err}");
    let text = err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("truncates.c:") && text.contains("was cut short while the program ran"), "{err}");
}

/// The script's shell has used no lock, and each program that it starts begins after the cut.
#[test]
fn programs_that_start_after_the_cut_say_nothing() {
    let script = ": > \"$UNSPIN_RECORD\"; ls / >/dev/null; cat /dev/null; exit 7";
    let (out, err, code) = finish(&mut unspin(&["meter", "sh", "-c", script]));
    assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, Some(125)), "{err}");
}

#[test]
fn prove_says_that_the_recording_was_cut_short() {
    let options = ["prove", "--runs", "6", "--mutex", "adaptive@mutex", "--"];
    let Some((out, err, code)) = metered(&options, &["0", "0"]) else { return };
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("No lock table of system:"), "{text} {err}");
    assert!(text.contains("/recording: the recording was cut short"), "{text} {err}");
    // The runs that are compared are not metered.
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?}: {text} {err}");
}

/// What was replaced is not known then, and no false reason is given.
#[test]
fn tally_that_is_cut_short_is_reported_in_one_line() {
    let script = ": > \"$UNSPIN_TALLY\"; cat /dev/null; exit 7";
    for command in ["run", "meter"] {
        let (out, err, code) = finish(&mut unspin(&[command, "--waits", "poll", "sh", "-c", script]));
        assert_eq!((out.as_str(), code), ("", Some(7)), "{command}: {err}");
        let text = err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("the tally was cut short") && text.contains("UNSPIN_TALLY"), "{err}");
        assert!(!text.contains("replaced nothing"), "{err}");
    }
}

#[test]
fn ignored_sigbus_is_handed_on() {
    let shows = ["sh", "-c", "grep SigIgn /proc/self/status"];
    let ignored = |arguments: &[&str]| {
        let mut shell = std::process::Command::new("sh");
        let command = unspin(arguments);
        shell.args(["-c", "trap '' BUS && exec \"$0\" \"$@\""]).arg(command.get_program()).args(arguments);
        shell.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        finish(&mut shell).0
    };
    for options in [&["run", "--waits", "poll"][..], &["meter", "-o", "/dev/null"]] {
        let out = ignored(&[options, &shows].concat());
        let mask = out.split_whitespace().last().and_then(|mask| u64::from_str_radix(mask, 16).ok());
        assert_eq!(mask.map(|mask| mask >> 6 & 1), Some(1), "{out}");
    }
}
