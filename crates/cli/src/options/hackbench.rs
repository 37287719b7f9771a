//! The options of `unspin hackbench`.

use clap::{Args, ValueEnum};

const HACKBENCH_HELP: &str = "\
Exit code:
    0  every receiver got all its messages
    1  a worker ended early, messages were lost or changed, or the system refused an operation
    2  the command line is wrong, or requests more than the kernel allows

Examples:
  unspin hackbench 2 -l 10                               # 2 groups, 10 messages
  unspin prove hackbench 50 --transport queue            # compares kinds of mutex
  unspin run --mutex fair hackbench 2 --transport queue  # with another mutex";

/// Pass messages in groups of senders and receivers, and print the time
///
/// Each sender passes its messages to every receiver of its group. Options and output are those of rt-tests' hackbench;
/// `hackbench 50` has 50 groups, as in the original. With sockets and pipes the result depends on the kernel's locks, with
/// queues, which threads share, on pthread's. It is an ordinary program that calls libc. Its locks are replaced only under
/// `unspin run`, `prove`, `meter` or `top`.
#[derive(Args, Debug)]
#[command(after_help = HACKBENCH_HELP)]
pub struct HackbenchOptions {
    /// Number of groups, like -g
    #[arg(value_name = "GROUPS", conflicts_with = "groups")]
    pub group_count: Option<usize>,

    /// Number of groups [default: 10]
    #[arg(short, long, value_name = "GROUPS")]
    pub groups: Option<usize>,

    /// Senders in each group, and as many receivers
    #[arg(short, long, value_name = "NUM", default_value_t = 20)]
    pub fds: usize,

    /// Messages that each sender passes to each receiver
    #[arg(short, long, value_name = "LOOPS", default_value_t = 100)]
    pub loops: u32,

    /// Bytes of a message
    #[arg(short = 's', long, value_name = "SIZE", default_value_t = 100)]
    pub datasize: usize,

    /// Pass messages through pipes, like --transport pipe
    #[arg(short, long, conflicts_with_all = ["inet", "transport"])]
    pub pipe: bool,

    /// Pass messages through TCP connections, like --transport inet
    #[arg(short, long, conflicts_with = "transport")]
    pub inet: bool,

    /// What carries the messages; `queue` implies -T
    #[arg(long, value_name = "TRANSPORT", default_value = "socket")]
    pub transport: Transport,

    /// Messages that fit into the queue of each receiver [default: 64]
    #[arg(long, value_name = "MESSAGES")]
    pub capacity: Option<usize>,

    /// Create senders and receivers as threads
    #[arg(short = 'T', long, overrides_with = "process")]
    pub threads: bool,

    /// Create senders and receivers as processes (the default)
    #[arg(short = 'P', long, alias = "processes", overrides_with = "threads")]
    pub process: bool,

    /// Become a real-time task (SCHED_FIFO) once all senders and receivers exist
    #[arg(short = 'F', long)]
    pub fifo: bool,
}

/// What carries the messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Transport {
    /// Unix stream sockets.
    Socket,
    /// Pipes.
    Pipe,
    /// TCP connections over the loopback interface.
    Inet,
    /// Bounded queues: one pthread mutex for each group, two conditions for each queue.
    Queue,
}
