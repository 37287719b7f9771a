//! `unspin prove --server`: a server in each run, servers that misbehave, and ways out after which nothing stays behind.

use crate::common::{Background, compiled, finish, gone, schema, skip, unspin, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// A text without line breaks.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// No processes.
const NONE: [u32; 0] = [];

/// The server of `tests/c/server.c`, on an address that no other test has.
struct Server {
    program: PathBuf,
    name: String,
}

impl Server {
    fn compiled(folder: &Path) -> Option<Server> {
        let program = compiled("server.c", folder)?;
        let name = format!("unspin-test-{}", folder.file_name().unwrap().to_str().unwrap());
        Some(Server { program, name })
    }

    fn line(&self, words: &str) -> String {
        format!("{} {} {words}", self.program.display(), self.name)
    }

    /// `unspin prove` of the server in a mode.
    fn prove(&self, mode: &str, options: &[&str]) -> Command {
        let (server, ready, load) = (self.line(mode), self.line("ask"), self.line("load 500"));
        let mut command = unspin(&["prove", "--server", &server, "--ready", &ready]);
        let has_load = options.contains(&"--load");
        if !has_load {
            command.args(["--load", &load]);
        }
        command.args(options);
        command
    }

    /// Processes of the server that run.
    fn running(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_ours = |pid: &u32| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == self.program) && !gone(*pid)
        };
        pids.filter(is_ours).collect()
    }
}

#[test]
fn server_is_judged_by_its_load() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let json = folder.path().join("result.json");
    let options = [
        "--runs",
        "6",
        "--mutex",
        "adaptive",
        "--metric",
        "requests: ([0-9]+)",
        "--higher-is-better",
        "--json",
        json.to_str().unwrap(),
    ];
    let (out, err, code) = finish(&mut server.prove("serve", &options));
    // The load always makes as many requests, so there is no difference to prove.
    assert_eq!((err.as_str(), code), ("", Some(3)), "{out}");
    assert!(flat(&out).contains("by requests, higher is better: 6 rounds of 4 configurations"), "{out}");
    assert!(out.contains("requests_lock"), "the mutex of the server is metered: {out}");
    assert!(flat(&out).contains(&format!("Loaded by: {}", server.line("load 500"))), "{out}");
    let result: Value = schema::read("prove", &json);
    assert_eq!(result["service"]["load"], server.line("load 500"));
    assert_eq!(result["service"]["ready_limit_s"], 30.0);
    let runs = result["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 7 * 4, "the warm-up and six rounds of four");
    assert!(runs.iter().all(|run| run["value"] == 500.0 && run["left_processes"] == 0), "{runs:?}");
    assert_eq!(server.running(), NONE);
}

/// Issue 30.
#[test]
fn percentile_of_the_load_needs_no_direction() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let hey = "Latency distribution:\\n  50%% in 0.0006 secs\\n  99%% in 0.0049 secs\\n\\nStatus code distribution:\\n  [200]\\t5000 responses\\n";
    let load = format!("{} && printf '{hey}'", server.line("load 10"));
    let options = ["--runs", "6", "--mutex", "fair", "--metric", "p99", "--load", &load];
    let (out, err, code) = finish(&mut server.prove("serve", &options));
    assert_eq!((err.as_str(), code), ("", Some(3)), "{out}");
    assert!(flat(&out).contains("by p99, lower is better: 6 rounds of 4 configurations"), "{out}");
    assert!(flat(&out).contains("p99 of each run rests on 5,000 requests (hey)."), "{out}");
    let missing = ["--runs", "6", "--mutex", "fair", "--metric", "p99.9", "--load", &load];
    let (out, err, code) = finish(&mut server.prove("serve", &missing));
    assert_eq!((out.as_str(), code), ("", Some(4)));
    assert!(err.contains("the load has no p99.9: hey prints p50 and p99 here: name one of these ("), "{err}");
}

#[test]
fn only_the_server_is_preloaded() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let load = format!("test -z \"$LD_PRELOAD\" && {}", server.line("load 10"));
    let metric = ["--metric", "requests:", "--higher-is-better"];
    let mut command =
        server.prove("serve", &[&metric[..], &["--runs", "6", "--mutex", "fair", "--load", &load]].concat());
    let (out, err, code) = finish(&mut command);
    assert_eq!((err.as_str(), code), ("", Some(3)), "{out}");
}

#[test]
fn misbehaving_server_is_one_line_with_its_last_output() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    for (mode, options, said, tail) in [
        (
            "dies-at-start",
            &[][..],
            "the server ended with exit code 3 before it was ready",
            "there is no configuration",
        ),
        (
            "never-ready",
            &["--ready-limit", "3s"],
            // A busy machine may not let the last --ready end.
            "the server was not ready after 3 s: the last --ready ",
            "still thinking",
        ),
        (
            "daemon",
            &[],
            "the server ended with exit code 0 before it was ready (it must stay in the foreground",
            "",
        ),
        (
            "does-not-stop",
            &["--stop-limit", "1s"],
            "the server did not end within 1 s of SIGTERM, and was killed",
            "",
        ),
        (
            "dies-in-load",
            &[],
            "the server was killed by signal 6 while it was loaded",
            "request 101 is one too many",
        ),
        (
            "leaves-a-worker",
            &["--stop-limit", "5s"],
            "the server ended, but a process that it had started did not end within 5 s of SIGTERM, and that was killed",
            "",
        ),
        ("crashes-at-stop", &[], "the server was killed by signal 11 when it was stopped", ""),
    ] {
        let (out, err, code) = finish(server.prove(mode, &["--mutex", "fair"]).args(options));
        assert_eq!((out.as_str(), code), ("", Some(4)), "{mode}: {err}");
        let first = err.lines().next().unwrap();
        assert!(
            first.starts_with(&format!("unspin: {}: ", server.line(mode))) && first.contains(said),
            "{mode}: {err}"
        );
        assert!(err.contains(tail) && err.lines().count() <= 9, "{mode}: {err}");
        wait_until("the server is gone", || server.running().is_empty());
    }
}

#[test]
fn misbehaving_commands_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    for (options, said) in [
        (
            &["--load", "echo no luck >&2; exit 7"][..],
            "the load ended with exit code 7; the end of its output:\n  | no luck",
        ),
        (&["--load", "sleep 1000", "--time-limit", "1s"], "the load was still running after 1.0 s"),
        (
            &["--metric", "no such figure = ([0-9]+)"],
            "the load has no number for --metric 'no such figure = ([0-9]+)' in its output",
        ),
        (
            &["--stop", "true", "--stop-limit", "5s"],
            "the server did not end within 5 s of --stop 'true', and was killed",
        ),
        (
            &["--stop", "false", "--stop-limit", "5s"],
            "of --stop 'false', which ended with exit code 1, and was killed",
        ),
    ] {
        let (out, err, code) = finish(&mut server.prove("serve", &[&["--mutex", "fair"], options].concat()));
        assert_eq!((out.as_str(), code), ("", Some(4)), "{options:?}: {err}");
        assert!(err.contains(said), "{options:?}: {err}");
        assert_eq!(server.running(), NONE, "{options:?}");
    }
}

#[test]
fn reason_why_a_server_is_not_ready_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let load = server.line("load 1");
    for (ready, said) in [
        (
            "echo the door is shut >&2; exit 3",
            "after 3 s: the last --ready ended with exit code 3 and printed 'the door is shut' (--ready-limit",
        ),
        ("echo still knocking; exec sleep 1000", "after 3 s: the last --ready was still running after "),
    ] {
        let mut command = unspin(&["prove", "--server", &server.line("serve"), "--load", &load]);
        let (out, err, code) = finish(command.args(["--ready", ready, "--ready-limit", "3s"]));
        assert_eq!((out.as_str(), code), ("", Some(4)), "{ready}: {err}");
        // A busy machine may not let the last --ready end.
        let is_late = err.contains("after 3 s: the last --ready was still running after ");
        assert!(err.contains(said) || is_late, "{ready}: {err}");
    }
    // A command that does not exist will not succeed later. The limit is longer than the test may take.
    let mut command = unspin(&["prove", "--server", &server.line("serve"), "--load", &load]);
    let mut prove = Background::start({
        command.args(["--ready", "/no/such/command", "--ready-limit", "1h"]);
        command
    });
    wait_until("prove has ended", || gone(prove.pid()));
    assert_eq!(prove.wait().code(), Some(4));
    let err = prove.rest();
    let said = "--ready '/no/such/command' ended with exit code 127: there is no such command: give one that can be run";
    assert!(err.contains(said) && err.contains("  | ") && err.contains("not found"), "{err}");
    assert_eq!(server.running(), NONE);
}

#[test]
fn ready_that_waits_by_itself_delays_no_start() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    // As `pg_isready -t` and `wait-for-it` do. The limit is longer than the test may take.
    let ready = format!("until {}; do sleep 0.05; done", server.line("ask"));
    let mut command = unspin(&["prove", "--server", &server.line("serve"), "--load", "sleep 1000"]);
    command.args(["--ready", &ready, "--ready-limit", "1h", "--mutex", "fair"]);
    let mut prove = Background::start(command);
    let serves = || {
        !server.running().is_empty()
            && Command::new(&server.program).args([&server.name, "ask"]).status().unwrap().success()
    };
    wait_until("the server serves", serves);
    child::signal(prove.pid(), Signal::Terminate).unwrap();
    assert_eq!(prove.wait().code(), Some(130), "{}", prove.rest());
    assert_eq!(server.running(), NONE);
}

#[test]
fn processes_of_ready_end_before_the_server_starts() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let pids = folder.path().join("pids");
    let left =
        |session: &str| format!("{session} sleep 1000 > /dev/null 2>&1 & echo $! >> {}; ", pids.display());
    let ready = [left(""), left("setsid"), "exit 0".into()].concat();
    let line = server.line("serve");
    let (_, err, code) =
        finish(&mut unspin(&["prove", "--server", &line, "--ready", &ready, "--load", "true"]));
    assert!(err.contains("succeeds before the server is started") && code == Some(4), "{err}");
    let pids: Vec<u32> =
        fs::read_to_string(&pids).unwrap().lines().map(|line| line.trim().parse().unwrap()).collect();
    let running: Vec<u32> = pids.iter().copied().filter(|&pid| !gone(pid)).collect();
    for &pid in &running {
        child::signal(pid, Signal::Kill).unwrap();
    }
    assert_eq!((pids.len(), running), (2, Vec::new()));
}

#[test]
fn second_interrupt_while_the_server_stops_is_an_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let stops = folder.path().join("stops");
    let stop = format!("touch {}", stops.display());
    let options = ["--mutex", "fair", "--stop", &stop, "--stop-limit", "1h"];
    let mut prove = Background::start(server.prove("serve", &options));
    wait_until("the server is stopped", || stops.exists());
    // Signals that come together count once, so there may have to be more than two.
    wait_until("prove has ended", || {
        let _ = child::signal(prove.pid(), Signal::Terminate);
        gone(prove.pid())
    });
    assert_eq!(prove.wait().code(), Some(130));
    let err = prove.rest();
    assert!(!err.contains("did not end"), "{err}");
    assert_eq!(server.running(), NONE);
}

#[test]
fn other_server_at_the_address_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let mut words = Command::new(&server.program);
    words.args([&server.name, "serve"]);
    let _other = Background::start(words);
    let asks = || Command::new(&server.program).args([&server.name, "ask"]).status().unwrap().success();
    wait_until("the other server answers", asks);
    let (_, err, code) = finish(&mut server.prove("serve", &["--mutex", "fair"]));
    assert!(
        err.contains("succeeds before the server is started: if another server answers, stop it"),
        "{err}"
    );
    assert_eq!((err.lines().count(), code), (1, Some(4)), "{err}");
    // A question that the other server does not answer: then ours finds its address in use.
    let line = server.line("serve");
    let (_, err, code) =
        finish(&mut unspin(&["prove", "--server", &line, "--ready", "false", "--load", "true"]));
    assert!(
        err.contains("ended with exit code 1 before it was ready (another process uses its address"),
        "{err}"
    );
    assert!(err.contains("  | bind: Address already in use") && code == Some(4), "{err}");
}

#[test]
fn failure_in_a_later_run_keeps_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    // The eleventh load fails: the first is the trial, the second the metered run.
    let count = folder.path().join("loads");
    let load =
        format!("echo >> {0}; test $(wc -l < {0}) -le 10 && {1}", count.display(), server.line("load 50"));
    let options =
        ["--runs", "6", "--mutex", "fair", "--metric", "requests:", "--higher-is-better", "--load", &load];
    let (out, err, code) = finish(&mut server.prove("serve", &options));
    assert_eq!(code, Some(4), "{out}{err}");
    assert!(flat(&out).contains("the load ended with exit code 1"), "{out}");
    assert_eq!(server.running(), NONE);
}

#[test]
fn interrupt_stops_server_and_load() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::compiled(folder.path()) else { return };
    let begun = folder.path().join("begun");
    let load = format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 1000", begun.display());
    let mut prove = Background::start(server.prove("serve", &["--mutex", "fair", "--load", &load]));
    wait_until("the load runs", || begun.exists());
    assert_eq!(server.running().len(), 1);
    let load: u32 = fs::read_to_string(&begun).unwrap().trim().parse().unwrap();
    // Not SIGINT: a shell lets the commands that it starts in the background ignore it, and unspin keeps that.
    child::signal(prove.pid(), Signal::Terminate).unwrap();
    assert_eq!(prove.wait().code(), Some(130), "{}", prove.rest());
    assert!(gone(load));
    assert_eq!(server.running(), NONE);
}

#[test]
fn commands_of_a_server_belong_together() {
    for (words, said) in [
        (&["--server", "x"][..], "--ready"),
        (&["--ready", "x", "ls"], "--server"),
        (&["--server", "x", "--ready", "y", "--load", "z", "ls"], "cannot be used with"),
        (&["--server", "", "--ready", "y", "--load", "z"], "--server is empty"),
        (&["--server", "x", "--ready", " ", "--load", "z"], "--ready is empty"),
        (&["--server", "x 'y", "--ready", "y", "--load", "z"], "a quote is not closed"),
        (
            &["--server", "ls", "--ready", "y", "--load", "z", "--server-user", "no-such-user"],
            "there is no such user",
        ),
        (&["--metric", "x", "--higher-is-better", "--lower-is-better", "ls"], "cannot be used with"),
    ] {
        let (out, err, code) = finish(unspin(&["prove"]).args(words));
        assert_eq!((out.as_str(), code), ("", Some(2)), "{words:?}: {err}");
        assert!(err.contains(said), "{words:?}: {err}");
    }
    let (_, err, code) =
        finish(&mut unspin(&["prove", "--server", "/no/such/server", "--ready", "x", "--load", "y"]));
    assert_eq!((err.lines().count(), code), (1, Some(127)), "{err}");
}

/// PostgreSQL's own benchmark as the load.
#[test]
#[ignore = "nightly: a real server; `server_is_judged_by_its_load` has a small one"]
fn pgbench_loads_postgres() {
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    versions.sort();
    let Some(programs) = versions.pop() else {
        return skip("pgbench_loads_postgres", "there is no PostgreSQL; install postgresql");
    };
    let is_root = unspin_sys::creds::Creds::current().uid == 0;
    let folder = tempfile::Builder::new().prefix("unspin-pg").tempdir_in("/tmp").unwrap();
    let home = folder.path();
    let shell = |script: &str| {
        let whole = format!("cd {} && PATH={}:$PATH && {script}", home.display(), programs.display());
        let mut command = Command::new(if is_root { "setpriv" } else { "sh" });
        if is_root {
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "sh"]);
        }
        let output = command.args(["-c", &whole]).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    };
    if is_root {
        let status = Command::new("chown").arg("postgres:postgres").arg(home).status().unwrap();
        if !status.success() {
            return skip(
                "pgbench_loads_postgres",
                "there is no user postgres, and PostgreSQL does not run as root",
            );
        }
    }
    let at = home.display();
    shell("initdb -D data --auth=trust --no-sync > log 2>&1");
    shell(&format!(
        "pg_ctl -D data -w -l log -o \"-k {at} -c listen_addresses=\" start && pgbench -h {at} -i -q postgres && pg_ctl -D data -w stop"
    ));
    let bin = programs.display();
    let server = format!("{bin}/postgres -D {at}/data -k {at} -c listen_addresses=");
    let ready = format!("{bin}/pg_isready -q -h {at}");
    let user = if is_root { "postgres" } else { &std::env::var("USER").unwrap_or_default() };
    let load = format!("{bin}/pgbench -h {at} -U {user} -S -c 2 -t 200 postgres");
    let mut command = unspin(&["prove", "--server", &server, "--ready", &ready, "--load", &load]);
    command.args(["--metric", "tps = ([0-9.]+)", "--waits", "poll", "--runs", "6"]);
    if is_root {
        command.args(["--server-user", "postgres"]);
        // A cache of the user that runs the tests is not readable by the server's user.
        command.env_remove("XDG_CACHE_HOME");
    }
    let (out, err, code) = finish(&mut command);
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {out}{err}");
    assert!(flat(&out).contains("by tps, higher is better: 6 rounds of 4 configurations"), "{out}");
    assert!(!flat(&out).contains("failed in"), "{out}");
}
