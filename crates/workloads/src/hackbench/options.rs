//! What the benchmark is asked to do, what it says of that, and whether the kernel will let it.

use super::Error;
use super::worker::Load;

/// The options of rt-tests' hackbench.
#[derive(Clone, Debug)]
pub struct Options {
    /// `-g`, or the one argument: groups.
    pub groups: usize,
    /// `-f`: senders of each group, and as many receivers, each with a channel that the senders write to.
    pub fds: usize,
    /// `-l`: messages from each sender to each receiver.
    pub loops: u32,
    /// `-s`: bytes of a message.
    pub datasize: usize,
    /// `-p`, `-i`: what messages go through.
    pub transport: Transport,
    /// `-T`, `-P`: what senders and receivers are.
    pub workers: Workers,
    /// `-F`: how the master is scheduled once all workers exist.
    pub master: Master,
}

/// What messages go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport {
    /// A pair of Unix stream sockets for each receiver.
    Socket,
    /// A pipe for each receiver.
    Pipe,
    /// A TCP connection of this machine with itself for each receiver.
    Inet,
    /// A queue in memory for each receiver, with room for so many messages. For threads only.
    Queue {
        /// Messages, at least 1.
        capacity: usize,
    },
}

/// Messages that a queue has room for if nothing else is said: the choice is explained in docs/hackbench.md.
pub const CAPACITY: usize = 64;

/// What senders and receivers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workers {
    /// Each a process.
    Processes,
    /// Each a thread of one process.
    Threads,
}

/// How the master is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Master {
    /// As it was started.
    Unchanged,
    /// As a real-time task, so that it can manage the workers however many they are.
    Fifo,
}

impl Default for Options {
    /// The original's: 10 groups of 20 and 20 processes, 100 messages of 100 bytes, sockets.
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

/// What workers may take of the machine.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Threads that the kernel allows (`kernel.threads-max`, `kernel.pid_max`), and the setting's name.
    tasks: (usize, &'static str),
    /// Mappings that a process may have: `vm.max_map_count`.
    mappings: usize,
    /// Memory that is available, bytes.
    memory: u128,
}

/// Mappings that a thread of Rust's standard library takes: its stack and the stack for its signal handler,
/// each with a guard page that is not accessible and so a mapping of its own.
const MAPPINGS_PER_THREAD: u128 = 4;
/// Mappings of everything else: programs and libraries, arenas of malloc.
const OTHER_MAPPINGS: u128 = 1000;

impl Options {
    /// Senders and receivers of all groups.
    pub fn tasks(&self) -> usize {
        self.groups * self.fds * 2
    }

    /// The two lines that are printed before anything is started, as the original prints them. Of queues it
    /// does not know: they are no descriptors.
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

    /// Why worker number `number` may not have come to be.
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

    /// Why channel number `number` may not have come to be.
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

    /// Whether the kernel, as it is set now, allows it: an [`Error::Option`] if not.
    pub fn check(&self) -> Result<(), Error> {
        self.check_against(&Room::read())
    }

    fn check_against(&self, room: &Room) -> Result<(), Error> {
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
        let (tasks_max, setting) = room.tasks;
        if tasks >= tasks_max as u128 {
            return refuse(format!(
                "-g {groups} -f {fds}: that is {tasks} tasks, and {setting} is {tasks_max}"
            ));
        }
        let mappings = tasks * MAPPINGS_PER_THREAD + OTHER_MAPPINGS;
        if self.workers == Workers::Threads && mappings > room.mappings as u128 {
            return refuse(format!(
                "-g {groups} -f {fds}: the stacks of {tasks} threads need {mappings} mappings, and vm.max_map_count is {}",
                room.mappings
            ));
        }
        let buffers = match self.transport {
            Transport::Queue { capacity } => tasks + tasks / 2 * capacity as u128,
            _ => tasks,
        };
        let memory = buffers.saturating_mul(self.datasize as u128);
        if memory > room.memory {
            return refuse(format!(
                "-s {}: {buffers} messages of that size are {} MB, and {} MB of memory are available",
                self.datasize,
                memory / 1_000_000,
                room.memory / 1_000_000
            ));
        }
        Ok(())
    }
}

impl Room {
    /// As it is now. What cannot be read limits nothing: then the kernel's own refusal is reported.
    fn read() -> Room {
        let number = |file: &str| std::fs::read_to_string(file).ok()?.trim().parse::<usize>().ok();
        let setting = |file: &str| number(file).unwrap_or(usize::MAX);
        let threads = (setting("/proc/sys/kernel/threads-max"), "kernel.threads-max");
        let pids = (setting("/proc/sys/kernel/pid_max"), "kernel.pid_max");
        Room {
            tasks: threads.min(pids),
            mappings: setting("/proc/sys/vm/max_map_count"),
            memory: available(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default()),
        }
    }
}

/// Bytes that the kernel thinks are available without swapping; no limit where it does not say.
fn available(meminfo: &str) -> u128 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kilobytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u128>().ok());
    kilobytes.map_or(u128::MAX, |kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { tasks: (4000, "kernel.pid_max"), mappings: 9000, memory: 1_000_000_000 };

    fn refusal(change: impl FnOnce(&mut Options)) -> String {
        let mut options = Options::default();
        change(&mut options);
        options.check_against(&ROOM).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
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
    fn what_can_be_is_let_through() {
        Options::default().check_against(&ROOM).unwrap();
        Options { workers: Workers::Threads, groups: 50, ..Options::default() }.check_against(&ROOM).unwrap();
        Options::default().check().unwrap();
    }

    #[test]
    fn the_header_is_the_originals() {
        let fifty = Options { groups: 50, ..Options::default() };
        assert_eq!(
            fifty.header(),
            "Running in process mode with 50 groups using 40 file descriptors each (== 2000 tasks)\n\
             Each sender will pass 100 messages of 100 bytes\n"
        );
    }

    #[test]
    fn memory_is_read_from_proc() {
        assert_eq!(available("MemTotal:  9 kB\nMemAvailable:    2000 kB\n"), 2_048_000);
        assert_eq!(available(""), u128::MAX);
    }
}
