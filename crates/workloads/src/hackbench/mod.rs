//! hackbench: groups of senders that each send messages to all receivers of their group.
//!
//! Rusty Russell wrote the original to test the scheduler. Rostedt used it in 2008 to measure real-time kernels, whose locks
//! determined the time of "hackbench 50". Each of `-g` groups has 20 senders and 20 receivers. A sender sends `-l`
//! messages of `-s` bytes to every receiver of its group; a receiver is done when it has received that many from each
//! sender. Workers report that they are ready and then wait in poll(2) for one byte that is never read. The printed
//! time is that from this byte until the last worker has ended. Order, options and output are those of rt-tests'
//! hackbench.
//!
//! With sockets and pipes the locks are the kernel's. With queues (`--transport queue`), which the original does not
//! have, they are pthread's: each group has a mutex, and each receiver has a queue and two conditions.
//! docs/hackbench.md explains this design.
//!
//! The benchmark never leaves a process behind: the workers die with the master.

mod channel;
mod command;
mod gate;
mod message;
mod options;
mod processes;
mod queue;
mod threads;
mod worker;
mod worker_set;

pub use command::{Carrier, HackbenchOptions};
pub use options::{CAPACITY, Master, Options, Transport, Workers};

use channel::Channels;
use gate::Gate;
use processes::Processes;
use std::sync::Arc;
use std::time::{Duration, Instant};
use threads::Threads;
use worker::{Role, Task, Worker, WorkerId};
use worker_set::WorkerSet;

/// Why a benchmark run gives no time.
#[derive(Debug)]
pub enum Error {
    /// An option is out of range; the text names the option and the limit.
    Option(String),
    /// The operating system refused an operation; the text says which, and what the user can do.
    System(String, std::io::Error),
    /// A worker ended before it had sent or received all messages, or messages were lost or changed.
    Worker(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::System(what, e) => write!(f, "{what}: {e}"),
            Error::Option(text) | Error::Worker(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

/// Runs the benchmark and returns the time for all messages. With [`Workers::Processes`] the calling process must have
/// only one thread.
pub fn run(options: &Options) -> Result<Duration, Error> {
    match options.workers {
        Workers::Processes => run_with(options, Processes::default()),
        Workers::Threads => run_with(options, Threads::default()),
    }
}

fn run_with(options: &Options, mut worker_set: impl WorkerSet) -> Result<Duration, Error> {
    options.check()?;
    let (mut starter, gate) = gate::pair().map_err(|e| Error::System("cannot make a pipe".into(), e))?;
    let gate = Arc::new(gate);
    for group in 0..options.groups {
        start_group(options, group, &gate, &mut worker_set)?;
    }
    drop(gate);
    if options.master == Master::Fifo {
        crate::libc_io::become_fifo().map_err(|e| {
            Error::System("-F: cannot become a real-time task (as root, or with ulimit -r 1)".into(), e)
        })?;
    }
    starter.await_ready(options.tasks(), || worker_set.check_workers())?;
    let began = Instant::now();
    starter.go().map_err(|e| Error::System("cannot start the workers".into(), e))?;
    worker_set.finish()?;
    Ok(began.elapsed())
}

/// Starts the receivers first, each as soon as its channel exists, then the senders, which use all channels.
fn start_group(
    options: &Options,
    group: usize,
    gate: &Arc<Gate>,
    worker_set: &mut impl WorkerSet,
) -> Result<(), Error> {
    let mut start = |role, index, task| {
        let id = WorkerId { role, index, group };
        worker_set.start(Worker { id, task, gate: Arc::clone(gate), load: options.load() }).map_err(|e| {
            let number =
                group * 2 * options.fds + if role == Role::Sender { options.fds } else { 0 } + index + 1;
            Error::System(options.no_worker(number), e)
        })
    };
    let refused =
        |index: usize| move |e| Error::System(options.no_channel(group * options.fds + index + 1), e);
    let channels = Channels::new(options).map_err(refused(0))?;
    let mut sinks = Vec::with_capacity(options.fds);
    for index in 0..options.fds {
        let (sink, source) = channels.pair(index).map_err(refused(index))?;
        start(Role::Receiver, index, Task::Receive(source))?;
        sinks.push(sink);
    }
    let sinks = Arc::new(sinks);
    for index in 0..options.fds {
        start(Role::Sender, index, Task::Send(Arc::clone(&sinks)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_pass_all_messages_through_every_transport() {
        for transport in [
            Transport::Socket,
            Transport::Pipe,
            Transport::Inet,
            Transport::Queue { capacity: 1 },
            Transport::Queue { capacity: 16 },
        ] {
            let options = Options {
                groups: 2,
                fds: 3,
                loops: 50,
                datasize: 7,
                transport,
                workers: Workers::Threads,
                ..Options::default()
            };
            run(&options).unwrap_or_else(|e| panic!("{transport:?}: {e}"));
        }
    }

    #[test]
    fn messages_larger_than_a_channel_come_through() {
        for transport in [Transport::Socket, Transport::Pipe] {
            let options = Options {
                groups: 1,
                fds: 2,
                loops: 3,
                datasize: 1_000_000,
                transport,
                workers: Workers::Threads,
                ..Options::default()
            };
            run(&options).unwrap();
        }
    }
}
