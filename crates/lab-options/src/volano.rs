//! The options of `unspin volano`.

use clap::{Args, ValueEnum};
use std::time::Duration;
use unspin_launch::command::line::parse_duration;

const VOLANO_HELP: &str = "\
Exit code:
    0  every message was sent once, and received once and in order by each other user of its room
    1  a message was lost, repeated, out of order or altered, no message moved for --timeout, server or client ended
       early, or the system refused an operation (a port in use, no more threads)
    2  the command line is wrong, or requests more than the machine's limits allow

Examples:
  unspin volano                                   # 10 rooms of 20 users, 100 messages each, 800 threads
  unspin volano --runqueue global                 # as tasks, with one run queue for all workers
  unspin prove volano --runqueue global,percpu    # whether a run queue for each worker makes them faster";

/// Let the users of chat rooms send messages to each other, and print the messages per second
///
/// VolanoMark's loopback test without a JVM: a server and a client process, a TCP connection for each user. The server
/// passes each message on to the other users of its room. Every receiver checks every message. The client runs four times;
/// the first run is not counted. It is an ordinary program that calls libc. Its locks are replaced only under `unspin run`,
/// `prove`, `meter` or `top`.
#[derive(Args, Debug)]
#[command(after_help = VOLANO_HELP)]
pub struct VolanoOptions {
    /// Chat rooms
    #[arg(long, value_name = "NUM", default_value_t = 10)]
    pub rooms: usize,

    /// Users of each room, at least 2; each has a TCP connection
    #[arg(long, value_name = "NUM", default_value_t = 20)]
    pub users: usize,

    /// Messages that each user sends
    #[arg(long, value_name = "NUM", default_value_t = 100)]
    pub messages: usize,

    /// Bytes of a message, with its header of 16
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    pub size: usize,

    /// How often the client runs; the first of several runs is not counted
    #[arg(long, value_name = "NUM", default_value_t = 4)]
    pub runs: usize,

    /// Let every user send as fast as its connection takes the messages, instead of in turns
    #[arg(long)]
    pub free_running: bool,

    /// What serves the connections [default: threads; tasks with --runqueue]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<VolanoModel>,

    /// The run queue of --model tasks: one for all workers, or one for each. UNSPIN_RUNQUEUE overrides it [default: percpu]
    #[arg(long, value_name = "KIND")]
    pub runqueue: Option<VolanoRunQueue>,

    /// Threads in each of the two processes on which tasks run [default: one for each CPU]
    #[arg(long, value_name = "NUM")]
    pub workers: Option<usize>,

    /// TCP port of the server on the loopback interface; 0 for one that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub port: u16,

    /// Fail if no message moves for this time
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration)]
    pub timeout: Duration,
}

/// What serves the connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum VolanoModel {
    /// Four threads for each connection, two in each process
    Threads,
    /// Four tasks for each connection, on unspin's executor
    Tasks,
    /// Four tasks for each connection, on tokio
    Tokio,
}

/// A run queue of the crate `unspin-runqueue`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum VolanoRunQueue {
    /// One queue and one lock for all workers
    Global,
    /// A queue and a lock for each worker
    Percpu,
}
