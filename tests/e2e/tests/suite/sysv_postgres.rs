//! PostgreSQL with its shared memory in System V segments.

use unspin_e2e::{
    Outcome, Postgres, Process, Running, Workspace, World, enter_ipc_namespace, eventually, skip,
};

/// In each world in turn, since the server is many processes. `global` has nothing of its own here: PostgreSQL uses
/// shared memory only, and that is the same code in both engines.
const WORLDS: [World; 3] = [World::Bare, World::Kernel, World::RCU];

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn postgres() {
    let Some(programs) = Postgres::programs() else {
        return skip("postgres", "there is no PostgreSQL; install postgresql");
    };
    let alone = enter_ipc_namespace();
    for world in WORLDS {
        eprintln!("postgres in world {world}");
        let workspace = Workspace::without_root(world);
        let postgres = Postgres::create(&programs, &workspace);
        is_loaded_and_queried(&postgres);
        loses_backends(&postgres);
        loses_its_postmaster(&postgres);
        if alone || World::ENGINES.contains(&world) {
            // Segments of a server that was killed have been removed by its successor.
            assert_eq!(workspace.leftovers(), "");
        }
    }
}

/// How many rows `pgbench` puts into its table of accounts for each unit of scale.
const ACCOUNTS: &str = "100000";

fn is_loaded_and_queried(postgres: &Postgres<'_>) {
    let server = postgres.start().unwrap_or_else(|outcome| panic!("{outcome}"));
    assert_eq!(postgres.ask(&["show shared_memory_type", "show dynamic_shared_memory_type"]), "sysv\nsysv");
    pgbench(postgres, &["--initialize", "--quiet"]);
    let clients = ["--client=4", "--jobs=2"];
    let read_only = pgbench(postgres, &[&clients[..], &["--select-only", "--transactions=500"]].concat());
    assert_eq!(transactions(&read_only), 2000, "{read_only}");
    if let Ok(seconds) = std::env::var("UNSPIN_PGBENCH_SECONDS") {
        let more = pgbench(postgres, &[&clients[..], &["--select-only", "--time", &seconds]].concat());
        assert!(transactions(&more) > 0, "{more}");
    }
    let read_write = pgbench(postgres, &[&clients[..], &["--transactions=50"]].concat());
    assert_eq!(transactions(&read_write), 200, "{read_write}");
    // What four clients have added to accounts, tellers, branches and the history is the same everywhere.
    let sums = [
        "select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history)",
        "select (select sum(tbalance) from pgbench_tellers) = (select sum(delta) from pgbench_history)",
        "select (select sum(bbalance) from pgbench_branches) = (select sum(delta) from pgbench_history)",
        "select count(*) from pgbench_history",
    ];
    assert_eq!(postgres.ask(&sums), "t\nt\nt\n200");
    has_helpers(postgres);
    stop(server);
}

/// A query whose processes meet in segments that are made for it.
fn has_helpers(postgres: &Postgres<'_>) {
    let count = "select count(*), count(distinct aid) from pgbench_accounts";
    assert_eq!(postgres.ask(&[count]), format!("{ACCOUNTS}|{ACCOUNTS}"));
    let plan = postgres.ask(&["explain (analyze, costs off) select sum(abalance) from pgbench_accounts"]);
    assert!(plan.contains("Workers Launched: 2"), "{plan}");
}

/// One backend is terminated: the others go on. One is killed: the server starts all of them anew.
fn loses_backends(postgres: &Postgres<'_>) {
    let mut server = postgres.start().unwrap_or_else(|outcome| panic!("{outcome}"));
    let (client, backend) = sleeper(postgres);
    backend.signal(libc::SIGTERM);
    let outcome = client.output();
    assert!(outcome.stderr.contains("terminating connection due to administrator command"), "{outcome}");
    assert_eq!(postgres.ask(&["select count(*) from pgbench_accounts"]), ACCOUNTS);

    let (client, backend) = sleeper(postgres);
    let (bystander, _) = sleeper(postgres);
    backend.signal(libc::SIGKILL);
    assert!(!client.output().status.success());
    let outcome = bystander.output();
    assert!(outcome.stderr.contains("crash of another server process"), "{outcome}");
    let recovered = "all server processes terminated; reinitializing";
    assert!(server.await_stderr(recovered), "{}", server.output());
    let count = "select count(*) from pgbench_accounts";
    let answer = eventually("the server has recovered", || {
        let outcome = postgres.psql(&[count]).output();
        let waiting = ["not yet accepting", "in recovery mode", "starting up", "No such file", "refused"];
        let waits = waiting.iter().any(|text| outcome.stderr.contains(text));
        (!waits).then_some(outcome)
    });
    assert_eq!(answer.stdout.trim_end(), ACCOUNTS, "{answer}");
    has_helpers(postgres);
    stop(server);
}

/// The postmaster is killed while a backend cannot notice it: no other server may use the data until that backend is
/// gone.
fn loses_its_postmaster(postgres: &Postgres<'_>) {
    let server = postgres.start().unwrap_or_else(|outcome| panic!("{outcome}"));
    postgres
        .ask(&["create table survivors (n int)", "insert into survivors select generate_series(1, 1000)"]);
    let (client, backend) = sleeper(postgres);
    let orphan = Orphan::of(backend);
    let others: Vec<Process> =
        Process::children_of(server.id()).into_iter().filter(|child| *child != orphan.0).collect();
    server.signal(libc::SIGKILL);
    assert!(!server.output().status.success());
    others.iter().for_each(Process::await_end);

    let refused = postgres.start().expect_err("an orphan uses the data");
    assert!(refused.stderr.contains("pre-existing shared memory block"), "{refused}");
    assert!(refused.stderr.contains("is still in use"), "{refused}");
    drop(orphan);
    assert!(!client.output().status.success());

    let server = postgres.start().unwrap_or_else(|outcome| panic!("the orphan is gone: {outcome}"));
    let counts = ["select count(*) from survivors", "select count(*) from pgbench_accounts"];
    assert_eq!(postgres.ask(&counts), format!("1000\n{ACCOUNTS}"));
    let outcome = stop(server);
    assert!(outcome.stderr.contains("automatic recovery in progress"), "{outcome}");
}

/// A backend that is stopped, and so does not notice that its postmaster is gone. Killed when dropped.
struct Orphan(Process);

impl Orphan {
    fn of(backend: Process) -> Orphan {
        backend.signal(libc::SIGSTOP);
        Orphan(backend)
    }
}

impl Drop for Orphan {
    fn drop(&mut self) {
        self.0.signal(libc::SIGKILL);
        self.0.await_end();
    }
}

/// A client whose backend sleeps, and that backend.
fn sleeper(postgres: &Postgres<'_>) -> (Running, Process) {
    let name = format!("set application_name = 'sleeper {}'", next());
    let client = postgres.psql(&[&name, "select pg_sleep(1000)"]).start();
    let ask = format!(
        "select pid from pg_stat_activity where application_name = '{}' and wait_event = 'PgSleep'",
        name.split('\'').nth(1).expect("the name is quoted")
    );
    let backend = eventually("a backend sleeps", || Process::find(postgres.ask(&[&ask]).parse().ok()?));
    (client, backend)
}

/// A number that no other sleeper has.
fn next() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::SeqCst)
}

fn pgbench(postgres: &Postgres<'_>, args: &[&str]) -> Outcome {
    let outcome = postgres.client("pgbench").args(args).args(["postgres"]).output();
    assert!(outcome.is_clean(), "{outcome}");
    outcome
}

fn transactions(outcome: &Outcome) -> u64 {
    let says = |text: &str| {
        let line = outcome.stdout.lines().find_map(|line| line.strip_prefix(text));
        let number = line.and_then(|rest| rest.split(['/', ' ']).next());
        number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{outcome}"))
    };
    assert_eq!(says("number of failed transactions: "), 0, "{outcome}");
    says("number of transactions actually processed: ")
}

/// Shuts down, which takes the connections with it.
fn stop(server: Running) -> Outcome {
    server.signal(libc::SIGINT);
    let outcome = server.output();
    assert!(outcome.is_clean(), "{outcome}");
    assert!(outcome.stderr.contains("database system is shut down"), "{outcome}");
    outcome
}
