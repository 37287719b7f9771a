//! unspin-runqueue.

use super::runtime::Runtime;
use std::sync::Arc;
use unspin_runqueue::queue::Policy;
use unspin_runqueue::{Builder, Executor};

/// With one run queue.
#[derive(Clone)]
pub struct Global(Arc<Executor>);

/// With a run queue for each worker.
#[derive(Clone)]
pub struct PerCpu(Arc<Executor>);

macro_rules! runtime {
    ($name:ident) => {
        impl Runtime for $name {
            fn start(workers: usize) -> Result<$name, String> {
                let built = Builder::new().policy(Policy::$name).workers(workers).build();
                Ok($name(Arc::new(built.map_err(|e| e.to_string())?)))
            }

            fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
                drop(self.0.spawn(future));
            }

            fn spawn_here(&self, future: impl Future<Output = ()> + Send + 'static) {
                drop(unspin_runqueue::spawn(future));
            }

            fn yield_now() -> impl Future<Output = ()> + Send {
                unspin_runqueue::yield_now()
            }

            fn stop(self) {}
        }
    };
}

runtime!(Global);
runtime!(PerCpu);
