//! What the programs need of an executor.

/// An executor. Each implementation uses the way that its own documentation shows.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// An executor with this number of workers.
    fn start(workers: usize) -> Result<Self, String>;

    /// Starts a task from any thread.
    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static);

    /// Starts a task from another one of this executor.
    fn spawn_here(&self, future: impl Future<Output = ()> + Send + 'static);

    /// Lets other tasks go first.
    fn yield_now() -> impl Future<Output = ()> + Send;

    /// Ends the workers.
    fn stop(self);
}
