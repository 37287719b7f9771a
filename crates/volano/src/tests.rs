//! Runs of server and client in one process: correct ones, and ones over a network that makes mistakes.

use crate::accounts::{Accounts, Faults};
use crate::options::{Model, Options, Pace};
use crate::runner::Runner;
use crate::{client, server};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use unspin_runqueue::queue::Policy;

/// The models, each with what else it requires.
const MODELS: [(Model, Option<usize>); 4] = [
    (Model::Threads, None),
    (Model::Tokio, Some(2)),
    (Model::Tasks(Policy::Global), Some(2)),
    (Model::Tasks(Policy::PerCpu), Some(2)),
];

/// Runs one run in each model, with the server behind `network`, which gets its address and returns the one to which the
/// client connects. Returns the accounts, and the client's failure.
fn run_over(
    options: &Options,
    network: impl Fn(SocketAddr) -> SocketAddr,
) -> [(Arc<Accounts>, Option<String>); MODELS.len()] {
    MODELS.map(|(model, workers)| {
        let options = Options { model, workers, ..options.clone() };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = network(listener.local_addr().unwrap());
        let accounts = Accounts::new(&options).unwrap();
        let of_server = (options.clone(), Arc::clone(&accounts));
        let server = thread::spawn(move || {
            let (options, accounts) = of_server;
            server::serve_run(0, &options, &listener, &accounts, &mut Runner::new(&options).unwrap())
        });
        let outcome = client::chat(0, &options, address, &accounts, &mut Runner::new(&options).unwrap());
        if outcome.is_ok() {
            server.join().unwrap().unwrap();
        }
        (accounts, outcome.err())
    })
}

/// The server itself, without a network between.
fn directly(server: SocketAddr) -> SocketAddr {
    server
}

/// The least load in which a fault can be at the beginning, in the middle and at the end.
fn load(pace: Pace) -> Options {
    Options { rooms: 2, users: 3, messages: 10, size: 40, pace, ..Options::default() }
}

#[test]
fn all_messages_arrive_in_every_model_and_pace() {
    for pace in [Pace::Turns, Pace::FreeRunning] {
        for size in [16, 40, 5000] {
            let options = Options { rooms: 3, users: 5, messages: 30, size, ..load(pace) };
            for (accounts, failure) in run_over(&options, directly) {
                assert_eq!(failure, None);
                assert!(accounts.is_complete(), "{pace:?} {size}: {}", Faults(&accounts));
            }
        }
    }
}

/// More messages than the outboxes and the sockets hold, so that writers have to wait.
#[test]
fn more_messages_than_buffers_hold_arrive() {
    let options = Options { rooms: 1, users: 3, messages: 400, size: 20_000, ..load(Pace::FreeRunning) };
    for (accounts, failure) in run_over(&options, directly) {
        assert_eq!(failure, None);
        assert!(accounts.is_complete(), "{}", Faults(&accounts));
    }
}

/// What the network does with the messages from the server to one user, which come by ones.
type Mistake = fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>;

/// A network between client and server. It passes on everything, except that it makes a mistake on the way from the server
/// to the user that connects as number `victim`. It has to know all messages to it, so users must not wait for turns.
fn network(server: SocketAddr, victim: usize, size: usize, mistake: Mistake) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            for stream in [&client, &server] {
                stream.set_nodelay(true).unwrap();
            }
            let (client_again, server_again) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || pass(client, server));
            let mistake = (number == victim).then_some(mistake);
            thread::spawn(move || match mistake {
                Some(mistake) => pass_with(server_again, client_again, size, mistake),
                None => pass(server_again, client_again),
            });
        }
    });
    address
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn pass_with(mut from: TcpStream, mut to: TcpStream, size: usize, mistake: Mistake) {
    let mut confirmation = [0; 16];
    from.read_exact(&mut confirmation).unwrap();
    to.write_all(&confirmation).unwrap();
    let mut messages = Vec::new();
    from.read_to_end(&mut messages).unwrap();
    let messages = mistake(messages.chunks(size).map(<[u8]>::to_vec).collect());
    let _ = to.write_all(&messages.concat());
    let _ = to.shutdown(Shutdown::Write);
}

/// The end of the line with the faults, in runs with this mistake, for each model.
fn faults(mistake: Mistake) -> [String; MODELS.len()] {
    let options = load(Pace::FreeRunning);
    let over = |server| network(server, 4, options.size, mistake);
    run_over(&options, over).map(|(accounts, failure)| {
        assert_eq!(failure, None);
        assert!(!accounts.is_complete());
        let text = Faults(&accounts).to_string();
        assert!(text.ends_with(" (first: user 1 of room 1)"), "{text}");
        text.split_once("were received: ").unwrap().1.split_once(" (").unwrap().0.to_owned()
    })
}

#[test]
fn network_without_mistake_changes_nothing() {
    let options = load(Pace::FreeRunning);
    let over = |server| network(server, 4, options.size, |messages| messages);
    for (accounts, failure) in run_over(&options, over) {
        assert_eq!((failure, accounts.is_complete()), (None, true));
    }
}

#[test]
fn lost_message_fails_the_run() {
    let expected = "1 lost, 0 repeated, 0 out of order, 0 altered";
    let first: Mistake = |mut messages| {
        messages.remove(0);
        messages
    };
    let middle: Mistake = |mut messages| {
        messages.remove(7);
        messages
    };
    let last: Mistake = |mut messages| {
        messages.pop();
        messages
    };
    for mistake in [first, middle, last] {
        assert_eq!(faults(mistake), [expected; MODELS.len()]);
    }
}

#[test]
fn repeated_message_fails_the_run() {
    let expected = "0 lost, 1 repeated, 0 out of order, 0 altered";
    let at_once: Mistake = |mut messages| {
        messages.insert(0, messages[0].clone());
        messages
    };
    let at_the_end: Mistake = |mut messages| {
        messages.push(messages[3].clone());
        messages
    };
    for mistake in [at_once, at_the_end] {
        assert_eq!(faults(mistake), [expected; MODELS.len()]);
    }
}

#[test]
fn exchanged_messages_fail_the_run() {
    let neighbours: Mistake = |mut messages| {
        messages.swap(5, 6);
        messages
    };
    assert_eq!(faults(neighbours), ["0 lost, 0 repeated, 1 out of order, 0 altered"; MODELS.len()]);
}

#[test]
fn altered_message_fails_the_run() {
    let text: Mistake = |mut messages| {
        messages[9][20] ^= 1;
        messages
    };
    assert_eq!(faults(text), ["1 lost, 0 repeated, 0 out of order, 1 altered"; MODELS.len()]);
}

#[test]
fn message_to_the_wrong_user_fails_the_run() {
    let own: Mistake = |mut messages| {
        // The header names the receiver, user 1, as the sender.
        messages[0][4] = 1;
        messages
    };
    assert_eq!(faults(own), ["1 lost, 0 repeated, 0 out of order, 1 altered"; MODELS.len()]);
}

#[test]
fn connection_that_ends_in_a_message_fails_the_client() {
    let cut: Mistake = |mut messages| {
        messages.truncate(3);
        messages[2].pop();
        messages
    };
    let options = load(Pace::FreeRunning);
    let over = |server| network(server, 4, options.size, cut);
    for (accounts, failure) in run_over(&options, over) {
        let failure = failure.unwrap();
        assert!(failure.starts_with("the reader of user 1 of room 1: "), "{failure}");
        assert!(!accounts.is_complete());
    }
}

#[test]
fn refused_connection_is_reported_with_its_user() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = load(Pace::Turns);
    let accounts = Accounts::new(&options).unwrap();
    let failure =
        client::chat(0, &options, closed, &accounts, &mut Runner::new(&options).unwrap()).unwrap_err();
    assert!(failure.starts_with("user 0 cannot enter room 0: Connection refused"), "{failure}");
}

/// Another program that connects is not taken for a user.
#[test]
fn stranger_does_not_disturb_the_run() {
    let options = load(Pace::Turns);
    let over = |server| {
        TcpStream::connect(server).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        drop(TcpStream::connect(server).unwrap());
        server
    };
    for (accounts, failure) in run_over(&options, over) {
        assert_eq!((failure, accounts.is_complete()), (None, true));
    }
}

/// A reader or writer that panics is reported, and nothing waits for it.
#[test]
fn panic_is_reported_as_a_failure() {
    use crate::end_report::{EndReport, ends, last};
    let (report, reports) = ends(2);
    EndReport::new(&report, "one".into()).send(Ok(()));
    drop(EndReport::new(&report, "the reader".into()));
    assert_eq!(last(&reports, 2).unwrap_err(), "the reader: its thread or task panicked");
}
