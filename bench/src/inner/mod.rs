//! The measured programs. Each is small, does one thing, and prints one figure or what it did.
//!
//! Programs that use semaphores or locks call libc's functions. A preloaded engine or the kernel answers these calls,
//! with or without a meter.

mod attach;
mod calls;
mod contend;
pub mod crowd;
mod death;
mod holds;
pub mod inversion;
mod known;
mod known_counts;
mod lock;
mod messages;
pub mod own_sets;
mod owners;
mod pair;
mod postgres;
mod readers;
mod rwlock;
mod section;
mod stress;
mod tasks;
mod timing;
mod volano;
mod waits;

pub use contend::Contended;
pub use crowd::Share;
pub use known_counts::KnownCounts;
pub use lock::LockKind;
pub use messages::Placement;
pub use pair::Paired;
pub use postgres::{Cluster, commands as postgres_commands};
pub use rwlock::RwContended;
pub use stress::Stressor;
pub use tasks::{TaskProgram, TaskRuntime};
pub use volano::VolanoModel;
pub use waits::WaitProgram;

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use timing::Effort;
use unspin_workloads::hackbench;
use unspin_workloads::semopbench::{self, Debug, ProfileReset, Verbosity};

/// What to do.
#[derive(Subcommand, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// One System V call, uncontended; prints ns per call
    Call {
        /// Which
        #[arg(value_enum)]
        call: Call,
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// Processes that each post and take a semaphore of a set of their own; prints millions of semop/s in all
    OwnSets {
        /// How many, each on a CPU of its own
        #[arg(long)]
        processes: usize,
        /// For how long
        #[arg(long)]
        time_ms: u64,
    },
    /// semopbench; prints microseconds per hand-off
    Semopbench {
        /// Sets
        #[arg(short)]
        groups: usize,
        /// Semaphores in each
        #[arg(short)]
        semaphores: usize,
        /// Rounds of the token
        #[arg(short = 'n')]
        repetitions: u32,
    },
    /// msgsnd and msgrcv of a message of this size in one process; prints ns for both
    Messages {
        /// Of its text
        #[arg(long)]
        bytes: usize,
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// A message of 64 bytes to another process and back; prints us
    PingPong {
        /// Where they run
        #[arg(value_enum)]
        placement: Placement,
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// shmat and shmdt of a segment of one page; prints ns for both
    Attach {
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// A holder with SEM_UNDO is killed; prints us until a waiter has what it held
    Death {
        /// How often; the median is printed
        #[arg(long)]
        rounds: u32,
    },
    /// Owners under fakeroot-sysv: chown and stat of a file; prints us for both
    Fakeroot {
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// What is run under it
    Owners {
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// stress-ng, verified; prints bogo-ops a second
    Stress {
        /// Which
        #[arg(value_enum)]
        stressor: Stressor,
        /// For how long
        #[arg(long)]
        seconds: u64,
    },
    /// pgbench -S -c 4 on a PostgreSQL whose shared memory is System V's; prints transactions a second
    Postgres {
        /// Where its cluster is
        #[arg(long)]
        folder: PathBuf,
        /// For how long
        #[arg(long)]
        seconds: u64,
    },
    /// A read-side section that reads one pointer; prints ns per section
    Section {
        /// Whose
        #[arg(value_enum)]
        section: Section,
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// An uncontended lock taken and released; prints ns per pair of calls
    Pair {
        /// Which
        #[arg(value_enum)]
        lock: Paired,
        /// Who else is in the process
        #[arg(value_enum)]
        company: Company,
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// A reading of the time-stamp counter; prints ns
    Ticks {
        /// For how long
        #[command(flatten)]
        effort: EffortOptions,
    },
    /// Threads that use locks a known number of times; prints what they did
    Known {
        /// Threads
        #[arg(long)]
        threads: u64,
        /// What each does
        #[arg(long)]
        rounds: u64,
    },
    /// Two threads that hold a lock for known times; prints what they did
    Holds {
        /// Which
        #[arg(value_enum)]
        lock: LockKind,
        /// For how long
        #[arg(long)]
        time_ms: u64,
    },
    /// Threads that take one lock again and again; prints millions of acquisitions a second, and the smallest share
    Contend {
        /// Whose
        #[arg(value_enum)]
        lock: Contended,
        /// How many
        #[arg(long)]
        threads: usize,
        /// How long each holds it
        #[arg(long)]
        hold_ns: u64,
        /// How long each does something else
        #[arg(long)]
        think_ns: u64,
        /// For how long
        #[arg(long)]
        time_ms: u64,
    },
    /// Threads that take one read-write lock again and again; prints what `contend` does
    Readers {
        /// Which
        #[arg(value_enum)]
        lock: RwContended,
        /// How many
        #[arg(long)]
        threads: usize,
        /// How many of a thousand acquisitions write
        #[arg(long)]
        writers_per_mille: u64,
        /// How long each holds it
        #[arg(long)]
        hold_ns: u64,
        /// How long each does something else
        #[arg(long)]
        think_ns: u64,
        /// For how long
        #[arg(long)]
        time_ms: u64,
    },
    /// A writer that wants a read-write lock once a millisecond, among readers; prints its longest wait in milliseconds, and
    /// its writes a second
    WriterWait {
        /// Which
        #[arg(value_enum)]
        lock: RwContended,
        /// How many
        #[arg(long)]
        readers: usize,
        /// How long each reader holds it
        #[arg(long)]
        hold_ns: u64,
        /// How long each reader does something else
        #[arg(long)]
        think_ns: u64,
        /// For how long
        #[arg(long)]
        time_ms: u64,
    },
    /// hackbench over queues that mutexes guard; prints seconds
    Hackbench {
        /// Groups
        #[arg(short)]
        groups: usize,
    },
    /// A real-time thread that wants a mutex whose owner is kept from running; prints its longest wait in milliseconds
    Inversion {
        /// The mutex's protocol
        #[arg(value_enum)]
        protocol: Protocol,
    },
    /// Many threads that use many mutexes
    Crowd {
        /// Threads
        #[arg(long)]
        threads: usize,
        /// Mutexes
        #[arg(long)]
        locks: usize,
        /// Which of them each thread uses
        #[arg(value_enum)]
        share: Share,
    },
    /// A program that lives on waits; prints units a second and CPU microseconds of a unit, or one figure
    Waits {
        /// Which
        #[arg(value_enum)]
        program: WaitProgram,
        /// For how long, roughly
        #[arg(long)]
        ms: u64,
        /// Where its sources and compiled programs are; PostgreSQL's cluster is its guest's
        #[arg(long)]
        kit: PathBuf,
    },
    /// Async tasks on an executor; prints one or two figures
    Tasks {
        /// Whose
        #[arg(value_enum)]
        runtime: TaskRuntime,
        /// What they do
        #[arg(value_enum)]
        program: TaskProgram,
        /// Threads that run them
        #[arg(long)]
        workers: usize,
        /// How much
        #[arg(long)]
        count: u64,
    },
    /// volano with 10 rooms of 20 users; prints messages a second
    Volano {
        /// What serves the connections
        #[arg(value_enum)]
        model: VolanoModel,
        /// Threads in each process that run tasks; without effect with threads
        #[arg(long)]
        workers: usize,
        /// Messages that each user sends
        #[arg(long)]
        messages: usize,
    },
    /// Prints the path of the preload library, if it is in this program
    Preloaded,
}

/// LD_PRELOAD itself names it in a way that only the dynamic linker understands (`$LIB`).
fn preloaded_path(maps: &str) -> &str {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    paths.into_iter().find(|path| path.contains("/libunspin_preload-")).unwrap_or_default()
}

/// What a mutex does about its waiters' priorities.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Nothing
    Plain,
    /// PTHREAD_PRIO_INHERIT
    Inherit,
}

/// Whether a process has one thread or two.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Company {
    /// One.
    Nobody,
    /// Another, which sleeps.
    Sleeper,
}

/// System V calls.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// semop +1 and -1 in turn
    Semop,
    /// The same with SEM_UNDO; prints ns for both
    Undo,
    /// semop -1 with IPC_NOWAIT on a semaphore that is 0
    Eagain,
    /// semctl GETVAL
    Getval,
    /// semget of a key that exists
    Semget,
}

/// Read-side sections.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// unspin-rcu as the System V engine uses it: the slot's address is in thread-local memory
    Slot,
    /// unspin-rcu's safe interface, `Reader::read`
    Reader,
    /// crossbeam-epoch: `LocalHandle::pin`
    Epoch,
}

/// How long a loop goes on.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[group(required = true, multiple = false)]
pub struct EffortOptions {
    /// Until this time is over
    #[arg(long)]
    pub time_ms: Option<u64>,
    /// So many times; prints no time
    #[arg(long)]
    pub times: Option<u64>,
}

impl EffortOptions {
    /// For so many milliseconds.
    pub fn milliseconds(time_ms: u64) -> EffortOptions {
        EffortOptions { time_ms: Some(time_ms), times: None }
    }

    /// So many times.
    pub fn times(times: u64) -> EffortOptions {
        EffortOptions { time_ms: None, times: Some(times) }
    }

    /// The option that is set.
    pub fn option(&self) -> &'static str {
        if self.times.is_some() { "--times" } else { "--time-ms" }
    }

    /// The option's value.
    pub fn amount(&self) -> u64 {
        self.times.or(self.time_ms).unwrap_or_default()
    }
}

/// Does it, and prints the figure.
pub fn run(task: &Task) -> Result<(), String> {
    let figure = match *task {
        Task::Call { call, effort } => calls::run(call, &Effort::from(effort))?.to_string(),
        Task::OwnSets { processes, time_ms } => own_sets::run(processes, time_ms)?.to_string(),
        Task::Semopbench { groups, semaphores, repetitions } => {
            ring(groups, semaphores, repetitions)?.to_string()
        }
        Task::Messages { bytes, effort } => messages::pair(bytes, &Effort::from(effort))?.to_string(),
        Task::PingPong { placement, effort } => {
            messages::ping_pong(placement, &Effort::from(effort))?.to_string()
        }
        Task::Attach { effort } => attach::run(&Effort::from(effort))?.to_string(),
        Task::Death { rounds } => death::run(rounds)?.to_string(),
        Task::Fakeroot { effort } => owners::under_fakeroot(&effort)?,
        Task::Owners { effort } => owners::run(&Effort::from(effort))?.to_string(),
        Task::Stress { stressor, seconds } => stress::run(stressor, seconds)?.to_string(),
        Task::Postgres { ref folder, seconds } => Cluster::at(folder).measure(seconds)?.to_string(),
        Task::Section { section, effort } => section::run(section, &Effort::from(effort))?.to_string(),
        Task::Pair { lock, company, effort } => pair::run(lock, company, &Effort::from(effort)).to_string(),
        Task::Ticks { effort } => pair::ticks(&Effort::from(effort)).to_string(),
        Task::Known { threads, rounds } => json(&known::run(threads, rounds))?,
        Task::Holds { lock, time_ms } => json(&holds::run(lock, time_ms)?)?,
        Task::Contend { lock, threads, hold_ns, think_ns, time_ms } => {
            let pace = contend::Pace { hold_ns, think_ns };
            let (rate, least) = contend::run(lock, threads, pace, Duration::from_millis(time_ms));
            format!("{rate} {least}")
        }
        Task::Readers { lock, threads, writers_per_mille, hold_ns, think_ns, time_ms } => {
            let (pace, time) = (contend::Pace { hold_ns, think_ns }, Duration::from_millis(time_ms));
            let (rate, least) = readers::run(lock, readers::Crowd { threads, writers_per_mille, pace, time });
            format!("{rate} {least}")
        }
        Task::WriterWait { lock, readers, hold_ns, think_ns, time_ms } => {
            let (pace, time) = (contend::Pace { hold_ns, think_ns }, Duration::from_millis(time_ms));
            let crowd = readers::WriterAmongReaders { readers, pace, time };
            let (longest_ms, per_second) = readers::writer_wait(lock, crowd);
            format!("{longest_ms} {per_second}")
        }
        Task::Hackbench { groups } => queues(groups)?.to_string(),
        Task::Inversion { protocol } => inversion::run(protocol.number())?.to_string(),
        Task::Crowd { threads, locks, share } => {
            crowd::run(threads, locks, share);
            json(&[])?
        }
        Task::Waits { program, ms, ref kit } => waits::run(program, ms, kit)?.to_string(),
        Task::Tasks { runtime, program, workers, count } => tasks::run(runtime, program, workers, count)?,
        Task::Volano { model, workers, messages } => volano::rate(model, workers, messages)?.to_string(),
        Task::Preloaded => {
            let maps =
                std::fs::read_to_string("/proc/self/maps").map_err(|e| format!("/proc/self/maps: {e}"))?;
            preloaded_path(&maps).to_owned()
        }
    };
    println!("{figure}");
    Ok(())
}

impl Task {
    /// Whether it refuses to be run by root.
    pub fn needs_test_user(&self) -> bool {
        match self {
            Task::Postgres { .. } => true,
            Task::Waits { program, .. } => program.needs_test_user(),
            _ => false,
        }
    }
}

impl Protocol {
    fn number(self) -> i32 {
        match self {
            Protocol::Plain => libc::PTHREAD_PRIO_NONE,
            Protocol::Inherit => libc::PTHREAD_PRIO_INHERIT,
        }
    }
}

fn json(truths: &[KnownCounts]) -> Result<String, String> {
    serde_json::to_string(truths).map_err(|e| e.to_string())
}

fn ring(groups: usize, semaphores: usize, repetitions: u32) -> Result<f64, String> {
    let options = semopbench::Options {
        groups,
        semaphores,
        repetitions,
        profile_reset: ProfileReset::No,
        debug: Debug::Off,
        verbosity: Verbosity::Summary,
    };
    let report = semopbench::run(&options).map_err(|e| format!("semopbench: {e}"))?;
    Ok(1e6 / report.hand_offs_per_second())
}

fn queues(groups: usize) -> Result<f64, String> {
    let options = hackbench::Options {
        groups,
        transport: hackbench::Transport::Queue { capacity: hackbench::CAPACITY },
        workers: hackbench::Workers::Threads,
        ..hackbench::Options::default()
    };
    let time = hackbench::run(&options).map_err(|e| format!("hackbench: {e}"))?;
    Ok(time.as_secs_f64())
}
