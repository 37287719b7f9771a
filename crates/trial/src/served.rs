//! One run of a server: it is started, waited for, loaded, and stopped.
//!
//! ```text
//! ready? no ─► start ─► ready? no … yes ─► load (timed) ─► stop ─► ended
//!   yes: another server answers    └── ended, or too late ──┴── ended, or too late: the run has failed, and the server is stopped
//! ```
//!
//! Only the server runs under the preload library.

use super::attended::{Attended, Patience, SLICE};
use super::ending::{Limit, RunEnd};
use super::hang::HangDetector;
use super::leftovers;
use super::monitor::RunMonitor;
use super::performance::{Performance, Surroundings, clear};
use super::process_tree::cpu_of_descendants;
use super::service::{Service, remedy};
use std::process::Command;
use std::time::{Duration, Instant};
use unspin_launch::error::Error;
use unspin_launch::output::captured::CapturedOutput;
use unspin_sys::child::{self, End, Ended, Signal, Usage};

/// Time between two questions whether the server is ready.
const LOOK: Duration = Duration::from_millis(50);
/// Maximum time from the end of the server to the notice of it, while it is loaded.
const NOTICE: Duration = Duration::from_millis(100);
/// Time for a server that dies, from the end of its connections, at which the load fails, to its own end.
const DYING: Duration = Duration::from_secs(1);
/// Time for `--ready` before the server is started. If it still waits then, no server answers.
const BEFORE_START: Duration = Duration::from_secs(1);
/// Time between SIGTERM and SIGKILL for the commands around the server.
const GRACE: Duration = Duration::from_secs(2);
/// The signals by which a server may end when it is stopped: SIGHUP, SIGINT, SIGQUIT, SIGTERM of signal(7).
const STOPPED_BY: [i32; 4] = [1, 2, 3, 15];
/// SIGKILL, which only `--stop` may send.
const SIGKILL: i32 = 9;
/// Exit codes of a shell for a command that cannot be executed, and for one that does not exist.
const NO_COMMAND: [i32; 2] = [126, 127];

/// Why a run of a server is over.
enum Over {
    /// ^C.
    Interrupted,
    /// It has failed.
    Failed(Failure),
    /// Unspin has failed.
    Broken(Error),
}

struct Failure {
    ending: RunEnd,
    reason: String,
    /// The output that explains it, if the server's does not.
    output: Option<CapturedOutput>,
}

impl From<Error> for Over {
    fn from(error: Error) -> Over {
        Over::Broken(error)
    }
}

/// What `--ready` says.
enum Answer {
    Ready,
    /// Why not.
    NotReady(String),
}

/// What the load showed.
struct Loaded {
    elapsed: Duration,
    output: CapturedOutput,
    /// Usage of the server during the load.
    usage: Usage,
}

/// Runs a server and its load. Returns `None` if ^C ended the run.
pub fn of_load(
    service: &Service,
    server: &mut Command,
    limit: Limit,
    watch: &mut dyn RunMonitor,
    around: Surroundings<'_>,
) -> Result<Option<Performance>, Error> {
    let mut run = ServedRun { service, around, others: Usage::default() };
    let began = Instant::now();
    if let Err(over) = run.expect_no_other() {
        // Nothing runs under unspin.
        return run.performance(Err(over), None, began);
    }
    let mut server = match Attended::start(server) {
        Ok(server) => server,
        Err(error) => return run.performance(Err(error.into()), None, began),
    };
    let loaded = match run.wait_until_ready(&mut server) {
        Ok(()) => run.load(&mut server, limit, watch),
        Err(over) => Err(over),
    };
    let stopped = run.stop(&mut server);
    let loaded = loaded.and_then(|loaded| stopped.map(|()| loaded));
    watch.check(server.pid);
    run.performance(loaded, Some(server), began)
}

struct ServedRun<'a> {
    service: &'a Service,
    around: Surroundings<'a>,
    /// Usage of the commands around the server.
    others: Usage,
}

impl ServedRun<'_> {
    /// Fails if another server already answers, because ours could not be told from it.
    fn expect_no_other(&mut self) -> Result<(), Over> {
        let ready = &self.service.ready;
        match self.ask(self.service.ready_limit.min(BEFORE_START), None)? {
            Answer::NotReady(_) => Ok(()),
            Answer::Ready => Err(failed_run(
                RunEnd::Exited { code: 0 },
                format!(
                    "--ready '{ready}' succeeds before the server is started: if another server answers, stop it or use another \
                     port; otherwise give a command that fails until the server answers"
                ),
            )),
        }
    }

    /// Runs `--ready` once. Ends it at the limit, and if the server has ended.
    fn ask(&mut self, limit: Duration, server: Option<&Attended>) -> Result<Answer, Over> {
        let mut question = Attended::start(&mut self.service.shell(&self.service.ready))?;
        let is_over = loop {
            if question.wait(NOTICE, &Patience::UntilFirst(self.around.interrupt))?.is_some() {
                break false;
            }
            let has_server_ended = match server {
                Some(server) => server.has_ended_within(Duration::ZERO)?,
                None => false,
            };
            if self.around.interrupt.has_come() || has_server_ended || question.began.elapsed() >= limit {
                break true;
            }
        };
        let waited = question.began.elapsed();
        let ended = question.end_with_group(GRACE, self.around.interrupt)?;
        self.others += ended.usage;
        if self.around.interrupt.has_come() {
            return Err(Over::Interrupted);
        }
        let ending = RunEnd::from(ended.end);
        let why = match ending {
            _ if is_over => format!("was still running after {:.1} s", waited.as_secs_f64()),
            RunEnd::Exited { code } if NO_COMMAND.contains(&code) => {
                let reason = format!(
                    "--ready '{}' ended with exit code {code}: there is no such command: give one that can be run",
                    self.service.ready
                );
                return Err(Over::Failed(Failure { ending, reason, output: Some(question.output) }));
            }
            ending => match ending.failure() {
                None => return Ok(Answer::Ready),
                Some(failure) => failure,
            },
        };
        let printed = match question.output.tail().lines().last() {
            Some(line) if !line.is_empty() => format!(" and printed '{line}'"),
            _ => String::new(),
        };
        Ok(Answer::NotReady(format!("the last --ready {why}{printed}")))
    }

    fn wait_until_ready(&mut self, server: &mut Attended) -> Result<(), Over> {
        let limit = self.service.ready_limit;
        loop {
            let left = limit.saturating_sub(server.began.elapsed());
            let answer = self.ask(left, Some(server))?;
            // A server that has ended has not answered: another one has.
            if let Some(ended) = server.reap()? {
                return Err(ended_before_ready(ended, server));
            }
            let Answer::NotReady(why) = answer else { return Ok(()) };
            if server.began.elapsed() >= limit {
                let limit_s = limit.as_secs_f64();
                let reason = format!(
                    "the server was not ready after {limit_s} s: {why} (--ready-limit allows more time; `{}` must succeed)",
                    self.service.ready
                );
                return Err(failed_run(RunEnd::TimedOut { limit_s, hung: false }, reason));
            }
            self.around.progress.tick();
            server.has_ended_within(LOOK)?;
        }
    }

    fn load(
        &mut self,
        server: &mut Attended,
        limit: Limit,
        watch: &mut dyn RunMonitor,
    ) -> Result<Loaded, Over> {
        let before = cpu_of_descendants(self.around.spared());
        watch.note_load_begin();
        let mut load = Attended::start(&mut self.service.shell(&self.service.load))?;
        let attended = self.attend(&mut load, server, limit, watch);
        let elapsed = load.began.elapsed();
        let usage = cpu_of_descendants(self.around.spared()).since(&before);
        watch.note_end(Duration::from_micros(usage.user_us + usage.system_us));
        // What the load has left in its group must not load the server while it stops.
        let ended = load.end_with_group(GRACE, self.around.interrupt)?;
        self.others += ended.usage;
        let ending = attended?;
        if ending.failure().is_some() {
            server.has_ended_within(DYING)?;
        }
        if let Some(server_ended) = server.reap()? {
            let ending = RunEnd::from(server_ended.end);
            let how = ending.failure().unwrap_or_else(|| "ended by itself".into());
            let why = remedy(&mut server.output).map_or(String::new(), |why| format!(" ({why})"));
            return Err(failed_run(ending, format!("the server {how} while it was loaded{why}")));
        }
        match ending.failure() {
            None => Ok(Loaded { elapsed, output: load.output, usage }),
            Some(failure) => Err(Over::Failed(Failure {
                ending,
                reason: format!("the load {failure}"),
                output: Some(load.output),
            })),
        }
    }

    /// Waits until the load has ended, or ends it at its limit, at ^C, or when the server has ended.
    fn attend(
        &self,
        load: &mut Attended,
        server: &Attended,
        limit: Limit,
        watch: &mut dyn RunMonitor,
    ) -> Result<RunEnd, Over> {
        let Surroundings { interrupt, progress, .. } = self.around;
        let (is_first, shows_hang) = (matches!(limit, Limit::Timeout(_)), limit.shows_hang());
        let (limit, mut patience) = (limit.after(), progress.patience());
        let mut hang = HangDetector::new(limit, self.around.spared());
        loop {
            let left = hang.pause(load.began.elapsed());
            let over = load.has_ended_within(left.min(SLICE).min(NOTICE).min(watch.pause()))?;
            watch.check(server.pid);
            progress.tick();
            let elapsed = load.began.elapsed();
            if is_first && elapsed >= patience {
                progress.load_still_running(elapsed);
                patience = 2 * elapsed;
            }
            if over && let Some(ended) = load.reap()? {
                return Ok(ended.end.into());
            }
            if interrupt.has_come() {
                return Err(Over::Interrupted);
            }
            hang.look(elapsed);
            if elapsed >= limit {
                return Ok(RunEnd::TimedOut {
                    limit_s: limit.as_secs_f64(),
                    hung: shows_hang && hang.is_hung(),
                });
            }
            if server.has_ended_within(Duration::ZERO)? {
                // The caller says how it ended.
                return Ok(RunEnd::Exited { code: 0 });
            }
        }
    }

    /// Stops the server by `--stop` or SIGTERM, and kills its process group if that has not ended in time.
    fn stop(&mut self, server: &mut Attended) -> Result<(), Over> {
        if server.reap()?.is_some() {
            return Ok(());
        }
        let Service { stop, stop_limit, .. } = self.service;
        let patience = Patience::UntilSecond(self.around.interrupt);
        let (began, mut by) = (Instant::now(), String::from("SIGTERM"));
        match stop {
            None => {
                let _ = child::signal(server.pid, Signal::Terminate);
            }
            Some(line) => {
                let mut command = Attended::start(&mut self.service.shell(line))?;
                command.wait(*stop_limit, &patience)?;
                let ended = command.end(GRACE, self.around.interrupt)?;
                self.others += ended.usage;
                by = match RunEnd::from(ended.end).failure() {
                    None => format!("--stop '{line}'"),
                    Some(failure) => format!("--stop '{line}', which {failure}"),
                };
            }
        }
        let left = || stop_limit.saturating_sub(began.elapsed());
        let ended = server.wait(left(), &patience)?;
        if let Some(Ended { end: End::Killed(signal), .. }) = ended
            && !(STOPPED_BY.contains(&signal) || signal == SIGKILL && stop.is_some())
        {
            return Err(failed_run(
                RunEnd::Killed { signal },
                format!("the server was killed by signal {signal} when it was stopped"),
            ));
        }
        let (what, killed) = match ended {
            None => ("the server", "was killed"),
            Some(_) if leftovers::group_ends(server.pid, left(), || patience.is_over(), &mut self.others) => {
                return Ok(());
            }
            Some(_) => ("the server ended, but a process that it had started", "that was killed"),
        };
        server.end_with_group(Duration::ZERO, self.around.interrupt)?;
        // A second ^C has ended the wait.
        if self.around.interrupt.has_come() {
            return Err(Over::Interrupted);
        }
        let limit_s = stop_limit.as_secs_f64();
        let reason = format!(
            "{what} did not end within {limit_s} s of {by}, and {killed} (--stop-limit allows more time, --stop names another way)"
        );
        Err(failed_run(RunEnd::TimedOut { limit_s, hung: false }, reason))
    }

    /// Ends what is left of the run, and sums it up.
    fn performance(
        self,
        loaded: Result<Loaded, Over>,
        server: Option<Attended>,
        began: Instant,
    ) -> Result<Option<Performance>, Error> {
        let whole = began.elapsed();
        self.around.scheduled.inspect(|scheduled| scheduled.finish());
        let began_to_clear = Instant::now();
        let mut all = self.others;
        // If no server was started, --ready may have left processes.
        let ending = match &server {
            None => Some(RunEnd::Exited { code: 0 }),
            Some(server) => server.ended.map(|ended| ended.end.into()),
        };
        let leftovers = clear(server.as_ref().map(|server| server.pid), ending);
        let cleared = began_to_clear.elapsed();
        all += leftovers.usage;
        all += server.as_ref().and_then(|server| server.ended).map(|ended| ended.usage).unwrap_or_default();
        let output = match server {
            Some(server) => server.output,
            None => CapturedOutput::new()?,
        };
        let (elapsed, usage, ending, failure, figures, explanation) = match loaded {
            Err(Over::Interrupted) => return Ok(None),
            Err(Over::Broken(error)) => return Err(error),
            Ok(Loaded { elapsed, output, usage }) => {
                (elapsed, usage, RunEnd::Exited { code: 0 }, None, output, None)
            }
            Err(Over::Failed(Failure { ending, reason, output: explanation })) => {
                (whole, Usage::default(), ending, Some(reason), output, explanation)
            }
        };
        Ok(Some(Performance {
            elapsed,
            whole,
            ending,
            failure,
            usage,
            all_cpu_s: all.cpu_s(),
            figures,
            explanation,
            cleared,
            left_processes: leftovers.processes,
        }))
    }
}

fn failed_run(ending: RunEnd, reason: String) -> Over {
    Over::Failed(Failure { ending, reason, output: None })
}

fn ended_before_ready(ended: Ended, server: &mut Attended) -> Over {
    let ending = RunEnd::from(ended.end);
    let how = ending.failure().unwrap_or_else(|| "ended with exit code 0".into());
    let remedy = match (ending, remedy(&mut server.output)) {
        (_, Some(remedy)) => format!(" ({remedy})"),
        (RunEnd::Exited { code: 0 }, None) => {
            " (it must stay in the foreground, for example by --daemonize no or -g 'daemon off;')".into()
        }
        (_, None) => String::new(),
    };
    failed_run(ending, format!("the server {how} before it was ready{remedy}"))
}
