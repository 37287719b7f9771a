//! The program while it runs.

use super::disturbance::{DisturbanceMonitor, cpu_s_of};
use super::observer::Observer;
use super::recorded_program::RecordedProgram;
use super::relay::Relay;
use super::report_guard::ReportGuard;
use super::threads::ThreadClocks;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_sys::child::{self, End, Ended};
use unspin_wire::Snapshot;

/// A started program, and what unspin observes of it.
pub struct Running<'s> {
    /// The program's process id.
    pub pid: u32,
    recorded: &'s RecordedProgram,
    /// Relays signals, if the program shall get them.
    relay: Option<Relay>,
    threads: ThreadClocks,
    observer: Observer,
    disturbance: DisturbanceMonitor,
}

impl<'s> Running<'s> {
    pub(super) fn start(
        recorded: &'s RecordedProgram,
        mut command: Command,
        relay: Option<Relay>,
    ) -> Result<Running<'s>, Error> {
        recorded.recording.start();
        let disturbance = DisturbanceMonitor::start();
        let observer = Observer::before_start(&recorded.program.path);
        let started = command.spawn().map_err(|e| Error::not_started(&recorded.program.path, &e))?;
        let threads = ThreadClocks::default();
        Ok(Running { pid: started.id(), recorded, relay, threads, observer, disturbance })
    }

    /// Waits until the program has ended or the timeout has passed, and relays signals meanwhile. After the end the
    /// clock is stopped, and this must not be called again.
    pub fn wait(&mut self, timeout: Duration) -> Result<Option<Ended>, Error> {
        let pid = self.pid;
        let failed = |e| Error::Environment(format!("cannot wait for process {pid}: {e}"));
        let until = Instant::now().checked_add(timeout);
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let slice = self.threads.wait().min(left.unwrap_or(Duration::MAX));
            // The kernel's timeout has milliseconds.
            let ended = child::has_ended_within(pid, slice.max(Duration::from_millis(1))).map_err(failed)?;
            if let Some(relay) = &mut self.relay {
                relay.pass_on(pid);
            }
            if ended || self.threads.wait().is_zero() {
                self.check();
            }
            if ended && let Some(ended) = child::wait_for(pid, Duration::ZERO).map_err(failed)? {
                self.recorded.recording.finish(Some(Duration::from_secs_f64(ended.usage.cpu_s())));
                let others = self.living_processes().into_iter().filter(|&other| other != pid).collect();
                self.note_disturbance(ended.usage.cpu_s() + cpu_s_of(&others));
                self.observer.finish();
                self.threads.write(&self.recorded.recording);
                return Ok(Some(ended));
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
        }
    }

    /// Waits until the program has ended.
    pub fn wait_until_end(&mut self) -> Result<Ended, Error> {
        loop {
            if let Some(ended) = self.wait(Duration::MAX)? {
                return Ok(ended);
            }
        }
    }

    fn check(&mut self) {
        self.recorded.recording.update_last_seen();
        self.threads.check(&self.recorded.recording);
        self.observer.check(self.pid, &self.recorded.recording);
        self.note_disturbance(cpu_s_of(&self.living_processes()));
    }

    /// Stores the disturbance until now, if the program has used as many seconds of CPU time.
    fn note_disturbance(&self, program_s: f64) {
        if let Some(disturbance) = self.disturbance.until_now(program_s) {
            self.recorded.recording.set_disturbance(disturbance);
        }
    }

    /// The program, and the recorded processes that live.
    fn living_processes(&self) -> BTreeSet<u32> {
        let owners = self.recorded.recording.owners().into_iter().map(|(pid, _)| pid);
        owners.chain([self.pid]).collect()
    }

    /// Whether a signal such as that of ^C asked the program to end.
    pub fn was_asked_to_end(&self) -> bool {
        self.relay.as_ref().is_some_and(|relay| relay.asked_to_end)
    }

    /// After the program's end: from now on a signal ends unspin, which says what it keeps.
    pub fn guard_report(&mut self) -> ReportGuard {
        ReportGuard::new(self.relay.take(), self.recorded.path())
    }

    /// The recording so far, with the times of threads that have not ended by themselves.
    pub fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.recorded.recording.snapshot();
        self.threads.complete(&mut snapshot);
        snapshot
    }

    /// Whether the recording was cut short, so that its contents are lost.
    pub fn has_lost_recording(&self) -> bool {
        self.recorded.recording.is_lost()
    }

    /// Number of recorded processes that still run.
    pub fn surviving(&self) -> usize {
        self.recorded.recorded_processes().len()
    }

    /// Explains why nothing is recorded.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }
}

/// The exit code that a shell shows: the program's own, or 128 plus the number of the signal that killed it.
pub fn exit_code(end: End) -> u8 {
    match end {
        End::Exited(code) => code as u8,
        End::Killed(signal) => 128 + signal as u8,
    }
}
