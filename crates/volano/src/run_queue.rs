//! The executor of `unspin-runqueue` as the runtime of tasks.

use crate::tasks::{Runtime, Sink, Source};
use std::future::Future;
use std::io::{ErrorKind, Result, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use unspin_runqueue::queue::Policy;
use unspin_runqueue::{Async, BuildError, Builder, Executor};

/// An executor with its threads.
#[derive(Debug)]
pub struct RunQueue(Executor);

impl RunQueue {
    /// With one run queue or one for each of its threads, and this many threads, which exist from now on.
    pub fn new(policy: Policy, workers: usize) -> std::result::Result<RunQueue, BuildError> {
        Builder::new().policy(policy).workers(workers).build().map(RunQueue)
    }
}

/// The connection, from which is read.
pub struct ReadHalf(Arc<Async<TcpStream>>);

/// The connection, to which is written.
pub struct WriteHalf(Arc<Async<TcpStream>>);

impl Runtime for RunQueue {
    type Source = ReadHalf;
    type Sink = WriteHalf;

    fn split(&self, stream: TcpStream) -> Result<(ReadHalf, WriteHalf)> {
        let stream = Arc::new(Async::new(stream)?);
        Ok((ReadHalf(Arc::clone(&stream)), WriteHalf(stream)))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task).detach();
    }
}

impl Source for ReadHalf {
    async fn read(&mut self, space: &mut [u8]) -> Result<usize> {
        self.0.read_some(space).await
    }
}

impl Sink for WriteHalf {
    async fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.0.write_with(|mut stream| stream.write(rest)).await? {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => rest = &rest[count..],
            }
        }
        Ok(())
    }

    async fn close(&mut self) -> Result<()> {
        self.0.get_ref().shutdown(Shutdown::Write)
    }
}
