//! Programs of async tasks, on our executor with either run queue and on those of others.

mod baton;
mod countdown;
mod latency;
mod ours;
mod peers;
mod runtime;
mod storms;

use clap::ValueEnum;
use ours::{Global, PerCpu};
use peers::{AsyncExecutor, Tokio};
use runtime::Runtime;

/// The project that the executor is from.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskRuntime {
    /// unspin-runqueue with one run queue
    Global,
    /// unspin-runqueue with a run queue for each worker
    Percpu,
    /// tokio, multi-threaded
    Tokio,
    /// async-executor, run by threads of its own
    AsyncExecutor,
}

/// What the tasks do.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskProgram {
    /// A task starts so many others, which end at once; prints millions a second
    SpawnInside,
    /// Four threads that are no workers do; prints millions a second
    SpawnOutside,
    /// 200 tasks that each yield so many times; prints millions of yields a second
    Yield,
    /// Two tasks that wake each other in turn, so many times; prints nanoseconds a turn
    HandOff,
    /// So many tasks that compute, started at random times, so that the workers are busy for 80 % of the time; prints the
    /// 99.9th percentile of the time from a task's start to its first instruction, and the median, in microseconds
    Wait,
}

/// Runs a program. Returns its figures.
pub fn run(runtime: TaskRuntime, program: TaskProgram, workers: usize, count: u64) -> Result<String, String> {
    match runtime {
        TaskRuntime::Global => on::<Global>(program, workers, count),
        TaskRuntime::Percpu => on::<PerCpu>(program, workers, count),
        TaskRuntime::Tokio => on::<Tokio>(program, workers, count),
        TaskRuntime::AsyncExecutor => on::<AsyncExecutor>(program, workers, count),
    }
}

fn on<R: Runtime>(program: TaskProgram, workers: usize, count: u64) -> Result<String, String> {
    let runtime = R::start(workers)?;
    let figures = match program {
        TaskProgram::SpawnInside => storms::spawn_inside(&runtime, count).to_string(),
        TaskProgram::SpawnOutside => storms::spawn_outside(&runtime, count).to_string(),
        TaskProgram::Yield => storms::yields(&runtime, count).to_string(),
        TaskProgram::HandOff => baton::turn_ns(&runtime, count).to_string(),
        TaskProgram::Wait => {
            let waits = latency::waits(&runtime, workers, count);
            format!("{} {}", waits.percentile_us(0.999), waits.percentile_us(0.5))
        }
    };
    runtime.stop();
    Ok(figures)
}
