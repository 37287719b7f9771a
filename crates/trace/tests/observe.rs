//! Tracers on this machine's kernel. They need root (or CAP_PERFMON and CAP_SYSLOG) and tracefs.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use unspin_trace::{
    CallChain, Config, Error, Event, EventSource, Frequency, INNERMOST, KernelSymbols, Losses, Payload,
    Processes, Record, RingSize, Sample, Stacks, Switch, Target, Tracefs, Tracer,
};

/// After this time the expected records count as missing.
const PATIENCE: Duration = Duration::from_secs(300);

/// Prints past the capturing of the test's output why a test is skipped.
fn skip(error: &Error) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {error}");
}

/// The configuration's tracer; none, with a line that says why, where this may not be observed.
fn tracer(config: &Config) -> Option<Tracer> {
    match Tracer::open(config) {
        Ok(tracer) => Some(tracer),
        Err(e) => {
            skip(&e);
            None
        }
    }
}

fn cpu_clock(call_chain: CallChain) -> Event {
    Event { source: EventSource::CpuClock(Frequency(997)), call_chain, kernel: true, user: true }
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
fn read_while_it_runs(tracer: Tracer, command: &mut Command) -> (Vec<Record>, Stacks, Losses, u32) {
    read_until(tracer, command, |child, _| child.try_wait().unwrap().is_some())
}

/// As [`read_while_it_runs`], of a command that runs until it is killed: there have been enough records.
fn read_enough(
    tracer: Tracer,
    command: &mut Command,
    mut is_enough: impl FnMut(u32, &[Record]) -> bool,
) -> (Vec<Record>, Stacks, Losses, u32) {
    read_until(tracer, command, |child, records| {
        let is_over = is_enough(child.id(), records);
        if is_over {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        is_over
    })
}

fn read_until(
    mut tracer: Tracer,
    command: &mut Command,
    mut is_over: impl FnMut(&mut Child, &[Record]) -> bool,
) -> (Vec<Record>, Stacks, Losses, u32) {
    tracer.start().unwrap();
    let began = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut records = Vec::new();
    let note = |records: &mut Vec<Record>, record: &Record| records.push(record.clone());
    while !is_over(&mut child, &records) {
        if began.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("too few of {} records are the expected ones", records.len());
        }
        tracer.read(&mut |record, _| note(&mut records, record));
        std::thread::sleep(Duration::from_millis(5));
    }
    let (stacks, losses) = tracer.finish(&mut |record, _| note(&mut records, record));
    assert!(records.is_sorted_by_key(|record| record.time));
    (records, stacks, losses, child.id())
}

fn samples(records: &[Record]) -> impl Iterator<Item = (&Record, &Sample)> {
    records.iter().filter_map(|record| match &record.payload {
        Payload::Sample(sample) => Some((record, sample)),
        _ => None,
    })
}

/// It runs until it is killed, and has children now and then.
const BUSY: &str = "while :; do n=0; while [ $n -lt 9000 ]; do n=$((n+1)); done; : | true; done";

#[test]
fn command_is_observed_from_its_start_with_its_children() {
    let Some(tracer) = tracer(&config(Target::Children, cpu_clock(CallChain::Both))) else { return };
    let has_children = |child: u32, records: &[Record]| {
        records.iter().any(|record| record.payload == Payload::Fork { parent: child })
    };
    let (records, stacks, _, child) =
        read_enough(tracer, Command::new("sh").args(["-c", BUSY]), |child, records| {
            has_children(child, records)
                && samples(records).count() > 5
                && samples(records).any(|(_, sample)| !sample.in_kernel)
        });
    let is_exec = |payload: &Payload| matches!(payload, Payload::Comm { name, exec: true } if name == "sh");
    assert!(records.iter().any(|record| record.pid == child && is_exec(&record.payload)));
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
    let opened = tracer(&config(Target::Tree(target.id()), cpu_clock(CallChain::Kernel)));
    if let Some(tracer) = opened {
        let (records, ..) = read_enough(tracer, Command::new("sleep").arg("10000"), |_, records| {
            records.iter().any(|record| record.payload == Payload::Fork { parent: target.id() })
                && samples(records).any(|(record, _)| record.pid != target.id())
        });
        let foreign = |record: &Record| record.pid == std::process::id() || record.pid == 0;
        assert!(!records.iter().any(foreign), "no others");
    }
    target.kill().unwrap();
    target.wait().unwrap();
}

/// Without it, a timer of 1 ms never fires in processes that each run for less.
#[test]
fn short_processes_of_a_command_are_sampled() {
    let forks = "while :; do (:); done";
    let Some(tracer) = tracer(&config(Target::Started, cpu_clock(CallChain::None))) else { return };
    let (records, ..) = read_enough(tracer, Command::new("sh").args(["-c", forks]), |child, records| {
        samples(records).filter(|(record, _)| record.pid != child).count() > 10
    });
    assert!(samples(&records).all(|(record, _)| record.pid != std::process::id() && record.pid != 0));
}

/// The births of processes are recorded even if nothing else of them is asked for.
#[test]
fn children_are_observed_without_records_of_names_and_mappings() {
    let mut target = Command::new("sh")
        .args(["-c", "read line; while :; do dd if=/dev/zero of=/dev/null bs=1 count=9000; done"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let config = Config { processes: false, ..config(Target::Tree(target.id()), cpu_clock(CallChain::None)) };
    if let Some(tracer) = tracer(&config) {
        // The tracer is open before the target's first child.
        let mut go = target.stdin.take();
        read_enough(tracer, Command::new("sleep").arg("10000"), |_, records| {
            if let Some(mut input) = go.take() {
                input.write_all(b"\n").unwrap();
            }
            samples(records).filter(|(record, _)| record.pid != target.id()).count() > 5
        });
    }
    target.kill().unwrap();
    target.wait().unwrap();
}

/// execve allocates a page for the arguments from some 18 frames.
#[test]
fn innermost_frames_of_a_stack_are_recorded() {
    let Some(mut event) = tracepoint("kmem:mm_page_alloc", &["order"]) else { return };
    event.call_chain = CallChain::KernelInnermost;
    let Some(tracer) = tracer(&config(Target::System, event)) else { return };
    // Other processes of the system may fill the rings: some command's records are read.
    let execs = "while :; do /bin/true; done";
    let (records, stacks, ..) =
        read_enough(tracer, Command::new("sh").args(["-c", execs]), |child, records| {
            let is_of_child = |record: &Record| record.payload == Payload::Fork { parent: child };
            records.iter().filter(|record| is_of_child(record)).count() > 5
        });
    let lengths = samples(&records).map(|(_, sample)| stacks.get(sample.stack));
    assert_eq!(lengths.map(|stack| stack.kernel.len()).max(), Some(INNERMOST.into()));
}

#[test]
fn fields_of_tracepoints_are_read() {
    let Some(event) = tracepoint("sched:sched_process_exit", &["pid", "prio"]) else { return };
    // Large enough that what other tests do does not fill it.
    let config = Config { ring: RingSize::AtMost(1 << 24), ..config(Target::System, event) };
    let Some(tracer) = tracer(&config) else { return };
    let (records, _, _, child) = read_while_it_runs(tracer, &mut Command::new("true"));
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
    let Some(tracer) = tracer(&config) else { return };
    let status = Command::new("dd")
        .args(["if=/dev/zero", "of=/dev/null", "bs=1", "count=5000"])
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    let mut kept = 0;
    let (_, losses) = tracer.finish(&mut |_, _| kept += 1);
    assert!(losses.records > 9000 && kept > 0, "{losses:?}, {kept} kept");
}

/// Where the kernel's own text begins and ends: modules and programs of the kernel's may lie elsewhere, without names.
fn kernel_text() -> Option<std::ops::Range<u64>> {
    let list = std::fs::read_to_string("/proc/kallsyms").ok()?;
    let address = |name: &str| {
        let line = list.lines().find(|line| line.ends_with(name))?;
        u64::from_str_radix(line.split(' ').next()?, 16).ok()
    };
    Some(address(" T _stext")?..address(" T _etext")?)
}

#[test]
fn samples_of_a_system_call_storm_have_names() {
    let symbols = match KernelSymbols::read() {
        Ok(symbols) => symbols,
        Err(e) => return skip(&e),
    };
    assert!(symbols.code_bytes() > 1 << 20);
    let text = kernel_text().expect("both ends are listed where symbols are");
    let Some(tracer) = tracer(&config(Target::Children, cpu_clock(CallChain::None))) else { return };
    let of_text = |sample: &Sample| sample.in_kernel && text.contains(&sample.ip);
    let storm = ["if=/dev/zero", "of=/dev/null", "bs=1"];
    let (records, ..) = read_enough(tracer, Command::new("dd").args(storm), |_, records| {
        samples(records).filter(|(_, sample)| of_text(sample)).count() > 10
    });
    for (_, sample) in samples(&records).filter(|(_, sample)| of_text(sample)) {
        assert!(symbols.function(sample.ip).is_some(), "{sample:?}");
    }
}

#[test]
fn process_that_does_not_exist_is_named() {
    let error = Tracer::open(&config(Target::Tree(u32::MAX), cpu_clock(CallChain::None))).err().unwrap();
    assert!(error.to_string().starts_with(&format!("there is no process {}", u32::MAX)), "{error}");
}

#[test]
fn ring_that_no_address_space_holds_is_explained() {
    let event = cpu_clock(CallChain::None);
    for bytes in [1 << 62, 1 << 63] {
        let ring = RingSize::Exactly(bytes);
        let error = Tracer::open(&Config { ring, ..config(Target::System, event.clone()) }).err().unwrap();
        let text = error.to_string();
        assert!(text.contains("--buffer") || text.contains("kernel.perf_event_paranoid"), "{text}");
    }
}

#[test]
fn too_many_samples_a_second_name_the_setting() {
    let event = Event { source: EventSource::CpuClock(Frequency(1 << 40)), ..cpu_clock(CallChain::None) };
    let error = Tracer::open(&config(Target::System, event)).err().unwrap().to_string();
    assert!(error.contains("kernel.perf_event_max_sample_rate"), "{error}");
}

/// A command's threads get their CPUs as often as they leave them, but for the first time and the last.
#[test]
fn context_switches_of_a_command_are_recorded_in_both_directions() {
    for target in [Target::Children, Target::System] {
        let (records, child) = loop {
            let ring = RingSize::AtMost(1 << 24);
            let config = Config { ring, ..config(target, Event::context_switches()) };
            let Some(tracer) = tracer(&config) else { return };
            let command = &mut Command::new("sh");
            let (records, _, losses, child) =
                read_while_it_runs(tracer, command.args(["-c", "sleep 0.03; sleep 0.03; sleep 0.03"]));
            // The switches of a busy system may fill the rings, and nothing is known about those that got lost.
            if losses == Losses::default() {
                break (records, child);
            }
        };
        let of_child = |switch| {
            let is_meant =
                |record: &&Record| record.pid == child && record.payload == Payload::Switch(switch);
            records.iter().filter(is_meant).count()
        };
        let (to, from) = (of_child(Switch::In), of_child(Switch::Out));
        assert!(to >= 1 && from.abs_diff(to) <= 1, "{target:?}: {to} {from}");
    }
}
