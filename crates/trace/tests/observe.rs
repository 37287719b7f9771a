//! Sessions on this machine's kernel. They need root (or CAP_PERFMON and CAP_SYSLOG) and tracefs.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use unspin_trace::{
    CallChain, Config, Error, Event, Frequency, INNERMOST, KernelSymbols, Losses, Payload, Processes, Record,
    RingSize, Sample, Session, Source, Stacks, Switch, Target, Tracefs,
};

/// Prints past the capturing of the test's output why a test is skipped.
fn skip(error: &Error) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
}

/// The configuration's session; none, with a line that says why, where this may not be observed.
fn session(config: &Config) -> Option<Session> {
    match Session::open(config) {
        Ok(session) => Some(session),
        Err(e) => {
            skip(&e);
            None
        }
    }
}

fn cpu_clock(call_chain: CallChain) -> Event {
    Event { source: Source::CpuClock(Frequency(997)), call_chain, kernel: true, user: true }
}

fn tracepoint(name: &str, fields: &[&str]) -> Option<Event> {
    match Tracefs::find().and_then(|tracefs| tracefs.tracepoint(name, fields)) {
        Ok(tracepoint) => Some(Event::tracepoint(tracepoint, CallChain::None)),
        Err(e) => {
            skip(&e);
            None
        }
    }
}

fn config(target: Target, event: Event) -> Config {
    Config { target, events: vec![event], ring: RingSize::AtMost(1 << 18), processes: true }
}

/// Reads until the command has ended; checks that the records come in the order of time.
fn read_while_it_runs(mut session: Session, command: &mut Command) -> (Vec<Record>, Stacks, Losses, u32) {
    session.start().unwrap();
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let mut records = Vec::new();
    let mut note = |record: &Record, _: &Stacks| records.push(record.clone());
    while child.try_wait().unwrap().is_none() {
        session.read(&mut note);
        std::thread::sleep(Duration::from_millis(5));
    }
    let (stacks, losses) = session.finish(&mut note);
    assert!(records.is_sorted_by_key(|record| record.time));
    (records, stacks, losses, child.id())
}

fn samples(records: &[Record]) -> impl Iterator<Item = (&Record, &Sample)> {
    records.iter().filter_map(|record| match &record.payload {
        Payload::Sample(sample) => Some((record, sample)),
        _ => None,
    })
}

const BUSY: &str = "n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done; : | true";

#[test]
fn command_is_observed_from_its_start_with_its_children() {
    let Some(session) = session(&config(Target::Children, cpu_clock(CallChain::Both))) else { return };
    let (records, stacks, losses, child) = read_while_it_runs(session, Command::new("sh").args(["-c", BUSY]));
    assert_eq!(losses, Losses::default());
    let is_exec = |payload: &Payload| matches!(payload, Payload::Comm { name, exec: true } if name == "sh");
    assert!(records.iter().any(|record| record.pid == child && is_exec(&record.payload)));
    let created = records.iter().filter(|record| record.payload == Payload::Fork { parent: child }).count();
    assert!(created >= 1, "the two sides of the pipe are children: {created}");
    assert!(samples(&records).count() > 5);
    assert!(samples(&records).any(|(_, sample)| !stacks.get(sample.stack).user.is_empty()));
    let own = std::process::id();
    assert!(records.iter().all(|record| record.pid != own), "the observer is not observed");
    let mut processes = Processes::new();
    records.iter().for_each(|record| processes.note(record));
    assert_eq!(processes.name(child).as_deref(), Some("sh"));
    let maps = String::from_utf8_lossy(&processes.maps(child)).into_owned();
    assert!(maps.contains("libc"), "{maps}");
}

#[test]
fn running_process_is_observed_with_children_that_it_gets() {
    let mut target =
        Command::new("sh").args(["-c", "while :; do /bin/true; done"]).stdout(Stdio::null()).spawn().unwrap();
    let opened = session(&config(Target::Tree(target.id()), cpu_clock(CallChain::Kernel)));
    if let Some(session) = opened {
        let (records, ..) = read_while_it_runs(session, Command::new("sleep").arg("0.3"));
        assert!(records.iter().any(|record| record.payload == Payload::Fork { parent: target.id() }));
        assert!(samples(&records).any(|(record, _)| record.pid != target.id()), "of its children");
        let foreign = |record: &Record| record.pid == std::process::id() || record.pid == 0;
        assert!(!records.iter().any(foreign), "no others");
    }
    target.kill().unwrap();
    target.wait().unwrap();
}

/// Without it, a timer of 1 ms never fires in processes that each run for less.
#[test]
fn short_processes_of_a_command_are_sampled() {
    let forks = "n=0; while [ $n -lt 400 ]; do (:); n=$((n+1)); done";
    let Some(session) = session(&config(Target::Started, cpu_clock(CallChain::None))) else { return };
    let (records, _, losses, child) = read_while_it_runs(session, Command::new("sh").args(["-c", forks]));
    assert_eq!(losses, Losses::default());
    let of_children = samples(&records).filter(|(record, _)| record.pid != child).count();
    assert!(of_children > 10, "{of_children}");
    assert!(samples(&records).all(|(record, _)| record.pid != std::process::id() && record.pid != 0));
}

/// The births of processes are recorded even if nothing else of them is asked for.
#[test]
fn children_are_observed_without_records_of_names_and_mappings() {
    let mut target = Command::new("sh")
        .args(["-c", "read line; dd if=/dev/zero of=/dev/null bs=1 count=300000; :"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let config = Config { processes: false, ..config(Target::Tree(target.id()), cpu_clock(CallChain::None)) };
    if let Some(mut session) = session(&config) {
        session.start().unwrap();
        target.stdin.take().unwrap().write_all(b"\n").unwrap();
        target.wait().unwrap();
        let mut of_children = 0;
        session.finish(&mut |record, _| {
            let is_sample = matches!(record.payload, Payload::Sample(_));
            of_children += usize::from(is_sample && record.pid != target.id());
        });
        assert!(of_children > 5, "{of_children}");
    }
    target.kill().unwrap();
    target.wait().unwrap();
}

/// execve allocates a page for the arguments from some 18 frames.
#[test]
fn innermost_frames_of_a_stack_are_recorded() {
    let Some(mut event) = tracepoint("kmem:mm_page_alloc", &["order"]) else { return };
    event.call_chain = CallChain::KernelInnermost;
    let Some(session) = session(&config(Target::System, event)) else { return };
    let (records, stacks, ..) = read_while_it_runs(session, Command::new("sh").args(["-c", "/bin/true; :"]));
    let lengths = samples(&records).map(|(_, sample)| stacks.get(sample.stack));
    assert_eq!(lengths.map(|stack| stack.kernel.len()).max(), Some(INNERMOST.into()));
}

#[test]
fn fields_of_tracepoints_are_read() {
    let Some(event) = tracepoint("sched:sched_process_exit", &["pid", "prio"]) else { return };
    let Some(session) = session(&config(Target::System, event)) else { return };
    let (records, _, _, child) = read_while_it_runs(session, &mut Command::new("true"));
    let (record, sample) =
        samples(&records).find(|(record, _)| record.pid == child).expect("the command has exited");
    assert_eq!(sample.values[0], u64::from(child));
    assert_eq!(record.tid, child);
    assert!(sample.in_kernel && sample.values[1] <= 139 && sample.values[2] == 0, "{sample:?}");
}

/// A ring of one page, read once.
#[test]
fn records_that_do_not_fit_are_counted() {
    let Some(event) = tracepoint("raw_syscalls:sys_enter", &["id", "args[1]"]) else { return };
    let config = Config { ring: RingSize::Exactly(4096), ..config(Target::Children, event) };
    let Some(session) = session(&config) else { return };
    let status = Command::new("dd")
        .args(["if=/dev/zero", "of=/dev/null", "bs=1", "count=5000"])
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let mut kept = 0;
    let (_, losses) = session.finish(&mut |_, _| kept += 1);
    assert!(losses.records > 9000 && kept > 0, "{losses:?}, {kept} kept");
}

#[test]
fn samples_of_a_system_call_storm_have_names() {
    let symbols = match KernelSymbols::read() {
        Ok(symbols) => symbols,
        Err(e) => return skip(&e),
    };
    assert!(symbols.code_bytes() > 1 << 20);
    let Some(mut session) = session(&config(Target::System, cpu_clock(CallChain::None))) else { return };
    session.start().unwrap();
    let until = Instant::now() + Duration::from_millis(200);
    while Instant::now() < until {
        let _ = std::fs::metadata("/proc/self/status");
    }
    let own = std::process::id();
    let (mut all, mut named) = (0, 0);
    session.finish(&mut |record, _| {
        if let Payload::Sample(sample) = &record.payload
            && record.pid == own
            && sample.in_kernel
        {
            all += 1;
            named += usize::from(symbols.function(sample.ip).is_some());
        }
    });
    assert!(all > 10, "{all} samples");
    assert!(named * 10 >= all * 9, "{named} of {all} have a name");
}

#[test]
fn process_that_does_not_exist_is_named() {
    let error = Session::open(&config(Target::Tree(u32::MAX), cpu_clock(CallChain::None))).err().unwrap();
    assert!(error.to_string().starts_with(&format!("there is no process {}", u32::MAX)), "{error}");
}

#[test]
fn ring_that_no_address_space_holds_is_explained() {
    let event = cpu_clock(CallChain::None);
    for bytes in [1 << 62, 1 << 63] {
        let ring = RingSize::Exactly(bytes);
        let error = Session::open(&Config { ring, ..config(Target::System, event.clone()) }).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("--buffer") || text.contains("kernel.perf_event_paranoid"), "{text}");
    }
}

#[test]
fn too_many_samples_a_second_name_the_setting() {
    let event = Event { source: Source::CpuClock(Frequency(1 << 40)), ..cpu_clock(CallChain::None) };
    let error = Session::open(&config(Target::System, event)).err().unwrap().to_string();
    assert!(error.contains("kernel.perf_event_max_sample_rate"), "{error}");
}

/// A command's threads get their CPUs as often as they leave them, but for the first time and the last.
#[test]
fn context_switches_of_a_command_are_recorded_in_both_directions() {
    for target in [Target::Children, Target::System] {
        let Some(session) = session(&config(target, Event::context_switches())) else { return };
        let command = &mut Command::new("sh");
        let (records, _, _, child) =
            read_while_it_runs(session, command.args(["-c", "sleep 0.05; sleep 0.05"]));
        let of_child = |switch| {
            let is_meant =
                |record: &&Record| record.pid == child && record.payload == Payload::Switch(switch);
            records.iter().filter(is_meant).count()
        };
        let (to, from) = (of_child(Switch::In), of_child(Switch::Out));
        assert!(to >= 2 && from.abs_diff(to) <= 1, "{target:?}: {to} {from}");
    }
}
