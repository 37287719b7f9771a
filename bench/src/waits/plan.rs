//! The rows: measurements and goals.

use crate::inner::{Task, WaitProgram};
use crate::measurement::{Measurement, World};
use crate::quantity::{Bound, Note, Quantity, QuantityRow};
use crate::session::SessionSize;
use crate::tools::Tools;

/// Of the figures of a run: units a second.
const RATE: usize = 0;
/// CPU time of a unit.
const CPU: usize = 1;
/// How much of its speed a program may keep at least where there is more to do than CPUs.
const NO_LOSS: f64 = 0.98;

/// Programs that hand over to and fro, and how many times as fast they are to be.
const FASTER: [(WaitProgram, &str, f64); 14] = [
    (WaitProgram::Condition, "mutex and conditions, two threads", 20.0),
    (WaitProgram::Semaphore, "sem_t, two threads", 20.0),
    (WaitProgram::Barrier, "barrier of two", 20.0),
    (WaitProgram::Node, "node, messages of two workers", 5.0),
    (WaitProgram::RedisOne, "redis-benchmark -c 1", 5.0),
    (WaitProgram::Memcached, "memcached, one synchronous client", 5.0),
    (WaitProgram::Mpsc, "Rust's mpsc, two threads", 5.0),
    (WaitProgram::Condvar, "Rust's Condvar, two threads", 5.0),
    (WaitProgram::PgbenchOne, "pgbench -S -c 1", 3.0),
    (WaitProgram::PythonQueue, "Python's queue.Queue, two threads", 2.0),
    (WaitProgram::JavaSynchronous, "Java's SynchronousQueue", 3.0),
    (WaitProgram::JavaLinked, "Java's LinkedBlockingQueue", 3.0),
    (WaitProgram::RubyQueue, "Ruby's Queue, two threads", 2.0),
    // Four pairs for each CPU, of which none may be held up.
    (WaitProgram::Crowded, "pairs, four for each CPU", NO_LOSS),
];
/// Programs with more to do than CPUs.
const NOT_SLOWER: [(WaitProgram, &str); 8] = [
    (WaitProgram::PgbenchTwo, "pgbench -S -c 2"),
    (WaitProgram::PgbenchFour, "pgbench -S -c 4"),
    (WaitProgram::PgbenchEight, "pgbench -S -c 8"),
    (WaitProgram::RedisFifty, "redis-benchmark -c 50"),
    (WaitProgram::Hackbench, "hackbench -g 4"),
    (WaitProgram::Pigz, "pigz"),
    (WaitProgram::Ffmpeg, "ffmpeg, mpeg4, four threads"),
    (WaitProgram::Make, "make, twice as many jobs as CPUs"),
];
const IDLE: [(WaitProgram, &str); 3] = [
    (WaitProgram::IdleRedis, "idle redis-server"),
    (WaitProgram::IdlePostgres, "idle PostgreSQL"),
    (WaitProgram::IdleNode, "idle node"),
];
const READY: [(WaitProgram, &str); 3] = [
    (WaitProgram::ReadReady, "read of a byte that is there"),
    (WaitProgram::EpollReady, "epoll_wait of a ready set"),
    (WaitProgram::SemaphoreFree, "sem_wait of a free semaphore"),
];

/// All rows.
pub fn rows(tools: &Tools, extent: &SessionSize) -> Vec<QuantityRow> {
    let bench = Bench { tools, ms: 4 * extent.loop_ms };
    let mut rows: Vec<QuantityRow> =
        FASTER.iter().map(|&(program, name, times)| bench.ratio(program, name, times)).collect();
    rows.extend(NOT_SLOWER.iter().map(|&(program, name)| bench.ratio(program, name, NO_LOSS)));
    rows.extend(IDLE.iter().map(|&(program, name)| bench.idle(program, name)));
    rows.push(bench.periodic());
    rows.extend(READY.iter().map(|&(program, name)| bench.ready(program, name)));
    rows.extend(bench.planted_rows());
    rows
}

/// What the rows are made with.
struct Bench<'a> {
    tools: &'a Tools,
    ms: u64,
}

impl Bench<'_> {
    fn figure(&self, world: World, program: WaitProgram, figure: usize) -> Quantity {
        let folder = match program.needs_test_user() {
            true => self.tools.test_user.folder().to_owned(),
            false => self.tools.kit_folder(),
        };
        Quantity::Figure(Measurement::Inner(world, Task::Waits { program, ms: self.ms, kit: folder }), figure)
    }

    /// Why a row cannot be measured here.
    fn missing(&self, program: WaitProgram) -> Option<String> {
        self.tools.waits.as_ref().err().cloned().or_else(|| program.missing())
    }

    /// How many times as fast as the control.
    fn ratio(&self, program: WaitProgram, name: &str, times: f64) -> QuantityRow {
        let of = |world, figure| self.figure(world, program, figure);
        QuantityRow {
            name: format!("waits: {name}, times as fast"),
            unit: "times",
            quantity: of(World::WaitsPoll, RATE) / of(World::WaitsSystem, RATE),
            bound: Some(Bound::AtLeast(times)),
            notes: vec![
                Note::new("CPU", of(World::WaitsPoll, CPU) / of(World::WaitsSystem, CPU), " times"),
                Note::new("a second: system", of(World::WaitsSystem, RATE), ""),
                Note::new("poll", of(World::WaitsPoll, RATE), ""),
            ],
            missing: self.missing(program),
        }
    }

    fn idle(&self, program: WaitProgram, name: &str) -> QuantityRow {
        let of = |world| self.figure(world, program, 0);
        QuantityRow {
            name: format!("waits: {name}, CPU time added"),
            unit: "% of a CPU",
            quantity: of(World::WaitsPoll) - of(World::WaitsSystem),
            bound: Some(Bound::AtMost(0.5)),
            notes: vec![
                Note::new("system", of(World::WaitsSystem), ""),
                Note::new("poll", of(World::WaitsPoll), ""),
            ],
            missing: self.missing(program),
        }
    }

    fn periodic(&self) -> QuantityRow {
        let of = |world| self.figure(world, WaitProgram::Periodic, 0);
        QuantityRow {
            name: "waits: computing threads beside a wait of 1 ms, times as fast".into(),
            unit: "times",
            quantity: of(World::WaitsPoll) / of(World::WaitsSystem),
            bound: Some(Bound::AtLeast(0.99)),
            notes: vec![
                Note::new("millions of rounds a second: system", of(World::WaitsSystem), ""),
                Note::new("poll", of(World::WaitsPoll), ""),
            ],
            missing: self.missing(WaitProgram::Periodic),
        }
    }

    /// What a hook costs where nothing is to be waited for.
    fn ready(&self, program: WaitProgram, name: &str) -> QuantityRow {
        let of = |world| self.figure(world, program, 0);
        QuantityRow {
            name: format!("waits: {name}, added by the hook"),
            unit: "ns",
            quantity: of(World::WaitsSystem) - of(World::NoPreload),
            bound: Some(Bound::AtMost(30.0)),
            notes: vec![
                Note::new("bare", of(World::NoPreload), ""),
                Note::new("system", of(World::WaitsSystem), ""),
                Note::new("poll", of(World::WaitsPoll), ""),
            ],
            missing: self.missing(program),
        }
    }

    /// Policies that poll without regard to other threads. The table must show their loss; otherwise it cannot detect
    /// one.
    fn planted_rows(&self) -> [QuantityRow; 2] {
        let of = |world| self.figure(world, WaitProgram::Crowded, RATE);
        let row = |name: &str, quantity, most, notes| QuantityRow {
            name: format!("waits: planted: {name}, pairs, times as fast"),
            unit: "times",
            quantity,
            bound: Some(Bound::AtMost(most)),
            notes,
            missing: self.missing(WaitProgram::Crowded),
        };
        [
            row(
                "blind polling",
                of(World::Blind) / of(World::NoPreload),
                0.5,
                vec![
                    Note::new("a second: bare", of(World::NoPreload), ""),
                    Note::new("blind", of(World::Blind), ""),
                ],
            ),
            row(
                "every wait polls",
                of(World::WaitsForced) / of(World::WaitsSystem),
                0.95,
                vec![
                    Note::new("a second: system", of(World::WaitsSystem), ""),
                    Note::new("forced", of(World::WaitsForced), ""),
                ],
            ),
        ]
    }
}
