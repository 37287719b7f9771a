//! One run of the program: starts it, waits for it or ends it, and measures what it used.

use super::booted::{Boots, PastBoot};
pub use super::ending::{Limit, RunEnd};
use super::figure::{Figure, RunFigure};
use super::full_disk;
use super::interrupt::Interrupt;
use super::monitor::RunMonitor;
use super::performance::{self, Performance, Surroundings};
use super::progress::Progress;
use super::scheduled::{PastScheduler, Scheduled};
use super::served;
use super::service::Service;
use super::setup::{Prepared, Setup};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::library::environment::{self, Environment};
use unspin_launch::output::captured::CapturedOutput;
use unspin_launch::output::scratch::{self, Scratch};
use unspin_launch::plan::RunTally;
use unspin_launch::program::{Account, Program};
use unspin_launch::replace::run_queue::{self, RunQueue};
use unspin_launch::scheduler::SchedExt;
use unspin_observe::disturbance::{CpuTime, Disturbance, kernel_sets};
use unspin_stats::{Run, RunLimit, RunOutcome, comparable};
use unspin_sys::child;
use unspin_sys::creds::Creds;
use unspin_sysv::{Kind, times_joined};

/// Runs the program repeatedly, one run at a time.
pub struct Runner<'a> {
    /// The program.
    pub program: &'a Program,
    /// The figure that each run yields.
    pub figure: &'a Figure,
    /// Set by ^C.
    pub interrupt: &'a Interrupt,
    /// Shows what is being done.
    pub progress: &'a Progress,
    /// The commands around a server, if the program is one.
    pub service: Option<&'a Service>,
    library: PathBuf,
    scratch: Scratch,
    /// The path of the arena of each run, in a folder in which the program may create it.
    arena: PathBuf,
    uid: u32,
    /// The kernel's schedulers.
    sched_ext: SchedExt,
    /// The first boots of the session.
    boots: Boots,
    /// The entries for locks that were in effect in the first run under a plan, by the compiled plan.
    in_effect: RefCell<HashMap<String, BTreeSet<String>>>,
}

/// The result of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Wall-clock time in seconds, from before the start to the end; for a server, of the load.
    pub elapsed_s: f64,
    /// Wall-clock time of the run; of a server, with its start and its stop.
    #[serde(skip)]
    pub whole: Duration,
    /// CPU time in user mode, in seconds, including its children; of a server, in the time of the load.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds, including its children.
    pub system_s: f64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// How it ended.
    #[serde(flatten)]
    pub ending: RunEnd,
    /// The figure, or the reason why there is none.
    #[serde(flatten, serialize_with = "value_or_failure")]
    pub value: Result<f64, String>,
    /// The distance between neighbouring values that could have been printed; none if the figure was not printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// The unit with which the figure was printed, in base units; none if its step does not depend on those of other runs.
    #[serde(skip)]
    pub printed_unit: Option<f64>,
    /// Number of requests on which the figure rests, if it is a percentile and the output has the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// What disturbed it.
    pub disturbance: Disturbance,
    /// CPU time of everything that the run started, in seconds.
    #[serde(skip)]
    pub all_cpu_s: f64,
    /// Time until the processes that it left behind had ended.
    #[serde(skip)]
    pub cleared: Duration,
    /// Processes that it left behind, which were ended.
    pub left_processes: u32,
    /// Kernel semaphore sets that appeared during a failed run and still exist.
    pub left_sets: Vec<i32>,
    /// The end of its output, if the program itself failed.
    pub output_tail: String,
    /// Executed programs into which the preload library was loaded.
    #[serde(skip)]
    pub programs: u64,
    /// Whether a call reached an engine other than the kernel.
    #[serde(skip)]
    pub reached_engine: bool,
    /// The run queue of all its executors, if it had some and they had the same one.
    #[serde(skip)]
    pub run_queue: Option<RunQueue>,
    /// The kernel's scheduler, if schedulers are compared.
    #[serde(skip)]
    pub scheduler: PastScheduler,
    /// The virtual machine, if kernels are compared and it ran the program to its end.
    #[serde(skip)]
    pub boot: Option<PastBoot>,
    /// Whether its scheduler or its virtual machine failed: then its time says nothing about them.
    #[serde(skip)]
    pub is_void: bool,
}

impl<'a> Runner<'a> {
    /// Creates the folder for arenas and recordings. Dropping the runner removes it.
    pub fn new(
        program: &'a Program,
        figure: &'a Figure,
        interrupt: &'a Interrupt,
        progress: &'a Progress,
        service: Option<&'a Service>,
        library: PathBuf,
    ) -> Result<Runner<'a>, Error> {
        child::become_subreaper().map_err(|e| Error::Environment(format!("prctl: {e}")))?;
        let uid = Creds::current().uid;
        let scratch = Scratch::new(scratch::PROVE, uid)?;
        let arena = match program.account {
            None => scratch.file(scratch::ARENA),
            Some(Account { uid, gid }) => {
                let given = scratch.give(uid, gid).map_err(|e| give_error(scratch.folder(), e))?;
                given.join(scratch::ARENA)
            }
        };
        Ok(Runner {
            program,
            figure,
            interrupt,
            progress,
            service,
            library,
            scratch,
            arena,
            uid,
            sched_ext: SchedExt::of_kernel(),
            boots: Boots::default(),
            in_effect: RefCell::default(),
        })
    }

    /// Lets the program write to a file of the runner's folder that unspin has created.
    pub fn give(&self, file: &Path) -> Result<(), Error> {
        let Some(Account { uid, gid }) = self.program.account else { return Ok(()) };
        // The folder is ours, so the name is still that of the file.
        lchown(file, Some(uid), Some(gid)).map_err(|e| give_error(file, e))
    }

    /// A file name in the runner's folder.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.scratch.file(name)
    }

    /// Runs the program once: with a setup and a new arena, or without the preload library. Returns `None` if ^C ended
    /// it.
    pub fn run(
        &self,
        setup: Option<&Setup>,
        limit: Limit,
        recording: Option<&Path>,
        watch: &mut dyn RunMonitor,
    ) -> Result<Option<Trial>, Error> {
        let arena = self.arena.clone();
        let kernel = setup.and_then(|setup| setup.kernel.as_ref());
        let guest_result = self.scratch("vm.json");
        let mut command = match kernel {
            None => self.program.command(),
            Some(kernel) => {
                let scheduler = setup.and_then(|setup| setup.scheduling.as_ref()?.command());
                kernel.command(&self.program.command(), scheduler, &guest_result)?
            }
        };
        let tally = RunTally::create(self.scratch.folder())?;
        self.prepare(&mut command, setup, &arena, recording, &tally)?;
        let sets_before = self.kernel_sets();
        let cpu_before = CpuTime::since_boot();
        let performance = self.perform(&mut command, setup, limit, watch);
        let cpu_after = CpuTime::since_boot();
        let engine = setup.map_or(Kind::Kernel, |setup| setup.engine);
        let joined = (engine != Kind::Kernel).then(|| times_joined(&arena));
        // The next run gets a new arena. The old one is removed with its segments, whatever its state.
        let _ = unspin_sysv::remove_arena(&arena);
        let Some((mut performance, mut scheduler)) = performance? else { return Ok(None) };
        let boot = match kernel {
            Some(kernel) => self.boots.take(kernel, &mut performance, &guest_result)?,
            None => None,
        };
        if let Some(boot) = &boot {
            scheduler = boot.past_scheduler();
        }
        let reached_engine = matches!(joined, Some(Ok(1..)));
        let own = self.run_figure(&mut performance);
        // The output explains a failure of the program itself, not a plan that had no effect.
        let output_tail = match (&own, &mut performance) {
            (Ok(_), _) => String::new(),
            _ if scheduler.failure.is_some() => scheduler.output.clone(),
            (Err(_), Performance { explanation: Some(output), .. }) => output.tail(),
            (Err(_), Performance { figures, .. }) => figures.tail(),
        };
        let Performance { elapsed, whole, ending, usage, all_cpu_s, cleared, left_processes, .. } =
            performance;
        let (step, printed_unit, samples) = own
            .as_ref()
            .map_or((None, None, None), |figure| (figure.step, figure.printed_unit, figure.samples));
        let own = own.map(|figure| figure.value).and_then(|value| tally.why_lost().map_or(Ok(value), Err));
        let value = own.and_then(|value| match joined {
            Some(joined) => same_work(engine, joined).map(|()| value),
            None => Ok(value),
        });
        let value = value.and_then(|value| match setup.and_then(|setup| setup.plan.as_ref()) {
            Some(prepared) => self.check_effect(prepared, &tally).map(|()| value),
            None => Ok(value),
        });
        // A metered run shows the locks of the run queues instead.
        let run_queue = self.run_queue(setup).filter(|_| recording.is_none());
        let value = value.and_then(|value| match run_queue {
            Some(run_queue) => tally.without_run_queue(run_queue).map_or(Ok(value), Err),
            None => Ok(value),
        });
        let (failed, uid) = (value.is_err(), self.uid);
        Ok(Some(Trial {
            elapsed_s: elapsed.as_secs_f64(),
            whole,
            user_s: usage.user_us as f64 / 1e6,
            system_s: usage.system_us as f64 / 1e6,
            voluntary_switches: usage.voluntary,
            involuntary_switches: usage.involuntary,
            ending,
            value,
            step,
            printed_unit,
            samples,
            disturbance: Disturbance::between(&cpu_before, &cpu_after, all_cpu_s),
            all_cpu_s,
            cleared,
            left_processes,
            left_sets: if failed { new_sets(&sets_before, uid) } else { Vec::new() },
            output_tail,
            programs: tally.programs(),
            reached_engine,
            run_queue: tally.run_queue(),
            is_void: scheduler.failure.is_some() || kernel.is_some() && boot.is_none(),
            scheduler,
            boot,
        }))
    }

    /// Runs the program or the server, under the scheduler of its setup if that has one.
    fn perform(
        &self,
        command: &mut Command,
        setup: Option<&Setup>,
        limit: Limit,
        watch: &mut dyn RunMonitor,
    ) -> Result<Option<(Performance, PastScheduler)>, Error> {
        let around = Surroundings { interrupt: self.interrupt, progress: self.progress, scheduled: None };
        // A virtual machine loads the scheduler itself.
        let on_this_kernel = setup.filter(|setup| setup.kernel.is_none());
        let Some(scheduling) = on_this_kernel.and_then(|setup| setup.scheduling.as_ref()) else {
            let performance = self.perform_within(command, limit, watch, around)?;
            return Ok(performance.map(|performance| (performance, PastScheduler::default())));
        };
        let Some(scheduled) = Scheduled::begin(scheduling, &self.sched_ext, self.interrupt)? else {
            return Ok(None);
        };
        if scheduled.is_for_program_only() {
            child::under_sched_ext(command);
        }
        let performance = match scheduled.has_failed() {
            true => Some(Performance::without_run()?),
            false => {
                let around = Surroundings { scheduled: Some(&scheduled), ..around };
                self.perform_within(command, limit, watch, around)?
            }
        };
        let past = scheduled.past();
        Ok(performance.map(|performance| {
            let failure = past.failure.clone().or(performance.failure);
            let (whole, all_cpu_s) = (performance.whole + past.around, performance.all_cpu_s + past.cpu_s);
            (Performance { failure, whole, all_cpu_s, ..performance }, past)
        }))
    }

    fn perform_within(
        &self,
        command: &mut Command,
        limit: Limit,
        watch: &mut dyn RunMonitor,
        around: Surroundings<'_>,
    ) -> Result<Option<Performance>, Error> {
        match &self.service {
            None => performance::of_program(command, limit, watch, around),
            Some(service) => served::of_load(service, command, limit, watch, around),
        }
    }

    /// The figure, or the reason why there is none.
    fn run_figure(&self, performance: &mut Performance) -> Result<RunFigure, String> {
        let outputs = [Some(&performance.figures), performance.explanation.as_ref()];
        let obstacle = outputs.into_iter().flatten().find_map(CapturedOutput::obstacle);
        self.figure_of(performance).map_err(|reason| {
            match obstacle.or_else(|| full_disk::remark(self.scratch.folder())) {
                Some(obstacle) => format!("{reason}; {obstacle}"),
                None => reason,
            }
        })
    }

    fn figure_of(&self, performance: &mut Performance) -> Result<RunFigure, String> {
        match &performance.failure {
            Some(failure) => Err(failure.clone()),
            None => {
                let text = performance.figures.text(self.figure.output_tail_bytes());
                let figure = self.figure.of(performance.elapsed, &performance.usage, &text);
                // The figure of a server is that of its load.
                let figure = figure.map_err(|reason| match self.service {
                    Some(_) => format!("the load has {reason}"),
                    None => reason,
                });
                figure.and_then(|figure| comparable(figure.value).map(|_| figure))
            }
        }
    }

    /// The environment of a run.
    fn prepare(
        &self,
        command: &mut Command,
        setup: Option<&Setup>,
        arena: &Path,
        recording: Option<&Path>,
        tally: &RunTally,
    ) -> Result<(), Error> {
        let Some(Setup { engine, plan, run_queue, scheduling: None, kernel: None }) = setup else {
            // Neither a scheduler nor a kernel needs hooks in the program.
            environment::clear(command);
            return Ok(());
        };
        if let Some(run_queue) = run_queue {
            command.env(run_queue::VARIABLE, run_queue.name());
        }
        let file = self.scratch("plan");
        if let Some(prepared) = plan {
            prepared.compiled.write(&file)?;
        }
        Environment {
            library: &self.library,
            engine: *engine,
            arena: Some(arena),
            recording,
            plan: plan.as_ref().map(|_| &*file),
            tally: Some(tally.path()),
            looks: plan.as_ref().and_then(|prepared| prepared.compiled.poll_support()),
        }
        .apply(command);
        Ok(())
    }

    /// The run queue that the executors of a run must have; none if the program chooses it, or without the preload
    /// library: no verdict uses that run.
    fn run_queue(&self, setup: Option<&Setup>) -> Option<RunQueue> {
        setup?.run_queue.or(self.program.run_queue)
    }

    /// Whether the plan was in effect: otherwise the run says nothing about it. It must replace a lock, and by the same
    /// entries as in the first run.
    fn check_effect(&self, prepared: &Prepared, tally: &RunTally) -> Result<(), String> {
        if !prepared.plan.replaces_locks() {
            return Ok(());
        }
        let replacements = tally.replacements(&prepared.compiled);
        if let Some(why) = replacements.without_effect() {
            return Err(why);
        }
        let now = replacements.in_effect();
        let mut known = self.in_effect.borrow_mut();
        let before = known.entry(prepared.compiled.to_string()).or_insert_with(|| now.clone());
        match before.symmetric_difference(&now).next() {
            None => Ok(()),
            Some(entry) => {
                let (here, there) = if now.contains(entry) { ("a", "none") } else { ("no", "one") };
                Err(format!("{entry} replaced {here} lock in this run, and {there} in an earlier one"))
            }
        }
    }

    /// Ids of the kernel's semaphore sets that belong to the user of the programs that are run.
    pub fn kernel_sets(&self) -> Vec<i32> {
        kernel_sets(self.uid)
    }
}

fn give_error(path: &Path, error: std::io::Error) -> Error {
    Error::at(path, "it cannot be given to the server's user", error)
}

/// Whether the program used `engine` at all: otherwise the run says nothing about the engine.
fn same_work(engine: Kind, joined: std::io::Result<u64>) -> Result<(), String> {
    match joined {
        Err(e) => Err(format!("its arena cannot be read: {e}")),
        Ok(0) => Err(format!(
            "no System V call reached the engine {engine}: the program makes none, or the preload library does \
             not reach the process that does"
        )),
        Ok(_) => Ok(()),
    }
}

fn new_sets(before: &[i32], uid: u32) -> Vec<i32> {
    kernel_sets(uid).into_iter().filter(|id| !before.contains(id)).collect()
}

impl Trial {
    /// In the form that the statistics need.
    pub fn run(&self, limit: Limit) -> Run {
        let run = Run::new(self.whole, self.outcome(limit));
        run.with_cpu_s(self.cpu_s()).with_step(self.step).with_samples(self.samples)
    }

    fn outcome(&self, limit: Limit) -> RunOutcome {
        match (&self.value, self.ending, limit) {
            (Ok(value), ..) => RunOutcome::measured(*value),
            (Err(reason), ..) if self.is_void => RunOutcome::Failed { reason: reason.clone() },
            (Err(_), RunEnd::TimedOut { limit_s, hung: true }, Limit::Candidate(RunLimit::Collapse(_))) => {
                RunOutcome::Hung { limit_s }
            }
            (Err(_), RunEnd::TimedOut { .. }, Limit::Candidate(limit)) => limit.outcome(),
            (Err(reason), ..) => RunOutcome::Failed { reason: reason.clone() },
        }
    }

    /// CPU time in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

fn value_or_failure<S: Serializer>(value: &Result<f64, String>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Columns<'a> {
        value: Option<f64>,
        failure: Option<&'a str>,
    }
    Columns { value: value.as_ref().ok().copied(), failure: value.as_ref().err().map(String::as_str) }
        .serialize(serializer)
}
