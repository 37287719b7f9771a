//! How a measurement becomes a command.

use crate::inner::Task;
use crate::measurement::{Measurement, World};
use crate::tools::Tools;
use clap::ValueEnum;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use unspin_wire::environment;

/// The command that measures it. What is recorded goes to `recording`.
pub fn command(
    measurement: &Measurement,
    tools: &Tools,
    recording: Option<&Path>,
) -> Result<Command, String> {
    match measurement {
        Measurement::Liburcu(time_ms) => {
            let mut command = Command::new(tools.liburcu.as_ref().map_err(String::clone)?);
            command.args(["time-ms", &time_ms.to_string()]);
            Ok(command)
        }
        Measurement::Inner(world, task) if task.needs_test_user() => {
            let (unspin, mut words) = (tools.test_user.copy(&tools.unspin)?, words(task)?);
            words[0] = tools.test_user.copy(Path::new(&words[0]))?.into();
            tools.test_user.ensure_cluster()?;
            let unspin = Unspin { program: &unspin, arenas: tools.test_user.arenas() };
            let mut command = unspin.run(*world, words);
            tools.test_user.run_as(&mut command);
            Ok(command)
        }
        Measurement::Inner(world, task) | Measurement::Checked(world, task) => {
            if let Task::Waits { .. } = task {
                tools.kit()?;
            }
            inside(*world, tools, words(task)?, recording)
        }
        Measurement::HandOff(world, hand_off) => {
            let program = tools.handoff.clone()?;
            let words = [program.into_os_string()].into_iter().chain(hand_off.words().map(OsString::from));
            inside(*world, tools, words.collect(), recording)
        }
        Measurement::Program(world, program) => {
            let folder = tools.fresh_folder()?;
            let mut command = inside(*world, tools, program.words(&folder), recording)?;
            command.envs(program.environment().iter().copied()).current_dir(folder);
            Ok(command)
        }
    }
}

/// The command line of a task.
pub fn words(task: &Task) -> Result<Vec<OsString>, String> {
    let this = std::env::current_exe().map_err(|e| format!("the place of this program: {e}"))?;
    let mut words = vec![this.into_os_string(), "inner".into()];
    words.extend(arguments(task).into_iter().map(OsString::from));
    Ok(words)
}

/// A command line in a world.
pub fn inside(
    world: World,
    tools: &Tools,
    words: Vec<OsString>,
    recording: Option<&Path>,
) -> Result<Command, String> {
    let mut command = Unspin { program: &tools.unspin, arenas: tools.scratch() }.run(world, words);
    if let Some(library) = library(world, tools)? {
        command.env("LD_PRELOAD", library);
    }
    match world {
        World::WaitsForced => drop(command.env(environment::PLAN, tools.kit()?.forced_plan())),
        World::WaitsReady => drop(command.env(environment::PLAN, tools.kit()?.ready_plan())),
        _ => {}
    }
    if let Some(recording) = recording {
        command.env(environment::RECORD, recording);
    }
    Ok(command)
}

/// The `unspin` binary, and the folder for the arenas of the programs that it runs.
struct Unspin<'a> {
    program: &'a Path,
    arenas: &'a Path,
}

impl Unspin<'_> {
    /// A command line under `unspin run`, or by itself in a world without.
    fn run(&self, world: World, words: Vec<OsString>) -> Command {
        let mut command = match world.replacement() {
            None => Command::new(&words[0]),
            Some(option) => {
                let mut command = Command::new(self.program);
                command.arg("run").args(option);
                // The kernel has none.
                if let Some(engine) = world.engine().filter(|&engine| engine != "kernel") {
                    command.arg("--arena").arg(self.arenas.join(format!("arena-{engine}")));
                }
                command.arg("--").arg(&words[0]);
                command
            }
        };
        command.args(&words[1..]);
        for variable in environment::ALL.into_iter().chain(["LD_PRELOAD"]) {
            command.env_remove(variable);
        }
        command
    }
}

/// What is loaded before the program's own libraries, where this program sees to that itself.
fn library(world: World, tools: &Tools) -> Result<Option<&Path>, String> {
    match world {
        World::Through
        | World::Counts
        | World::Sampled
        | World::Full
        | World::WaitsForced
        | World::WaitsReady => Ok(Some(&tools.preload)),
        World::Blind => Ok(Some(tools.kit()?.blind())),
        World::Mutrace => tools.mutrace.as_deref().map(Some).map_err(String::clone),
        World::NoPreload
        | World::Engine(_)
        | World::Mutex(_)
        | World::RwLock(_)
        | World::Spin(_)
        | World::WaitsSystem
        | World::WaitsPoll => Ok(None),
    }
}

/// The words that clap makes the task of again.
fn arguments(task: &Task) -> Vec<String> {
    let words = |words: &[&dyn ToString]| words.iter().map(|w| w.to_string()).collect();
    match task {
        Task::Call { call, effort } => {
            words(&[&"call", &value_name(*call), &effort.option(), &effort.amount()])
        }
        Task::Section { section, effort } => {
            words(&[&"section", &value_name(*section), &effort.option(), &effort.amount()])
        }
        Task::OwnSets { processes, time_ms } => {
            words(&[&"own-sets", &"--processes", processes, &"--time-ms", time_ms])
        }
        Task::Semopbench { groups, semaphores, repetitions } => {
            words(&[&"semopbench", &"-g", groups, &"-s", semaphores, &"-n", repetitions])
        }
        Task::Messages { bytes, effort } => {
            words(&[&"messages", &"--bytes", bytes, &effort.option(), &effort.amount()])
        }
        Task::PingPong { placement, effort } => {
            words(&[&"ping-pong", &value_name(*placement), &effort.option(), &effort.amount()])
        }
        Task::Attach { effort } => words(&[&"attach", &effort.option(), &effort.amount()]),
        Task::Death { rounds } => words(&[&"death", &"--rounds", rounds]),
        Task::Fakeroot { effort } => words(&[&"fakeroot", &effort.option(), &effort.amount()]),
        Task::Owners { effort } => words(&[&"owners", &effort.option(), &effort.amount()]),
        Task::Stress { stressor, seconds } => {
            words(&[&"stress", &value_name(*stressor), &"--seconds", seconds])
        }
        Task::Postgres { folder, seconds } => {
            words(&[&"postgres", &"--folder", &folder.display(), &"--seconds", seconds])
        }
        Task::Pair { lock, company, effort } => {
            words(&[&"pair", &value_name(*lock), &value_name(*company), &effort.option(), &effort.amount()])
        }
        Task::Ticks { effort } => words(&[&"ticks", &effort.option(), &effort.amount()]),
        Task::Known { threads, rounds } => words(&[&"known", &"--threads", threads, &"--rounds", rounds]),
        Task::Holds { lock, time_ms } => words(&[&"holds", &value_name(*lock), &"--time-ms", time_ms]),
        Task::Crowd { threads, locks, share } => {
            words(&[&"crowd", &value_name(*share), &"--threads", threads, &"--locks", locks])
        }
        Task::Contend { lock, threads, hold_ns, think_ns, time_ms } => words(&[
            &"contend",
            &value_name(*lock),
            &"--threads",
            threads,
            &"--hold-ns",
            hold_ns,
            &"--think-ns",
            think_ns,
            &"--time-ms",
            time_ms,
        ]),
        Task::Readers { lock, threads, writers_per_mille, hold_ns, think_ns, time_ms } => words(&[
            &"readers",
            &value_name(*lock),
            &"--threads",
            threads,
            &"--writers-per-mille",
            writers_per_mille,
            &"--hold-ns",
            hold_ns,
            &"--think-ns",
            think_ns,
            &"--time-ms",
            time_ms,
        ]),
        Task::WriterWait { lock, readers, hold_ns, think_ns, time_ms } => words(&[
            &"writer-wait",
            &value_name(*lock),
            &"--readers",
            readers,
            &"--hold-ns",
            hold_ns,
            &"--think-ns",
            think_ns,
            &"--time-ms",
            time_ms,
        ]),
        Task::Hackbench { groups } => words(&[&"hackbench", &"-g", groups]),
        Task::Inversion { protocol } => words(&[&"inversion", &value_name(*protocol)]),
        Task::Waits { program, ms, kit } => {
            words(&[&"waits", &value_name(*program), &"--ms", ms, &"--kit", &kit.display()])
        }
        Task::Tasks { runtime, program, workers, count } => words(&[
            &"tasks",
            &value_name(*runtime),
            &value_name(*program),
            &"--workers",
            workers,
            &"--count",
            count,
        ]),
        Task::Volano { model, workers, messages } => {
            words(&[&"volano", &value_name(*model), &"--workers", workers, &"--messages", messages])
        }
        Task::Preloaded => words(&[&"preloaded"]),
    }
}

fn value_name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |v| v.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner::{
        Call, Company, Contended, EffortOptions, LockKind, Paired, Placement, Protocol, RwContended, Section,
        Share, Stressor, TaskProgram, TaskRuntime, VolanoModel, WaitProgram,
    };
    use crate::options::{self, Options};
    use clap::Parser;

    #[test]
    fn written_arguments_are_parsed_back() {
        let effort = EffortOptions { time_ms: None, times: Some(9) };
        let tasks = [
            Task::Call { call: Call::Eagain, effort: EffortOptions { time_ms: Some(7), times: None } },
            Task::Section { section: Section::Epoch, effort },
            Task::OwnSets { processes: 2, time_ms: 5 },
            Task::Semopbench { groups: 1, semaphores: 2, repetitions: 3 },
            Task::Messages { bytes: 64, effort },
            Task::PingPong { placement: Placement::OneCpu, effort },
            Task::Attach { effort },
            Task::Death { rounds: 3 },
            Task::Fakeroot { effort },
            Task::Owners { effort },
            Task::Stress { stressor: Stressor::SemSysv, seconds: 1 },
            Task::Postgres { folder: "/tmp/somewhere".into(), seconds: 2 },
            Task::Pair { lock: Paired::Read, company: Company::Sleeper, effort },
            Task::Ticks { effort },
            Task::Known { threads: 2, rounds: 3 },
            Task::Holds { lock: LockKind::Spin, time_ms: 8 },
            Task::Crowd { threads: 4, locks: 5, share: Share::All },
            Task::Contend { lock: Contended::Std, threads: 2, hold_ns: 3, think_ns: 4, time_ms: 5 },
            Task::Readers {
                lock: RwContended::PreferWriter,
                threads: 2,
                writers_per_mille: 3,
                hold_ns: 4,
                think_ns: 5,
                time_ms: 6,
            },
            Task::WriterWait { lock: RwContended::Plain, readers: 2, hold_ns: 3, think_ns: 4, time_ms: 5 },
            Task::Hackbench { groups: 6 },
            Task::Inversion { protocol: Protocol::Inherit },
            Task::Waits { program: WaitProgram::Node, ms: 5, kit: "/tmp/somewhere".into() },
            Task::Tasks {
                runtime: TaskRuntime::AsyncExecutor,
                program: TaskProgram::SpawnInside,
                workers: 2,
                count: 3,
            },
            Task::Volano { model: VolanoModel::Tokio, workers: 8, messages: 100 },
            Task::Preloaded,
        ];
        for task in tasks {
            let words = ["unspin-bench".to_owned(), "inner".to_owned()].into_iter().chain(arguments(&task));
            match Options::parse_from(words).command {
                Some(options::Command::Inner(read)) => assert_eq!(read, task),
                None => panic!("{task:?} is no command"),
            }
        }
    }
}
