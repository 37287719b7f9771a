//! Apache with `Mutex sysvsem`: its processes accept connections in turn, and the process that holds the mutex may be
//! killed.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;
use unspin_e2e::apache::{Apache, fetch};
use unspin_e2e::{Workspace, World, build_library, enter_ipc_namespace, eventually, skip};

#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn apache() {
    if Apache::program().is_none() {
        return skip("apache", "there is no apache2; install apache2-bin");
    }
    let alone = enter_ipc_namespace();
    // Apache replaces its dead but once a second, so all worlds run at once.
    std::thread::scope(|scope| {
        for world in World::ALL {
            scope.spawn(move || serves_and_leaves_nothing(world));
        }
    });
    if alone {
        assert_eq!(Workspace::new(World::Bare).leftovers(), "");
    }
}

fn serves_and_leaves_nothing(world: World) {
    let workspace = Workspace::new(world);
    let mut apache = Apache::start(&workspace, |run| run);
    // It is ready before it has logged all of its start.
    eventually("Apache names its mutex", || apache.log().contains("Accept mutex: sysvsem").then_some(()));
    serves_while_children_die(&apache);
    apache.restart();
    // Afterwards every process must have had its turn.
    (0..100).for_each(|i| fetch(apache.ports()[i % 2]).unwrap_or_else(|e| panic!("{world}: {e}")));
    let outcome = apache.stop();
    assert!(outcome.is_clean(), "{world}: {outcome}");
    if World::ENGINES.contains(&world) {
        assert_eq!(workspace.leftovers(), "", "{world}");
    }
}

/// Clients fetch a page all the time, while each process that serves is killed, in several rounds. Each death may cost one
/// connection, and no more.
fn serves_while_children_die(apache: &Apache) {
    let clients = Clients::default();
    let mut killed = 0;
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (clients, port) = (&clients, apache.ports()[client % 2]);
            scope.spawn(move || clients.fetch_all_the_time(port));
        }
        let _end = EndOfClients(&clients);
        for _ in 0..rounds() {
            let several = || Some(apache.children()).filter(|children| children.len() >= 4);
            for child in eventually("Apache replaces the dead", several) {
                child.signal(libc::SIGKILL);
                killed += 1;
                // The next process is killed once other clients have been served.
                let enough = clients.fetched.load(SeqCst) + 20;
                let served = || (clients.fetched.load(SeqCst) > enough).then_some(());
                eventually("Apache serves after a death", served);
            }
        }
    });
    let broken = clients.broken.load(SeqCst);
    assert!(broken <= killed, "{broken} connections broke, {killed} processes were killed");
}

/// The number of times that all serving processes are killed.
fn rounds() -> usize {
    std::env::var("UNSPIN_APACHE_ROUNDS").map_or(3, |rounds| rounds.parse().expect("it is a number"))
}

/// What the clients have seen.
#[derive(Default)]
struct Clients {
    end: AtomicBool,
    fetched: AtomicUsize,
    broken: AtomicUsize,
}

impl Clients {
    fn fetch_all_the_time(&self, port: u16) {
        while !self.end.load(SeqCst) {
            let count = if fetch(port).is_ok() { &self.fetched } else { &self.broken };
            count.fetch_add(1, SeqCst);
            // Else the clients take the CPUs, and what replaces the dead waits for them.
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Lets the clients end, also when the test fails.
struct EndOfClients<'a>(&'a Clients);

impl Drop for EndOfClients<'_> {
    fn drop(&mut self) {
        self.0.end.store(true, SeqCst);
    }
}

/// Check of the test above, without SEM_UNDO: a process dies while it holds the mutex, and no process accepts a
/// connection any more.
#[test]
#[ignore = "third-party: ci/release.sh runs it, under the library that users have"]
fn a_mutex_that_dies_with_its_holder_is_noticed() {
    if Apache::program().is_none() {
        return skip(
            "a_mutex_that_dies_with_its_holder_is_noticed",
            "there is no apache2; install apache2-bin",
        );
    }
    let Some(no_undo) = build_library("no_undo") else { return };
    enter_ipc_namespace();
    let workspace = Workspace::new(World::Bare);
    let apache = Apache::start(&workspace, |run| run.preload_before(no_undo.path()));
    let [port, _] = apache.ports();
    fetch(port).expect("all are alive");
    for child in apache.children() {
        child.signal(libc::SIGKILL);
        child.await_end();
    }
    let (answers, answer) = mpsc::channel();
    std::thread::spawn(move || answers.send(fetch(port).is_ok()));
    assert_eq!(answer.recv_timeout(Duration::from_secs(3)), Err(mpsc::RecvTimeoutError::Timeout));
}
