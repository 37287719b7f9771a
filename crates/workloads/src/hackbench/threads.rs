//! Workers that are threads of this process.

use super::worker::Worker;
use super::{Crew, Error};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{Builder, JoinHandle};

/// Stack of a worker: messages lie elsewhere, so this is for libc and what may be preloaded.
const STACK_BYTES: usize = 128 << 10;

/// All threads. What has begun to work cannot be ended from outside: after an error the threads that wait for messages
/// in vain are left to the end of the process.
#[derive(Debug)]
pub struct Threads {
    handles: Vec<JoinHandle<()>>,
    /// Each worker's last word.
    ends: Receiver<Result<(), Error>>,
    end: Sender<Result<(), Error>>,
}

impl Default for Threads {
    fn default() -> Threads {
        let (end, ends) = channel();
        Threads { handles: Vec::new(), ends, end }
    }
}

impl Crew for Threads {
    fn start(&mut self, worker: Worker) -> std::io::Result<()> {
        let end = self.end.clone();
        let place = worker.place;
        let handle = Builder::new().stack_size(STACK_BYTES).spawn(move || {
            // Nothing of the worker's is used after a panic, but what others share with it: they would wait in vain.
            let outcome = match catch_unwind(AssertUnwindSafe(|| worker.run())) {
                Ok(result) => result.map_err(|e| Error::Worker(format!("{place}: {e}"))),
                Err(_) => Err(Error::Worker(format!("{place} panicked"))),
            };
            // The master has gone only if it has reported another worker's error.
            let _ = end.send(outcome);
        })?;
        self.handles.push(handle);
        Ok(())
    }

    fn look(&mut self) -> Result<(), Error> {
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
