//! volano: a chat whose readers and writers are tasks on an executor, or threads.

use clap::ValueEnum;
use unspin_volano::{Model, Options, Policy};

/// What serves the connections.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolanoModel {
    /// Four threads for each connection
    Threads,
    /// Tasks on unspin-runqueue with one run queue
    Global,
    /// Tasks on unspin-runqueue with a run queue for each worker
    Percpu,
    /// Tasks on tokio, multi-threaded
    Tokio,
}

/// The client runs twice. The first run is not counted; the table's repetitions stand for the other runs of the Volano
/// Report's protocol.
const RUNS: usize = 2;

/// Messages a second, with 10 rooms of 20 users. `workers` is the number of workers in each process; the model with
/// threads has none.
pub fn rate(model: VolanoModel, workers: usize, messages: usize) -> Result<f64, String> {
    let (model, workers) = match model {
        VolanoModel::Threads => (Model::Threads, None),
        VolanoModel::Global => (Model::Tasks(Policy::Global), Some(workers)),
        VolanoModel::Percpu => (Model::Tasks(Policy::PerCpu), Some(workers)),
        VolanoModel::Tokio => (Model::Tokio, Some(workers)),
    };
    let options = Options { model, workers, messages, runs: RUNS, ..Options::default() };
    let figures = unspin_volano::run(&options, |_| {}).map_err(|e| format!("volano: {e}"))?;
    Ok(figures.messages_per_second())
}
