//! Metered runs, which record locks. Their times are not compared.
//!
//! The timed runs are not metered: reading clocks at every lock costs some nanoseconds, which matters more for locks
//! with many short sections.

use super::monitor::RunMonitor;
use super::runner::{Limit, RunEnd, Runner, Trial};
use super::scheduled::PastScheduler;
use super::setup::Setup;
use serde::Serialize;
use std::fs;
use std::time::{Duration, Instant};
use unspin_launch::plan::Located;
use unspin_launch::program::runtime::Runtime;
use unspin_observe::disturbance::Disturbance;
use unspin_observe::located;
use unspin_observe::meter::disturbance::SHORTEST;
use unspin_observe::meter::names::Lookup;
use unspin_observe::meter::observer::Observer;
use unspin_observe::meter::outputs::Results;
use unspin_observe::meter::threads::ThreadClocks;
use unspin_observe::meter::{notes, wakeup};
use unspin_observe::settings::ViewSettings;
use unspin_report::MeterReport;
use unspin_wire::plan::LockFamily;
use unspin_wire::{Config, Recording, Snapshot};

/// A metered run.
pub struct Metering {
    /// The run.
    pub trial: Trial,
    /// Why the run ended before the program did; none if the program ended. The recording then covers only the time
    /// until that end.
    pub ended_early: Option<EndedEarly>,
    /// What was recorded.
    pub snapshot: Snapshot,
    /// The recording as a report.
    pub report: MeterReport,
    /// The names of its addresses.
    pub lookup: Lookup,
    /// Why nothing was recorded, if nothing was.
    pub silence: Option<String>,
    /// Whether nothing was recorded, and a program ran that the preload library did not reach.
    pub has_missed: bool,
    /// Which locks the recording lacks: those of programs that the preload library did not reach, and those of runtimes
    /// with their own locks.
    pub unseen: Option<String>,
}

/// Why a metered run ended before the program did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedEarly {
    /// ^C came.
    Interrupt,
    /// The program had not ended at its time limit.
    TimeLimit,
}

/// Runs the program once with a setup and the meter. The error says why there is no recording.
pub fn meter(runner: &Runner<'_>, setup: &Setup, time_limit: Duration) -> Result<Metering, String> {
    let metering = meter_as_far_as_possible(runner, setup, time_limit)?;
    match (metering.ended_early, &metering.trial.value) {
        (Some(EndedEarly::TimeLimit), Err(reason)) => Err(format!("when metered, {reason}")),
        (Some(_), _) => Err("interrupted".into()),
        (None, _) => Ok(metering),
    }
}

/// Meters one run. If ^C or the time limit ends the run, the result is what was recorded until then.
pub fn meter_as_far_as_possible(
    runner: &Runner<'_>,
    setup: &Setup,
    time_limit: Duration,
) -> Result<Metering, String> {
    if runner.interrupt.has_come() {
        return Err("interrupted".into());
    }
    let path = runner.scratch("recording");
    // Removes the recording of the previous metered run.
    let _ = std::fs::remove_file(&path);
    let config = Config::default();
    let level = config.level;
    let recording = Recording::create(&path, config).map_err(|e| e.to_string())?;
    runner.give(&path).map_err(|e| e.to_string())?;
    wakeup::store(&recording, level);
    let mut monitor = MeteringMonitor {
        recording: &recording,
        threads: ThreadClocks::default(),
        observer: Observer::before_start(&runner.program.path),
        cpu: None,
        has_finished: false,
    };
    recording.start();
    let began = Instant::now();
    let trial = runner
        .run(Some(setup), Limit::Timeout(time_limit), Some(&path), &mut monitor)
        .map_err(|e| e.to_string())?;
    let ended_early = match &trial {
        None => Some(EndedEarly::Interrupt),
        Some(Trial { ending: RunEnd::TimedOut { .. }, .. }) => Some(EndedEarly::TimeLimit),
        Some(_) => None,
    };
    let trial = trial.unwrap_or_else(|| interrupted_trial(began.elapsed(), monitor.cpu.unwrap_or_default()));
    if !monitor.has_finished {
        recording.finish(Some(Duration::from_secs_f64(trial.cpu_s())));
    }
    if let Some(disturbance) = trial.disturbance.shares().filter(|_| began.elapsed() >= SHORTEST) {
        recording.set_disturbance(disturbance);
    }
    monitor.threads.write(&recording);
    monitor.observer.finish();
    if ended_early.is_none() {
        trial.value.as_ref().map_err(|reason| format!("when metered, {reason}"))?;
    }
    let snapshot = recording.snapshot();
    if recording.is_lost() {
        return Err(notes::explain_lost(&path, None));
    }
    let lookup = Lookup::new();
    let report = Results::new(&snapshot, &lookup, &ViewSettings::default()).report;
    let silence = monitor.observer.explain(&snapshot);
    let has_missed = silence.is_some() && monitor.observer.has_missed();
    let unseen = [monitor.observer.unreached_programs(), Runtime::advice_on(&snapshot)];
    let unseen = unseen.into_iter().flatten().collect::<Vec<_>>();
    let unseen = (silence.is_none() && !unseen.is_empty()).then(|| unseen.join(" "));
    Ok(Metering { trial, ended_early, snapshot, report, lookup, silence, has_missed, unseen })
}

impl Metering {
    /// The places by which the preload library identifies the report's locks of a family.
    pub fn located(&self, family: LockFamily) -> Vec<Located> {
        located::locks(&self.snapshot, &self.lookup, family)
    }

    /// The locks of all families.
    pub fn all_located(&self) -> Vec<Located> {
        LockFamily::ALL.into_iter().flat_map(|family| self.located(family)).collect()
    }

    /// The places by which the preload library identifies the call sites of the report's waits.
    pub fn call_sites(&self) -> Vec<Located> {
        located::call_sites(&self.snapshot, &self.lookup)
    }

    /// Whether a lock of the family was used.
    pub fn has(&self, family: LockFamily) -> bool {
        let mut uses = self.report.locks.iter().flat_map(|lock| &lock.uses);
        uses.any(|one| one.kind.family() == Some(family))
    }
}

/// A run that ^C ended.
fn interrupted_trial(elapsed: Duration, cpu: Duration) -> Trial {
    Trial {
        elapsed_s: elapsed.as_secs_f64(),
        whole: elapsed,
        user_s: cpu.as_secs_f64(),
        system_s: 0.0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        ending: RunEnd::Killed { signal: 15 },
        value: Err("interrupted".into()),
        step: None,
        printed_unit: None,
        samples: None,
        disturbance: Disturbance::default(),
        all_cpu_s: cpu.as_secs_f64(),
        cleared: Duration::ZERO,
        left_processes: 0,
        left_sets: Vec::new(),
        output_tail: String::new(),
        programs: 0,
        reached_engine: false,
        run_queue: None,
        scheduler: PastScheduler::default(),
        boot: None,
        is_void: false,
    }
}

/// CPU time of a process and of its children that have ended: proc_pid_stat(5), fields 14 to 17, in ticks of 1/100 s.
fn cpu_time(stat: &str) -> Option<Duration> {
    // The name of the program may contain blanks and parentheses.
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = fields.split_whitespace().skip(11).take(4).map_while(|field| field.parse::<u64>().ok());
    Some(Duration::from_millis(10 * ticks.sum::<u64>()))
}

/// Observes threads and program during a metered run.
struct MeteringMonitor<'r> {
    recording: &'r Recording,
    threads: ThreadClocks,
    observer: Observer,
    /// The program's CPU time at the last check.
    cpu: Option<Duration>,
    /// Whether the recording's clock has been stopped.
    has_finished: bool,
}

impl RunMonitor for MeteringMonitor<'_> {
    fn pause(&self) -> Duration {
        self.threads.wait()
    }

    fn check(&mut self, pid: u32) {
        self.recording.update_last_seen();
        self.threads.check(self.recording);
        self.observer.check(pid, self.recording);
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        self.cpu = stat.ok().and_then(|stat| cpu_time(&stat)).or(self.cpu);
    }

    // The report has shares of the time of the load, because a server's start and stop are not contended.
    fn note_load_begin(&mut self) {
        self.recording.start();
    }

    // Called before the search for the figure in the output, which takes a while.
    fn note_end(&mut self, cpu_time: Duration) {
        self.recording.finish(Some(cpu_time));
        self.has_finished = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_a_process_includes_its_children() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 25 10 15 20 0 3 0 1 0";
        assert_eq!(cpu_time(stat), Some(Duration::from_secs(2)));
        assert_eq!(cpu_time(""), None);
    }
}
