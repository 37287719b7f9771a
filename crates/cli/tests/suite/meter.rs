//! `unspin meter` and `unspin report`: the program behaves as without them, and the report names its locks.

use crate::common::{Background, compiled, compiled_with, finish, schema, unspin, wait_until};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use unspin_sys::child::{self, Signal};

/// The report, as JSON, of a run of a program in `tests/c`, and its standard error.
fn metered(source: &str, arguments: &[&str], folder: &Path) -> Option<(Value, String)> {
    Some(metered_program(&compiled(source, folder)?, arguments, folder))
}

fn metered_program(program: &Path, arguments: &[&str], folder: &Path) -> (Value, String) {
    let json = folder.join("report.json");
    let all =
        [&["meter", "--json", json.to_str().unwrap()], arguments, &[program.to_str().unwrap()]].concat();
    let (_, err, _) = finish(&mut unspin(&all));
    let text = fs::read_to_string(&json).unwrap_or_else(|e| panic!("{e}: {err}"));
    (schema::parse("locks", &text), err)
}

/// Name, origin, number of locks, attempts; and for each caller its name without offset, its place, its attempts.
type Seen = (String, String, u64, u64, Vec<(String, String, u64)>);

fn locks(report: &Value) -> Vec<Seen> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let function = |value: &Value| text(value).split('+').next().unwrap().to_owned();
    let caller = |caller: &Value| {
        (function(&caller["name"]), text(&caller["place"]), caller["attempts"].as_u64().unwrap())
    };
    let lock = |lock: &Value| {
        let uses = lock["uses"].as_array().unwrap();
        let mut callers: Vec<_> =
            uses.iter().flat_map(|one| one["callers"].as_array().unwrap()).map(caller).collect();
        callers.sort();
        let number = |name: &str| lock[name].as_u64().unwrap();
        (text(&lock["name"]), text(&lock["origin"]), number("locks"), number("attempts"), callers)
    };
    let mut locks: Vec<Seen> = report["locks"].as_array().unwrap().iter().map(lock).collect();
    locks.sort();
    locks
}

fn seen(name: &str, origin: &str, numbers: [u64; 2], callers: &[(&str, &str, u64)]) -> Seen {
    let caller = |&(name, place, attempts): &(&str, &str, u64)| (name.to_owned(), place.to_owned(), attempts);
    (name.into(), origin.into(), numbers[0], numbers[1], callers.iter().map(caller).collect())
}

#[test]
fn static_lock_is_named_after_its_variable() {
    let folder = tempfile::tempdir().unwrap();
    let Some((report, err)) = metered("static_locks.c", &[], folder.path()) else { return };
    let get = ("cache_get", "static_locks.c:14", 300);
    let put = ("bucket_put", "static_locks.c:20", 100);
    let read = ("table_read", "static_locks.c:26", 50);
    let expected = [
        seen("buckets", "static, static_locks.c:5", [4, 100], &[put]),
        seen("cache_lock", "static, static_locks.c:4", [1, 300], &[get]),
        seen("table.lock", "static, static_locks.c:10", [1, 50], &[read]),
    ];
    assert_eq!(locks(&report), expected, "{err}");
}

#[test]
fn unfold_shows_each_element_of_an_array() {
    let folder = tempfile::tempdir().unwrap();
    let Some((report, err)) = metered("static_locks.c", &["--unfold"], folder.path()) else { return };
    let names: Vec<(String, u64)> = locks(&report).into_iter().map(|lock| (lock.0, lock.3)).collect();
    let bucket = |number: u32| (format!("buckets[{number}]"), 25);
    let others = [("cache_lock".to_owned(), 300), ("table.lock".into(), 50)];
    assert_eq!(names, [&(0..4).map(bucket).collect::<Vec<_>>()[..], &others].concat(), "{err}");
}

#[test]
fn heap_lock_is_named_after_its_initialisation() {
    let folder = tempfile::tempdir().unwrap();
    let Some((report, err)) = metered("heap_locks.c", &[], folder.path()) else { return };
    let expected = [
        seen(
            "log_open",
            "mutex initialised at heap_locks.c:31",
            [1, 20],
            &[("log_write", "heap_locks.c:36", 20)],
        ),
        seen(
            "mutex first used in wild_use",
            "first used at heap_locks.c:43",
            [1, 10],
            &[("wild_use", "heap_locks.c:43", 10)],
        ),
        seen(
            "queue_new",
            "mutex initialised at heap_locks.c:18",
            [3, 120],
            &[("queue_push", "heap_locks.c:24", 120)],
        ),
    ];
    assert_eq!(locks(&report), expected, "{err}");
}

/// The child's lock is named after its initialisation before the fork. Locks of one name in several processes share a
/// row.
#[test]
fn lock_initialised_before_fork_has_the_same_name_in_the_child() {
    let folder = tempfile::tempdir().unwrap();
    let Some((report, err)) = metered("forked.c", &[], folder.path()) else { return };
    let used = |attempts| [("use", "forked.c:19", attempts)];
    let expected = [
        seen("queue_new", "mutex initialised at forked.c:12", [2, 20], &used(20)),
        seen("shared_name", "static, forked.c:7", [3, 7], &used(7)),
    ];
    assert_eq!(locks(&report), expected, "{err}");
    assert_eq!(report["processes"].as_array().unwrap().len(), 3);
}

/// A hold that counted until the end of the recording would include the 1.5 s after the children's end.
#[test]
fn hold_of_a_process_that_ended_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some((report, err)) = metered("leaves_locked.c", &[], folder.path()) else { return };
    let lock = &report["locks"][0];
    let [seconds, longest, all] =
        [&report["seconds"], &lock["hold_max"], &lock["hold"]].map(|value| value.as_f64().unwrap());
    assert!(longest <= seconds - 1.5 && all <= 3.0 * (seconds - 1.5), "{longest} {all} of {seconds}: {err}");
    assert_eq!(report["left_locked"].as_array().unwrap().len(), 2, "{err}");
    assert!(report["held"].as_array().unwrap().is_empty(), "{err}");
    assert!(err.contains("Still held when their process ended"), "{err}");
    assert!(report["disturbance"]["others"].is_f64(), "{err}");
}

/// The meter recognises `Lock` as a wrapper when it returns for the first time with the lock held.
#[test]
fn wrapper_caller_is_reported_as_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    let first = "wrapped_locks.cc:8, first seen from Journal::Append (wrapped_locks.cc:21)";
    let appended = [("Journal::Append", "wrapped_locks.cc:21", 59), ("port::Mutex::Lock", first, 1)];
    let found = [("Index::Find", "wrapped_locks.cc:34", 30)];
    let origin = |line: u32| format!("mutex initialised at wrapped_locks.cc:{line}");
    let expected = [
        seen("Index::Index ▸ port::Mutex::Mutex", &origin(31), [1, 30], &found),
        seen("Journal::Journal ▸ port::Mutex::Mutex", &origin(18), [1, 60], &appended),
    ];
    for frames in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
        let Some(program) = compiled_with("wrapped_locks.cc", &[frames], folder.path()) else { return };
        let (report, err) = metered_program(&program, &[], folder.path());
        assert_eq!(locks(&report), expected, "{frames} {err}");
    }
}

/// One thread never ends: the meter reads its times from the kernel while it runs.
#[test]
fn lost_time_and_time_of_living_threads_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.gz");
    let profile = profile.to_str().unwrap();
    let Some((report, err)) = metered("contended.c", &["--pprof", profile], folder.path()) else { return };
    let first = &report["locks"][0];
    assert_eq!((first["name"].as_str(), first["attempts"].as_u64()), (Some("narrow"), Some(41)), "{err}");
    // At least 40 turns of 5 ms each.
    assert!(first["hold"].as_f64().unwrap() >= 0.2, "{err}");
    assert!(first["lost"].as_f64().unwrap() > 0.0, "{err}");
    let blocked = &report["blocked"];
    assert_eq!(blocked["unknown"].as_u64(), Some(0), "{err}");
    // The main thread is one of them: it joins the others.
    assert_eq!(blocked["threads"].as_u64(), Some(4), "{err}");
    // The third waits from beginning to end; the workers make sure that the end comes after their turns.
    assert!(blocked["blocked"].as_f64().unwrap() >= 0.2, "{err}");
    let profile = Command::new("gzip").args(["-dc", profile]).output().unwrap();
    for name in ["narrow", "work"] {
        // An entry of the string table, which is field 6 of the message: its key, its length, its bytes.
        let entry = [&[6 << 3 | 2, name.len() as u8], name.as_bytes()].concat();
        assert!(profile.stdout.windows(entry.len()).any(|part| part == entry), "{name}: {profile:?}");
    }
}

#[test]
#[ignore = "nightly: go builds its pprof first; `lost_time_and_time_of_living_threads_are_reported` looks into the profile itself"]
fn profile_is_read_by_the_pprof_of_go() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("profile.gz");
    let profile = profile.to_str().unwrap();
    if metered("contended.c", &["--pprof", profile], folder.path()).is_none() {
        return;
    }
    let Ok(pprof) = Command::new("go").args(["tool", "pprof", "-top", "-nodefraction=0", profile]).output()
    else {
        crate::common::skip(
            "profile_is_read_by_the_pprof_of_go",
            "install go to have the profile read by its pprof",
        );
        return;
    };
    let table = String::from_utf8(pprof.stdout).unwrap();
    let said = String::from_utf8(pprof.stderr).unwrap();
    let names: Vec<&str> = table.lines().filter_map(|line| line.split_whitespace().nth(5)).collect();
    assert!(names.contains(&"narrow") && names.contains(&"work"), "{table} {said}");
}

#[test]
fn empty_arguments_are_kept_in_the_process_list() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let (program, json) = (program.to_str().unwrap(), folder.path().join("report.json"));
    finish(&mut unspin(&["meter", "--json", json.to_str().unwrap(), program, "", "x", ""]));
    let report: Value = schema::read("locks", json);
    assert_eq!(report["processes"][0]["command"], serde_json::json!([program, "", "x", ""]));
}

#[test]
fn program_started_by_a_link_has_the_name_of_the_link() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_with("static_locks.c", &["-s"], folder.path()) else { return };
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let (report, err) = metered_program(&link, &[], folder.path());
    let callers: Vec<String> =
        locks(&report).into_iter().flat_map(|lock| lock.4).map(|caller| caller.0).collect();
    assert_eq!(callers, ["link", "link", "link"], "{err}");
}

/// One name of a call site: the report prints it, `--waits poll@` accepts it, and so does the advised command.
#[test]
fn call_site_name_in_the_report_is_accepted_by_waits() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled_with("ping_pong.c", &["-s"], folder.path()) else { return };
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    let (report, err) = metered_program(&link, &[], folder.path());
    let waits = report["waits"].as_array().unwrap();
    let read = waits.iter().find(|wait| wait["kind"] == "receive").unwrap_or_else(|| panic!("{err}"));
    let site = read["name"].as_str().unwrap();
    assert!(site.starts_with("link+0x"), "{err}");
    assert_eq!(read["callers"][0]["name"], site);
    let choice = format!("poll@{site}");
    let (report, err) = metered_program(&link, &["--waits", &choice], folder.path());
    assert!(err.lines().next().unwrap().contains(&format!("; waits: {choice}")), "{err}");
    let given = serde_json::json!({ "command": [link.to_str().unwrap()], "waits": [choice] });
    assert_eq!(report["invocation"], given);
}

#[test]
fn report_of_polling_run_names_the_policy_without_advice() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("ping_pong.c", folder.path()) else { return };
    let recording = folder.path().join("recording");
    let meter =
        ["meter", "--waits", "poll", "--record", recording.to_str().unwrap(), program.to_str().unwrap()];
    let (_, err, _) = finish(&mut unspin(&meter));
    let (replayed, ..) = finish(&mut unspin(&["report", recording.to_str().unwrap()]));
    for report in [err, replayed] {
        assert!(report.lines().next().unwrap().contains("; waits: poll"), "{report}");
        assert!(report.contains("\nPolling was on for every wait; ") && !report.contains("Try:"), "{report}");
    }
}

#[test]
fn exit_code_is_that_of_the_program() {
    for (script, code) in [("exit 0", 0), ("exit 42", 42), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
        let (.., status) = finish(&mut unspin(&["meter", "sh", "-c", script]));
        assert_eq!(status, Some(code), "{script}");
    }
}

#[test]
fn standard_streams_are_those_of_the_program() {
    use std::io::Write;
    let mut command = unspin(&["meter", "sh", "-c", "read line; echo out $line; echo err >&2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(b"in\n").unwrap();
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"out in\n");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("err\n"), "the report comes after everything else: {err}");
}

#[test]
fn signal_to_unspin_is_relayed_and_the_report_printed() {
    let script = "trap 'echo got TERM >&2; exit 5' TERM; echo ready >&2; while :; do sleep 0.1; done";
    let mut run = Background::start(unspin(&["meter", "sh", "-c", script]));
    run.wait_for_line("ready");
    child::signal(run.pid(), Signal::Terminate).unwrap();
    assert_eq!(run.wait().code(), Some(5));
    let rest = run.rest();
    assert!(rest.starts_with("got TERM\n") && rest.contains("recorded"), "{rest}");
}

/// Like ^C at a terminal: the kernel sends it to the whole process group. A signal from a process to the group reaches
/// the program twice, so the test counts.
#[test]
fn interrupt_ends_the_program_but_not_unspin() {
    let script = "trap 'exit 6' INT; echo ready >&2; while :; do sleep 0.1; done";
    let mut run = Background::start(unspin(&["meter", "sh", "-c", script]));
    run.wait_for_line("ready");
    child::signal_group(run.pid(), Signal::PassedOn(2)).unwrap();
    assert_eq!(run.wait().code(), Some(6));
    assert!(run.rest().contains("recorded"));
}

#[test]
fn ignored_signal_stays_ignored() {
    let mut shell = Command::new("sh");
    let script = "trap '' HUP USR1; exec \"$@\"";
    shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_unspin"), "meter", "sh", "-c"]);
    shell.arg("kill -HUP $$; kill -USR1 $$; exit 9").env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    assert_eq!(finish(shell.process_group(0)).2, Some(9));
}

/// A daemon is not ended, keeps its place in the recording's memory, and is named.
#[test]
fn surviving_process_is_named_and_not_ended() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("daemon.c", folder.path()) else { return };
    for (arguments, begins) in
        [(&[][..], "Locks over "), (&["idle"], "No lock was recorded until the program ended.\n\nStill ")]
    {
        let all = [&["meter", program.to_str().unwrap()], arguments].concat();
        let (out, err, code) = finish(&mut unspin(&all));
        assert_eq!(code, Some(0), "{err}");
        let pid: u32 = out.trim().parse().unwrap();
        assert!(!crate::common::gone(pid), "it goes on");
        let note = format!(
            "Still running, not recorded further: daemon ({pid}); run it in the foreground to meter it.\n"
        );
        assert!(err.starts_with(begins) && err.ends_with(&note), "{err}");
        child::signal(pid, Signal::Kill).unwrap();
        wait_until("it is gone", || crate::common::gone(pid));
    }
}

/// Its locks are not libc's: the report says which are not seen, and what works instead.
#[test]
fn runtimes_with_locks_of_their_own_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (_, err, code) =
        finish(&mut unspin(&["meter", env!("CARGO_BIN_EXE_unspin"), "hackbench", "-g", "1", "-l", "1"]));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("\n\nNot seen are the locks of Rust's standard library"), "{err}");
    let Some(go) = compiled("go.c", folder.path()) else { return };
    let go = go.to_str().unwrap();
    let recorded = folder.path().join("recording");
    let recorded = recorded.to_str().unwrap();
    let (_, err, code) = finish(&mut unspin(&["meter", "--record", recorded, go]));
    assert!(code == Some(0) && err.contains("\n\nNot seen are Go's locks"), "{err}");
    let (out, err, code) = finish(&mut unspin(&["report", recorded]));
    assert!(code == Some(0) && out.contains("\n\nNot seen are Go's locks"), "{out}{err}");
    let Some(go) = compiled_with("go.c", &["-static"], folder.path()) else { return };
    for (command, expected) in [
        (&["meter"][..], Some(0)),
        (&["run", "--sysv", "rcu"], Some(0)),
        (&["prove", "--mutex", "adaptive"], Some(126)),
    ] {
        let (_, err, code) = finish(&mut unspin(&[command, &[go.to_str().unwrap()]].concat()));
        assert_eq!(code, expected, "{err}");
        let err = err.replace('\n', " ");
        assert!(err.contains(": is a Go program without libc. Not seen are Go's locks"), "{err}");
    }
}

#[test]
fn program_without_locks_is_reported_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("nothing.c", folder.path()) else { return };
    let (_, err, code) = finish(&mut unspin(&["meter", program.to_str().unwrap()]));
    assert_eq!(code, Some(3));
    assert!(
        err.starts_with("No lock was recorded: no program that ran called a lock function of libc"),
        "{err}"
    );
}

#[test]
fn recording_is_removed_from_memory_at_the_end() {
    let (out, ..) = finish(&mut unspin(&["meter", "sh", "-c", "echo $UNSPIN_RECORD"]));
    let recording = Path::new(out.trim());
    assert!(recording.is_absolute() && recording.ends_with("recording"), "{out}");
    assert!(!recording.exists() && !recording.parent().unwrap().exists());
}

#[test]
fn stored_recording_gives_the_same_report() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("stored");
    let meter = ["meter", "--all", "-o", "table", "--record", recording.to_str().unwrap()];
    let engine = ["--sysv", "rcu", "--arena", "arena"];
    let all = [&meter[..], &engine, &["semopbench", "-g", "1", "-s", "2", "-n", "50"]].concat();
    let (_, err, code) = finish(unspin(&all).current_dir(folder.path()));
    assert_eq!((code, err.as_str()), (Some(0), ""), "the report is in a file");
    let printed = fs::read_to_string(folder.path().join("table")).unwrap();
    assert!(printed.contains("sysv registry lock"), "{printed}");
    let (replayed, err, code) = finish(&mut unspin(&["report", "--all", recording.to_str().unwrap()]));
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert_eq!(replayed, printed);
    let head = printed.lines().next().unwrap();
    // A disturbance may follow.
    let is_measured = head.contains("; a wake-up costs ") && head.contains(" (epoll)");
    assert!(is_measured || head.contains("too busy to measure a wake-up: 40us assumed"), "{head}");

    let json = folder.path().join("again.json");
    let again =
        ["report", "--all", "--unfold", "--json", json.to_str().unwrap(), recording.to_str().unwrap()];
    finish(&mut unspin(&again));
    let document = fs::read_to_string(json).unwrap();
    // All of them: whether a lock lost time is chance.
    let hyphen = ["report", "--all", "--unfold", "--json", "-", recording.to_str().unwrap()];
    let (out, err, code) = finish(unspin(&hyphen).current_dir(folder.path()));
    assert_eq!((out, code), (document.clone(), Some(0)), "nothing but the result is on standard output");
    assert!(err.contains("sysv registry lock"), "{err}");
    assert!(!folder.path().join("-").exists());
    let report: Value = schema::parse("locks", &document);
    for cost in ["futex_ns", "epoll_ns"] {
        assert!(report["wake_up"][cost].as_u64().unwrap() > 0, "{}", report["wake_up"]);
    }

    // In the form of version 2 of the format.
    let file = fs::File::options().write(true).open(&recording).unwrap();
    file.write_all_at(&2u64.to_ne_bytes(), 8).unwrap();
    let (out, err, code) = finish(&mut unspin(&["report", recording.to_str().unwrap()]));
    assert!(
        err.contains("has format version 2, this unspin reads 4 to 5; read it with the unspin that made it"),
        "{err}"
    );
    assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, Some(1)), "{err}");
}

#[test]
fn report_reads_a_live_recording_and_one_of_a_killed_meter() {
    let script = "echo $UNSPIN_RECORD >&2; exec sleep 1000";
    let mut run = Background::start(unspin(&["meter", "sh", "-c", script]));
    let path = run.wait_for_line("unspin-meter-").trim().to_owned();
    let (out, err, code) = finish(&mut unspin(&["report", &path]));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let program = crate::common::children_of(run.pid())[0];
    child::signal(run.pid(), Signal::Kill).unwrap();
    run.wait();
    let (out, err, code) = finish(&mut unspin(&["report", &path]));
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    child::signal(program, Signal::Kill).unwrap();
    fs::remove_dir_all(Path::new(&path).parent().unwrap()).unwrap();
}

#[test]
fn table_has_as_many_columns_as_the_environment_says() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let titles = |columns: &str| {
        let mut meter = unspin(&["meter", program.to_str().unwrap()]);
        let (_, err, _) = finish(meter.env("COLUMNS", columns));
        err.lines().find(|line| line.contains(" LOST ")).unwrap_or_else(|| panic!("{err}")).to_owned()
    };
    assert!(titles("120").contains("RJECT"));
    assert!(!titles("80").contains("RJECT") && titles("80").contains("CEIL"));
}

#[test]
fn overwritten_recording_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let kept = folder.path().join("kept.rec");
    let kept = kept.to_str().unwrap();
    finish(&mut unspin(&["meter", "--record", kept, program.to_str().unwrap()]));
    let (_, err, code) = finish(&mut unspin(&["report", kept]));
    assert_eq!(code, Some(0), "{err}");
    let file = fs::File::options().write(true).open(kept).unwrap();
    file.write_all_at(b"overwritten", file.metadata().unwrap().len() / 2).unwrap();
    let (_, err, code) = finish(&mut unspin(&["report", kept]));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("its checksum does not match"), "{err}");
}

#[test]
fn output_in_a_missing_folder_is_refused_with_the_remedy() {
    let (_, err, code) = finish(&mut unspin(&["meter", "-o", "/nonexist/x", "true"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains("--output /nonexist/x") && err.contains("make its folder, or name another"),
        "{err}"
    );
}

#[test]
fn exit_code_is_the_same_if_standard_error_is_full() {
    for (arguments, expected) in [(["meter", "/nonexist/program"], 127), (["meter", "true"], 0)] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let status = unspin(&arguments).stderr(full).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{arguments:?}");
    }
}

/// From asm-generic/fcntl.h.
const O_NONBLOCK: i32 = 0o4000;

/// The report waits until the JSON is read from a full FIFO.
#[test]
fn signal_during_the_report_keeps_the_recording_and_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut open = fs::File::options();
    let mut full = open.read(true).write(true).custom_flags(O_NONBLOCK).open(&fifo).unwrap();
    while full.write(&[0; 4096]).is_ok() {}
    let command = unspin(&["meter", "--json", fifo.to_str().unwrap(), program.to_str().unwrap()]);
    let mut meter = Background::start(command);
    meter.wait_for_line("cache_lock");
    child::signal(meter.pid(), Signal::Terminate).unwrap();
    assert_eq!(meter.wait().code(), Some(143));
    let rest = meter.rest();
    let message = rest
        .lines()
        .find(|line| line.contains("SIGTERM ended the report"))
        .unwrap_or_else(|| panic!("{rest}"));
    let recording = message.split("unspin report ").nth(1).unwrap().split('`').next().unwrap();
    let (list, err, code) = finish(&mut unspin(&["report", "--leftovers"]));
    assert!(code == Some(0) && list.contains(recording), "{list} {err}");
    let kept = Path::new(recording).parent().unwrap();
    let (report, err, code) = finish(&mut unspin(&["report", kept.to_str().unwrap()]));
    assert!(code == Some(0) && report.contains("cache_lock"), "{report} {err}");
    fs::remove_dir_all(kept).unwrap();
}

/// A report must not wait for a writer of what has become a pipe.
#[test]
fn program_replaced_by_a_pipe_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("static_locks.c", folder.path()) else { return };
    let script = format!("{0}; rm {0} && mkfifo {0}", program.display());
    let (_, err, code) = finish(&mut unspin(&["meter", "--", "sh", "-c", &script]));
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("Locks over "), "{err}");
}
