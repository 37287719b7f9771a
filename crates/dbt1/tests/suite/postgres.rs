//! The shop on a private PostgreSQL server: runs, a server that is killed, nothing left behind.

use crate::common::{all_runs_did_something, small, until_long_enough};
use std::cell::Cell;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use unspin_dbt1::{DatabaseChoice, Error, Event, Figures, Options, Prepared, benchmark, prepare};
use unspin_sys::child::{self, Signal};

fn on_postgres(
    options: &Options,
    folder: &Path,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Option<Result<Figures, Error>> {
    let options = Options { database: DatabaseChoice::PrivatePostgres, ..options.clone() };
    match benchmark(&options, folder, stop, observer) {
        Err(Error::NoServer(reason)) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED PostgreSQL: {reason}");
            None
        }
        outcome => Some(outcome),
    }
}

/// The pid of the server whose cluster is in this folder.
fn server_in(folder: &Path) -> u32 {
    let file = fs::read_to_string(folder.join("postgres/data/postmaster.pid")).unwrap();
    file.lines().next().unwrap().trim().parse().unwrap()
}

/// Processes that work in the folder: those of a server work in its cluster.
fn processes_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries
        .filter(|process| fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .collect()
}

/// The processes of a server that was killed notice that by themselves.
fn expect_nothing_left(folder: &Path) {
    let began = Instant::now();
    while !processes_in(folder).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(600), "still there: {:?}", processes_in(folder));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn runs_end_and_no_server_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let was_running = Cell::new(false);
    let figures = until_long_enough(
        &small(),
        |options| {
            let folder = tempfile::tempdir_in(folder.path()).unwrap();
            let figures = on_postgres(options, folder.path(), &AtomicBool::new(false), &mut |event| {
                if let Event::Running { .. } = event {
                    was_running.set(was_running.get() || !processes_in(folder.path()).is_empty());
                }
            });
            figures.map(Result::unwrap)
        },
        |figures| all_runs_did_something(figures) && was_running.get(),
    );
    if figures.is_some() {
        expect_nothing_left(folder.path());
    }
}

#[test]
fn killed_server_fails_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut is_killed = false;
    let options = Options { duration: Duration::from_secs(60), ..small() };
    let outcome = on_postgres(&options, folder.path(), &AtomicBool::new(false), &mut |event| {
        if let (Event::Running { .. }, false) = (event, is_killed) {
            is_killed = true;
            child::signal(server_in(folder.path()), Signal::Kill).unwrap();
        }
    });
    let Some(outcome) = outcome else { return };
    let error = outcome.unwrap_err().to_string();
    assert!(
        error.starts_with("run 1, ") && error.contains(": the connection to the database is lost: "),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
    expect_nothing_left(folder.path());
}

#[test]
fn interrupted_run_stops_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let options = Options { duration: Duration::from_secs(60), ..small() };
    let outcome = on_postgres(&options, folder.path(), &stop, &mut |event| {
        if let Event::Running { .. } = event {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let Some(outcome) = outcome else { return };
    assert!(matches!(outcome, Err(Error::Interrupted)), "{outcome:?}");
    expect_nothing_left(folder.path());
}

/// How the benchmark on a running server ends. It is given up after ten minutes; then it still waits for an answer.
fn outcome_on(
    url: &str,
    stop: &Arc<AtomicBool>,
    mut observer: impl FnMut(Event<'_>) + Send + 'static,
) -> Result<Result<Figures, Error>, RecvTimeoutError> {
    let database = DatabaseChoice::Postgres(url.into());
    let options =
        Options { database, items: None, scale: None, duration: Duration::from_secs(3600), ..small() };
    let (stop, (sender, receiver)) = (Arc::clone(stop), mpsc::channel());
    thread::spawn(move || sender.send(benchmark(&options, Path::new("/"), &stop, &mut observer)));
    receiver.recv_timeout(Duration::from_secs(600))
}

/// AuthenticationOk and ReadyForQuery.
const ADMITTED: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

#[test]
fn benchmark_of_silent_server_can_be_interrupted() {
    for admits in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://unspin@{}/shop", listener.local_addr().unwrap());
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        // The sockets stay open until the benchmark has ended.
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            let mut asked = [0; 1000];
            assert!(socket.read(&mut asked).unwrap() > 0);
            if admits {
                socket.write_all(ADMITTED).unwrap();
                assert!(socket.read(&mut asked).unwrap() > 0, "a statement");
            }
            told.store(true, Ordering::Relaxed);
            (socket, listener)
        });
        let outcome = outcome_on(&url, &stop, |_| ());
        assert!(matches!(outcome, Ok(Err(Error::Interrupted))), "admits: {admits}, {outcome:?}");
        server.join().unwrap();
    }
}

/// The processes of the server are stopped in mid-run, as those of a machine that is overloaded.
#[test]
fn browsers_of_silent_server_can_be_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let options = Options { database: DatabaseChoice::PrivatePostgres, ..small() };
    let cluster = match prepare(&options, folder.path(), &stop) {
        Ok(Prepared::Postgres(cluster)) => cluster,
        Err(Error::NoServer(reason)) => {
            let _ = writeln!(std::io::stderr(), "SKIPPED PostgreSQL: {reason}");
            return;
        }
        other => panic!("{other:?}"),
    };
    let server = cluster.start(&options, &stop).unwrap();
    let main = server_in(folder.path());
    let stopped: Arc<Mutex<Vec<u32>>> = Arc::default();
    let (pids, told) = (Arc::clone(&stopped), Arc::clone(&stop));
    let outcome = outcome_on(&cluster.url(), &stop, move |event| {
        let mut pids = pids.lock().unwrap();
        if let (Event::Running { .. }, true) = (event, pids.is_empty()) {
            let children = fs::read_to_string(format!("/proc/{main}/task/{main}/children")).unwrap();
            pids.extend(children.split_whitespace().map(|pid| pid.parse::<u32>().unwrap()));
            pids.iter().for_each(|&pid| child::signal(pid, Signal::PassedOn(SIGSTOP)).unwrap());
            told.store(true, Ordering::Relaxed);
        }
    });
    for &pid in stopped.lock().unwrap().iter() {
        child::signal(pid, Signal::PassedOn(SIGCONT)).unwrap();
    }
    assert!(matches!(outcome, Ok(Err(Error::Interrupted))), "{outcome:?}");
    drop(server);
    expect_nothing_left(folder.path());
}

/// From signal(7).
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

#[test]
fn url_without_server_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (url, expected) in [
        (
            "postgres://unspin@127.0.0.1:1/shop",
            "--db postgres://unspin@127.0.0.1:1/shop: no server answers: ",
        ),
        ("postgres://:port", "--db postgres://:port: "),
    ] {
        let options = Options { database: DatabaseChoice::Postgres(url.into()), ..small() };
        let error =
            benchmark(&options, folder.path(), &AtomicBool::new(false), &mut |_| ()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
