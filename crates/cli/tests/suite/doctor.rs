//! `unspin doctor` on this machine, and on machines that lack something.

use crate::common::{as_nobody, finish, may_mount, nobody_can_run_unspin, program, schema, unspin};
use serde_json::Value;
use std::process::Command;

/// What `unspin doctor --json` prints, with the exit code.
fn diagnosis(command: &mut Command) -> (Value, Option<i32>) {
    let (out, err, code) = finish(command);
    assert!(!out.is_empty(), "{err}");
    let json = schema::parse("doctor", &out);
    (json, code)
}

fn check<'j>(json: &'j Value, name: &str) -> &'j Value {
    let checks = json["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {json}"))
}

/// A script in a mount namespace of its own, in which `doctor` is the command.
fn in_namespace(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-ec", script]);
    command
        .env("doctor", format!("{} doctor", program().display()))
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

#[test]
fn what_every_other_test_needs_works() {
    let (json, code) = diagnosis(&mut unspin(&["doctor", "--json", "run", "meter", "prove", "sysv"]));
    assert_eq!(
        (json["schema"].as_str(), json["version"].as_u64(), code),
        (Some("unspin-doctor"), Some(1), Some(0))
    );
    assert_eq!(json["cannot"], serde_json::json!([]));
    for name in ["preload library", "System V engines"] {
        assert_eq!(check(&json, name)["state"], "ok", "{json}");
    }
    let names: Vec<&str> =
        json["checks"].as_array().unwrap().iter().filter_map(|check| check["name"].as_str()).collect();
    for name in [
        "shared memory",
        "limits",
        "polling",
        "system calls",
        "virtual machines",
        "CPUs",
        "CPU quota",
        "steal time",
        "wake-ups",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(
        !names.contains(&"kernel's events") && !names.contains(&"unspin-lab"),
        "not asked about: {names:?}"
    );
}

/// Whatever this machine lacks, text, JSON and exit code agree.
#[test]
fn text_and_json_agree() {
    let (json, code) = diagnosis(&mut unspin(&["doctor", "--json"]));
    let cannot = json["cannot"].as_array().unwrap();
    assert_eq!(code, Some(i32::from(!cannot.is_empty())), "{json}");
    let (text, err, text_code) = finish(&mut unspin(&["doctor"]));
    assert_eq!((err.as_str(), text_code), ("", code), "{text}");
    for check in json["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        assert!(text.lines().any(|line| line.contains(name)), "{name}: {text}");
        let is_fine = check["state"] == "ok";
        assert_eq!(check["costs"].is_null(), is_fine, "a state that is not fine says what it costs: {check}");
    }
    let last = text.lines().last().unwrap();
    assert_eq!(last.starts_with("Everything works"), cannot.is_empty(), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100 || line.contains('/')), "{text}");
}

#[test]
fn user_without_privileges_is_told_what_permits_the_lenses() {
    let test = "user_without_privileges_is_told_what_permits_the_lenses";
    if !nobody_can_run_unspin(test) {
        return;
    }
    let doctor = format!("exec {} doctor lenses", program().display());
    let (text, _, code) = finish(&mut as_nobody(&doctor));
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAILS    kernel's events   tracepoints "), "{text}");
    assert!(text.ends_with("These cannot work here: `unspin meter --lens`, `-p` and `-a`.\n"), "{text}");
}

/// Root mounts a tracefs of its own; another user may not, nor read that of root.
#[test]
fn tracefs_that_is_missing_or_hidden_is_named_with_the_command_that_opens_it() {
    let test = "tracefs_that_is_missing_or_hidden_is_named_with_the_command_that_opens_it";
    if !may_mount(test) || !nobody_can_run_unspin(test) {
        return;
    }
    let nobody = "exec setpriv --reuid=65534 --regid=65534 --clear-groups $doctor --json lenses";
    let empty = "for folder in /sys/kernel/tracing /sys/kernel/debug; do [ ! -d $folder ] || mount -t tmpfs none $folder; done";
    let roots = format!("{empty}; mount -t tracefs -o mode=700 tracefs /sys/kernel/tracing");
    let cases = [
        (empty, "mount -t tracefs tracefs /sys/kernel/tracing"),
        (
            &roots,
            "mount -o remount,mode=750,gid=65534 /sys/kernel/tracing; sysctl kernel.perf_event_paranoid=-1",
        ),
    ];
    for (before, remedy) in cases {
        let (json, code) = diagnosis(&mut in_namespace(&format!("{before}\n{nobody}")));
        let found = check(&json, "kernel's events");
        assert_eq!(
            (code, found["state"].as_str(), found["remedy"].as_str()),
            (Some(1), Some("fails"), Some(remedy))
        );
        assert_eq!(json["cannot"], serde_json::json!(["lenses"]));
    }
}

#[test]
fn without_shared_memory_commands_work_with_a_limit() {
    if !may_mount("without_shared_memory_commands_work_with_a_limit") {
        return;
    }
    let script = "mount -t tmpfs -o ro none /dev/shm; exec $doctor --json run meter sysv";
    let (json, code) = diagnosis(&mut in_namespace(script));
    let memory = check(&json, "shared memory");
    assert_eq!((code, &memory["state"]), (Some(0), &"limited".into()), "{json}");
    assert!(memory["remedy"].as_str().unwrap().starts_with("mount -t tmpfs"), "{memory}");
    assert!(memory["costs"].as_str().unwrap().contains("--arena FILE"), "{memory}");
    let small = "mount -t tmpfs -o size=64m none /dev/shm; exec $doctor --json run";
    let (json, _) = diagnosis(&mut in_namespace(small));
    let memory = check(&json, "shared memory");
    assert!(memory["found"].as_str().unwrap().ends_with("of 64 MiB free"), "{memory}");
    assert_eq!(memory["state"], "limited");
}

/// The dynamic linker maps no code from such a file system.
#[test]
fn cache_without_executable_files_is_passed_over() {
    if !may_mount("cache_without_executable_files_is_passed_over") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().display().to_string();
    let script = format!(
        "mount -t tmpfs -o noexec none {cache}; export XDG_CACHE_HOME={cache}; exec $doctor --json prove"
    );
    let (json, code) = diagnosis(&mut in_namespace(&script));
    let library = check(&json, "preload library");
    assert_eq!((code, library["state"].as_str()), (Some(0), Some("ok")), "{json}");
    assert!(!library["found"].as_str().unwrap().contains(&cache), "{library}");
}

#[test]
fn missing_unspin_lab_is_named_with_the_command_that_installs_it() {
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("unspin");
    unspin_e2e::copy_program(&program(), &alone);
    let mut command = Command::new(&alone);
    command
        .args(["doctor", "lab"])
        .env("PATH", "/nonexistent")
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let (out, _, code) = finish(&mut command);
    assert_eq!(code, Some(1), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("cargo install --path crates/lab"), "{out}");
    command.args(["run"]);
    let (out, _, _) = finish(&mut command);
    assert!(
        out.ends_with("These cannot work here: `unspin volano`, `dbt1`, `reproduce` and `vm`.\n"),
        "{out}"
    );
}

#[test]
fn unknown_use_is_a_wrong_command_line() {
    let (_, err, code) = finish(&mut unspin(&["doctor", "everything"]));
    assert_eq!(code, Some(2));
    assert!(err.contains("'everything'") && err.contains("lenses"), "{err}");
}
