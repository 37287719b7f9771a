//! What runs the readers and writers of a process, as the model says.

use crate::connection::{Reader, Writer};
use crate::end_report::EndReport;
use crate::options::{Model, Options};
use crate::run_queue::RunQueue;
use crate::tasks::Tasks;
use crate::threads::Threads;
use crate::tokio::Tokio;
use std::io::Result;
use std::net::TcpStream;

/// Threads, or a runtime of tasks.
#[derive(Debug)]
pub enum Runner {
    Threads(Threads),
    Tokio(Tasks<Tokio>),
    RunQueue(Tasks<RunQueue>),
}

impl Runner {
    /// What the options ask for. The threads of a runtime are started.
    pub fn new(options: &Options) -> std::result::Result<Runner, String> {
        match options.model {
            Model::Threads => Ok(Runner::Threads(Threads::default())),
            Model::Tokio => Tokio::new(options.workers())
                .map(|tokio| Runner::Tokio(Tasks(tokio)))
                .map_err(|e| format!("cannot start tokio: {e}")),
            Model::Tasks(policy) => RunQueue::new(policy, options.workers())
                .map(|run_queue| Runner::RunQueue(Tasks(run_queue)))
                .map_err(|e| format!("cannot start the executor: {e}")),
        }
    }

    /// Starts the reader and the writer of a connection, whose messages have `size` bytes.
    pub fn start(
        &mut self,
        stream: TcpStream,
        size: usize,
        reader: (impl Reader, EndReport),
        writer: (impl Writer, EndReport),
    ) -> Result<()> {
        match self {
            Runner::Threads(threads) => threads.start(stream, size, reader, writer),
            Runner::Tokio(tasks) => tasks.start(stream, size, reader, writer),
            Runner::RunQueue(tasks) => tasks.start(stream, size, reader, writer),
        }
    }

    /// Waits until nothing is left of readers and writers that have all reported their ends.
    pub fn finish(&mut self) {
        match self {
            Runner::Threads(threads) => threads.finish(),
            // A task has no resources of its own.
            Runner::Tokio(_) | Runner::RunQueue(_) => {}
        }
    }
}
