//! `unspin meter --lens futex` and `--lens off-cpu`, against programs with known waits. They need root, or CAP_PERFMON and
//! CAP_SYSLOG, and tracefs.

use crate::common::{
    Background, compiled, end_observation, finish, finish_unread, is_quiet, more_than_4k_hold, schema, skip,
    threads_of, unspin, wait_for_sleeps, wait_until,
};
use serde_json::Value;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use unspin_trace::{CallChain, Config, Event, RingSize, Target, Tracefs, Tracer};

/// Whether the tracepoints of futex and of the scheduler may be used.
pub fn may_observe(test: &str) -> bool {
    let opened = || {
        let tracefs = Tracefs::find()?;
        let futex =
            Event::tracepoint(tracefs.tracepoint("syscalls:sys_enter_futex", &["op"])?, CallChain::User);
        let switch =
            Event::tracepoint(tracefs.tracepoint("sched:sched_switch", &["prev_state"])?, CallChain::None);
        let ring = RingSize::Exactly(1 << 16);
        let events = vec![futex, switch];
        Tracer::open(&Config { target: Target::System, events, ring, processes: false }).map(drop)
    };
    let opened: Result<(), unspin_trace::Error> = opened();
    if let Err(e) = &opened {
        skip(test, &e.to_string());
    }
    opened.is_ok()
}

pub fn json(file: &Path) -> Value {
    schema::read("locks", file)
}

/// Meters a program. Returns the document, the printed tables and what the program printed: seconds that it waited.
fn metered(lenses: &str, program: &Path, folder: &Path) -> (Value, String, Vec<f64>) {
    let file = folder.join("report.json");
    let mut command = unspin(&["meter", "--lens", lenses, "--json"]);
    let (stdout, tables, code) = finish(command.arg(&file).arg(program));
    assert_eq!(code, Some(0), "{tables}");
    let truth = stdout.split_whitespace().map(|word| word.parse().unwrap()).collect();
    (json(&file), tables, truth)
}

/// Runs `futex_waits.c` until it is ended. Returns it, and one of its threads that wait.
pub fn start_endless(program: &Path) -> (Background, u32) {
    let mut command = Command::new(program);
    command.arg("1000000");
    let child = Background::start(command);
    wait_until("its threads run", || threads_of(child.pid()).len() == 3);
    let waits = threads_of(child.pid()).into_iter().find(|&tid| tid != child.pid()).unwrap();
    (child, waits)
}

/// Seconds waited at all futexes whose name begins so.
fn waited(document: &Value, name: &str) -> f64 {
    let futexes = document["futex"]["futexes"].as_array().unwrap().iter();
    let named = futexes.filter(|futex| futex["name"].as_str().unwrap().starts_with(name));
    named.map(|futex| futex["waited"].as_f64().unwrap()).sum()
}

/// Waits that a program has measured, from before each call to after it, with threads that sleep there for `least` seconds: what
/// the lens has seen is between the two. On a quiet machine it is 5 % less at most.
fn assert_measured(seconds: f64, least: f64, truth: f64, text: &str) {
    // The program prints microseconds.
    assert!(
        least <= seconds && seconds <= truth + 1e-6,
        "{seconds} s, between {least} s and {truth} s: {text}"
    );
    assert_within_5_percent(seconds, truth, text);
}

/// Seconds that threads of `futex_waits.c` and `futex_waits.rs` sleep at least: 20 times 20 ms.
const SLEPT: f64 = 20.0 * 0.02;

/// On a quiet machine the two agree within 5 %. On a busy one a thread may lose its CPU between one clock and the other, for any
/// time; then both have measured something.
fn assert_within_5_percent(seconds: f64, truth: f64, text: &str) {
    let agree = (seconds - truth).abs() <= 0.05 * truth;
    assert!(
        seconds > 0.0 && truth > 0.0 && (agree || !is_quiet()),
        "{seconds} s, and in truth {truth} s: {text}"
    );
}

/// Builds a program of `tests` with another compiler; none, with a line that says why, where there is none. The program is kept
/// for the next runs of the tests, under the hash of all that decides on it.
fn built(test: &str, compiler: &mut Command, version: &str, source: &str, package: &str) -> Option<PathBuf> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let name = compiler.get_program().to_owned();
    let version = match Command::new(&name).arg(version).env("GOTOOLCHAIN", "local").output() {
        Ok(output) => output.stdout,
        Err(e) => {
            skip(test, &format!("{} cannot be started ({e}): install {package}", name.display()));
            return None;
        }
    };
    let mut hash = DefaultHasher::new();
    (version, format!("{compiler:?}"), fs::read(&file).unwrap()).hash(&mut hash);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("built-{:016x}", hash.finish()));
    let program = folder.join("futex_waits");
    // Two tests use one program.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap();
    if !program.exists() {
        fs::create_dir_all(&folder).unwrap();
        let scratch = tempfile::tempdir_in(&folder).unwrap();
        let unfinished = scratch.path().join("futex_waits");
        let status = compiler.arg("-o").arg(&unfinished).arg(file).status().unwrap();
        assert!(status.success(), "{compiler:?}");
        fs::rename(unfinished, &program).unwrap();
    }
    Some(program)
}

fn go_program(test: &str) -> Option<PathBuf> {
    let mut go = Command::new("go");
    // The toolchain that is there.
    go.arg("build").env("GOTOOLCHAIN", "local");
    if std::env::var_os("HOME").is_none() {
        // Without a home there is no cache.
        go.env("GOCACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("go"));
    }
    built(test, &mut go, "version", "go/futex_waits.go", "golang-go")
}

#[test]
fn waits_of_c_program_are_the_truth_and_both_lenses_agree() {
    let test = "waits_of_c_program_are_the_truth_and_both_lenses_agree";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("futex_waits.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let (document, tables, truth) = metered("pthread,futex,kernel,off-cpu", &program, folder.path());
    assert_measured(waited(&document, "known_mutex"), SLEPT, truth[0], &tables);
    assert_measured(waited(&document, "known_condition"), SLEPT, truth[1], &tables);
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
    let (document, tables, truth) = metered("futex", &program, folder.path());
    assert_measured(waited(&document, "known_futex"), 1.0, truth[0], &tables);
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
    rustc.args(["-O", "-g", "--edition", "2024"]);
    let Some(program) = built(test, &mut rustc, "-vV", "rust/futex_waits.rs", "rustc") else { return };
    let (document, tables, truth) = metered("futex", &program, folder.path());
    let all = document["futex"]["futexes"].as_array().unwrap();
    let of_mutex = all.iter().find(|futex| futex["name"].as_str().unwrap().contains("KNOWN_MUTEX")).unwrap();
    assert_measured(of_mutex["waited"].as_f64().unwrap(), SLEPT, truth[0], &tables);
    assert_eq!(of_mutex["origin"], "rust", "{tables}");
    assert!(tables.contains("futex_waits::wait_for_mutex"), "{tables}");
}

#[test]
fn waits_of_go_program_are_the_truth() {
    let test = "waits_of_go_program_are_the_truth";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = go_program(test).filter(|_| may_observe(test)) else { return };
    let (document, tables, truth) = metered("futex", &program, folder.path());
    let waited = waited(&document, "main.knownFutex");
    assert!(waited > 0.0, "{tables}");
    // A signal of Go's scheduler can end a wait before its timeout.
    assert_measured(waited, 0.0, truth[0], &tables);
    assert!(tables.contains("main.waitAtFutex") && tables.contains("timers rather than locks"), "{tables}");
    // Without --lens, meter names the lens that works.
    let (_, message, code) = finish(unspin(&["meter"]).arg(&program));
    assert_eq!(code, Some(0), "{message}");
    assert!(message.contains("unspin meter --lens futex,off-cpu"), "{message}");
}

#[test]
fn running_go_program_is_observed_and_left_alone() {
    let test = "running_go_program_is_observed_and_left_alone";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = go_program(test).filter(|_| may_observe(test)) else { return };
    let mut child = Background::start({
        let mut command = Command::new(&program);
        command.arg("forever");
        command
    });
    wait_until("it has another thread", || threads_of(child.pid()).len() > 1);
    let at_first = threads_of(child.pid()).len();
    let file = folder.path().join("running.json");
    let mut command = unspin(&["meter", "--lens", "futex,off-cpu", "-p", &child.pid().to_string(), "--json"]);
    command.arg(&file);
    let meter = Background::start(command);
    // The first thread waits at the futex only.
    wait_for_sleeps(&meter, child.pid(), 25);
    let (tables, code) = end_observation(meter);
    assert!(child.is_running(), "it goes on");
    child.end();
    assert_eq!(code, Some(0), "{tables}");
    let document = json(&file);
    let seconds = document["seconds"].as_f64().unwrap();
    assert_within_5_percent(waited(&document, "main.knownFutex"), seconds, &tables);
    // All threads are counted, also those that are blocked all the time.
    let off_cpu = &document["off_cpu"];
    let threads = off_cpu["threads"].as_f64().unwrap();
    assert!(threads >= at_first as f64, "{tables}");
    assert_within_5_percent(off_cpu["thread_seconds"].as_f64().unwrap(), threads * seconds, &tables);
}

#[test]
fn lost_events_are_counted() {
    let test = "lost_events_are_counted";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("mmap_storm.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let options = ["--lens", "off-cpu", "--buffer", "4K"];
    let (tables, code) = finish_unread(&options, &[program.to_str().unwrap(), &more_than_4k_hold()]);
    assert_eq!(code, Some(7), "{tables}");
    assert!(tables.contains("lost because a ring buffer was full"), "{tables}");
}

#[test]
fn waits_of_a_process_that_ends_meanwhile_are_reported() {
    let test = "waits_of_a_process_that_ends_meanwhile_are_reported";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("futex_waits.c", folder.path()).filter(|_| may_observe(test)) else {
        return;
    };
    let (mut child, waits) = start_endless(&program);
    let mut meter =
        Background::start(unspin(&["meter", "--lens", "futex,off-cpu", "-p", &child.pid().to_string()]));
    // Three times at most in each round.
    wait_for_sleeps(&meter, waits, 6);
    child.end();
    let (tables, code) = (meter.rest(), meter.wait().code());
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
