//! `unspin meter --serve`: the recording of a running program over HTTP.

use crate::common::served::{Served, TextStack, parse_metrics};
use crate::common::{Background, finish, schema, skip, unspin, wait_until};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use unspin_report::MeterReport;
use unspin_sys::child::{self, Signal};

const ROUNDS: u64 = 20;

fn report(json: &Path) -> MeterReport {
    schema::read("locks", json)
}

/// The sum of the stacks of a lock: number and nanoseconds.
fn sum(stacks: &[TextStack], lock: &str) -> (u64, f64) {
    let of_lock =
        stacks.iter().filter(|stack| stack.lock == lock || stack.lock.starts_with(&format!("{lock} (")));
    of_lock.fold((0, 0.0), |(n, ns), stack| (n + stack.contentions, ns + stack.nanoseconds))
}

/// Two times of one recording, read at two moments: the rate of the clock's ticks is measured until then.
fn is_same_time(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-3 * a.abs().max(b.abs()) + 1e-6
}

/// In each round one thread waits for each lock that another one holds. What is served is what the report has at the end.
#[test]
fn served_numbers_are_those_of_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("run.json");
    let Some(mut served) = Served::start(&["--json", json.to_str().unwrap()], folder.path()) else { return };
    served.tell(&format!("rounds {ROUNDS}"));
    let (block, mutex) = (served.stacks("block"), served.stacks("mutex"));
    let metrics = served.metrics();
    let (text, code) = served.end();
    assert_eq!(code, Some(7), "{text}");
    assert!(text.contains("shared_lock"), "{text}");

    for (lock, waiter, holder) in
        [("shared_lock", "want_mutex", "hold_mutex"), ("table_lock", "want_table", "hold_table")]
    {
        let callers = |stacks: &[TextStack]| -> Vec<(String, u64)> {
            let of_lock = stacks.iter().filter(|stack| stack.lock.starts_with(lock));
            of_lock.map(|stack| (stack.caller.clone(), stack.contentions)).collect()
        };
        assert_eq!(callers(&block), [(waiter.to_owned(), ROUNDS)], "{block:?}");
        assert_eq!(callers(&mutex), [(holder.to_owned(), ROUNDS)], "{mutex:?}");
    }
    let report = report(&json);
    assert!(report.locks.len() >= 3, "{text}");
    for lock in &report.locks {
        let (name, row) = (&lock.row.name, &lock.row);
        let waits = row.spun + row.slept;
        for stacks in [&block, &mutex] {
            let (n, ns) = sum(stacks, name);
            assert_eq!(n, waits, "{name}: {stacks:?}");
            assert!(is_same_time(ns / 1e9, row.lost), "{name}: {ns} {}", row.lost);
        }
        let known: u64 = lock.holders.iter().map(|holder| holder.waits).sum();
        assert_eq!(known, waits, "{name}: {:?}", lock.holders);
        let of_lock = |what: &str| {
            let found = metrics.iter().find(|((metric, labels), _)| {
                *metric == format!("unspin_lock_{what}_total") && labels.contains(&format!("lock=\"{name}\""))
            });
            *found.unwrap_or_else(|| panic!("{what} {name}: {metrics:?}")).1
        };
        assert_eq!(of_lock("acquisitions"), (row.nowait + waits) as f64, "{name}");
        assert_eq!(of_lock("contended_acquisitions"), waits as f64, "{name}");
        assert!(is_same_time(of_lock("wait_seconds"), row.lost), "{name}");
        assert!(is_same_time(of_lock("hold_seconds"), row.hold), "{name}");
    }
    let all = |what: &str| metrics[&(format!("unspin_all_locks_{what}_total"), String::new())];
    let total = &report.total;
    assert_eq!(all("acquisitions"), (total.nowait + total.spun + total.slept) as f64);
    assert!(is_same_time(all("wait_seconds"), total.lost));
}

/// A client takes the difference of two profiles, so what one has the next must have, too.
#[test]
fn wait_is_in_both_profiles_from_its_end_on() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell("hold");
    // The rate of the clock's ticks is not fixed before.
    let recorded = ("unspin_recorded_seconds".to_owned(), String::new());
    wait_until("a second is recorded", || served.metrics()[&recorded] > 1.0);
    let both = |served: &Served| [served.stacks("block"), served.stacks("mutex")];
    for stacks in both(&served) {
        assert_eq!(sum(&stacks, "shared_lock"), (0, 0.0), "the wait goes on: {stacks:?}");
    }
    served.tell("rounds 0");
    let [block, mutex] = both(&served);
    let of_lock = |stacks: &[TextStack]| -> Vec<(String, u64)> {
        let found = stacks.iter().filter(|stack| stack.lock == "shared_lock");
        found.map(|stack| (stack.caller.clone(), stack.contentions)).collect()
    };
    assert_eq!(of_lock(&block), [("want_mutex".to_owned(), 1)], "{block:?}");
    assert_eq!(of_lock(&mutex), [("hold_until_next_line".to_owned(), 1)], "{mutex:?}");
    assert_eq!(sum(&block, "shared_lock"), sum(&mutex, "shared_lock"));
    for _ in 0..20 {
        assert_eq!(both(&served), [block.clone(), mutex.clone()], "nothing has happened since");
    }
    assert_eq!(served.end().1, Some(7));
}

#[test]
fn children_and_threads_that_have_ended_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell("fork 3");
    served.tell("threads 200");
    let metric = |served: &Served, name: &str| served.metrics()[&(name.to_owned(), String::new())];
    // Each child has a row of its own in the recording, of the same lock.
    assert_eq!(sum(&served.stacks("mutex"), "shared_lock").0, 3);
    let acquisitions = served.metrics().into_iter().find(|((name, labels), _)| {
        name == "unspin_lock_acquisitions_total" && labels.contains("\"shared_lock\"")
    });
    assert_eq!(acquisitions.unwrap().1, 206.0);
    assert_eq!(metric(&served, "unspin_processes"), 4.0);
    // One thread after another uses one table.
    let before = metric(&served, "unspin_recording_bytes");
    served.tell("threads 200");
    assert_eq!(metric(&served, "unspin_recording_bytes"), before);
    assert_eq!(
        (metric(&served, "unspin_dropped_samples_total"), metric(&served, "unspin_unrecorded_threads_total")),
        (0.0, 0.0)
    );
    assert_eq!(served.end().1, Some(7));
}

/// At level `counts` nothing is timed: there are numbers, and no times and holders.
#[test]
fn level_counts_serves_numbers_without_times() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&["--level", "counts"], folder.path()) else { return };
    served.tell(&format!("rounds {ROUNDS}"));
    let (block, mutex) = (served.stacks("block"), served.stacks("mutex"));
    assert_eq!(sum(&block, "shared_lock"), (ROUNDS, 0.0));
    assert_eq!(sum(&mutex, "shared_lock"), (ROUNDS, 0.0));
    assert!(mutex.iter().all(|stack| stack.caller == "(holder not recorded)"), "{mutex:?}");
    assert_eq!(served.metrics()[&("unspin_meter_info".to_owned(), "level=\"counts\"".to_owned())], 1.0);
    assert_eq!(served.end().1, Some(7));
}

/// A recording without room goes on: the server says how much is missing.
#[test]
fn full_recording_is_served_with_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&["--size", "256K"], folder.path()) else { return };
    served.tell("fork 30");
    let metrics = served.metrics();
    let metric = |name: &str| metrics[&(name.to_owned(), String::new())];
    assert!(
        metric("unspin_unrecorded_threads_total") + metric("unspin_dropped_samples_total") > 0.0,
        "{metrics:?}"
    );
    assert!(metric("unspin_recording_bytes") <= metric("unspin_recording_limit_bytes"), "{metrics:?}");
    assert_eq!(metric("unspin_recording_limit_bytes"), f64::from(256 << 10));
    assert_eq!(served.end().1, Some(7));
}

/// The recording is made empty while the program runs: the server says so, and the program goes on.
#[test]
fn lost_recording_is_said_to_be_lost() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell("rounds 2");
    assert_eq!(served.get("/metrics").status, 200);
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", served.run.pid())).unwrap();
    let line =
        maps.lines().find(|line| line.ends_with("/recording")).expect("unspin has mapped the recording");
    let recording = &line[line.find('/').unwrap()..];
    std::fs::File::options().write(true).open(recording).unwrap().set_len(0).unwrap();
    for target in ["/metrics", "/debug/pprof/mutex", "/debug/pprof/"] {
        let reply = served.get(target);
        let body = String::from_utf8_lossy(&reply.body);
        assert!(reply.status == 503 && body.contains("cut short"), "{target}: {} {body}", reply.status);
    }
    served.tell("rounds 2");
    let (text, code) = served.end();
    assert_eq!(code, Some(125), "{text}");
    assert!(text.contains("cut short") && text.contains("exit code 7"), "{text}");
}

#[test]
fn pages_and_headers_are_those_of_go() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell("rounds 2");
    let index = served.text("/debug/pprof/");
    assert!(index.contains("<title>/debug/pprof/</title>"), "{index}");
    assert!(index.contains("<a href='mutex?debug=1'>mutex</a>"), "{index}");
    let profile = served.get("/debug/pprof/mutex");
    assert!(profile.body.starts_with(&[0x1F, 0x8B]), "gzip");
    assert!(profile.head.contains("Content-Type: application/octet-stream"), "{}", profile.head);
    assert!(profile.head.contains("filename=\"mutex\""), "{}", profile.head);
    let command = served.text("/debug/pprof/cmdline");
    assert!(command.ends_with("/served"), "{command}");
    let metrics = served.get("/metrics");
    let wanted = "Content-Type: application/openmetrics-text; version=1.0.0";
    assert!(metrics.head.contains(wanted), "{}", metrics.head);
    assert!(metrics.body.ends_with(b"# EOF\n"));
    let plain = served.request("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n");
    assert!(plain.head.contains("Content-Type: text/plain; version=0.0.4"), "{}", plain.head);
    let head = served.request("HEAD /debug/pprof/mutex HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!((head.status, head.body.len()), (200, 0));
    let text = served.text("/debug/pprof/block?debug=1");
    assert!(text.starts_with("--- contention:\ncycles/second=1000000000\n"), "{text}");
    assert!(text.contains("\twant_mutex\t") && text.contains("served.c:"), "{text}");
    assert_eq!(served.get("/debug/pprof").status, 301);
    assert_eq!(served.get("/debug/pprof/heap").status, 404);
    assert_eq!(served.get("/debug/pprof/mutex?seconds=0").status, 400);
    assert_eq!(served.end().1, Some(7));
}

/// The program has its signals as without the server: unspin passes on what only it gets.
#[test]
fn program_gets_its_signals_and_the_report_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let pprof = folder.path().join("run.pb.gz");
    let Some(mut served) = Served::start(&["--pprof", pprof.to_str().unwrap()], folder.path()) else {
        return;
    };
    served.tell("rounds 2");
    child::signal(served.run.pid(), Signal::PassedOn(15)).unwrap();
    let text = served.run.rest();
    assert_eq!(served.run.wait().code(), Some(128 + 15), "{text}");
    assert!(text.contains("shared_lock"), "{text}");
    assert!(std::fs::read(&pprof).unwrap().starts_with(&[0x1F, 0x8B]));
}

#[test]
fn address_that_cannot_be_served_ends_unspin_before_the_program_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("started");
    let file = file.to_str().unwrap();
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let used = used.local_addr().unwrap().to_string();
    for (options, code, says) in [
        (vec!["--serve", used.as_str()], 125, "name another port"),
        (vec!["--serve", "0.0.0.0:0"], 2, "--serve-non-loopback"),
        (vec!["--serve", "127.0.0.1"], 2, "give an address and a port"),
        (vec!["--serve-non-loopback"], 2, "--serve <ADDRESS:PORT>"),
        (vec!["--lens", "futex", "--serve", "127.0.0.1:0"], 2, "--serve requires the pthread lens"),
    ] {
        let (stdout, stderr, found) =
            finish(&mut unspin(&[&["meter"], &options[..], &["touch", file]].concat()));
        assert_eq!(found, Some(code), "{options:?}: {stderr}");
        assert!(stderr.contains(says) && stdout.is_empty(), "{options:?}: {stderr}");
        assert!(!Path::new(file).exists(), "{options:?}: the program was started");
    }
    let line = finish(&mut unspin(&["meter", "--serve", &used, "touch", file])).1;
    assert_eq!(line.lines().count(), 1, "{line}");
}

#[test]
fn all_addresses_can_be_served_if_that_is_permitted() {
    let mut command = unspin(&["meter", "--serve", "0.0.0.0:0", "--serve-non-loopback", "cat"]);
    command.stdin(Stdio::piped());
    let mut run = Background::start(command);
    let line = run.wait_for_line("serving http://");
    assert!(line.contains("http://0.0.0.0:"), "{line}");
    drop(run.take_input());
    assert_eq!(run.wait().code(), Some(0));
}

/// Newer releases of Go build the tool when it is first called, and then two tests at once would build it twice.
static BUILD: Mutex<()> = Mutex::new(());

/// Returns the output of `go tool pprof`; `None`, with a line, where there is none.
fn go_tool_pprof(arguments: &[&str]) -> Option<String> {
    let _one = BUILD.lock().unwrap_or_else(PoisonError::into_inner);
    let home = tempfile::tempdir().unwrap();
    let cache = Command::new("go").args(["env", "GOCACHE"]).output();
    let Ok(cache) = cache else {
        skip("go tool pprof", "because there is no go; install golang-go");
        return None;
    };
    let cache = String::from_utf8(cache.stdout).unwrap();
    let run = Command::new("go")
        .args(["tool", "pprof"])
        .args(arguments)
        .env("HOME", home.path())
        .env("PPROF_TMPDIR", home.path())
        .env("GOCACHE", cache.trim())
        .env("GOTOOLCHAIN", "local")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&run.stderr);
    // A Go that was built without its tools.
    if stderr.contains("no such tool") {
        skip("go tool pprof", "because this go has no pprof; install golang-go");
        return None;
    }
    assert!(run.status.success(), "{stderr}");
    Some(String::from_utf8(run.stdout).unwrap())
}

/// Also those with less than 0.5 % of all, which it leaves out otherwise: how much that is depends on the machine.
const ALL_NODES: &str = "-nodefraction=0";

#[test]
fn go_tool_pprof_reads_profiles_over_http() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell(&format!("rounds {ROUNDS}"));
    let Some(top) = go_tool_pprof(&["-top", ALL_NODES, &served.url("/debug/pprof/mutex")]) else { return };
    assert!(top.contains("File: ") && top.contains("Type: delay"), "{top}");
    assert!(
        top.contains("shared_lock") && top.contains("hold_mutex") && !top.contains("want_mutex"),
        "{top}"
    );
    let top = go_tool_pprof(&["-top", ALL_NODES, &served.url("/debug/pprof/block")]).unwrap();
    assert!(top.contains("want_mutex") && top.contains("want_table") && !top.contains("hold_mutex"), "{top}");
    let raw = go_tool_pprof(&["-raw", &served.url("/debug/pprof/mutex")]).unwrap();
    assert!(raw.contains("contentions/count delay/nanoseconds[dflt]"), "{raw}");
    assert!(raw.lines().any(|line| line.trim().starts_with(&format!("{ROUNDS} "))), "{raw}");

    // The profile of a second without a wait is empty, and what was before is not in that of a second with waits.
    let url = served.url("/debug/pprof/mutex?seconds=1");
    let raw = go_tool_pprof(&["-raw", &url]).unwrap();
    assert!(!raw.contains("shared_lock"), "{raw}");
    let before = served.stacks("mutex");
    served.tell("storm");
    let storm = go_tool_pprof(&["-raw", "-seconds", "1", &served.url("/debug/pprof/mutex")]).unwrap();
    served.tell("rounds 1");
    let after = served.stacks("mutex");
    assert!(storm.contains("hold_mutex"), "{storm}");
    let in_all = sum(&after, "shared_lock").0 - sum(&before, "shared_lock").0;
    let counted = |text: &str| -> u64 {
        let samples =
            text.lines().skip_while(|line| !line.starts_with("Samples:")).take_while(|l| *l != "Locations");
        let mut all = 0;
        let mut last = 0;
        for line in samples {
            let first = line.split_whitespace().next().unwrap_or_default();
            last = first.parse().unwrap_or(last);
            all += if line.contains("lock:[shared_lock]") { last } else { 0 };
        }
        all
    };
    assert!((1..=in_all).contains(&counted(&storm)), "{in_all}: {storm}");
    assert_eq!(served.end().1, Some(7));
}

/// Prometheus scrapes the program, and has the counters of its locks.
#[test]
#[ignore = "nightly: starts Prometheus"]
fn prometheus_scrapes_the_counters() {
    let Some(prometheus) = unspin_e2e::find_tool("prometheus") else {
        return skip("prometheus_scrapes_the_counters", "because there is no prometheus; install prometheus");
    };
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell(&format!("rounds {ROUNDS}"));
    let config = folder.path().join("prometheus.yml");
    let text = format!(
        "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: locks\n    static_configs:\n      - targets: ['{}']\n",
        served.address
    );
    std::fs::write(&config, text).unwrap();
    let own = format!("127.0.0.1:{}", unspin_e2e::free_port());
    let mut command = Command::new(prometheus);
    command
        .arg(format!("--config.file={}", config.display()))
        .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
        .arg(format!("--web.listen-address={own}"));
    let mut server = Background::start(command);
    let ask = |query: &str| -> Option<String> {
        let mut stream = std::net::TcpStream::connect(&own).ok()?;
        write!(stream, "GET {query} HTTP/1.0\r\nHost: {own}\r\n\r\n").ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).ok()?;
        Some(text)
    };
    let expected = format!("\"{}\"", 2 * ROUNDS);
    let query = "/api/v1/query?query=unspin_lock_acquisitions_total%7Block%3D%22shared_lock%22%7D";
    let mut last = String::new();
    wait_until("Prometheus has the counter", || {
        last = ask(query).unwrap_or_default();
        last.contains("\"success\"") && last.contains(&expected)
    });
    assert!(last.contains("\"kind\":\"mutex\"") && last.contains("\"place\":\"static, served.c:"), "{last}");
    let targets = ask("/api/v1/targets").unwrap();
    assert!(targets.contains("\"health\":\"up\"") && targets.contains("\"lastError\":\"\""), "{targets}");
    server.end();
    assert_eq!(served.end().1, Some(7));
}

#[test]
#[ignore = "nightly: needs promtool, of Prometheus"]
fn promtool_finds_nothing_to_say_of_the_counters() {
    let Some(promtool) = unspin_e2e::find_tool("promtool") else {
        return skip(
            "promtool_finds_nothing_to_say_of_the_counters",
            "because there is no promtool; install prometheus",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell("rounds 3");
    let plain = served.request("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\n\r\n");
    assert_eq!(served.end().1, Some(7));
    let mut check = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    check.stdin.take().unwrap().write_all(&plain.body).unwrap();
    let output = check.wait_with_output().unwrap();
    let says = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && says.is_empty(), "{says}\n{}", String::from_utf8_lossy(&plain.body));
}

/// The reference parser of OpenMetrics, and the messages of OTLP as their project publishes them.
#[test]
#[ignore = "nightly: needs packages of PyPI"]
fn reference_readers_accept_metrics_and_otlp() {
    let name = "reference_readers_accept_metrics_and_otlp";
    let python = std::env::var("UNSPIN_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python).args(["-c", "import prometheus_client, opentelemetry.proto"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        return skip(
            name,
            "because Python lacks prometheus_client and opentelemetry-proto; UNSPIN_TEST_PYTHON names one that has them",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let otlp = folder.path().join("run.pb");
    let json = folder.path().join("run.json");
    let options = ["--otlp", otlp.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let Some(mut served) = Served::start(&options, folder.path()) else { return };
    served.tell(&format!("rounds {ROUNDS}"));
    let metrics = served.text("/metrics");
    let file = folder.path().join("metrics");
    std::fs::write(&file, &metrics).unwrap();
    assert_eq!(served.end().1, Some(7));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/served.py");
    let output = Command::new(&python).arg(script).args([&file, &otlp]).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let read = String::from_utf8(output.stdout).unwrap();
    let (of_metrics, of_otlp) = read.split_once("otlp\n").unwrap();
    assert_eq!(parse_metrics(of_metrics), parse_metrics(&metrics), "each sample is read as it was written");
    let report = report(&json);
    for lock in &report.locks {
        let line = format!("{} {}\n", lock.row.name, lock.row.spun + lock.row.slept);
        assert!(lock.row.spun + lock.row.slept == 0 || of_otlp.contains(&line), "{line}: {of_otlp}");
    }
}

/// Two thousand scrapes, and the memory of unspin is that after the first hundreds.
#[test]
#[ignore = "nightly: two thousand scrapes"]
fn memory_levels_off_over_scrapes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut served) = Served::start(&[], folder.path()) else { return };
    served.tell("rounds 100");
    let rss = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", served.run.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let mut seen = Vec::new();
    for at in 0..2000 {
        match at % 3 {
            0 => drop(served.metrics()),
            1 => assert_eq!(served.get("/debug/pprof/mutex").status, 200),
            _ => assert_eq!(served.get("/debug/pprof/block").status, 200),
        }
        if at % 250 == 249 {
            seen.push(rss());
        }
    }
    let _ = writeln!(std::io::stderr(), "anonymous memory of unspin in KiB after each 250 scrapes: {seen:?}");
    // A leak of one answer of some KiB for each scrape would be megabytes.
    assert!(seen[7] <= seen[1] + 1024, "{seen:?}");
    assert_eq!(served.end().1, Some(7));
}
