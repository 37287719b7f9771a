//! Names and outputs of programs never reach the terminal as they are: issue 25, escapes.

use crate::common::{compiled, finish, schema, unspin};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_e2e::copy_program;

/// The program of `control_names.c`, with control characters in the names of its mutex, its function and its file.
fn program(folder: &Path) -> Option<PathBuf> {
    let mut bytes = fs::read(compiled("control_names.c", folder)?).unwrap();
    for (plain, with) in [
        (&b"renamed_mutex"[..], &b"re\x1b[31m\x07\nutex"[..]),
        (b"renamed_function", b"re\x1b[2J\x07\nfunction"),
    ] {
        let mut from = 0;
        while let Some(at) = bytes[from..].windows(plain.len()).position(|part| part == plain) {
            bytes[from + at..from + at + plain.len()].copy_from_slice(&with[..plain.len()]);
            from += at + plain.len();
        }
    }
    let written = folder.join("written");
    fs::write(&written, bytes).unwrap();
    fs::set_permissions(&written, Permissions::from_mode(0o755)).unwrap();
    let renamed = folder.join(OsStr::from_bytes(b"prog\x1b[32m\nit's"));
    copy_program(&written, &renamed);
    Some(renamed)
}

fn assert_printable(text: &str) {
    let raw = text.chars().find(|&c| c.is_control() && c != '\n');
    assert_eq!(raw, None, "{text:?}");
    assert!(!text.contains("\nutex") && !text.contains("\nfunction") && !text.contains("\nit's"), "{text}");
}

#[test]
fn report_has_no_control_characters_of_names() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else { return };
    let json = folder.path().join("report.json");
    let options = ["meter", "--all", "--json", json.to_str().unwrap(), "--", program.to_str().unwrap()];
    let (out, err, code) = finish(&mut unspin(&options));
    assert_eq!(code, Some(0), "{err}");
    assert_printable(&out);
    assert_printable(&err);
    assert!(err.contains(r"re\x1b[31m\x07\nutex"), "{err}");
    assert!(err.contains(r"re\x1b[2J\x07\nfunction"), "{err}");
    let report: Value = schema::read("locks", &json);
    let command = report["processes"][0]["command"][0].as_str().unwrap();
    assert_eq!(Path::new(command), program, "JSON has escapes of its own");
}

#[test]
fn failed_programs_output_is_escaped_and_its_command_can_be_typed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = program(folder.path()) else { return };
    let script = r"printf 'bad\033[2J\007luck\n'; exit 7";
    let options =
        ["prove", "--runs", "6", "--waits", "poll", "--", "sh", "-c", script, program.to_str().unwrap()];
    let last = OsStr::from_bytes(b"no\xe4utf8");
    let (out, err, code) = finish(unspin(&options).arg(last));
    assert_eq!(code, Some(4), "{out}{err}");
    assert_printable(&out);
    assert_printable(&err);
    assert!(out.contains(r"bad\x1b[2J\x07luck"), "{out}");
    let first = out.split("\nCompared").next().unwrap().replace("\n  ", " ");
    let typed = format!("set -- {first}; printf %s \"${{!#}}\"");
    let Ok(typed) = Command::new("bash").args(["-c", &typed]).output() else {
        unspin_e2e::skip("the typed command", "install bash");
        return;
    };
    assert_eq!(OsStr::from_bytes(&typed.stdout), last, "{first}");
    assert!(first.contains(r"prog\x1b[32m\nit\'s"), "{first}");
}

#[test]
fn message_about_a_file_is_one_line() {
    let (_, err, code) = finish(&mut unspin(&["run", "--waits", "poll", "--", "no\nsuch\x1b[2J\x07"]));
    assert_eq!(code, Some(127), "{err}");
    assert_printable(&err);
    assert_eq!(err.lines().count(), 1, "{err}");
}
