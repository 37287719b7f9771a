//! Workers that are processes. They die with the master, and the master waits for them.

use super::worker::{Worker, WorkerId};
use super::{Error, WorkerSet};
use std::collections::HashMap;
use std::time::Duration;
use unspin_sys::child::{self, End, Ended, Signal};
use unspin_sys::process;

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
            Ok(Some(ended)) => Err(self.early_end(&ended)),
            Ok(None) => Ok(()),
            Err(e) => Err(Error::System("cannot wait for the processes".into(), e.into())),
        }
    }

    fn finish(mut self) -> Result<(), Error> {
        while !self.running.is_empty() {
            let ended = child::wait_any()
                .map_err(|e| Error::System("cannot wait for the processes".into(), e.into()))?;
            if ended.end != End::Exited(0) {
                return Err(self.early_end(&ended));
            }
            self.running.remove(&ended.pid);
        }
        Ok(())
    }
}

impl Processes {
    fn early_end(&mut self, ended: &Ended) -> Error {
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
