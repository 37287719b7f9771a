//! `unspin volano`: all messages arrive, failures are one line with what was delivered, nothing stays behind.

use crate::common::{
    Background, as_nobody, children_of, compiled_with, finish, gone, nobody_can_run_unspin, program, unspin,
    wait_until,
};
use std::net::TcpListener;
use std::process::Command;
use unspin_sys::child::{self, Signal};

/// A small load: 2 rooms of 3 users, 5 messages from each.
const SMALL: [&str; 7] = ["volano", "--rooms", "2", "--users", "3", "--messages", "5"];

/// The number after these words in a line.
fn number_after(line: &str, words: &str) -> f64 {
    let rest = line.split_once(words).unwrap_or_else(|| panic!("no '{words}' in {line}")).1;
    rest.split_whitespace().next().unwrap().parse().unwrap_or_else(|_| panic!("no number in {line}"))
}

#[test]
fn result_is_the_mean_of_all_runs_but_the_first() {
    for model in [&[][..], &["--model", "tasks"], &["--model", "tokio"], &["--free-running"]] {
        let (out, err, code) = finish(unspin(&SMALL).args(model));
        assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 6, "{out}");
        let rates: Vec<f64> = lines[1..5].iter().map(|line| number_after(line, " s, ")).collect();
        let mean = (rates[1] + rates[2] + rates[3]) / 3.0;
        assert!((number_after(lines[5], "messages per second: ") - mean).abs() <= 1.0, "{out}");
        assert!(lines[1].ends_with("(not counted)") && !lines[2].ends_with("(not counted)"), "{out}");
    }
}

#[test]
fn volano_runs_under_the_preload_library() {
    for model in ["threads", "tasks", "tokio"] {
        let mut command = unspin(&["run", "--mutex", "adaptive", "--waits", "poll"]);
        let (out, err, code) = finish(command.args(SMALL).args(["--model", model]));
        assert_eq!((err.as_str(), code), ("", Some(0)), "{out}");
    }
}

#[test]
fn meter_names_the_locks_after_their_creators() {
    let (_, err, code) =
        finish(unspin(&["meter", "--level", "counts", "--all"]).args(SMALL).args(["--runs", "1"]));
    assert_eq!(code, Some(0), "{err}");
    // The compiler decides which of the functions on the way are inlined, so a lock's name is `Queue<T>::new` or
    // `new<State<T>>`, and locks of both contents have one row or two.
    let initialised = |module: &str| -> u32 {
        let rows = err.lines().filter(|row| row.contains(module) && row.contains("mutex initialised at"));
        let count = |row: &str| row.strip_prefix('(').and_then(|row| row.split_once(')')?.0.parse().ok());
        rows.map(|row| count(row).unwrap_or(1)).sum()
    };
    // A creator's stack may also end at the wrapper, so only the sum is certain.
    assert!(initialised("volano::room::") > 0 && initialised("volano::queue::") > 0, "{err}");
    assert_eq!(initialised(""), 14, "{err}");
}

/// Whatever the verdict is: it is about the rate that the workload prints.
#[test]
fn prove_compares_messages_per_second() {
    let mut command = unspin(&["prove", "--runs", "6", "--mutex", "fair"]);
    let (out, err, code) = finish(command.args(SMALL).args(["--runs", "1"]));
    assert!(matches!(code, Some(0 | 1 | 3)), "{code:?} {out}{err}");
    let text: Vec<&str> = out.split_whitespace().collect();
    assert!(text.join(" ").contains("by messages per second, higher is better"), "{out}");
}

/// Starts a run of hours, and waits until it runs. Returns server and client.
fn endless(options: &[&str]) -> (Background, u32, u32) {
    let mut command = unspin(&["volano", "--rooms", "1", "--users", "3", "--messages", "1000000000"]);
    command.args(options);
    let run = Background::start(command);
    let mut processes = Vec::new();
    wait_until("all threads have been started", || {
        processes = children_of(run.pid());
        // Reader and writer of each user, and the main thread.
        processes.len() == 2 && processes.iter().all(|&pid| threads_of(pid) == 7)
    });
    (run, processes[0], processes[1])
}

fn threads_of(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count)
}

/// The failure of a run: one line that begins with this and ends with the accounts.
fn assert_failed(run: &mut Background, cause: &str) {
    assert_eq!(run.wait().code(), Some(1));
    let said = run.rest();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with(&format!("unspin: volano: run 1: {cause}: ")), "{said}");
    let sent = number_after(&said, &format!("{cause}: "));
    assert!(sent >= 0.0 && said.contains(" of 3000000000 messages were sent, "), "{said}");
    assert!(said.ends_with(" of 6000000000 were received\n"), "{said}");
}

#[test]
fn killed_master_leaves_no_process() {
    let (mut run, server, client) = endless(&[]);
    child::signal(run.pid(), Signal::Kill).unwrap();
    run.wait();
    wait_until("the processes are gone", || gone(server) && gone(client));
}

#[test]
fn interrupt_ends_all_processes() {
    use std::os::unix::process::ExitStatusExt;
    const SIGINT: i32 = 2;
    let (mut run, server, client) = endless(&[]);
    child::signal_group(run.pid(), Signal::PassedOn(SIGINT)).unwrap();
    assert_eq!(run.wait().signal(), Some(SIGINT));
    wait_until("the processes are gone", || gone(server) && gone(client));
}

#[test]
fn killed_server_or_client_fails_the_run() {
    let (mut run, server, client) = endless(&[]);
    child::signal(server, Signal::Kill).unwrap();
    assert_failed(&mut run, "the server was killed by signal 9");
    assert!(gone(client));
    let (mut run, server, client) = endless(&[]);
    child::signal(client, Signal::Kill).unwrap();
    assert_failed(&mut run, "the client was killed by signal 9");
    assert!(gone(server));
}

#[test]
fn stalled_client_fails_the_run_after_the_timeout() {
    const SIGSTOP: i32 = 19;
    let (mut run, server, client) = endless(&["--timeout", "3s"]);
    child::signal(client, Signal::PassedOn(SIGSTOP)).unwrap();
    assert_failed(&mut run, "no message moved for 3 s (--timeout)");
    assert!(gone(server) && gone(client));
}

/// A process that was stopped as a whole, as by ^Z, goes on.
#[test]
fn stopped_benchmark_does_not_time_out() {
    const SIGSTOP: i32 = 19;
    const SIGCONT: i32 = 18;
    let (mut run, _, client) = endless(&["--timeout", "5s"]);
    child::signal_group(run.pid(), Signal::PassedOn(SIGSTOP)).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(6));
    child::signal_group(run.pid(), Signal::PassedOn(SIGCONT)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!gone(client), "it goes on");
    child::signal(client, Signal::Kill).unwrap();
    assert_failed(&mut run, "the client was killed by signal 9");
}

/// Standard error and exit code of a single run over a network that makes this mistake. None if there is no compiler.
fn over_faulty_network(mistake: &str, options: &[&str]) -> Option<(String, Option<i32>)> {
    let folder = tempfile::tempdir().unwrap();
    let library = compiled_with("volano_network.c", &["-shared", "-fPIC"], folder.path())?;
    let mut command = unspin(&["volano", "--runs", "1"]);
    let (_, err, code) = finish(command.args(options).env("LD_PRELOAD", library).env("MISTAKE", mistake));
    Some((err, code))
}

/// The same with 2 rooms of 3 users and 40 messages from each, of which 480 are received: the one line of the failure.
fn failure_over_network(mistake: &str, options: &[&str]) -> Option<String> {
    let load = ["--rooms", "2", "--users", "3", "--messages", "40"];
    let (err, code) = over_faulty_network(mistake, &[&load[..], options].concat())?;
    assert_eq!((code, err.lines().count()), (Some(1), 1), "{mistake}: {err}");
    Some(err)
}

#[test]
fn one_lost_repeated_exchanged_or_altered_message_fails_the_run() {
    let mistakes = [
        ("lose", "479 of 480 were received: 1 lost, 0 repeated, 0 out of order, 0 altered "),
        ("repeat", "480 of 480 were received: 0 lost, 1 repeated, 0 out of order, 0 altered "),
        ("exchange", "480 of 480 were received: 0 lost, 0 repeated, 1 out of order, 0 altered "),
        ("alter", "479 of 480 were received: 1 lost, 0 repeated, 0 out of order, 1 altered "),
    ];
    for (mistake, text) in mistakes {
        for model in ["threads", "tasks", "tokio"] {
            let options = ["--free-running", "--model", model];
            let Some(err) = failure_over_network(mistake, &options) else { return };
            let begin =
                "unspin: volano: run 1: messages were not delivered as sent: 240 of 240 messages were sent, ";
            assert!(err.starts_with(begin) && err.contains(text), "{mistake}, {model}: {err}");
        }
    }
}

/// The user that does not get the message waits for ever for its turn, and the others for this user.
#[test]
fn lost_turn_fails_the_run_after_the_timeout() {
    for model in ["threads", "tasks", "tokio"] {
        let options = ["--timeout", "300ms", "--model", model];
        let Some(err) = failure_over_network("lose", &options) else { return };
        assert!(err.starts_with("unspin: volano: run 1: no message moved for 0.3 s (--timeout): "), "{err}");
    }
}

/// The server has done its work and ends while the client still reads.
#[test]
fn client_may_read_after_the_server_has_ended() {
    for model in ["threads", "tokio"] {
        let load = ["--rooms", "1", "--users", "3", "--messages", "1", "--free-running", "--model", model];
        let Some(ended) = over_faulty_network("delay", &load) else { return };
        assert_eq!(ended, (String::new(), Some(0)), "{model}");
    }
}

/// The exit code and standard error under limits that a shell sets.
fn limited(limit: &str, arguments: &str) -> (Option<i32>, String) {
    let script = format!("{limit} && exec {} volano {arguments}", program().display());
    let (_, err, code) = finish(Command::new("bash").args(["-c", &script]));
    (code, err)
}

#[test]
fn too_few_descriptors_are_refused_with_the_number_needed() {
    let (code, err) = limited("ulimit -n 100", "--rooms 2");
    assert_eq!(
        (code, err.as_str()),
        (
            Some(2),
            "unspin: volano: --rooms 2 --users 20: each process needs 104 descriptors, and the hard limit is 100 \
             (ulimit -Hn)\n"
        )
    );
}

#[test]
fn soft_limit_on_descriptors_is_raised() {
    assert_eq!(
        limited("ulimit -Sn 70", "--rooms 2 --messages 2 --runs 1 --model tokio"),
        (Some(0), String::new())
    );
}

#[test]
fn port_in_use_is_reported_in_one_line() {
    let number = unspin_e2e::free_port();
    let other = TcpListener::bind(("127.0.0.1", number)).unwrap();
    let port = number.to_string();
    let (_, err, code) = finish(unspin(&SMALL).args(["--port", &port]));
    assert_eq!(code, Some(1), "{err}");
    assert_eq!(
        err,
        format!(
            "unspin: volano: --port {port}: cannot listen there (choose another port, or 0 for a free one): Address \
             already in use (os error 98)\n"
        )
    );
    drop(other);
    // A child that another test has just forked may still have it open.
    wait_until("nothing listens there", || !unspin_e2e::is_listened_at(number));
    let (_, err, code) = finish(unspin(&SMALL).args(["--port", &port]));
    assert_eq!((err.as_str(), code), ("", Some(0)));
}

/// Root has no limit.
#[test]
fn too_few_threads_are_reported_in_one_line() {
    let _alone = crate::common::PROCESSES_OF_NOBODY.lock();
    if !nobody_can_run_unspin("too_few_threads_are_reported_in_one_line") {
        return;
    }
    for model in ["threads", "tasks --workers 30", "tokio --workers 30"] {
        let unspin = program();
        let unspin = unspin.display();
        let script = format!("ulimit -u 20 && exec {unspin} volano --rooms 2 --model {model}");
        let (_, err, code) = finish(&mut as_nobody(&script));
        assert_eq!((code, err.lines().count()), (Some(1), 1), "{err}");
        assert!(err.starts_with("unspin: "), "{err}");
        assert!(err.contains("Resource temporarily unavailable") && err.contains("were received"), "{err}");
    }
}
