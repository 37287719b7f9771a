//! The rows of System V IPC as a whole: adjustments, messages, segments, and programs that use them heavily.

use crate::inner::own_sets::allowed_cpus;
use crate::inner::{Call, EffortOptions, Placement, Stressor, Task, postgres_commands};
use crate::measurement::{Measurement, World};
use crate::plan::{Row, Wanted, in_all_worlds};
use crate::program;
use crate::session::SessionSize;
use crate::tools::Tools;
use unspin_stats::Direction::{self, HigherIsBetter, LowerIsBetter};

/// All of them.
pub fn rows(tools: &Tools, extent: &SessionSize) -> Vec<Row> {
    let mut rows = calls(extent);
    rows.extend(ping_pong(extent));
    rows.extend(programs(tools, extent));
    let rounds = 20 / extent.shorter;
    rows.push(in_all_worlds(
        "ipc: SIGKILL to waiter, undone",
        "us",
        LowerIsBetter,
        Task::Death { rounds },
        &[],
    ));
    rows
}

/// Uncontended calls of one process.
fn calls(extent: &SessionSize) -> Vec<Row> {
    use Wanted::AtLeast;
    let effort = EffortOptions::milliseconds(extent.loop_ms);
    let pair = |name, task, wanted| in_all_worlds(name, "ns a pair", LowerIsBetter, task, wanted);
    vec![
        pair("ipc: +1, -1 with SEM_UNDO", Task::Call { call: Call::Undo, effort }, &[AtLeast(10.0)]),
        pair("ipc: msgsnd, msgrcv 64 B", Task::Messages { bytes: 64, effort }, &[AtLeast(10.0)]),
        pair("ipc: msgsnd, msgrcv 8 KiB", Task::Messages { bytes: 8192, effort }, &[AtLeast(1.5)]),
        // Within twice the kernel's time: the mapping is the kernel's work.
        pair("ipc: shmat, shmdt", Task::Attach { effort }, &[AtLeast(0.5)]),
    ]
}

/// A message to another process and back.
fn ping_pong(extent: &SessionSize) -> [Row; 2] {
    let effort = EffortOptions::milliseconds(2 * extent.loop_ms);
    let row = |name, placement, wanted| {
        in_all_worlds(name, "us", LowerIsBetter, Task::PingPong { placement, effort }, wanted)
    };
    let two = row("ipc: message there and back, two CPUs", Placement::TwoCpus, &[Wanted::AtLeast(3.0)]);
    let missing = (allowed_cpus().len() < 2).then(|| "there is only one CPU".to_owned());
    [
        Row { missing, ..two },
        row("ipc: message there and back, one CPU", Placement::OneCpu, &[Wanted::NotWorse]),
    ]
}

/// Third-party programs.
fn programs(tools: &Tools, extent: &SessionSize) -> Vec<Row> {
    let effort = EffortOptions::milliseconds(5 * extent.loop_ms);
    let seconds = (20 * extent.loop_ms).div_ceil(1000);
    let folder = tools.test_user.folder().to_path_buf();
    let stress = |name, stressor| {
        let task = Task::Stress { stressor, seconds };
        by_a_program(
            name,
            "bogo-ops/s",
            HigherIsBetter,
            task,
            &[Wanted::AtLeast(3.0)],
            why_missing("stress-ng", "stress-ng"),
        )
    };
    let postgres = postgres_commands()
        .is_none()
        .then(|| "PostgreSQL is not installed: apt-get install postgresql".to_owned());
    vec![
        by_a_program(
            "ipc: fakeroot-sysv, chown and stat",
            "us",
            LowerIsBetter,
            Task::Fakeroot { effort },
            &[Wanted::NotWorse],
            why_missing("fakeroot-sysv", "fakeroot"),
        ),
        stress("ipc: stress-ng --sem-sysv 1", Stressor::SemSysv),
        stress("ipc: stress-ng --msg 1", Stressor::Msg),
        by_a_program(
            "ipc: pgbench -S -c 4",
            "tps",
            HigherIsBetter,
            Task::Postgres { folder, seconds },
            &[Wanted::NotWorse],
            postgres,
        ),
    ]
}

/// Leaves out the engine `global`: its spinning would only make the run longer.
fn by_a_program(
    name: &'static str,
    unit: &'static str,
    direction: Direction,
    task: Task,
    wanted: &'static [Wanted],
    missing: Option<String>,
) -> Row {
    let control = (World::CONTROL.label(), Measurement::Inner(World::CONTROL, task.clone()));
    Row { others: vec![control], missing, ..in_all_worlds(name, unit, direction, task, wanted) }
}

/// Why a command cannot be run here, if it cannot.
fn why_missing(command: &str, package: &str) -> Option<String> {
    let found = program::find(command).is_some();
    (!found).then(|| format!("{command} is not installed: apt-get install {package}"))
}
