//! Limits of the user, the process and the file systems. One line names the limit and the remedy; or what is optional is left out, and
//! the program runs as by itself.

use crate::common::{as_nobody, compiled, finish, may_mount, nobody_can_run_unspin, program, unspin};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The cost of a wake-up is stated. A plan contains it, and under a limit of file sizes no other plan can be stored; where unspin
/// measures the cost, another process may have measured another one since.
const STATED: (&str, &str) = ("UNSPIN_WAKEUP_NS", "30000");

/// A command behind a line of bash, which sets a limit.
fn limited(limit: &str, arguments: &[&str]) -> (String, String, Option<i32>) {
    let mut command = unspin(arguments);
    command.env(STATED.0, STATED.1);
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{limit} && exec \"$0\" \"$@\"")]).arg(command.get_program()).args(arguments);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    finish(&mut shell)
}

/// Stores the library and the plan in the cache, which no limit then prevents.
fn unpack() {
    let (_, err, code) = finish(unspin(&["run", "--waits", "poll", "true"]).env(STATED.0, STATED.1));
    assert_eq!(code, Some(0), "{err}");
}

const PROGRAM: [&str; 3] = ["sh", "-c", "echo text; exit 7"];

#[test]
fn program_runs_and_is_counted_where_files_may_have_nothing() {
    unpack();
    let (out, err, code) =
        limited("ulimit -f 0", &[&["run", "--waits", "poll"], PROGRAM.as_slice()].concat());
    assert_eq!((out.as_str(), err.as_str(), code), ("text\n", "", Some(7)));
    let verbose = limited("ulimit -f 0", &[&["run", "-v", "--waits", "poll"], PROGRAM.as_slice()].concat());
    assert_eq!((verbose.0.as_str(), verbose.2), ("text\n", Some(7)));
    assert!(verbose.1.contains("not counted") && verbose.1.contains("ulimit -f"), "{}", verbose.1);
}

#[test]
fn recording_has_the_size_that_a_file_may_have() {
    unpack();
    let meter = [&["meter", "-o", "/dev/null"], PROGRAM.as_slice()].concat();
    let (out, err, code) = limited("ulimit -f 1000", &meter);
    assert_eq!((out.as_str(), err.as_str(), code), ("text\n", "", Some(7)));
    for (limit, size) in [("ulimit -f 4", None), ("ulimit -f 1000", Some("1G"))] {
        let asked = size.map_or(Vec::new(), |size| vec!["--size", size]);
        let (out, err, code) = limited(limit, &[&["meter"], asked.as_slice(), &PROGRAM].concat());
        assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, Some(125)), "{err}");
        // No recording is so small as the first limit.
        assert_eq!((err.contains("ulimit -f"), err.contains("--size")), (true, size.is_some()), "{err}");
    }
    let prove = [&["prove", "--runs", "6"], PROGRAM.as_slice()].concat();
    let (_, err, _) = limited("ulimit -f 4", &prove);
    assert!(!err.contains("--size"), "it has no such option: {err}");
}

#[test]
fn measurement_without_descriptors_names_the_limit() {
    unpack();
    let prove = ["prove", "--runs", "6", "--sysv", "rcu", "sh", "-c", "true"];
    for limit in ["ulimit -n 6", "ulimit -n 10"] {
        let (_, err, code) = limited(limit, &prove);
        assert_eq!(code, Some(125), "{limit}: {err}");
        assert!(err.contains("ulimit -n"), "{limit}: {err}");
    }
}

/// unspin handles the signal, and its programs do not.
#[test]
fn program_that_writes_a_long_file_gets_the_signal() {
    unpack();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let script = format!("(head -c 5000000 /dev/zero > {}) 2>/dev/null; exit $?", file.display());
    for (trap, status) in [("", 128 + 25), ("trap '' XFSZ;", 1)] {
        for launcher in [["run", "--waits", "poll"], ["meter", "-o", "/dev/null"]] {
            let arguments = [launcher.as_slice(), &["sh", "-c", &script]].concat();
            let (_, err, code) = limited(&format!("{trap} ulimit -f 1000"), &arguments);
            assert_eq!(code, Some(status), "{launcher:?}: {err}");
        }
    }
}

#[test]
fn small_stack_suffices() {
    unpack();
    let meter = [&["meter", "-o", "/dev/null"], PROGRAM.as_slice()].concat();
    let run = [&["run", "--waits", "system"], PROGRAM.as_slice()].concat();
    for arguments in [meter, run] {
        let (out, err, code) = limited("ulimit -s 64", &arguments);
        assert_eq!((out.as_str(), err.as_str(), code), ("text\n", "", Some(7)), "{arguments:?}");
    }
    for arguments in [["report", "--leftovers"], ["prove", "--help"], ["run", "--help"]] {
        let (_, err, code) = limited("ulimit -s 64", &arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
    }
}

/// How much is left of a limit of a few pages is a matter of chance: the kernel chooses where a stack begins. So the program
/// is started many times.
#[test]
fn program_that_starts_with_six_pages_of_stack_starts_under_the_library() {
    unpack();
    let script =
        "ulimit -s 24; for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do /bin/true || exit 1; done";
    for replaced in [["--waits", "system"], ["--waits", "poll"]] {
        let arguments = [&["run"], replaced.as_slice(), &["sh", "-c", script]].concat();
        let (_, err, code) = limited("true", &arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
    }
}

#[test]
fn few_descriptors_lose_neither_the_exit_code_nor_a_folder() {
    unpack();
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    let script = format!("echo > {}; exit 7", ran.display());
    for descriptors in 4..14 {
        let limit = format!("ulimit -n {descriptors}");
        let (_, err, code) = limited(&limit, &["meter", "-o", "/dev/null", "sh", "-c", &script]);
        let has_run = fs::remove_file(&ran).is_ok();
        assert_eq!(code, Some(if has_run { 7 } else { 125 }), "{limit}: {err}");
        if !has_run {
            assert!(err.contains("ulimit -n"), "{limit}: {err}");
        }
        for word in
            err.split(|c: char| c.is_whitespace() || c == ':').filter(|word| word.contains("unspin-meter-"))
        {
            let folder = Path::new(word).parent().unwrap();
            assert!(!folder.exists(), "{limit}: {err}");
        }
    }
}

/// Root has no limit.
#[test]
fn few_processes_lose_neither_the_exit_code_nor_the_report() {
    const TEST: &str = "few_processes_lose_neither_the_exit_code_nor_the_report";
    let _alone = crate::common::PROCESSES_OF_NOBODY.lock();
    if !nobody_can_run_unspin(TEST) {
        return;
    }
    for processes in 1..6 {
        for command in ["run --waits poll", "meter --level counts", "meter"] {
            let cache = tempfile::tempdir().unwrap();
            fs::set_permissions(cache.path(), std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
            let script = format!(
                "export XDG_CACHE_HOME={}; ulimit -u {processes} && exec {} {command} sh -c 'exit 7'",
                cache.path().display(),
                env!("CARGO_BIN_EXE_unspin")
            );
            let (_, err, code) = finish(&mut as_nobody(&script));
            assert!(!err.contains("panicked"), "{processes} {command}: {err}");
            match code {
                Some(7) if command.starts_with("meter") => {
                    assert!(err.contains("recorded"), "{processes} {command}: {err}");
                }
                Some(7) => {}
                code => {
                    assert_eq!(code, Some(125), "{processes} {command}: {err}");
                    assert!(err.contains("ulimit -u"), "{processes} {command}: {err}");
                }
            }
        }
    }
}

/// A script of bash in a mount namespace of its own, with unspin in `$unspin`. A test may mount a file system over the folder in which
/// unspin was built, so that is mounted elsewhere, too.
fn in_namespace(script: &str) -> (String, String, Option<i32>) {
    let mut shell = Command::new("unshare");
    let folder = program().parent().unwrap().display().to_string();
    let script = match folder.starts_with("/tmp/") || folder.starts_with("/var/tmp/") {
        true => format!("mount --bind {folder} /srv && unspin=/srv/unspin\n{script}"),
        false => script.to_owned(),
    };
    shell.args(["--mount", "--ipc", "bash", "-c", &script]);
    for name in ["LD_PRELOAD", "UNSPIN_PLAN", "UNSPIN_TALLY", "UNSPIN_SYSV", "TMPDIR"] {
        shell.env_remove(name);
    }
    finish(
        shell.env("unspin", env!("CARGO_BIN_EXE_unspin")).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")),
    )
}

/// Mounts a file system in memory at a folder.
fn memory(size: &str, folder: &str) -> String {
    format!("mount -t tmpfs -o mode=1777,size={size} none {folder}")
}

#[test]
fn recording_lies_where_there_is_room_for_it() {
    if !may_mount("recording_lies_where_there_is_room_for_it") {
        return;
    }
    unpack();
    let (small, other) = (memory("64k", "/dev/shm"), memory("40m", "/mnt"));
    let moved = |fill: &str| {
        let script = format!(
            "{small} && {other} && {fill}; TMPDIR=/mnt exec $unspin meter -o /dev/null sh -c 'exit 7'"
        );
        let (_, err, code) = in_namespace(&script);
        assert!(code == Some(7) && err.lines().count() == 1, "{code:?} {err}");
        assert!(err.starts_with("unspin: the recording lies in /mnt: /dev/shm has "), "{err}");
    };
    moved("true");
    moved("head -c 65536 /dev/zero >/dev/shm/x");
    // A run needs little, and says nothing.
    let script = format!("{small} && exec $unspin run --waits system sh -c 'exit 7'");
    assert_eq!(in_namespace(&script), (String::new(), String::new(), Some(7)));
}

/// The roomiest is taken, and a full one is named.
#[test]
fn full_file_systems_in_memory_are_named() {
    if !may_mount("full_file_systems_in_memory_are_named") {
        return;
    }
    unpack();
    for blocks in [53_000, 65_536] {
        let folders = ["/dev/shm", "/tmp", "/var/tmp"];
        let mounted: String = folders
            .iter()
            .map(|folder| {
                format!("{} && (head -c {blocks} /dev/zero >{folder}/x; true) && ", memory("64k", folder))
            })
            .collect();
        let (_, err, code) =
            in_namespace(&format!("({mounted} true) 2>/dev/null; {mounted} $unspin meter sh -c 'exit 7'"));
        assert!(!err.contains("Bad address"), "{err}");
        assert!(
            code == Some(7) || code == Some(125) && err.contains("No space left on device"),
            "{code:?} {err}"
        );
    }
}

/// A store to a page for which there is no memory would be SIGBUS.
#[test]
fn file_system_that_fills_up_meanwhile_ends_no_program() {
    if !may_mount("file_system_that_fills_up_meanwhile_ends_no_program") {
        return;
    }
    unpack();
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("contended.c", folder.path()) else {
        return;
    };
    let fill = "head -c 60m /dev/zero >/dev/shm/x 2>/dev/null";
    let run = format!("{fill}; {} >/dev/null 2>&1; exit $?", program.display());
    let (_, _, alone) = in_namespace(&format!("{} && {run}", memory("40m", "/dev/shm")));
    let (_, err, metered) =
        in_namespace(&format!("{} && $unspin meter -o /dev/null sh -c '{run}'", memory("40m", "/dev/shm")));
    assert_eq!(metered, alone, "{err}");
}

/// As in a container of OpenShift: any user, no home, a root that cannot be written to, and no code from `/dev/shm`.
#[test]
fn any_user_without_home_runs_programs_in_a_read_only_root() {
    const TEST: &str = "any_user_without_home_runs_programs_in_a_read_only_root";
    let _alone = crate::common::PROCESSES_OF_NOBODY.lock();
    if !may_mount(TEST) || !nobody_can_run_unspin(TEST) {
        return;
    }
    let mounts = format!(
        "mount -o remount,bind,ro / && {} && mount -o remount,noexec /dev/shm && {}",
        memory("64m", "/dev/shm"),
        memory("64m", "/var/tmp")
    );
    let user = "setpriv --reuid=12345 --regid=0 --clear-groups env -i PATH=$PATH";
    for (command, expected) in [
        ("run --waits system sh -c 'exit 7'", Some(7)),
        ("meter -o /dev/null sh -c 'exit 7'", Some(7)),
        ("prove --time-budget 1s --waits poll sh -c 'read line; exit 0'", None),
    ] {
        let (out, err, code) = in_namespace(&format!("{mounts} && {user} $unspin {command}"));
        match expected {
            Some(_) => assert_eq!((err.as_str(), code), ("", expected), "{command}"),
            // Its verdict is not the point.
            None => assert!(code.is_some_and(|code| code < 5), "{command}: {code:?} {out}{err}"),
        }
    }
    // Where no folder can have the library, each is named with the reason.
    let (_, err, code) = in_namespace(&format!(
        "{mounts} && mount -o remount,ro /var/tmp && {user} $unspin run --waits poll true"
    ));
    assert_eq!(code, Some(125), "{err}");
    assert!(err.contains("/dev/shm/unspin-12345: is mounted noexec") && err.lines().count() == 1, "{err}");
}

/// All programs of a user find the same one.
#[test]
fn default_arena_lies_where_there_is_room_for_it() {
    if !may_mount("default_arena_lies_where_there_is_room_for_it") {
        return;
    }
    unpack();
    let script = format!(
        "{} && {} && $unspin run --sysv rcu ipcmk -S 2 && $unspin run --sysv rcu ipcs -s | grep -c 0x; $unspin arenas list | head -n 1; \
         mount -o remount,size=64m /dev/shm && $unspin run --sysv rcu ipcs -s | grep -c 0x; $unspin arenas remove -v default",
        memory("1m", "/dev/shm"),
        memory("64m", "/tmp")
    );
    let (out, err, code) = in_namespace(&script);
    assert_eq!(code, Some(0), "{err}");
    let arena = out.lines().nth(2).unwrap();
    assert!(arena.starts_with("/tmp/unspin-sysv-0-") && arena.ends_with("-rcu"), "{out}");
    assert_eq!(out, format!("Semaphore id: 0\n1\n{arena}\n1\nremoved arena {arena}\n"));
    let said = format!("unspin: the default arena is {arena}, because /dev/shm has no room for one");
    assert_eq!((err.lines().count(), err.lines().all(|line| line.starts_with(&said))), (3, true), "{err}");
}

/// The reason of a run that failed because its output did not fit.
#[test]
fn full_file_system_under_output_is_the_reason_of_a_failed_run() {
    unpack();
    let prove =
        ["prove", "--waits", "poll", "--runs", "6", "sh", "-c", "head -c 9000000 /dev/zero || exit 9"];
    let (out, err, code) = limited("ulimit -f 2000", &prove);
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(format!("{out}{err}").replace('\n', " ").contains("its output did not fit"), "{out}{err}");
    if !may_mount("full_file_system_under_output_is_the_reason_of_a_failed_run") {
        return;
    }
    let command = unspin(&prove);
    let small = "mount -t tmpfs -o size=1m none /mnt && export TMPDIR=/mnt && exec \"$0\" \"$@\"";
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "bash", "-c", small]).arg(command.get_program()).args(prove);
    shell.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let (out, err, code) = finish(&mut shell);
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(
        format!("{out}{err}").replace("\n", " ").contains("the file system of /mnt is full"),
        "{out}{err}"
    );
}

/// execvp(3) runs it by /bin/sh, and so do shells.
#[test]
fn script_without_an_interpreter_is_run_by_the_shell() {
    let folder = tempfile::tempdir().unwrap();
    let (written, script) = (folder.path().join("written"), folder.path().join("script"));
    fs::write(&written, "echo \"$1\"\nexit 7\n").unwrap();
    fs::set_permissions(&written, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    unspin_e2e::copy_program(&written, &script);
    for launcher in [["run", "--waits", "system"], ["meter", "-o", "/dev/null"]] {
        let (out, err, code) = finish(unspin(&launcher).arg(&script).arg("a b"));
        assert_eq!((out.as_str(), code), ("a b\n", Some(7)), "{launcher:?}: {err}");
    }
}
