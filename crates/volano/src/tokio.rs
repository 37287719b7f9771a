//! tokio's multi-thread scheduler as the runtime of tasks.

use crate::tasks::{Runtime, Sink, Source};
use std::future::Future;
use std::io::Result;
use std::net::TcpStream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::runtime::Builder;

/// A scheduler with its threads.
#[derive(Debug)]
pub struct Tokio(tokio::runtime::Runtime);

impl Tokio {
    /// With this many threads, which exist from now on.
    pub fn new(workers: usize) -> Result<Tokio> {
        Builder::new_multi_thread().worker_threads(workers).enable_io().build().map(Tokio)
    }
}

impl Runtime for Tokio {
    type Source = OwnedReadHalf;
    type Sink = OwnedWriteHalf;

    fn split(&self, stream: TcpStream) -> Result<(OwnedReadHalf, OwnedWriteHalf)> {
        let _inside = self.0.enter();
        Ok(tokio::net::TcpStream::from_std(stream)?.into_split())
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }
}

impl Source for OwnedReadHalf {
    async fn read(&mut self, space: &mut [u8]) -> Result<usize> {
        AsyncReadExt::read(self, space).await
    }
}

impl Sink for OwnedWriteHalf {
    async fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        AsyncWriteExt::write_all(self, bytes).await
    }

    async fn close(&mut self) -> Result<()> {
        self.shutdown().await
    }
}
