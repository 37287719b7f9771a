//! What the master knows of its workers, be they processes or threads.

use super::{Error, worker::Worker};

/// All workers. Dropping it ends those that can be ended, which processes are.
pub trait Crew {
    /// Starts one.
    fn start(&mut self, worker: Worker) -> std::io::Result<()>;

    /// Whether all that have ended did so in order; does not wait.
    fn look(&mut self) -> Result<(), Error>;

    /// Waits until all have ended; an error as soon as one did before its work was done.
    fn finish(self) -> Result<(), Error>;
}
