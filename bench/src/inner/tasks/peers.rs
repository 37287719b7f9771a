//! The executors of others.

use super::runtime::Runtime;
use async_executor::Executor;
use futures_lite::future;
use std::sync::Arc;

/// tokio, multi-threaded.
#[derive(Clone)]
pub struct Tokio(Arc<tokio::runtime::Runtime>);

impl Runtime for Tokio {
    fn start(workers: usize) -> Result<Tokio, String> {
        let built = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build();
        Ok(Tokio(Arc::new(built.map_err(|e| format!("tokio: {e}"))?)))
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.spawn(future));
    }

    fn spawn_here(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(future));
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }

    fn stop(self) {
        if let Some(runtime) = Arc::into_inner(self.0) {
            runtime.shutdown_background();
        }
    }
}

/// async-executor. Its workers are threads that run it; they end with the process.
#[derive(Clone)]
pub struct AsyncExecutor(&'static Executor<'static>);

impl Runtime for AsyncExecutor {
    fn start(workers: usize) -> Result<AsyncExecutor, String> {
        let executor: &'static Executor<'static> = Box::leak(Box::new(Executor::new()));
        for _ in 0..workers {
            let run = || future::block_on(executor.run(future::pending::<()>()));
            std::thread::Builder::new().spawn(run).map_err(|e| format!("async-executor: {e}"))?;
        }
        Ok(AsyncExecutor(executor))
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(future).detach();
    }

    fn spawn_here(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.spawn(future);
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        future::yield_now()
    }

    fn stop(self) {}
}
