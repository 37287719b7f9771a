//! Workers that are processes. They die with the master, and the master waits for them.

use super::worker::{Worker, WorkerId};
use super::{Error, WorkerSet};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::time::Duration;
use unspin_sys::child::{self, End, Ended, Signal};
use unspin_sys::process;

/// The exit code of a worker whose channel broke because another worker has ended. That one is the cause.
const PEER_ENDED: i32 = 2;

fn is_consequence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)
}

/// The processes that have not been waited for, by pid.
#[derive(Debug, Default)]
pub struct Processes {
    running: HashMap<u32, WorkerId>,
}

impl WorkerSet for Processes {
    fn start(&mut self, worker: Worker) -> std::io::Result<()> {
        let master = process::pid();
        let id = worker.id;
        // The worker moves into the child, so the parent closes its ends of the channels when fork returns.
        let pid = child::fork(move || {
            if child::die_with_parent(master).is_err() {
                return 1;
            }
            match worker.run() {
                Ok(()) => 0,
                Err(error) if is_consequence(&error) => PEER_ENDED,
                Err(error) => {
                    eprintln!("hackbench: {id}: {error}");
                    1
                }
            }
        })?;
        self.running.insert(pid, id);
        Ok(())
    }

    fn check_workers(&mut self) -> Result<(), Error> {
        match child::try_wait_any() {
            Ok(Some(ended)) => Err(self.early_end(ended)),
            Ok(None) => Ok(()),
            Err(e) => Err(Error::System("cannot wait for the processes".into(), e.into())),
        }
    }

    fn finish(mut self) -> Result<(), Error> {
        while !self.running.is_empty() {
            let ended = child::wait_any()
                .map_err(|e| Error::System("cannot wait for the processes".into(), e.into()))?;
            if ended.end != End::Exited(0) {
                return Err(self.early_end(ended));
            }
            self.running.remove(&ended.pid);
        }
        Ok(())
    }
}

impl Processes {
    /// The error for a worker that has ended too early, or for the one that broke its channel: that one has ended before.
    fn early_end(&mut self, mut ended: Ended) -> Error {
        while ended.end == End::Exited(PEER_ENDED)
            && let Ok(Some(other)) = child::try_wait_any()
        {
            self.running.remove(&ended.pid);
            ended = other;
        }
        let how = match ended.end {
            End::Exited(code) => format!("ended with code {code}"),
            End::Killed(signal) => format!("was killed by signal {signal}"),
        };
        let worker =
            self.running.remove(&ended.pid).map_or_else(|| "another child".into(), |p| p.to_string());
        Error::Worker(format!("{worker} {how} before all messages had been passed"))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for &pid in self.running.keys() {
            // The child has not been waited for yet, so the pid is still its own.
            let _ = child::signal(pid, Signal::Kill);
        }
        for &pid in self.running.keys() {
            while let Ok(None) = child::wait_for(pid, Duration::from_secs(1)) {}
        }
    }
}
