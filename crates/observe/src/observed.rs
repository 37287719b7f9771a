//! Observes a program, a running process, or the machine through the kernel's events.
//!
//! A thread of its own reads the rings, a hundred times a second: with the priority of a real-time thread where that is
//! permitted, because the storm that it observes would otherwise keep it from the CPUs until the rings are full.

use crate::meter::relay::Relay;
use crate::settings::ObserveSettings;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use unspin_launch::command::ignored_signals::without_ignored;
use unspin_launch::error::Error;
use unspin_launch::program::Program;
use unspin_sys::child::{self, End};
use unspin_sys::process::{Liveness, ThreadGroup};
use unspin_sys::{clock, sched};
use unspin_trace::{Config, Fullness, Losses, Record, Stacks, Target, Tracer, process_of};

/// Takes in what the kernel tells.
pub trait Sink {
    /// A record. They come in the order of time.
    fn note(&mut self, record: &Record, stacks: &Stacks);

    /// Called before each reading.
    fn before_reading(&mut self) {}

    /// Called after each reading. The time is in nanoseconds of CLOCK_MONOTONIC.
    fn after_reading(&mut self, _session: &Tracer, _now: u64) {}

    /// Called once, before the first reading, with the time when the observation began, in nanoseconds of CLOCK_MONOTONIC, as
    /// that of records.
    fn begin(&mut self, _session: &Tracer, _now: u64) {}

    /// Called once, after the last record.
    fn end(&mut self, _now: u64) {}
}

/// What was observed.
pub struct Observation<S> {
    /// What the sink has made of the records.
    pub sink: S,
    /// When it began.
    pub started: SystemTime,
    /// How long it took.
    pub seconds: f64,
    /// How the program ended; none without a program.
    pub end: Option<End>,
    /// What the kernel did not tell.
    pub losses: Losses,
    /// The stacks of the samples.
    pub stacks: Stacks,
}

/// Time between two looks at the rings.
const INTERVAL: Duration = Duration::from_millis(10);
/// A ring that was fuller than this is read again at once.
const FULL: Fullness = Fullness(0.25);
/// Time between two looks at whether the observed has ended.
const PAUSE: Duration = Duration::from_millis(50);

/// The processes that the options name.
pub fn target(options: &ObserveSettings) -> Target {
    match options.pid {
        Some(pid) => Target::Tree(pid),
        None if options.all_processes => Target::System,
        None => Target::Children,
    }
}

/// Refuses --seconds for a program, which the parser cannot refuse: the program would run on unobserved.
pub fn check(options: &ObserveSettings) -> Result<(), Error> {
    match options.seconds {
        Some(_) if target(options) == Target::Children => {
            Err(Error::Usage("--seconds requires -a or -p".into()))
        }
        _ => Ok(()),
    }
}

/// An error of the kernel's interface as ours.
pub fn trace_error(error: unspin_trace::Error) -> Error {
    match error.is_usage() {
        true => Error::Usage(error.to_string()),
        false => Error::Environment(error.to_string()),
    }
}

/// The thread that reads the rings.
pub struct RingReader<S> {
    stop: Sender<()>,
    thread: JoinHandle<(S, Stacks, Losses)>,
}

impl<S: Sink + Send + 'static> RingReader<S> {
    /// Opens the events and starts the thread. Events of children must be opened by the thread that starts the command.
    pub fn start(config: &Config, mut sink: S) -> Result<RingReader<S>, Error> {
        let (hand_over, tracer) = mpsc::channel::<(Tracer, u64)>();
        let (stop, stopped) = mpsc::channel();
        // Start the thread before the events are opened, because it would inherit them.
        let read = move || {
            sched::become_real_time();
            let Ok((mut tracer, began)) = tracer.recv() else {
                return (sink, Stacks::default(), Losses::default());
            };
            sink.begin(&tracer, began);
            let mut pause = INTERVAL;
            while stopped.recv_timeout(pause) == Err(mpsc::RecvTimeoutError::Timeout) {
                sink.before_reading();
                let fullness = tracer.read(&mut |record, stacks| sink.note(record, stacks));
                sink.after_reading(&tracer, clock::monotonic_ns());
                pause = if fullness > FULL { Duration::ZERO } else { INTERVAL };
            }
            sink.before_reading();
            let end = clock::monotonic_ns();
            let (stacks, losses) = tracer.finish(&mut |record, stacks| sink.note(record, stacks));
            sink.end(end);
            (sink, stacks, losses)
        };
        let thread = thread::Builder::new().spawn(read).map_err(|e| Error::no_thread(&e))?;
        let mut tracer = Tracer::open(config).map_err(trace_error)?;
        // Take the time before the first record, however late the thread gets a CPU, so that the sums never exceed the
        // time since then.
        let began = clock::monotonic_ns();
        tracer.start().map_err(trace_error)?;
        hand_over.send((tracer, began)).expect("the thread waits for it");
        Ok(RingReader { stop, thread })
    }

    /// Stops observing. Returns what the sink has made of the records, the stacks, and what was lost.
    pub fn stop(self) -> (S, Stacks, Losses) {
        let _ = self.stop.send(());
        self.thread.join().expect("the reader does not panic")
    }
}

/// Starts the command, if there is one, and observes until it has ended. Without one, observes until the time has
/// passed, the target has ended, or a signal such as ^C has come.
pub fn observe<S: Sink + Send + 'static>(
    config: &Config,
    program: Option<(&Program, Command)>,
    limit: Option<Duration>,
    sink: S,
) -> Result<Observation<S>, Error> {
    let reader = RingReader::start(config, sink)?;
    let (started, clock) = (SystemTime::now(), Instant::now());
    let mut running = match program {
        Some((program, mut command)) => {
            let relay = Relay::install()?;
            let child = command.spawn().map_err(|e| Error::not_started(&program.path, &e))?;
            Running::Program(relay, child.id())
        }
        None => Running::Until(Stop::new(config.target, limit)?),
    };
    let end = loop {
        if let Some(end) = running.wait(PAUSE)? {
            break end;
        }
    };
    let seconds = clock.elapsed().as_secs_f64();
    let (sink, stacks, losses) = reader.stop();
    Ok(Observation { sink, started, seconds, end, losses, stacks })
}

/// What is observed while it runs.
enum Running {
    /// A program that we have started, by its pid.
    Program(Relay, u32),
    /// What runs anyway.
    Until(Stop),
}

impl Running {
    /// Waits for this time, or until the end. Returns how the program ended, if the observed is a program and has
    /// ended.
    fn wait(&mut self, pause: Duration) -> Result<Option<Option<End>>, Error> {
        match self {
            Running::Program(relay, pid) => {
                let failed = |e| Error::Environment(format!("cannot wait for process {pid}: {e}"));
                let ended = child::wait_for(*pid, pause).map_err(failed)?;
                relay.pass_on(*pid);
                Ok(ended.map(|ended| Some(ended.end)))
            }
            Running::Until(stop) => {
                thread::sleep(pause);
                Ok(stop.is_reached().then_some(None))
            }
        }
    }
}

/// When to stop, if there is no program.
struct Stop {
    signal: Arc<AtomicBool>,
    at: Option<Instant>,
    /// The observed process; no process at all if it has already ended.
    process: Option<ThreadGroup>,
}

impl Stop {
    fn new(target: Target, limit: Option<Duration>) -> Result<Stop, Error> {
        let signal = Arc::new(AtomicBool::new(false));
        for number in without_ignored(&[SIGHUP, SIGINT, SIGTERM]) {
            // The second signal ends unspin at once, even while it prepares the report.
            signal_hook::flag::register_conditional_shutdown(number, 128 + number, Arc::clone(&signal))
                .and_then(|_| signal_hook::flag::register(number, Arc::clone(&signal)))
                .map_err(|e| Error::failed(&format!("signal {number} cannot be caught"), &e))?;
        }
        let process = match target {
            Target::Tree(tid) => Some(process_of(tid).and_then(ThreadGroup::of).unwrap_or_default()),
            Target::System | Target::Children | Target::Executing(_) | Target::Started => None,
        };
        Ok(Stop { signal, at: limit.and_then(|limit| Instant::now().checked_add(limit)), process })
    }

    fn is_reached(&self) -> bool {
        self.signal.load(Ordering::SeqCst)
            || self.at.is_some_and(|at| Instant::now() >= at)
            || self.process.is_some_and(|process| process.liveness() == Liveness::Dead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn observation_stops_when_the_process_has_ended_even_if_its_number_is_used_again() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let mut stop = Stop::new(Target::Tree(child.id()), None).unwrap();
        assert!(!stop.is_reached());
        let of_earlier = stop.process.as_mut().unwrap();
        of_earlier.start_time -= 1;
        assert!(stop.is_reached(), "a process with another start time has the number now");
        stop.process.as_mut().unwrap().start_time += 1;
        assert!(!stop.is_reached());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(stop.is_reached());
        assert!(Stop::new(Target::Tree(u32::MAX), None).unwrap().is_reached());
    }

    /// `-p` with the number of a thread means its process, so the end of that thread alone does not end the observation.
    #[test]
    fn observation_goes_on_when_one_thread_has_ended() {
        let (hand_over, tid) = mpsc::channel();
        let (go_on, wait) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            let link = std::fs::read_link("/proc/thread-self").unwrap();
            let tid: u32 = link.file_name().unwrap().to_str().unwrap().parse().unwrap();
            hand_over.send(tid).unwrap();
            let _ = wait.recv();
        });
        let tid = tid.recv().unwrap();
        let stop = Stop::new(Target::Tree(tid), None).unwrap();
        drop(go_on);
        thread.join().unwrap();
        while process_of(tid).is_some() {
            thread::yield_now();
        }
        assert!(!stop.is_reached());
    }
}
