//! Third-party programs, each of which checks itself: bare, metered, and with their mutexes replaced.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use unspin_e2e::{
    Memcache, Outcome, Recorder, Run, Running, World, assert_same, assert_same_metered, find_tool, scratch,
    skip,
};
use unspin_locks::LockKind;
use unspin_wire::Level;

/// How a program runs: first bare, then metered, then with other mutexes, and with both. `recorders` must be two.
fn ways(run: impl Fn(World) -> Run, [first, second]: &[Recorder; 2]) -> [Run; 5] {
    let replaced = |kind| run(World::Kernel).mutexes(&format!("{kind}\tall"));
    [
        run(World::Bare),
        run(World::Kernel).record(first),
        replaced(LockKind::Adaptive),
        replaced(LockKind::RtSteal),
        replaced(LockKind::RtAdaptive).record(second),
    ]
}

fn recorders() -> [Recorder; 2] {
    [Recorder::create(Level::Full), Recorder::create(Level::Full)]
}

/// Runs a tool in every way, and demands of each that it succeeds and passes `check`. None without the tool.
fn all_succeed(tool: &str, package: &str, args: &[&str], check: impl Fn(&Outcome)) -> Option<Vec<Outcome>> {
    let Some(program) = find_tool(tool) else {
        skip(tool, &format!("there is no {tool}; install {package}"));
        return None;
    };
    let recorders = recorders();
    let mut outcomes = Vec::new();
    for way in ways(|world| Run::new(&program, world).args(args), &recorders) {
        let directory = scratch();
        let outcome = way.current_dir(directory.path()).output();
        assert!(outcome.status.success(), "{tool}: {outcome}");
        assert!(!outcome.stderr.contains("unspin"), "{tool}: {outcome}");
        check(&outcome);
        outcomes.push(outcome);
    }
    Some(outcomes)
}

/// The output with every number that has a fraction, and the spaces before it, replaced: these are times.
fn without_times(text: &str) -> String {
    let words = |line: &str| -> Vec<String> {
        let word = |word: &str| if word.contains('.') { "#".into() } else { word.to_owned() };
        line.split_whitespace().map(word).collect()
    };
    text.lines().map(|line| words(line).join(" ") + "\n").collect()
}

#[test]
fn times_are_masked_and_counts_are_not() {
    assert_eq!(without_times("a: 1.25s (2/0.5)\n  b:   17\n"), "a: # #\nb: 17\n");
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn kyoto_cabinet() {
    let args = ["wicked", "-th", "4", "-it", "2", "4000"];
    all_succeed("kccachetest", "kyotocabinet-utils", &args, |outcome| {
        assert!(outcome.stdout.ends_with("ok\n\n"), "{outcome}");
    });
    let args = ["tran", "-th", "4", "-it", "2", "2000"];
    all_succeed("kccachetest", "kyotocabinet-utils", &args, |outcome| {
        assert!(outcome.stdout.ends_with("ok\n\n"), "{outcome}");
    });
}

/// With one seed the same keys are found, whatever the order in which four threads wrote them.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn rocksdb() {
    let args = [
        "--benchmarks=fillrandom,readrandom,readwhilewriting",
        "--num=2000",
        "--threads=4",
        "--seed=7",
        "--verify_checksum=1",
        "--db=db",
    ];
    let found = |outcome: &Outcome| {
        let line = outcome.stdout.lines().find(|line| line.starts_with("readrandom ")).map(str::to_owned);
        line.and_then(|line| Some(line.split_once('(')?.1.to_owned()))
    };
    let check = |outcome: &Outcome| assert!(found(outcome).is_some(), "{outcome}");
    for outcome in
        all_succeed("db_bench", "rocksdb-tools", &args, check).iter().flatten().collect::<Vec<_>>().windows(2)
    {
        assert_eq!(found(outcome[0]), found(outcome[1]));
    }
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn sysbench() {
    for args in [
        &["mutex", "--threads=4", "--mutex-num=16", "--mutex-locks=2000", "--mutex-loops=100", "run"][..],
        &[
            "threads",
            "--threads=4",
            "--thread-locks=2",
            "--thread-yields=20",
            "--events=300",
            "--time=0",
            "run",
        ],
    ] {
        let Some(outcomes) = all_succeed("sysbench", "sysbench", args, |_| {}) else { return };
        let masked = |outcome: Outcome| Outcome { stdout: without_times(&outcome.stdout), ..outcome };
        let outcomes: Vec<Outcome> = outcomes.into_iter().map(masked).collect();
        assert!(outcomes[0].stdout.contains("total number of events:"), "{}", outcomes[0]);
        for outcome in &outcomes {
            assert_same("sysbench", "metered or replaced", &outcomes[0], outcome);
        }
    }
}

/// Python's own tests of its threads: start, fork, deadlock, end of the interpreter, in a hundred processes.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn python_tests_its_threads() {
    let pythons = [Some("/usr/bin/python3".into()), find_tool("python3")];
    let Some(python) = pythons.into_iter().flatten().find(has_its_tests) else {
        return skip("python_tests_its_threads", "no python3 has its tests; install libpython3.N-testsuite");
    };
    let directory = scratch();
    let recorder = Recorder::create(Level::Full);
    // The omitted test fails where an installed package imports threading at the start.
    let args = ["-m", "test", "-i", "test_import_from_another_thread", "test_threading"];
    let run = |world| Run::new(&python, world).args(args).current_dir(directory.path());
    // They mostly sleep, so all run at once.
    let replaced = || run(World::Kernel).mutexes("adaptive\tall");
    let ways = [run(World::Bare), run(World::Kernel).record(&recorder), replaced()];
    for outcome in ways.map(Run::start).map(Running::output) {
        assert!(outcome.status.success(), "{outcome}");
        assert!(outcome.stdout.contains("SUCCESS") && !outcome.stdout.contains("unspin"), "{outcome}");
    }
}

fn has_its_tests(python: &PathBuf) -> bool {
    let there = Command::new(python).args(["-c", "import test.test_threading"]).output();
    there.is_ok_and(|output| output.status.success())
}

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn java() {
    let (Some(java), Some(javac)) = (find_tool("java"), find_tool("javac")) else {
        return skip("java", "there is no javac; install default-jdk-headless");
    };
    let directory = scratch();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("java/Threads.java");
    let compiled =
        Command::new(javac).arg("-d").arg(directory.path()).arg(source).output().expect("it exists");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let run = |world| Run::new(&java, world).args(["-cp", ".", "Threads"]).current_dir(directory.path());
    let bare = assert_same_metered("java", run);
    assert!(bare.status.success() && bare.stdout.ends_with("done\n"), "{bare}");
    for way in ways(run, &recorders()) {
        assert_same("java", "with other mutexes", &bare, &way.output());
    }
}

/// Four clients set, get and verify keys of their own and one counter that all of them share.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn memcached() {
    let Some(program) = find_tool("memcached") else {
        return skip("memcached", "there is no memcached; install it");
    };
    for run in ways(|world| Run::new(&program, world), &recorders()) {
        let directory = scratch();
        let port = directory.path().join("port");
        let args = ["-u", "root", "-l", "127.0.0.1", "-p", "-1", "-t", "4", "-m", "64"];
        let mut server = run.args(args).env("MEMCACHED_PORT_FILENAME", &port).start();
        let port = await_port(&mut server, &port);
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || set_and_get(port, client));
            }
        });
        let mut client = Memcache::connect(port).unwrap();
        assert_eq!(client.get("shared").unwrap().unwrap(), (CLIENTS * ROUNDS).to_string().as_bytes());
        assert_eq!(client.counter("get_misses").unwrap(), CLIENTS * ROUNDS);
        assert_eq!(client.counter("get_hits").unwrap(), CLIENTS * ROUNDS + 1);
        assert_eq!(client.counter("cmd_set").unwrap(), CLIENTS * ROUNDS + CLIENTS);
        server.signal(libc::SIGTERM);
        let outcome = server.output();
        assert!(outcome.status.success() && !outcome.stderr.contains("unspin"), "{outcome}");
    }
}

const CLIENTS: u64 = 4;
const ROUNDS: u64 = 400;

fn set_and_get(port: u16, client: u64) {
    let mut server = Memcache::connect(port).unwrap();
    let added = server.command("add shared 0 0 1\r\n0").unwrap();
    assert!(added == "STORED" || added == "NOT_STORED", "{added}");
    for round in 0..ROUNDS {
        let key = format!("{client}-{round}");
        let value = key.repeat(1 + (round as usize * 7) % 300);
        assert_eq!(server.set(&key, value.as_bytes()).unwrap(), "STORED");
        assert_eq!(server.get(&key).unwrap().as_deref(), Some(value.as_bytes()), "{key}");
        assert_eq!(server.command(&format!("delete {key}")).unwrap(), "DELETED");
        assert_eq!(server.get(&key).unwrap(), None, "{key}");
        server.command("incr shared 1").unwrap().parse::<u64>().expect("incr answers the sum");
    }
}

/// The server writes its port into a file once it listens.
fn await_port(server: &mut Running, path: &Path) -> u16 {
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Some(port) = text.lines().find_map(|line| line.strip_prefix("TCP INET: ")) {
            return port.trim().parse().expect("a port is a number");
        }
        assert!(server.runs(), "memcached ended instead of listening");
        std::thread::sleep(Duration::from_millis(2));
    }
}
