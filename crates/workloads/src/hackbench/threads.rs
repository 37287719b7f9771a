//! Workers that are threads of this process.

use super::worker::Worker;
use super::{Error, WorkerSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};

/// Stack size of a worker. Messages are stored elsewhere, so this is for libc and preloaded libraries.
const STACK_BYTES: usize = 128 << 10;

/// All threads. A thread that has begun to work cannot be ended by another. After an error, threads that wait for
/// messages that never come remain until the process ends.
#[derive(Debug)]
pub struct Threads {
    handles: Vec<JoinHandle<()>>,
    /// The result of each worker.
    ends: Receiver<Result<(), Error>>,
    end: Sender<Result<(), Error>>,
}

impl Default for Threads {
    fn default() -> Threads {
        let (end, ends) = channel();
        Threads { handles: Vec::new(), ends, end }
    }
}

impl WorkerSet for Threads {
    fn start(&mut self, worker: Worker) -> std::io::Result<()> {
        let end = self.end.clone();
        let id = worker.id;
        let handle = Builder::new().stack_size(STACK_BYTES).spawn(move || {
            // After a panic only what the worker shares with others is still used; the others wait in vain for its
            // messages.
            let outcome = match catch_unwind(AssertUnwindSafe(|| worker.run())) {
                Ok(result) => result.map_err(|e| Error::Worker(format!("{id}: {e}"))),
                Err(_) => Err(Error::Worker(format!("{id} panicked"))),
            };
            // The receiving end is gone only if the master has already reported another worker's error.
            let _ = end.send(outcome);
        })?;
        self.handles.push(handle);
        Ok(())
    }

    fn check_workers(&mut self) -> Result<(), Error> {
        match self.ends.try_recv() {
            Ok(outcome) => outcome,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => Ok(()),
        }
    }

    fn finish(self) -> Result<(), Error> {
        for _ in &self.handles {
            self.ends.recv().expect("`end` is ours")?;
        }
        for handle in self.handles {
            handle.join().expect("panics are caught");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::channel::{Channels, Sink};
    use super::super::gate::{self, Starter};
    use super::super::worker::{Load, Role, Task, WorkerId};
    use super::*;
    use std::sync::Arc;

    const LOAD: Load = Load { senders: 1, loops: 1, datasize: 4 };

    /// Starts receivers of one message each, which are ready and wait; returns also the sending ends of their channels.
    fn receivers(count: usize) -> (Threads, Starter, Vec<Sink>) {
        let (mut starter, gate) = gate::pair().unwrap();
        let gate = Arc::new(gate);
        let mut threads = Threads::default();
        let mut sinks = Vec::new();
        for index in 0..count {
            let (sink, source) = Channels::Pipe.pair(index).unwrap();
            let id = WorkerId { role: Role::Receiver, index, group: 7 };
            let worker = Worker { id, task: Task::Receive(source), gate: Arc::clone(&gate), load: LOAD };
            threads.start(worker).unwrap();
            sinks.push(sink);
        }
        starter.await_ready(count, || threads.check_workers()).unwrap();
        (threads, starter, sinks)
    }

    #[test]
    fn finish_waits_for_all_threads() {
        let (threads, mut starter, sinks) = receivers(3);
        starter.go().unwrap();
        for sink in sinks.iter().rev() {
            sink.send(b"text").unwrap();
        }
        threads.finish().unwrap();
    }

    #[test]
    fn first_error_ends_the_wait_for_the_others() {
        let (threads, mut starter, mut sinks) = receivers(3);
        starter.go().unwrap();
        sinks.remove(1); // The other receivers wait for ever, because their messages are never sent.
        let error = threads.finish().unwrap_err().to_string();
        assert_eq!(error, "receiver 1 of group 7: failed to fill whole buffer");
    }

    #[test]
    fn cancelled_start_ends_all_threads() {
        let (threads, starter, _sinks) = receivers(3);
        drop(starter);
        for handle in threads.handles {
            handle.join().unwrap();
        }
    }
}
