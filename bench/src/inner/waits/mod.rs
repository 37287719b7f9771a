//! Programs that wait often, and programs that the wait policy must not slow down.

mod children;
mod idle;
mod rust;
mod servers;

use super::Cluster;
use crate::program::find;
use clap::ValueEnum;
use std::fmt;
use std::path::Path;
use std::process::Command;
use unspin_sys::sched;

/// The programs.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitProgram {
    /// Two threads, a mutex and two conditions
    Condition,
    /// Two threads, two semaphores
    Semaphore,
    /// Two threads, a barrier
    Barrier,
    /// Two workers of node
    Node,
    /// redis-benchmark -c 1
    RedisOne,
    /// redis-benchmark -c 50
    RedisFifty,
    /// memcached and one synchronous client
    Memcached,
    /// Two threads, two channels of Rust's standard library
    Mpsc,
    /// Two threads, a Mutex and a Condvar of Rust's standard library
    Condvar,
    /// pgbench -S -c 1
    PgbenchOne,
    /// pgbench -S -c 2
    PgbenchTwo,
    /// pgbench -S -c 4
    PgbenchFour,
    /// pgbench -S -c 8
    PgbenchEight,
    /// Two queues of Python
    PythonQueue,
    /// Two SynchronousQueues of Java
    JavaSynchronous,
    /// Two LinkedBlockingQueues of Java
    JavaLinked,
    /// Two queues of Ruby
    RubyQueue,
    /// rt-tests' hackbench
    Hackbench,
    /// Compression by several threads
    Pigz,
    /// An encoder with several threads
    Ffmpeg,
    /// A parallel build of small files
    Make,
    /// Four pairs of threads for each CPU
    Crowded,
    /// An idle redis-server; prints percent of a CPU
    IdleRedis,
    /// An idle PostgreSQL; prints percent of a CPU
    IdlePostgres,
    /// An idle node; prints percent of a CPU
    IdleNode,
    /// Computing threads beside one that waits for a millisecond again and again; prints millions of rounds a second
    Periodic,
    /// A read of a byte that is there, and its write; prints ns
    ReadReady,
    /// An epoll_wait of a set that is ready; prints ns
    EpollReady,
    /// A sem_wait of a free semaphore, and its post; prints ns
    SemaphoreFree,
}

/// What a program prints.
#[derive(Clone, Copy, Debug)]
pub enum Figures {
    /// Units a second, and the CPU time of all its processes for a unit, in microseconds.
    Rate {
        /// Units a second.
        per_second: f64,
        /// CPU time of a unit.
        cpu_us: f64,
    },
    /// One figure.
    One(f64),
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figures::Rate { per_second, cpu_us } => write!(f, "{per_second} {cpu_us}"),
            Figures::One(figure) => write!(f, "{figure}"),
        }
    }
}

impl WaitProgram {
    /// Whether it refuses to be run by root.
    pub fn needs_test_user(self) -> bool {
        use WaitProgram::{IdlePostgres, PgbenchEight, PgbenchFour, PgbenchOne, PgbenchTwo};
        matches!(self, PgbenchOne | PgbenchTwo | PgbenchFour | PgbenchEight | IdlePostgres)
    }

    /// Why it cannot be run here.
    pub fn missing(self) -> Option<String> {
        let lacking = |needed: &[(&str, &str)]| {
            let (name, package) = needed.iter().find(|(name, _)| find(name).is_none())?;
            Some(format!("{name} is not installed: apt-get install {package}"))
        };
        match self {
            WaitProgram::Node | WaitProgram::IdleNode => lacking(&[("node", "nodejs")]),
            WaitProgram::RedisOne | WaitProgram::RedisFifty => {
                lacking(&[("redis-server", "redis-server"), ("redis-benchmark", "redis-tools")])
            }
            WaitProgram::IdleRedis => lacking(&[("redis-server", "redis-server")]),
            WaitProgram::Memcached => lacking(&[("memcached", "memcached"), ("python3", "python3")]),
            WaitProgram::PythonQueue => lacking(&[("python3", "python3")]),
            WaitProgram::RubyQueue => lacking(&[("ruby", "ruby")]),
            WaitProgram::JavaSynchronous | WaitProgram::JavaLinked => {
                lacking(&[("java", "default-jre-headless"), ("javac", "default-jdk-headless")])
            }
            WaitProgram::Hackbench => lacking(&[("hackbench", "rt-tests")]),
            WaitProgram::Pigz => lacking(&[("pigz", "pigz")]),
            WaitProgram::Ffmpeg => lacking(&[("ffmpeg", "ffmpeg")]),
            WaitProgram::Make => lacking(&[("make", "make"), ("cc", "gcc")]),
            WaitProgram::PgbenchOne
            | WaitProgram::PgbenchTwo
            | WaitProgram::PgbenchFour
            | WaitProgram::PgbenchEight
            | WaitProgram::IdlePostgres => super::postgres_commands()
                .is_none()
                .then(|| "PostgreSQL is not installed: apt-get install postgresql".to_owned()),
            WaitProgram::Mpsc | WaitProgram::Condvar => None,
            _ => lacking(&[("cc", "gcc")]),
        }
    }
}

/// Runs it for roughly `ms`. `kit` holds what it needs; PostgreSQL's cluster is below it.
pub fn run(program: WaitProgram, ms: u64, kit: &Path) -> Result<Figures, String> {
    let cluster = Cluster::at(kit);
    let own_clock = |command: &mut Command| children::own_clock(command.arg(ms.to_string()), ms);
    let one = |what: &str| {
        let mut command = Command::new(kit.join("waits"));
        children::one_figure(command.args([what, &ms.to_string()])).map(Figures::One)
    };
    let of_c = |what: &str| own_clock(Command::new(kit.join("waits")).arg(what));
    let threads = sched::affinity_count().to_string();
    match program {
        WaitProgram::Condition => of_c("condition"),
        WaitProgram::Semaphore => of_c("semaphore"),
        WaitProgram::Barrier => of_c("barrier"),
        WaitProgram::Periodic => one("periodic"),
        WaitProgram::ReadReady => one("read"),
        WaitProgram::EpollReady => one("epoll"),
        WaitProgram::SemaphoreFree => one("free"),
        WaitProgram::Node => own_clock(Command::new("node").arg(kit.join("messages.js"))),
        WaitProgram::PythonQueue => own_clock(Command::new(python()).arg(kit.join("queues.py"))),
        WaitProgram::RubyQueue => own_clock(Command::new("ruby").arg(kit.join("queues.rb"))),
        WaitProgram::JavaSynchronous => own_clock(&mut java(kit, "synchronous")),
        WaitProgram::JavaLinked => own_clock(&mut java(kit, "linked")),
        WaitProgram::Mpsc => Ok(rust::by_channel(ms)),
        WaitProgram::Condvar => Ok(rust::by_condvar(ms)),
        WaitProgram::RedisOne => servers::redis(1, 20 * ms),
        WaitProgram::RedisFifty => servers::redis(50, 100 * ms),
        WaitProgram::Memcached => servers::memcached(kit, ms),
        WaitProgram::PgbenchOne => servers::pgbench(&cluster, 1, ms),
        WaitProgram::PgbenchTwo => servers::pgbench(&cluster, 2, ms),
        WaitProgram::PgbenchFour => servers::pgbench(&cluster, 4, ms),
        WaitProgram::PgbenchEight => servers::pgbench(&cluster, 8, ms),
        WaitProgram::Crowded => {
            children::own_clock(Command::new(kit.join("crowded")).args(["4", "5", &ms.to_string()]), ms)
        }
        WaitProgram::Hackbench => {
            let loops = ms.to_string();
            children::whole(Command::new("hackbench").args(["-g", "4", "-l", &loops]))
        }
        WaitProgram::Pigz => {
            children::whole(Command::new("pigz").args(["-k", "-c", "-p", &threads]).arg(kit.join("text")))
        }
        WaitProgram::Ffmpeg => children::whole(&mut ffmpeg(ms)),
        WaitProgram::Make => children::whole(&mut make(kit)?),
        WaitProgram::IdleRedis => idle::redis(ms),
        WaitProgram::IdlePostgres => idle::postgres(&cluster, ms),
        WaitProgram::IdleNode => idle::node(kit, ms),
    }
}

/// Not a wrapper that chooses among versions, where there is another.
fn python() -> &'static str {
    if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" }
}

fn java(kit: &Path, kind: &str) -> Command {
    let mut command = Command::new("java");
    command.arg("-cp").arg(kit).args(["Queues", kind]);
    command
}

/// A picture that is made up, encoded and thrown away.
fn ffmpeg(ms: u64) -> Command {
    let seconds = (ms as f64 / 100.0).max(0.4);
    let mut command = Command::new("ffmpeg");
    command.args(["-nostdin", "-loglevel", "error", "-f", "lavfi"]);
    command.args(["-i", &format!("testsrc=size=320x240:rate=25:duration={seconds}")]);
    command.args(["-c:v", "mpeg4", "-threads", "4", "-f", "null", "-"]);
    command
}

/// Twice as many jobs as CPUs, from nothing.
fn make(kit: &Path) -> Result<Command, String> {
    let sources = kit.join("sources");
    let mut clean = Command::new("make");
    children::whole(clean.arg("-C").arg(&sources).args(["--silent", "clean"]))?;
    let mut command = Command::new("make");
    let jobs = (2 * sched::affinity_count()).to_string();
    command.arg("-C").arg(&sources).args(["--silent", "-j", &jobs]);
    Ok(command)
}
