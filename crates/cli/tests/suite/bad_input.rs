//! Invalid input: one line that names the culprit and the remedy, and a documented exit code.

use crate::common::{finish, skip, unspin};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

/// The exit code and all of standard error.
fn refusal(arguments: &[&str]) -> (i32, String) {
    let (out, err, code) = finish(&mut unspin(arguments));
    assert_eq!(out, "", "nothing is reported");
    (code.unwrap(), err)
}

/// Clap refuses the command line before anything is run; its first line names the culprit.
#[test]
fn invalid_command_line_is_refused_with_the_culprit() {
    let cases: [(&[&str], &str); 34] = [
        (&["frobnicate"], "'frobnicate'"),
        (&["run", "ls"], "--sysv"),
        (&["run", "--mutex", "futex", "ls"], "there is no kind \"futex\": system, pi, "),
        (&["run", "--mutex", "steal@", "ls"], "name a lock after the @"),
        (&["run", "--mutex", "steal", "--arena", "x", "ls"], "--sysv <ENGINE>"),
        (&["run", "--sysv", "rcu"], "<COMMAND>"),
        (&["run", "--sysv", "fast", "ls"], "'fast' for '--sysv <ENGINE>'"),
        (&["run", "--frob", "--sysv", "rcu", "ls"], "'--frob'"),
        (&["prove"], "<COMMAND>"),
        (&["prove", "--mutex", "adaptive,stael", "ls"], "there is no kind \"stael\" (meant: steal?)"),
        (
            &["prove", "--rwlock", "fair@x", "ls"],
            "\"fair\" (it is a kind of mutex, for --mutex): system, rw-",
        ),
        (&["prove", "--mutex", "system", "ls"], "system is the control"),
        (&["prove", "--sysv", "kernel,rcu", "ls"], "'--sysv <ENGINES>': kernel is the control"),
        (&["prove", "--runs", "4", "ls"], "'4' for '--runs <N>'"),
        (&["prove", "--time-budget", "soon", "ls"], "'soon' for '--time-budget <DURATION>'"),
        (&["prove", "--higher-is-better", "ls"], "--metric"),
        (&["meter"], "<COMMAND>"),
        (&["meter", "--level", "all", "ls"], "there is no level all: auto, counts, sampled, sampled=N, full"),
        (&["meter", "--level", "sampled=0", "ls"], "give a number from 1"),
        (&["meter", "--size", "much", "ls"], "give a number of bytes such as 512M or 8G"),
        (&["meter", "--min-util", "half", "ls"], "give a percentage such as 5 or 0.5"),
        (&["meter", "--min-lost", "long", "ls"], "give a time such as 500ms"),
        (&["meter", "--lock", "(a", "ls"], "'(a' for '--lock <REGEX>': unclosed group\n"),
        (&["report", "--caller", "[", "x"], "'[' for '--caller <REGEX>': unclosed character class\n"),
        (&["meter", "--format", "html", "ls"], "'html' for '--format <FORMAT>'"),
        (&["report"], "<FILE>"),
        (&["semopbench", "-g", "x"], "'x' for '-g <GROUPS>'"),
        (&["semopbench", "--frob"], "'--frob'"),
        (&["hackbench", "many"], "'many' for '[GROUPS]'"),
        (&["hackbench", "5", "-g", "5"], "'[GROUPS]' cannot be used with '--groups <GROUPS>'"),
        (&["hackbench", "5", "process"], "'process'"),
        (&["hackbench", "-p", "-i"], "'--pipe' cannot be used with '--inet'"),
        (&["hackbench", "-p", "--transport", "queue"], "'--pipe' cannot be used with '--transport"),
        (&["hackbench", "--transport", "carrier-pigeon"], "'carrier-pigeon' for '--transport <TRANSPORT>'"),
    ];
    for (arguments, culprit) in cases {
        let (code, text) = refusal(arguments);
        assert_eq!(code, 2, "{arguments:?}: {text}");
        assert!(text.starts_with("unspin: ") && text.contains(culprit), "{arguments:?}: {text}");
    }
}

/// An option that was removed, or that only another command has, is refused in one line.
#[test]
fn option_of_another_command_is_refused_with_its_name() {
    let gone = "unspin: --spin-waits has been removed: use --waits poll\n";
    let other = |command| {
        format!("unspin: `unspin {command}` has no --cpu-limit: it is an option of `unspin prove`\n")
    };
    let of_dbt1 = "unspin: `unspin prove` has no --browsers: it is an option of `unspin dbt1`\n";
    let of_many = "unspin: `unspin meter` has no --runs: it is an option of `unspin prove`, `unspin scale`, `unspin volano`, `unspin \
                   dbt1`\n";
    let cases: [(&[&str], &str); 7] = [
        (&["prove", "--browsers", "50", "dbt1"], of_dbt1),
        (&["meter", "--runs", "3", "ls"], of_many),
        (&["run", "--spin-waits", "poll", "ls"], gone),
        (&["prove", "--spin-waits=50", "ls"], gone),
        (&["meter", "--spin-waits", "ls"], gone),
        (&["run", "--cpu-limit", "50", "--waits", "poll", "ls"], &other("run")),
        (&["meter", "--cpu-limit", "50", "ls"], &other("meter")),
    ];
    for (arguments, text) in cases {
        assert_eq!(refusal(arguments), (2, text.to_owned()), "{arguments:?}");
    }
    let (code, text) = refusal(&["run", "--frob", "ls"]);
    assert!(code == 2 && !text.contains("tip:"), "{text}");
}

#[test]
fn contradictory_or_unusable_option_is_refused_in_one_line() {
    let expected = [
        (&["prove", "--metric", "(a", "ls"][..], "unspin: --metric '(a': unclosed group\n"),
        (
            &["prove", "--metric", "cpu-time", "--higher-is-better", "ls"],
            "unspin: --higher-is-better requires a figure in the program's output: name it with --metric\n",
        ),
        (&["prove", "--sysv", "rcu,rcu", "ls"], "unspin: candidate 'rcu' is named twice: name it once\n"),
        (
            &["prove", "--json", "/no/such/folder/x.json", "ls"],
            "unspin: --json /no/such/folder/x.json: No such file or directory (os error 2); make its folder, or name another file\n",
        ),
        (
            &["meter", "--json", "/no/such/folder/x.json", "ls"],
            "unspin: --json /no/such/folder/x.json: No such file or directory (os error 2); make its folder, or name another file\n",
        ),
        (
            &["meter", "--pprof", "/no/such/folder/x", "ls"],
            "unspin: --pprof /no/such/folder/x: No such file or directory (os error 2); make its folder, or name another file\n",
        ),
        (
            &["meter", "--record", "/no/such/folder/x", "ls"],
            "unspin: --record /no/such/folder/x: No such file or directory (os error 2); make its folder, or name another file\n",
        ),
        (
            &["meter", "-o", "/", "ls"],
            "unspin: --output /: Is a directory (os error 21); name a file in this folder\n",
        ),
        (
            &["run", "--use-plan", "/dev/zero", "ls"],
            "unspin: --use-plan /dev/zero: is not a plan: it has more than 16 MiB\n",
        ),
        (&["semopbench", "-g", "0"], "unspin: semopbench: -g, -s and -n must be at least 1\n"),
        (&["hackbench", "0"], "unspin: hackbench: -g must be at least 1\n"),
        (
            &["hackbench", "-P", "--transport", "queue"],
            "unspin: hackbench: queues are for threads: -T instead of -P, or another --transport\n",
        ),
        (&["hackbench", "--capacity", "3"], "unspin: hackbench: --capacity requires --transport queue\n"),
    ];
    for (arguments, text) in expected {
        assert_eq!(refusal(arguments), (2, text.to_owned()), "{arguments:?}");
    }
    let (code, text) = refusal(&["semopbench", "-g", "1000000000"]);
    assert_eq!(code, 2);
    assert!(text.starts_with("unspin: semopbench: -g 1000000000: the kernel allows "), "{text}");
}

#[test]
fn missing_program_exits_with_127() {
    for command in [&["run", "--sysv", "rcu"][..], &["prove"], &["meter"]] {
        let (code, text) = refusal(&[command, &["no-such-program"]].concat());
        assert_eq!(code, 127);
        assert_eq!(
            text,
            "unspin: no-such-program: there is no such program in PATH (a file in this folder is ./no-such-program)\n"
        );
        let (code, text) = refusal(&[command, &["./no/such/program", "-x"]].concat());
        assert_eq!((code, text.as_str()), (127, "unspin: ./no/such/program: there is no such program\n"));
    }
}

fn file(folder: &Path, name: &str, contents: &[u8], mode: u32) -> String {
    let path = folder.join(name);
    fs::write(&path, contents).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path.into_os_string().into_string().unwrap()
}

#[test]
fn program_that_cannot_be_executed_or_preloaded_exits_with_126() {
    let folder = tempfile::tempdir().unwrap();
    let ourselves = fs::read(env!("CARGO_BIN_EXE_unspin")).unwrap();
    let patched = |offset: usize, bytes: &[u8]| {
        let mut elf = ourselves.clone();
        elf[offset..offset + bytes.len()].copy_from_slice(bytes);
        elf
    };
    let file = |name, contents: &[u8], mode| file(folder.path(), name, contents, mode);
    let cases = [
        (file("plain", b"#!/bin/sh\n", 0o644), "is not executable (chmod +x makes it so)"),
        (file("data", b"MZ\0\n", 0o755), "is neither an ELF program nor a script"),
        // e_machine: EM_AARCH64.
        (
            file("foreign", &patched(18, &[183, 0]), 0o755),
            "is not a 64-bit x86 program: the preload library is",
        ),
        (
            file("script", b"#!/no/such/shell\n", 0o755),
            "its interpreter /no/such/shell: there is no such program (first line of the script)",
        ),
        (folder.path().to_str().unwrap().to_owned(), "is a folder, not a program"),
    ];
    for (program, why) in &cases {
        for command in [&["run", "--sysv", "global"][..], &["prove"], &["meter"]] {
            let (code, text) = refusal(&[command, &[program.as_str()]].concat());
            assert_eq!((code, text), (126, format!("unspin: {program}: {why}\n")));
        }
    }
}

/// A set-uid program of another user: created by root; for other users, one that every system has.
fn set_uid_program(folder: &Path) -> Option<String> {
    let own = folder.join("set-uid");
    unspin_e2e::copy_program(Path::new("/bin/true"), &own);
    if chown(&own, Some(65534), None).is_ok() {
        fs::set_permissions(&own, fs::Permissions::from_mode(0o4755)).unwrap();
        return Some(own.into_os_string().into_string().unwrap());
    }
    let known = ["/usr/bin/su", "/usr/bin/mount"].map(Path::new);
    let is_set_uid = |p: &&Path| fs::metadata(p).is_ok_and(|m| m.permissions().mode() & 0o4000 != 0);
    known.into_iter().find(is_set_uid).map(|p| p.to_str().unwrap().to_owned())
}

/// Behind a unit file a refusal is a broken service. The dynamic linker ignores `LD_PRELOAD`, so the program runs as it is.
#[test]
fn set_uid_program_runs_as_it_is_and_is_not_judged() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = set_uid_program(folder.path()) else {
        skip(
            "set_uid_program_runs_as_it_is_and_is_not_judged",
            "no set-uid program on this machine, and we cannot make one",
        );
        return;
    };
    let why = format!(
        "{program}: is set-uid: the dynamic linker ignores LD_PRELOAD for it; run a copy without the set-uid bit (cp)"
    );
    let arena = folder.path().join("arena");
    let arena = arena.to_str().unwrap();
    let (out, err, code) =
        finish(&mut unspin(&["run", "--sysv", "rcu", "--arena", arena, &program, "--version"]));
    assert_eq!((code, out.is_empty()), (Some(0), false), "{err}");
    assert_eq!(err, format!("unspin: nothing that ran could use the engine rcu: {why}\n"));
    for command in [&["prove", "--mutex", "adaptive"][..], &["meter"]] {
        let (code, text) = refusal(&[command, &[&program]].concat());
        assert_eq!((code, text), (126, format!("unspin: {why}\n")), "{command:?}");
    }
}

#[test]
fn unusable_cache_folder_falls_back_to_temporary_one() {
    let folder = tempfile::tempdir().unwrap();
    let occupied = file(folder.path(), "occupied", b"", 0o644);
    let mut command = unspin(&["run", "--sysv", "kernel", "true"]);
    let (_, err, code) = finish(command.env("XDG_CACHE_HOME", &occupied));
    // The private folder in /tmp is used instead, unless that is impossible too.
    assert!(code == Some(0) || err.contains(&occupied), "{code:?} {err}");
    assert!(err.lines().count() <= 1, "{err}");
}

#[test]
fn unusable_arena_exits_with_125_and_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = file(folder.path(), "garbage", &[0x55; 1 << 16], 0o600);
    let short = file(folder.path(), "short", b"no", 0o600);
    let nowhere = folder.path().join("no/folder/arena").to_str().unwrap().to_owned();
    let rcu = folder.path().join("rcu").to_str().unwrap().to_owned();
    let made = unspin(&["run", "--sysv", "rcu", "--arena", &rcu, "true"]).status().unwrap();
    assert!(made.success());
    for (arena, engine) in [(&garbage, "rcu"), (&short, "rcu"), (&nowhere, "global"), (&rcu, "global")] {
        let (code, text) = refusal(&["run", "--sysv", engine, "--arena", arena, "true"]);
        assert_eq!(code, 125, "{text}");
        assert!(text.starts_with(&format!("unspin: arena {arena}: ")), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    assert_eq!(fs::read(&garbage).unwrap(), [0x55; 1 << 16], "what is not ours is left as it is");
}

#[test]
fn recording_size_below_the_minimum_is_refused() {
    let expected = "unspin: --size 1024: a recording can take from 32K to 64G\n";
    assert_eq!(refusal(&["meter", "--size", "1k", "true"]), (2, expected.to_owned()));
}

/// Each sort of file is distinguished, and does no harm.
#[test]
fn file_that_is_not_a_recording_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let stored = folder.path().join("stored").to_str().unwrap().to_owned();
    let (_, err, code) = finish(&mut unspin(&["meter", "--record", &stored, "-o", "/dev/null", "true"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let whole = fs::read(&stored).unwrap();
    let file = |name, contents: &[u8]| file(folder.path(), name, contents, 0o600);
    // Words of the header: 1 is the version, 6 the number of pages, 32 the number of used pages.
    let with = |word: usize, value: u64| {
        let mut bytes = whole.clone();
        bytes[8 * word..][..8].copy_from_slice(&value.to_ne_bytes());
        bytes
    };
    let cases = [
        (folder.path().join("missing").to_str().unwrap().to_owned(), "there is no recording "),
        (folder.path().to_str().unwrap().to_owned(), "there is no recording in this folder"),
        (file("text", b"hello\n"), "is not an unspin recording"),
        (file("empty", b""), "is not an unspin recording"),
        (file("short", &with(32, 4000)[..whole.len().min(5000)]), "is cut short"),
        (file("old", &with(1, 1)), "has format version 1"),
        (file("damaged", &with(6, 0)), "is damaged"),
    ];
    for (path, why) in &cases {
        let (code, text) = refusal(&["report", path]);
        assert_eq!(code, 1, "{text}");
        assert!(text.starts_with("unspin: ") && text.contains(path.as_str()) && text.contains(why), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

/// An unwritable file does not lose the results: the table is printed, and the recording kept.
#[test]
fn unwritable_result_file_keeps_the_recording() {
    if !Path::new("/dev/full").exists() {
        skip("unwritable_result_file_keeps_the_recording", "there is no /dev/full here");
        return;
    }
    let (_, err, code) =
        finish(&mut unspin(&["meter", "--record", "/dev/full", "--json", "/dev/full", "true"]));
    assert_eq!(code, Some(125), "{err}");
    let lines: Vec<&str> = err.lines().rev().take(2).collect();
    assert!(lines[1].starts_with("unspin: /dev/full: the result cannot be written here: "), "{err}");
    assert!(
        lines[0].starts_with("unspin: /dev/full: the recording cannot be stored here, and is kept in "),
        "{err}"
    );
    let kept = lines[0].split_once("kept in ").unwrap().1.split_once(": ").unwrap().0;
    let (_, err, code) = finish(&mut unspin(&["report", kept]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    fs::remove_dir_all(Path::new(kept).parent().unwrap()).unwrap();
}

/// An unwritable file does not lose the table: it is printed, and the recording kept.
#[test]
fn unwritable_table_file_prints_the_table() {
    if !Path::new("/dev/full").exists() {
        skip("unwritable_table_file_prints_the_table", "there is no /dev/full here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let arena = folder.path().join("arena").to_str().unwrap().to_owned();
    let engine = ["--sysv", "rcu", "--arena", &arena];
    let workload = ["semopbench", "-g", "1", "-s", "2", "-n", "50"];
    let (_, err, code) =
        finish(&mut unspin(&[&["meter", "--all", "-o", "/dev/full"][..], &engine, &workload].concat()));
    assert_eq!(code, Some(125), "{err}");
    assert!(err.contains(" over ") && err.contains("sysv registry lock"), "{err}");
    let last = err.lines().last().unwrap();
    assert!(last.starts_with("unspin: /dev/full: the result cannot be written here: "), "{err}");
    let kept = last.split_once("; the recording is kept in ").unwrap().1;
    let (replayed, err, code) = finish(&mut unspin(&["report", "--all", kept]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(replayed.contains("sysv registry lock"), "{replayed}");
    fs::remove_dir_all(Path::new(kept).parent().unwrap()).unwrap();
}

#[test]
fn two_outputs_to_one_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one").to_str().unwrap().to_owned();
    let same = folder.path().join("./one").to_str().unwrap().to_owned();
    let cases = [
        (
            ["-o", &one, "--json", &same],
            format!("unspin: --json {same}: --output is the same file: name another\n"),
        ),
        (
            ["--record", &one, "-o", &one],
            format!("unspin: --record {one}: --output is the same file: name another\n"),
        ),
        (
            ["--pprof", &one, "--json", &one],
            format!("unspin: --pprof {one}: --json is the same file: name another\n"),
        ),
    ];
    for (options, text) in cases {
        assert_eq!(refusal(&[&["meter"][..], &options, &["true"]].concat()), (2, text), "{options:?}");
    }
    let (_, err, code) = finish(&mut unspin(&["meter", "--record", &one, "-o", "/dev/null", "true"]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let stored = fs::read(&one).unwrap();
    let text = format!("unspin: --json {one}: the recording is the same file: name another\n");
    assert_eq!(refusal(&["report", "--json", &one, &one]), (2, text));
    assert_eq!(fs::read(&one).unwrap(), stored, "what is there is left as it is");
}

/// Nothing that is read is replaced by a result: the files of the command and of the plan stay.
#[test]
fn output_that_is_an_input_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let script = file(folder.path(), "bench.sh", b"true\n", 0o644);
    let plan = file(folder.path(), "bench.toml", b"[[mutex]]\nname = \"m\"\nuse = \"fair\"\n", 0o644);
    let load = format!("sh {script}");
    let of_command = "a file of the command is the same file: name another";
    for (arguments, why) in [
        (&["prove", "--html", &script, "sh", &script][..], of_command),
        (&["meter", "--json", &script, "sh", &script], of_command),
        (&["scale", "--json", &script, "sh", &script], of_command),
        (
            &["prove", "--use-plan", &plan, "--json", &plan, "sh", &script],
            "--use-plan is the same file: name another",
        ),
        (
            &["meter", "--use-plan", &plan, "--json", &plan, "sh", &script],
            "--use-plan is the same file: name another",
        ),
        (
            &["prove", "--server", "sleep 9", "--ready", "true", "--load", &load, "--html", &script],
            "a file of --load is the same file: name another",
        ),
    ] {
        let (code, text) = refusal(arguments);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains(why) && text.lines().count() == 1, "{text}");
    }
    // A word `-` is the program's own.
    let (out, err, code) =
        finish(unspin(&["meter", "--json", "-", "cat", "-"]).stdin(std::process::Stdio::null()));
    assert!(code == Some(0) && out.starts_with("{"), "{out}{err}");
    assert_eq!(fs::read(&script).unwrap(), b"true\n");
    assert!(fs::read_to_string(&plan).unwrap().starts_with("[[mutex]]"));
}
