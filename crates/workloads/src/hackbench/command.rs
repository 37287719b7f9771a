//! `unspin hackbench`: the workload, with the original's options.

use super::{CAPACITY, Error, Master, Options, Transport, Workers};
use crate::Failure;
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
    pub transport: Carrier,

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
pub enum Carrier {
    /// Unix stream sockets.
    Socket,
    /// Pipes.
    Pipe,
    /// TCP connections over the loopback interface.
    Inet,
    /// Bounded queues: one pthread mutex for each group, two conditions for each queue.
    Queue,
}

impl HackbenchOptions {
    /// Prints the parameters, runs the benchmark, and prints its time.
    pub fn run<E>(&self, print: impl Fn(&str) -> Result<(), E>) -> Result<(), Failure<E>> {
        let options = self.translate()?;
        options.check().map_err(failure)?;
        print(&options.header()).map_err(Failure::Print)?;
        let time = super::run(&options).map_err(failure)?;
        print(&format!("Time: {:.3}\n", time.as_secs_f64())).map_err(Failure::Print)
    }

    fn translate<E>(&self) -> Result<Options, Failure<E>> {
        let defaults = Options::default();
        let transport = self.transport()?;
        let queues = matches!(transport, Transport::Queue { .. });
        let threads = self.threads || queues && !self.process;
        Ok(Options {
            groups: self.groups.or(self.group_count).unwrap_or(defaults.groups),
            fds: self.fds,
            loops: self.loops,
            datasize: self.datasize,
            transport,
            workers: if threads { Workers::Threads } else { Workers::Processes },
            master: if self.fifo { Master::Fifo } else { Master::Unchanged },
        })
    }

    fn transport<E>(&self) -> Result<Transport, Failure<E>> {
        let transport = match self.transport {
            _ if self.pipe => Transport::Pipe,
            _ if self.inet => Transport::Inet,
            Carrier::Socket => Transport::Socket,
            Carrier::Pipe => Transport::Pipe,
            Carrier::Inet => Transport::Inet,
            Carrier::Queue => {
                return Ok(Transport::Queue { capacity: self.capacity.unwrap_or(CAPACITY) });
            }
        };
        match self.capacity {
            None => Ok(transport),
            Some(_) => Err(Failure::Option("hackbench: --capacity requires --transport queue".into())),
        }
    }
}

fn failure<E>(error: Error) -> Failure<E> {
    match error {
        Error::Option(text) => Failure::Option(format!("hackbench: {text}")),
        error => Failure::Benchmark(format!("hackbench: {error}")),
    }
}
