//! The master's interface to its workers, which are processes or threads.

use super::{Error, worker::Worker};

/// All workers. Dropping it ends the workers if they are processes; threads cannot be ended.
pub trait WorkerSet {
    /// Starts a worker.
    fn start(&mut self, worker: Worker) -> std::io::Result<()>;

    /// Fails if a worker that has ended did not end correctly. Does not wait.
    fn check_workers(&mut self) -> Result<(), Error>;

    /// Waits until all workers have ended. Fails as soon as one ended before its work was done.
    fn finish(self) -> Result<(), Error>;
}
