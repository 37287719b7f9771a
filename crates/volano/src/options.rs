//! The options, and the check against the limits of the machine.

use crate::Error;
use crate::frames::READ;
use crate::message::HEADER;
use crate::queue::FULL;
use std::time::Duration;
use unspin_runqueue::queue::Policy;
use unspin_runqueue::schedule::WorkerId;
use unspin_workloads::libc_limits;
use unspin_workloads::machine_limits::{self, MachineLimits};

/// The parameters of VolanoMark, and how the connections are served.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--rooms`: number of chat rooms.
    pub rooms: usize,
    /// `--users`: users of each room, each with a connection.
    pub users: usize,
    /// `--messages`: messages that each user sends.
    pub messages: usize,
    /// `--size`: bytes of a message, with its header.
    pub size: usize,
    /// `--runs`: how often the client runs.
    pub runs: usize,
    /// `--free-running`: when a user sends.
    pub pace: Pace,
    /// `--model`: what serves the connections.
    pub model: Model,
    /// `--workers`: threads in each process on which tasks run; by default one for each CPU.
    pub workers: Option<usize>,
    /// `--port`: the server's TCP port; 0 for one that is free.
    pub port: u16,
    /// `--timeout`: a run fails if no message moves for this time.
    pub timeout: Duration,
}

/// When a user sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// When its turn in the room comes.
    Turns,
    /// As fast as the connection takes its messages.
    FreeRunning,
}

/// What serves the connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// Two threads for each connection in each process.
    Threads,
    /// Tasks on tokio's multi-thread scheduler.
    Tokio,
    /// Tasks on our executor, with this kind of run queue.
    Tasks(Policy),
}

impl Default for Options {
    /// The load of the reports, "VolanoMark 10/100".
    fn default() -> Options {
        Options {
            rooms: 10,
            users: 20,
            messages: 100,
            size: 100,
            runs: 4,
            pace: Pace::Turns,
            model: Model::Threads,
            workers: None,
            port: 0,
            timeout: Duration::from_secs(10),
        }
    }
}

/// Descriptors of a process besides those of its connections: standard ones, pipes, the listener, epoll, and those of a
/// preloaded library.
const OTHER_DESCRIPTORS: usize = 64;

impl Options {
    /// Number of users in all rooms, each with a connection.
    pub fn connections(&self) -> usize {
        self.rooms * self.users
    }

    /// Number of messages that the users send in a run.
    pub fn messages_sent(&self) -> u64 {
        self.connections() as u64 * self.messages as u64
    }

    /// Number of messages that the users receive in a run: each message is received by all users of its room but its sender.
    pub fn messages_received(&self) -> u64 {
        self.messages_sent() * (self.users as u64 - 1)
    }

    /// Number of descriptors that each process needs.
    pub fn descriptors(&self) -> u64 {
        (self.connections() + OTHER_DESCRIPTORS) as u64
    }

    /// Number of threads in each process on which tasks run.
    pub fn workers(&self) -> usize {
        self.workers.unwrap_or_else(unspin_sys::sched::affinity_count).max(1)
    }

    /// The line that is printed before the first run.
    pub fn header(&self) -> String {
        let Options { rooms, users, messages, size, .. } = self;
        let pace = match self.pace {
            Pace::Turns => "",
            Pace::FreeRunning => ", free-running",
        };
        let model = match self.model {
            Model::Threads => format!("{} threads", 4 * self.connections()),
            Model::Tokio => format!("tokio with {} workers in each process", self.workers()),
            Model::Tasks(policy) => {
                format!("tasks on run queue {policy} with {} workers in each process", self.workers())
            }
        };
        format!(
            "{rooms} rooms of {users} users, {messages} messages of {size} bytes from each{pace}: {} connections, \
             {model}\n",
            self.connections()
        )
    }

    /// Checks the options against the machine's current limits; [`Error::Option`] if they are exceeded.
    pub fn check(&self) -> Result<(), Error> {
        self.check_values()
            .and_then(|()| self.check_against(&MachineLimits::read()))
            .and_then(|()| self.check_descriptors(libc_limits::open_files_max()))
            .map_err(Error::Option)
    }

    /// Whether each value makes sense, and their products can be counted.
    fn check_values(&self) -> Result<(), String> {
        let least = [
            (self.rooms, 1, "--rooms"),
            (self.users, 2, "--users"),
            (self.messages, 1, "--messages"),
            (self.size, HEADER, "--size"),
            (self.runs, 1, "--runs"),
            (self.workers.unwrap_or(1), 1, "--workers"),
        ];
        if let Some((_, least, option)) = least.into_iter().find(|(value, least, _)| value < least) {
            return Err(match option {
                "--users" => "--users must be at least 2: a user does not receive its own messages".into(),
                "--size" => format!("--size must be at least {least}, the length of a message's header"),
                _ => format!("{option} must be at least {least}"),
            });
        }
        if self.workers.is_some() && self.model == Model::Threads {
            return Err(
                "--workers requires --model tasks or tokio: with threads each connection has its own".into(),
            );
        }
        let workers = self.workers();
        if matches!(self.model, Model::Tasks(_)) && workers > WorkerId::MAX {
            return Err(format!("--workers {workers}: --model tasks has at most {} workers", WorkerId::MAX));
        }
        let in_room = (self.users as u128).saturating_mul(self.messages as u128);
        let received = (self.rooms as u128).saturating_mul(in_room).saturating_mul(self.users as u128);
        if in_room > u128::from(u32::MAX) || received > u128::from(u64::MAX) {
            return Err(format!(
                "--users {} --messages {}: a room can have {} messages at most",
                self.users,
                self.messages,
                u32::MAX
            ));
        }
        Ok(())
    }

    /// Whether the machine has threads, mappings and memory for it.
    fn check_against(&self, machine: &MachineLimits) -> Result<(), String> {
        let load = format!("--rooms {} --users {}", self.rooms, self.users);
        let connections = self.rooms as u128 * self.users as u128;
        let (threads_of_process, asked) = match self.model {
            Model::Threads => (2 * connections, load.clone()),
            Model::Tokio | Model::Tasks(_) => {
                (self.workers() as u128, format!("--workers {}", self.workers()))
            }
        };
        let (tasks_max, setting) = machine.tasks;
        if 2 * threads_of_process >= tasks_max as u128 {
            let threads = 2 * threads_of_process;
            return Err(format!("{asked}: that is {threads} threads, and {setting} is {tasks_max}"));
        }
        let mappings = machine_limits::mappings(threads_of_process);
        if mappings > machine.mappings as u128 {
            return Err(format!(
                "{asked}: the stacks of {threads_of_process} threads need {mappings} mappings, and vm.max_map_count \
                 is {}",
                machine.mappings
            ));
        }
        // On each side a buffer for reading, and one for writing or the messages on their way.
        let buffers = 2 * connections * (self.size.max(READ) as u128 + self.size as u128);
        let on_their_way = self.rooms as u128 * (FULL + self.users) as u128 * self.size as u128;
        let memory = buffers.saturating_add(on_their_way);
        if memory > machine.memory {
            return Err(format!(
                "{load} --size {}: that needs {} MB, and {} MB of memory are available",
                self.size,
                memory / 1_000_000,
                machine.memory / 1_000_000
            ));
        }
        Ok(())
    }

    /// Whether the hard limit on descriptors allows what each process needs. The soft limit is raised.
    fn check_descriptors(&self, allowed: u64) -> Result<(), String> {
        let needed = self.descriptors();
        if needed > allowed {
            return Err(format!(
                "--rooms {} --users {}: each process needs {needed} descriptors, and the hard limit is {allowed} \
                 (ulimit -Hn)",
                self.rooms, self.users
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

    fn check(change: impl FnOnce(&mut Options)) -> Result<(), String> {
        let mut options = Options::default();
        change(&mut options);
        options.check_values().and_then(|()| options.check_against(&MACHINE))
    }

    fn refusal(change: impl FnOnce(&mut Options)) -> String {
        check(change).unwrap_err()
    }

    #[test]
    fn zero_is_refused() {
        assert_eq!(refusal(|o| o.rooms = 0), "--rooms must be at least 1");
        assert_eq!(
            refusal(|o| o.users = 1),
            "--users must be at least 2: a user does not receive its own messages"
        );
        assert_eq!(refusal(|o| o.messages = 0), "--messages must be at least 1");
        assert_eq!(refusal(|o| o.size = 15), "--size must be at least 16, the length of a message's header");
        assert_eq!(refusal(|o| o.runs = 0), "--runs must be at least 1");
        let workers = |o: &mut Options| (o.model, o.workers) = (Model::Tokio, Some(0));
        assert_eq!(refusal(workers), "--workers must be at least 1");
    }

    #[test]
    fn absurd_counts_are_refused_with_the_limit() {
        let refused = refusal(|o| o.messages = usize::MAX);
        assert!(refused.ends_with("a room can have 4294967295 messages at most"), "{refused}");
        assert!(refusal(|o| o.users = usize::MAX).contains("messages at most"));
        assert!(refusal(|o| o.rooms = usize::MAX).contains("messages at most"));
        assert_eq!(
            refusal(|o| o.rooms = 50),
            "--rooms 50 --users 20: that is 4000 threads, and kernel.pid_max is 4000"
        );
        let workers = |o: &mut Options| (o.model, o.workers) = (Model::Tokio, Some(2000));
        assert!(refusal(workers).starts_with("--workers 2000: that is 4000 threads"));
        let mappings = MachineLimits { mappings: 2000, ..MACHINE };
        assert_eq!(
            Options::default().check_against(&mappings).unwrap_err(),
            "--rooms 10 --users 20: the stacks of 400 threads need 2600 mappings, and vm.max_map_count is 2000"
        );
        assert_eq!(
            Options::default().check_descriptors(263).unwrap_err(),
            "--rooms 10 --users 20: each process needs 264 descriptors, and the hard limit is 263 (ulimit -Hn)"
        );
        assert_eq!(Options::default().check_descriptors(264), Ok(()));
        assert!(refusal(|o| o.size = 10_000_000).contains("and 1000 MB of memory are available"));
        assert!(refusal(|o| o.size = usize::MAX).contains("MB of memory"));
    }

    #[test]
    fn more_workers_than_a_run_queue_has_are_refused() {
        let workers = |count| {
            move |o: &mut Options| {
                (o.model, o.workers) = (Model::Tasks(Policy::Global), Some(count));
            }
        };
        assert_eq!(refusal(workers(1025)), "--workers 1025: --model tasks has at most 1024 workers");
        assert_eq!(check(workers(1024)), Ok(()));
    }

    #[test]
    fn workers_require_a_model_with_tasks() {
        assert!(refusal(|o| o.workers = Some(2)).starts_with("--workers requires --model tasks or tokio"));
        assert_eq!(check(|o| (o.model, o.workers) = (Model::Tokio, Some(2))), Ok(()));
    }

    #[test]
    fn default_load_is_that_of_the_reports() {
        let options = Options::default();
        assert_eq!((options.messages_sent(), options.messages_received()), (20_000, 380_000));
        assert_eq!(
            options.header(),
            "10 rooms of 20 users, 100 messages of 100 bytes from each: 200 connections, 800 threads\n"
        );
        assert_eq!(options.check_against(&MACHINE), Ok(()));
    }
}
