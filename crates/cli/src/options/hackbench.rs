//! The options of `unspin hackbench`.

use clap::{Args, ValueEnum};

const HACKBENCH_EXIT_CODES: &str = "\
Exit code:
    0  every receiver got all its messages
    1  a worker ended early, messages were lost or changed, or the system refused something
    2  the command line is wrong, or asks for more than the kernel allows";

/// Pass messages in groups of senders and receivers, and print how long it took
///
/// Each sender passes its messages to every receiver of its group. The options are those of rt-tests' hackbench, the
/// lines printed too; `hackbench 50` has 50 groups, as in the original. Through sockets and pipes the kernel's
/// locks decide; through queues, which threads share, those of pthread do. It is an ordinary program that calls libc:
/// its locks are replaced only under `unspin run` or `unspin prove`.
#[derive(Args, Debug)]
#[command(after_help = HACKBENCH_EXIT_CODES)]
pub struct HackbenchOptions {
    /// Groups, as -g
    #[arg(value_name = "GROUPS", conflicts_with = "groups")]
    pub group_count: Option<usize>,

    /// Groups [default: 10]
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

    /// Pass messages through pipes: --transport pipe
    #[arg(short, long, conflicts_with_all = ["inet", "transport"])]
    pub pipe: bool,

    /// Pass messages through TCP connections: --transport inet
    #[arg(short, long, conflicts_with = "transport")]
    pub inet: bool,

    /// What messages go through; `queue` is for threads, and needs no -T
    #[arg(long, value_name = "TRANSPORT", default_value = "socket")]
    pub transport: Transport,

    /// Messages that each receiver's queue has room for [default: 64]
    #[arg(long, value_name = "MESSAGES")]
    pub capacity: Option<usize>,

    /// Senders and receivers are threads
    #[arg(short = 'T', long, overrides_with = "process")]
    pub threads: bool,

    /// Senders and receivers are processes, which is the default
    #[arg(short = 'P', long, alias = "processes", overrides_with = "threads")]
    pub process: bool,

    /// Become a real-time task (SCHED_FIFO) once all senders and receivers exist
    #[arg(short = 'F', long)]
    pub fifo: bool,
}

/// What messages go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Transport {
    /// Unix stream sockets.
    Socket,
    /// Pipes.
    Pipe,
    /// TCP connections of this machine with itself.
    Inet,
    /// Bounded queues; a pthread mutex for each group, two conditions for each queue.
    Queue,
}
