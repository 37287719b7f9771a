//! The options, the header that reports them, and the check against the kernel's limits.

use super::Error;
use super::worker::Load;
use crate::machine_limits::{self, MachineLimits};

/// The options of rt-tests' hackbench.
#[derive(Clone, Debug)]
pub struct Options {
    /// `-g`, or the only argument: number of groups.
    pub groups: usize,
    /// `-f`: number of senders per group; there are as many receivers, each with its own channel.
    pub fds: usize,
    /// `-l`: messages from each sender to each receiver.
    pub loops: u32,
    /// `-s`: bytes per message.
    pub datasize: usize,
    /// `-p`, `-i`: the transport of messages.
    pub transport: Transport,
    /// `-T`, `-P`: threads or processes.
    pub workers: Workers,
    /// `-F`: scheduling of the master once all workers exist.
    pub master: Master,
}

/// The transport of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A pair of Unix stream sockets for each receiver.
    Socket,
    /// A pipe for each receiver.
    Pipe,
    /// A TCP connection within this machine for each receiver.
    Inet,
    /// A queue in memory for each receiver. Only with threads.
    Queue {
        /// Room in messages, at least 1.
        capacity: usize,
    },
}

/// The default capacity of a queue in messages: docs/hackbench.md explains the choice.
pub const CAPACITY: usize = 64;

/// Whether senders and receivers are processes or threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workers {
    /// Each worker is a process.
    Processes,
    /// Each worker is a thread of one process.
    Threads,
}

/// How the master is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Master {
    /// Unchanged.
    Unchanged,
    /// As a real-time task, so that it can manage any number of workers.
    Fifo,
}

impl Default for Options {
    /// The defaults of the original: 10 groups of 20 + 20 processes, 100 messages of 100 bytes, sockets.
    fn default() -> Options {
        Options {
            groups: 10,
            fds: 20,
            loops: 100,
            datasize: 100,
            transport: Transport::Socket,
            workers: Workers::Processes,
            master: Master::Unchanged,
        }
    }
}

impl Options {
    /// Number of senders and receivers of all groups.
    pub fn tasks(&self) -> usize {
        self.groups * self.fds * 2
    }

    /// The two lines that are printed before the start, as in the original. Queues are not counted there, because they
    /// are not descriptors.
    pub fn header(&self) -> String {
        let mode = match self.workers {
            Workers::Processes => "process",
            Workers::Threads => "threaded",
        };
        let means = match self.transport {
            Transport::Queue { capacity } => format!("{} queues of {capacity} messages", self.fds),
            _ => format!("{} file descriptors", 2 * self.fds),
        };
        let (groups, tasks) = (self.groups, self.tasks());
        format!(
            "Running in {mode} mode with {groups} groups using {means} each (== {tasks} tasks)\n\
             Each sender will pass {} messages of {} bytes\n",
            self.loops, self.datasize
        )
    }

    pub(super) fn load(&self) -> Load {
        Load { senders: self.fds, loops: self.loops, datasize: self.datasize }
    }

    /// Likely reasons why worker number `number` could not be created.
    pub(super) fn no_worker(&self, number: usize) -> String {
        let tasks = self.tasks();
        let (verb, what) = match self.workers {
            Workers::Processes => ("fork", "process"),
            Workers::Threads => ("start", "thread"),
        };
        format!(
            "cannot {verb} {what} {number} of {tasks} (fewer groups or -f, or more of what limits them: \
             ulimit -u, kernel.threads-max, kernel.pid_max, pids.max of the control group, memory)"
        )
    }

    /// Likely reasons why channel number `number` could not be created.
    pub(super) fn no_channel(&self, number: usize) -> String {
        let channels = self.groups * self.fds;
        match (self.transport, self.workers) {
            (Transport::Queue { .. }, _) => {
                format!("cannot make queue {number} of {channels} (fewer groups, -f, -s or --capacity)")
            }
            (_, Workers::Processes) => {
                format!("cannot make channel {number} of {channels} (fewer -f, or a higher ulimit -n)")
            }
            (_, Workers::Threads) => format!(
                "cannot make channel {number} of {channels}, which take {} descriptors of one process (fewer groups \
                 or -f, or a higher ulimit -n)",
                2 * channels
            ),
        }
    }

    /// Checks the options against the kernel's current limits; [`Error::Option`] if they are exceeded.
    pub fn check(&self) -> Result<(), Error> {
        self.check_against(&MachineLimits::read())
    }

    fn check_against(&self, machine: &MachineLimits) -> Result<(), Error> {
        let refuse = |text: String| Err(Error::Option(text));
        let zero =
            [(self.groups, "-g"), (self.fds, "-f"), (self.loops as usize, "-l"), (self.datasize, "-s")]
                .into_iter()
                .find(|(value, _)| *value == 0);
        if let Some((_, option)) = zero {
            return refuse(format!("{option} must be at least 1"));
        }
        if self.transport == (Transport::Queue { capacity: 0 }) {
            return refuse("--capacity must be at least 1".into());
        }
        if matches!(self.transport, Transport::Queue { .. }) && self.workers == Workers::Processes {
            return refuse("queues are for threads: -T instead of -P, or another --transport".into());
        }
        let (groups, fds) = (self.groups, self.fds);
        let tasks = (groups as u128).saturating_mul(fds as u128).saturating_mul(2);
        let (tasks_max, setting) = machine.tasks;
        if tasks >= tasks_max as u128 {
            return refuse(format!(
                "-g {groups} -f {fds}: that is {tasks} tasks, and {setting} is {tasks_max}"
            ));
        }
        let mappings = machine_limits::mappings(tasks);
        if self.workers == Workers::Threads && mappings > machine.mappings as u128 {
            return refuse(format!(
                "-g {groups} -f {fds}: the stacks of {tasks} threads need {mappings} mappings, and vm.max_map_count is {}",
                machine.mappings
            ));
        }
        let buffers = match self.transport {
            Transport::Queue { capacity } => tasks + tasks / 2 * capacity as u128,
            _ => tasks,
        };
        let memory = buffers.saturating_mul(self.datasize as u128);
        if memory > machine.memory {
            return refuse(format!(
                "-s {}: {buffers} messages of that size are {} MB, and {} MB of memory are available",
                self.datasize,
                memory / 1_000_000,
                machine.memory / 1_000_000
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: MachineLimits =
        MachineLimits { tasks: (4000, "kernel.pid_max"), mappings: 9000, memory: 1_000_000_000 };

    fn refusal(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::default();
        change(&mut options);
        options.check_against(&MACHINE).unwrap_err().to_string()
    }

    #[test]
    fn impossible_options_are_refused_with_a_reason() {
        assert_eq!(refusal(|o| o.groups = 0), "-g must be at least 1");
        assert_eq!(refusal(|o| o.fds = 0), "-f must be at least 1");
        assert_eq!(refusal(|o| o.loops = 0), "-l must be at least 1");
        assert_eq!(refusal(|o| o.datasize = 0), "-s must be at least 1");
        assert_eq!(
            refusal(|o| o.transport = Transport::Queue { capacity: 0 }),
            "--capacity must be at least 1"
        );
        assert!(
            refusal(|o| o.transport = Transport::Queue { capacity: 1 }).starts_with("queues are for threads")
        );
        assert_eq!(
            refusal(|o| o.groups = 100),
            "-g 100 -f 20: that is 4000 tasks, and kernel.pid_max is 4000"
        );
        assert!(refusal(|o| (o.groups, o.fds) = (usize::MAX, usize::MAX)).contains("kernel.pid_max is 4000"));
        let threads = |o: &mut Options| (o.groups, o.workers) = (51, Workers::Threads);
        assert!(refusal(threads).contains("2040 threads need 9160 mappings, and vm.max_map_count is 9000"));
        assert!(refusal(|o| o.datasize = 2_500_001).contains("400 messages of that size are 1000 MB"));
        let queues = |o: &mut Options| {
            o.workers = Workers::Threads;
            o.transport = Transport::Queue { capacity: usize::MAX };
        };
        assert!(refusal(queues).contains("and 1000 MB of memory are available"));
    }

    #[test]
    fn possible_options_are_accepted() {
        Options::default().check_against(&MACHINE).unwrap();
        Options { workers: Workers::Threads, groups: 50, ..Options::default() }
            .check_against(&MACHINE)
            .unwrap();
        Options::default().check().unwrap();
    }

    #[test]
    fn header_equals_that_of_the_original() {
        let fifty = Options { groups: 50, ..Options::default() };
        assert_eq!(
            fifty.header(),
            "Running in process mode with 50 groups using 40 file descriptors each (== 2000 tasks)\n\
             Each sender will pass 100 messages of 100 bytes\n"
        );
    }
}
