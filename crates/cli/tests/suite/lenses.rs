//! `unspin profile` and `unspin meter --lens kernel` on this machine's kernel. Most need root, or CAP_PERFMON and CAP_SYSLOG,
//! and tracefs.

use crate::common::{
    Background, catches, compiled, end_observation, finish, finish_unread, may_mount, more_than_4k_hold,
    schema, skip, threads_of, unspin, wait_for_sleeps, wait_until, wait_until_it_observes,
};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use unspin_sys::child::{self, Signal};
use unspin_trace::{
    CallChain, Config, Event, EventSource, Frequency, KernelSymbols, RingSize, Target, Tracefs, Tracer,
};

/// Whether samples of the whole machine may be taken, and the kernel's symbols read.
fn may_profile(test: &str) -> bool {
    let source = EventSource::CpuClock(Frequency(100));
    may_observe(test, Event { source, call_chain: CallChain::None, kernel: true, user: true })
}

fn may_see_locks(test: &str) -> bool {
    let tracepoint =
        Tracefs::find().and_then(|tracefs| tracefs.tracepoint("lock:contention_begin", &["flags"]));
    match tracepoint {
        Ok(tracepoint) => may_observe(test, Event::tracepoint(tracepoint, CallChain::Kernel)),
        Err(e) => {
            skip(test, &e.to_string());
            false
        }
    }
}

fn may_observe(test: &str, event: Event) -> bool {
    let ring = RingSize::Exactly(1 << 16);
    let config = Config { target: Target::System, events: vec![event], ring, processes: false };
    let opened = Tracer::open(&config).map(drop).and_then(|()| KernelSymbols::read().map(drop));
    if let Err(e) = &opened {
        skip(test, &e.to_string());
    }
    opened.is_ok()
}

/// A storm of short system calls.
const STORM: [&str; 5] = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=400000"];

/// The lines of the table: ticks, function, load.
fn rows(table: &str) -> Vec<(u64, String, String)> {
    let row = |line: &str| {
        let (ticks, rest) = line.trim_start().split_once(' ')?;
        let (name, load) = rest.rsplit_once(' ')?;
        Some((ticks.parse().ok()?, name.trim().to_owned(), load.to_owned()))
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn profile_prints_the_table_of_readprofile() {
    if !may_profile("profile_prints_the_table_of_readprofile") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [table, pprof, svg] = ["table", "profile.pb.gz", "graph.svg"].map(|name| folder.path().join(name));
    let mut command = unspin(&["profile", "-F", "4000", "-rn", "-o"]);
    command.arg(&table).arg("--pprof").arg(&pprof).arg("--flamegraph").arg(&svg).args(STORM);
    let (_, stderr, code) = finish(&mut command);
    assert_eq!(code, Some(0), "{stderr}");
    let text = fs::read_to_string(&table).unwrap();
    let rows = rows(&text);
    assert_eq!(rows[0].1, "total");
    let sum: u64 = rows[1..].iter().map(|row| row.0).sum();
    assert_eq!(sum, rows[0].0, "{text}");
    assert!(sum > 0, "{text}");
    assert!(rows.is_sorted_by(|a, b| a.0 >= b.0), "{text}");
    let load: f64 = rows[1].2.parse().unwrap();
    assert!(load > 0.0, "{text}");
    assert_eq!(fs::read(&pprof).unwrap()[..2], [0x1F, 0x8B]);
    let svg = fs::read_to_string(&svg).unwrap();
    assert!(svg.contains("<svg") && svg.contains("do_syscall_64 ("));
    // Which functions there are is the compiler's choice; those in which the program was most are in both.
    for row in &rows[1..3] {
        assert!(svg.contains(&format!("{} (", row.1)), "{} is not in the flame graph: {text}", row.1);
    }
}

/// `sort -n -r`, the modern form of `sort -n +0 -r`, leaves the table as it is.
#[test]
fn table_is_sorted_as_by_sort() {
    if !may_profile("table_is_sorted_as_by_sort") {
        return;
    }
    let (_, table, _) =
        finish(unspin(&["profile", "-a", "--user", "-F", "4000", "--seconds", "0.3"]).stdout(Stdio::null()));
    let mut sort = Command::new("sort")
        .args(["-n", "-r"])
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut sort.stdin.take().unwrap(), table.as_bytes()).unwrap();
    assert_eq!(String::from_utf8(sort.wait_with_output().unwrap().stdout).unwrap(), table);
}

#[test]
fn program_functions_are_sampled_on_request() {
    if !may_profile("program_functions_are_sampled_on_request") {
        return;
    }
    let busy = "n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; exit 3";
    let (_, table, code) = finish(&mut unspin(&["profile", "--user", "sh", "-c", busy]));
    assert_eq!(code, Some(3), "the program's own");
    let rows = rows(&table);
    assert!(rows.iter().any(|row| row.2 == "-"), "a shell's loop is in the program: {table}");
    let (_, kernel_only, _) = finish(&mut unspin(&["profile", "sh", "-c", busy]));
    assert!(!kernel_only.contains("[libc"), "{kernel_only}");
}

/// The unwind tables, which strip keeps, say where a function starts.
#[test]
fn stripped_function_has_one_row() {
    let test = "stripped_function_has_one_row";
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("burn.c", folder.path()).filter(|_| may_profile(test)) else { return };
    let burn = unspin_symbols::File::open(&program).unwrap().functions_named("burn").remove(0);
    match Command::new("strip").arg(&program).status() {
        Ok(status) => assert!(status.success()),
        Err(e) => return skip(test, &format!("strip cannot be started ({e}): install binutils")),
    }
    let (_, table, code) = finish(unspin(&["profile", "--user", "-F", "2000"]).arg(&program));
    assert_eq!(code, Some(0), "{table}");
    // The file is named so too.
    let starts = rows(&table).into_iter().filter_map(|row| {
        let start = row.1.strip_prefix("burn+0x")?;
        Some(u64::from_str_radix(start, 16).unwrap())
    });
    let of_burn: Vec<u64> = starts.filter(|start| burn.contains(start)).collect();
    assert_eq!(of_burn, [burn.start], "{table}");
}

/// The second step of the report of 2002: the ticks begin at zero when the test starts.
#[test]
fn reset_of_semopbench_sets_ticks_to_zero() {
    if !may_profile("reset_of_semopbench_sets_ticks_to_zero") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("graph.svg");
    let mut command = unspin(&["profile", "--flamegraph"]);
    command.arg(&svg).args(["semopbench", "-g", "4", "-s", "4", "-n", "2000", "-r"]);
    let (stdout, stderr, code) = finish(&mut command);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("seconds per repetition"), "{stdout}");
    assert!(stderr.contains("semopbench: the ticks of unspin profile are reset"), "{stderr}");
    assert!(rows(&stderr)[0].0 > 0, "{stderr}");
    assert!(fs::read_to_string(&svg).unwrap().contains("semtimedop"), "{stderr}");
}

fn json(file: &Path) -> Value {
    schema::read("locks", file)
}

/// The lock with a name in the document's part of the kernel.
fn lock(document: &Value, name: &str) -> Value {
    let locks = document["kernel"]["locks"].as_array().unwrap();
    let found = locks.iter().find(|lock| lock["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {document:#}")).clone()
}

#[test]
fn waits_for_a_kernel_lock_are_found() {
    if !may_see_locks("waits_for_a_kernel_lock_are_found") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("mmap_storm.c", folder.path()) else { return };
    let file = folder.path().join("locks.json");
    let mut command = unspin(&["meter", "--lens", "kernel", "--json"]);
    let (_, table, code) = finish(command.arg(&file).arg(&program).arg("40"));
    assert_eq!(code, Some(7), "the program's own: {table}");
    assert!(table.contains("mmap_lock") && table.contains("unknown, not zero"), "{table}");
    let document = json(&file);
    assert_eq!((&document["schema"], &document["version"]), (&"unspin-locks".into(), &3.into()));
    assert_eq!(document["command"], serde_json::json!([program, "40"]));
    let mmap_lock = lock(&document, "mmap_lock");
    assert_eq!((&mmap_lock["kind"], &mmap_lock["origin"]), (&"rwsem".into(), &"function".into()));
    assert!(mmap_lock["sleep"].as_f64().unwrap() > 0.0 && mmap_lock["spin"].as_f64() == Some(0.0));
    assert!(mmap_lock["waits"].as_u64().unwrap() > 10, "{table}");
    let lost: f64 =
        document["kernel"]["locks"].as_array().unwrap().iter().map(|l| l["lost"].as_f64().unwrap()).sum();
    let total = document["kernel"]["total"]["lost"].as_f64().unwrap();
    assert!((lost - total).abs() < 1e-6, "{lost} {total}");
    // Only callers that match, and the locks that they wait for.
    let (_, filtered, _) = finish(
        unspin(&["meter", "--lens", "kernel", "--lock", "^mmap", "--caller", "munmap"])
            .arg(&program)
            .arg("1"),
    );
    assert!(!filtered.contains("run-queue"), "{filtered}");
}

#[test]
fn both_lenses_are_in_one_report() {
    if !may_see_locks("both_lenses_are_in_one_report") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("mmap_storm.c", folder.path()) else { return };
    let file = folder.path().join("locks.json");
    let mut command = unspin(&["meter", "--lens", "pthread,kernel", "--json"]);
    let (_, table, code) = finish(command.arg(&file).arg(&program).arg("10"));
    assert_eq!(code, Some(7), "{table}");
    let kernel = table.find("Kernel locks over").unwrap_or_else(|| panic!("{table}"));
    assert!(table[kernel..].contains("mmap_lock"), "{table}");
    let document = json(&file);
    assert!(document["waits"].is_array() && document["level"] == "full", "the pthread lens has its fields");
    assert!(lock(&document, "mmap_lock")["waits"].as_u64().unwrap() > 0);
}

#[test]
fn running_process_is_observed_and_left_alone() {
    if !may_see_locks("running_process_is_observed_and_left_alone") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("mmap_storm.c", folder.path()) else { return };
    let mut child = Background::start({
        let mut command = Command::new(&program);
        command.arg("1000000000");
        command
    });
    wait_until("its threads run", || threads_of(child.pid()).len() == 5);
    let storms = threads_of(child.pid()).into_iter().find(|&tid| tid != child.pid()).unwrap();
    let meter = Background::start(unspin(&["meter", "-p", &child.pid().to_string()]));
    wait_for_sleeps(&meter, storms, 20);
    let (report, code) = end_observation(meter);
    assert!(child.is_running(), "it goes on");
    assert_eq!(code, Some(0), "{report}");
    assert!(
        report.contains("waits of the process, and its children") && report.contains("mmap_lock"),
        "{report}"
    );
    for section in ["Futex waits over", "Kernel locks over", "Time of ", "Where the threads' time went"] {
        assert!(report.contains(section), "without --lens: {section}: {report}");
    }
}

#[test]
fn observation_ends_with_the_process() {
    if !may_see_locks("observation_ends_with_the_process") {
        return;
    }
    let mut child = Background::start({
        let mut command = Command::new("sleep");
        command.arg("600");
        command
    });
    let mut meter = Background::start(unspin(&["meter", "--lens", "kernel", "-p", &child.pid().to_string()]));
    wait_until_it_observes(&meter);
    child.end();
    assert_eq!(meter.wait().code(), Some(0));
}

#[test]
fn lost_events_are_counted_and_shown() {
    if !may_see_locks("lost_events_are_counted_and_shown") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = compiled("mmap_storm.c", folder.path()) else { return };
    let options = ["--lens", "kernel", "--buffer", "4K"];
    let (table, code) = finish_unread(&options, &[program.to_str().unwrap(), &more_than_4k_hold()]);
    assert_eq!(code, Some(7), "{table}");
    assert!(table.contains("events were lost because a ring buffer was full"), "{table}");
    assert!(table.contains("--buffer"), "{table}");
}

/// A command that runs unspin as a user without privileges; none, with a line that says why, if that cannot be tested here.
fn without_privileges(test: &str, folder: &Path) -> Option<impl Fn(&[&str]) -> Command> {
    if !unspin_sys::creds::Creds::current().capable(CAP_SETUID) {
        skip(test, "needs CAP_SETUID");
        return None;
    }
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if paranoid.trim() != "2" {
        skip(test, "needs kernel.perf_event_paranoid=2, the kernel's default");
        return None;
    }
    // The build folder may be closed to others.
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
    let (program, folder) = (folder.join("unspin"), folder.to_owned());
    unspin_e2e::copy_program(Path::new(env!("CARGO_BIN_EXE_unspin")), &program);
    Some(move |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).uid(NOBODY).gid(NOBODY).current_dir("/");
        command.env("TMPDIR", &folder).env("XDG_CACHE_HOME", &folder);
        command
    })
}

/// capability.h.
const CAP_SETUID: u32 = 7;
/// The user without privileges of most systems.
const NOBODY: u32 = 65534;

/// The message is one line, which names the setting or the capability.
#[test]
fn user_without_permission_is_told_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let Some(unspin) = without_privileges("user_without_permission_is_told_the_setting", folder.path())
    else {
        return;
    };
    for arguments in [
        ["profile", "-a", "--seconds", "0.1"].as_slice(),
        &["profile", "true"],
        &["meter", "--lens", "kernel", "true"],
        &["meter", "--lens", "kernel", "-a", "--seconds", "0.1"],
    ] {
        let (_, stderr, code) = finish(&mut unspin(arguments));
        assert_eq!(code, Some(125), "{arguments:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        let setting = ["kernel.perf_event_paranoid", "kernel.kptr_restrict", "tracing"];
        assert!(setting.iter().any(|name| stderr.contains(name)), "{stderr}");
        assert!(stderr.contains("as root"), "{stderr}");
    }
}

#[test]
fn what_is_permitted_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let Some(unspin) = without_privileges("what_is_permitted_goes_on", folder.path()) else { return };
    let busy = "n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done; exit 3";
    let (_, stderr, code) = finish(&mut unspin(&["profile", "--user", "sh", "-c", busy]));
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("the kernel is left out: samples by cpu-clock: not permitted"), "{stderr}");
    let rows = rows(&stderr);
    assert!(rows[0].0 > 0 && rows[1..].iter().all(|row| row.2 == "-"), "{stderr}");
    let (_, stderr, code) = finish(&mut unspin(&["meter", "--lens", "pthread,kernel", "sh", "-c", "exit 4"]));
    assert_eq!(code, Some(4), "{stderr}");
    assert!(stderr.contains("the kernel lens is left out"), "{stderr}");
}

/// The command that the message names must permit it: first tracefs is hidden, then it is readable by the user's group.
#[test]
fn remedy_for_hidden_tracefs_works() {
    let test = "remedy_for_hidden_tracefs_works";
    let folder = tempfile::tempdir().unwrap();
    let Some(unspin) = without_privileges(test, folder.path()) else { return };
    let (_, stderr, code) = finish(&mut unspin(&["meter", "--lens", "kernel", "true"]));
    let Some((_, after)) = stderr.split_once("by `mount ").filter(|_| code == Some(125)) else {
        return skip(test, "tracefs is not hidden, or not mounted");
    };
    let (remedy, _) = after.split_once('`').unwrap();
    assert!(remedy.contains(&format!("gid={NOBODY}")), "{stderr}");
    let mount = |arguments: &str| {
        let status = Command::new("mount").args(arguments.split_ascii_whitespace()).status();
        status.is_ok_and(|status| status.success())
    };
    if !mount(remedy) {
        return skip(test, "needs CAP_SYS_ADMIN");
    }
    let (_, stderr, _) = finish(&mut unspin(&["meter", "--lens", "kernel", "true"]));
    assert!(mount("-o remount,mode=700,gid=0 /sys/kernel/tracing"));
    assert!(stderr.contains("lock:contention_begin: not permitted: kernel.perf_event_paranoid"), "{stderr}");
}

/// As in a container, which may not mount it itself. The message says how; of two lenses the other goes on.
#[test]
fn missing_tracefs_is_reported_with_the_mount_command() {
    let without = |arguments: &str| {
        let unspin = env!("CARGO_BIN_EXE_unspin");
        let script = format!(
            "umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null
             exec setpriv --inh-caps=-sys_admin --bounding-set=-sys_admin {unspin} {arguments}"
        );
        let mut command = Command::new("unshare");
        finish(command.args(["-m", "sh", "-c", &script]).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")))
    };
    let test = "missing_tracefs_is_reported_with_the_mount_command";
    if !may_see_locks(test) || !may_mount(test) {
        return;
    }
    let (_, stderr, code) = without("meter --lens kernel true");
    assert_eq!(code, Some(125), "{stderr}");
    assert!(stderr.contains("mount -t tracefs tracefs /sys/kernel/tracing"), "{stderr}");
    let (_, stderr, code) = without("meter --lens pthread,kernel sh -c 'exit 5'");
    assert_eq!(code, Some(5), "{stderr}");
    assert!(stderr.contains("the kernel lens is left out: tracepoints cannot be found"), "{stderr}");
}

#[test]
fn wrong_command_lines_are_refused() {
    let refused = |arguments: &[&str], text: &str| {
        let (_, stderr, code) = finish(&mut unspin(arguments));
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    };
    refused(&["meter", "--lens", "pthread", "-p", "1"], "leave --lens out, or add futex, kernel or off-cpu");
    refused(
        &["meter", "--lens", "pthread", "-a", "true"],
        "leave --lens out, or add futex, kernel or off-cpu",
    );
    refused(
        &["meter", "--lens", "kernel", "--record", "/dev/null", "true"],
        "--record requires the pthread lens, as in --lens pthread,kernel",
    );
    refused(
        &["meter", "--lens", "kernel", "--waits", "poll", "true"],
        "--waits requires the pthread lens, as in --lens pthread,kernel",
    );
    refused(&["meter", "--lens", "kernel", "-p", "1", "true"], "leave out the program, or -p");
    refused(&["meter", "--lens", "kernel", "--seconds", "1", "true"], "--seconds requires -a or -p");
    refused(&["meter", "--lens", "glass", "true"], "pthread, kernel");
    refused(&["meter", "--lens", "kernel"], "required arguments were not provided");
    refused(&["profile"], "required arguments were not provided");
    refused(&["profile", "-a", "-p", "1"], "cannot be used with");
    refused(&["profile", "-p", "999999999"], "there is no process 999999999");
    let (_, stderr, code) = finish(&mut unspin(&["profile", "/nowhere/at/all"]));
    assert_eq!(code, Some(127), "{stderr}");
    let (_, stderr, code) = finish(&mut unspin(&["profile", "/etc/passwd"]));
    assert_eq!(code, Some(126), "{stderr}");
}

/// The first ^C ends the observation. Its report goes to a pipe that is full, which no process reads.
#[test]
fn second_interrupt_ends_unspin_while_it_prints() {
    if !may_profile("second_interrupt_ends_unspin_while_it_prints") {
        return;
    }
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, &[b' '; 1 << 16]).unwrap();
    let mut child = unspin(&["profile", "-a"]).stderr(writer).spawn().unwrap();
    // Until its handler is there, a signal would end it as any program.
    wait_until("it catches SIGINT", || catches(child.id(), 2));
    let status = (0..1200).find_map(|_| {
        child::signal(child.id(), Signal::PassedOn(2)).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        child.try_wait().unwrap()
    });
    drop(reader);
    let _ = child.kill();
    child.wait().unwrap();
    assert_eq!(status.expect("it waits for its reader").code(), Some(130));
}

/// A timer that begins anew in each process never samples those that run for less than its period; here, the children.
#[test]
fn short_processes_are_in_the_profile_of_a_command() {
    if !may_profile("short_processes_are_in_the_profile_of_a_command") {
        return;
    }
    let forks = "n=0; while [ $n -lt 3000 ]; do (:); n=$((n+1)); done";
    let (_, table, code) = finish(&mut unspin(&["profile", "-F", "997", "sh", "-c", forks]));
    assert_eq!(code, Some(0), "{table}");
    let names: Vec<String> = rows(&table).into_iter().map(|row| row.1).collect();
    // Only a process that ends calls them: a child.
    let of_exit = [
        "do_exit",
        "exit_mm",
        "zap_",
        "unmap_page_range",
        "free_pgtables",
        "unlink_anon_vmas",
        "folio_remove_rmap",
    ];
    assert!(names.iter().any(|name| of_exit.iter().any(|part| name.contains(part))), "{table}");
}
