//! `unspin meter --lens futex` and `--lens off-cpu`, against programs with known waits. They need root, or CAP_PERFMON and
//! CAP_SYSLOG, and tracefs.

use crate::common::{compiled, finish, is_quiet, skip, unspin};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use unspin_trace::{CallChain, Config, Event, RingSize, Session, Target, Tracefs};

/// Whether the tracepoints of futex and of the scheduler may be used.
fn may_observe(test: &str) -> bool {
    let opened = || {
        let tracefs = Tracefs::find()?;
        let futex =
            Event::tracepoint(tracefs.tracepoint("syscalls:sys_enter_futex", &["op"])?, CallChain::User);
        let switch =
            Event::tracepoint(tracefs.tracepoint("sched:sched_switch", &["prev_state"])?, CallChain::None);
        let ring = RingSize::Exactly(1 << 16);
        let events = vec![futex, switch];
        Session::open(&Config { target: Target::System, events, ring, processes: false }).map(drop)
    };
    let opened: Result<(), unspin_trace::Error> = opened();
    if let Err(e) = &opened {
        skip(test, &e.to_string());
    }
    opened.is_ok()
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Meters a program. Returns the document, the printed tables and what the program printed: seconds that it waited.
fn metered(lenses: &str, program: &Path) -> (Value, String, Vec<f64>) {
    let file = program.with_extension("json");
    let mut command = unspin(&["meter", "--lens", lenses, "--json"]);
    let (stdout, tables, code) = finish(command.arg(&file).arg(program));
    assert_eq!(code, Some(0), "{tables}");
    let truth = stdout.split_whitespace().map(|word| word.parse().unwrap()).collect();
    (json(&file), tables, truth)
}

/// Seconds waited at all futexes whose name begins so.
fn waited(document: &Value, name: &str) -> f64 {
    let futexes = document["futex"]["futexes"].as_array().unwrap().iter();
    let named = futexes.filter(|futex| futex["name"].as_str().unwrap().starts_with(name));
    named.map(|futex| futex["waited"].as_f64().unwrap()).sum()
}

/// On a quiet machine the two agree within 5 %. On a busy one a thread may lose its CPU between one clock and the other, for any
/// time; then both have measured something.
fn assert_within_5_percent(seconds: f64, truth: f64, text: &str) {
    let agree = (seconds - truth).abs() <= 0.05 * truth;
    assert!(
        seconds > 0.0 && truth > 0.0 && (agree || !is_quiet()),
        "{seconds} s, and in truth {truth} s: {text}"
    );
}

/// Builds a program of `tests` with another compiler; none, with a line that says why, where there is none.
fn built(test: &str, compiler: &mut Command, program: &Path) -> Option<PathBuf> {
    match compiler.arg("-o").arg(program).status() {
        Ok(status) => assert!(status.success(), "{compiler:?}"),
        Err(e) => {
            let name = compiler.get_program().display();
            skip(test, &format!("{name} cannot be started ({e}): install it"));
            return None;
        }
    }
    Some(program.to_owned())
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

fn go_program(test: &str, folder: &Path) -> Option<PathBuf> {
    let mut go = Command::new("go");
    // The toolchain that is there, and a cache of its own: a build without a home has none.
    go.args(["build"]).env("GOTOOLCHAIN", "local").env("GOCACHE", folder.join("cache"));
    go.arg("-o").arg(folder.join("futex_waits")).arg(source("go/futex_waits.go"));
    match go.status() {
        Ok(status) => assert!(status.success(), "{go:?}"),
        Err(e) => {
            skip(test, &format!("go cannot be started ({e}): install golang-go"));
            return None;
        }
    }
    Some(folder.join("futex_waits"))
}

#[test]
fn waits_of_c_program_are_the_truth_and_both_lenses_agree() {
    let test = "waits_of_c_program_are_the_truth_and_both_lenses_agree";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("futex_waits.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let (document, tables, truth) = metered("pthread,futex,kernel,off-cpu", &program);
    assert_within_5_percent(waited(&document, "known_mutex"), truth[0], &tables);
    assert_within_5_percent(waited(&document, "known_condition"), truth[1], &tables);
    // One lens against the other.
    let explained = document["futex"]["explained"]["pthread_sleep"].as_f64().unwrap();
    assert_within_5_percent(explained, document["futex"]["total"]["waited"].as_f64().unwrap(), &tables);
    // The parts add up to the whole, and the whole is the time of the threads.
    let total = &document["thread_time"];
    let parts: f64 =
        total["parts"].as_array().unwrap().iter().map(|part| part["seconds"].as_f64().unwrap()).sum();
    let all = total["thread_seconds"].as_f64().unwrap();
    assert!((parts - all).abs() < 1e-6, "{tables}");
    assert_eq!(document["off_cpu"]["threads"].as_u64(), Some(3), "{tables}");
    let seconds = document["off_cpu"]["seconds"].as_f64().unwrap();
    assert!(all > 0.0 && all < 4.0 * seconds, "three threads: {tables}");
    let futex =
        document["off_cpu"]["reasons"].as_array().unwrap().iter().find(|one| one["reason"] == "futex");
    assert_within_5_percent(futex.unwrap()["blocked"].as_f64().unwrap(), truth[0] + truth[1], &tables);
    for expected in
        ["Where the threads' time went", "of thread time", "-> libc waits: the pthread lens names the lock"]
    {
        assert!(tables.contains(expected), "{expected}: {tables}");
    }
}

/// SIGSTOP interrupts the wait, and restart_syscall(2) goes on with it.
#[test]
fn wait_of_stopped_process_is_one_wait() {
    let test = "wait_of_stopped_process_is_one_wait";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("stopped_wait.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let (document, tables, truth) = metered("futex", &program);
    assert_within_5_percent(waited(&document, "known_futex"), truth[0], &tables);
    let futexes = document["futex"]["futexes"].as_array().unwrap();
    let is_known = |futex: &&Value| futex["name"].as_str().unwrap().starts_with("known_futex");
    let known = futexes.iter().find(is_known).unwrap();
    let counts = ["waits", "timed_out", "interrupted"].map(|field| known[field].as_u64().unwrap());
    assert_eq!(counts, [1, 1, 0], "{tables}");
}

#[test]
fn waits_of_rust_program_are_the_truth() {
    let test = "waits_of_rust_program_are_the_truth";
    let folder = tempfile::tempdir().unwrap();
    if !may_observe(test) {
        return;
    }
    let mut rustc = Command::new("rustc");
    rustc.args(["-O", "-g", "--edition", "2024"]).arg(source("rust/futex_waits.rs"));
    let Some(program) = built(test, &mut rustc, &folder.path().join("futex_waits")) else { return };
    let (document, tables, truth) = metered("futex", &program);
    let all = document["futex"]["futexes"].as_array().unwrap();
    let of_mutex = all.iter().find(|futex| futex["name"].as_str().unwrap().contains("KNOWN_MUTEX")).unwrap();
    assert_within_5_percent(of_mutex["waited"].as_f64().unwrap(), truth[0], &tables);
    assert_eq!(of_mutex["origin"], "rust", "{tables}");
    assert!(tables.contains("futex_waits::wait_for_mutex"), "{tables}");
}

#[test]
fn waits_of_go_program_are_the_truth() {
    let test = "waits_of_go_program_are_the_truth";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = go_program(test, folder.path()).filter(|_| may_observe(test)) else { return };
    let (document, tables, truth) = metered("futex", &program);
    assert_within_5_percent(waited(&document, "main.knownFutex"), truth[0], &tables);
    assert!(tables.contains("main.waitAtFutex") && tables.contains("timers rather than locks"), "{tables}");
    // Without --lens, meter names the lens that works.
    let (_, message, code) = finish(unspin(&["meter"]).arg(&program));
    assert_eq!(code, Some(126), "{message}");
    assert!(message.contains("unspin meter --lens futex,off-cpu"), "{message}");
}

#[test]
fn running_go_program_is_observed_and_left_alone() {
    let test = "running_go_program_is_observed_and_left_alone";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = go_program(test, folder.path()).filter(|_| may_observe(test)) else { return };
    let mut child = Command::new(&program).arg("forever").stdout(Stdio::null()).spawn().unwrap();
    let pid = child.id().to_string();
    let file = folder.path().join("running.json");
    let mut command = unspin(&["meter", "--lens", "futex,off-cpu", "-p", &pid, "--seconds", "1", "--json"]);
    let (_, tables, code) = finish(command.arg(&file));
    let document = json(&file);
    assert_eq!(child.try_wait().unwrap(), None, "it goes on");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(code, Some(0), "{tables}");
    let seconds = document["seconds"].as_f64().unwrap();
    assert_within_5_percent(waited(&document, "main.knownFutex"), seconds, &tables);
    // All threads are counted, also those that are blocked all the time.
    let off_cpu = &document["off_cpu"];
    let threads = off_cpu["threads"].as_f64().unwrap();
    assert_within_5_percent(off_cpu["thread_seconds"].as_f64().unwrap(), threads * seconds, &tables);
}

#[test]
fn lost_events_are_counted_and_process_may_end_while_it_is_read() {
    let test = "lost_events_are_counted_and_process_may_end_while_it_is_read";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("futex_waits.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let mut command = unspin(&["meter", "--lens", "off-cpu", "--buffer", "4K"]);
    let (_, tables, code) =
        finish(command.args([env!("CARGO_BIN_EXE_unspin"), "hackbench", "-g", "4", "-l", "2000"]));
    assert_eq!(code, Some(0), "{tables}");
    assert!(tables.contains("lost because a ring buffer was full"), "{tables}");
    let mut child = Command::new(&program).arg("250").stdout(Stdio::null()).spawn().unwrap();
    let reader = std::thread::spawn({
        let pid = child.id().to_string();
        move || finish(&mut unspin(&["meter", "--lens", "futex,off-cpu", "-p", &pid]))
    });
    child.wait().unwrap();
    let (_, tables, code) = reader.join().unwrap();
    assert_eq!(code, Some(0), "{tables}");
    assert!(tables.contains("Futex waits over") && tables.contains("known_mutex"), "{tables}");
}

/// A program that computes is on the CPUs for the CPU time that the kernel accounts for it.
#[test]
fn cpu_time_is_that_of_the_kernel() {
    let test = "cpu_time_is_that_of_the_kernel";
    if !may_observe(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cpu.json");
    let mut command = unspin(&["meter", "--lens", "off-cpu", "--json"]);
    let script = "n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; times";
    let (stdout, tables, code) = finish(command.arg(&file).args(["sh", "-c", script]));
    assert_eq!(code, Some(0), "{tables}");
    // `0m0.123000s 0m0.045000s`: user and system time of the shell.
    let seconds = |word: &str| word.strip_prefix("0m")?.strip_suffix('s')?.parse::<f64>().ok();
    let words = stdout.lines().next().unwrap().split_whitespace();
    let truth: f64 = words.map(|word| seconds(word).unwrap()).sum();
    // The shell's clock has steps of a hundredth of a second.
    let on_cpu = json(&file)["off_cpu"]["on_cpu"].as_f64().unwrap();
    let agree = (on_cpu - truth).abs() <= 0.05 * truth + 0.03;
    assert!(on_cpu > 0.0 && (agree || !is_quiet()), "{on_cpu} {truth}: {tables}");
}
