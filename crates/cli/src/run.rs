//! `unspin run`: runs a program with replaced locks and waits, without a measurement.
//!
//! unspin becomes the program, so pid, parent, signals, terminal, descriptors and exit code are the program's own. What
//! the plan replaced is known when the program has ended. So before unspin becomes the program it starts an *observer*:
//! a process of its own session that is no child of the program, waits for the program's end, and reports.

mod scheduled;

use crate::options;
use std::convert::Infallible;
use std::fs;
use std::io::{PipeWriter, Read, pipe};
use std::process::ExitCode;
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::library;
use unspin_launch::library::environment::Environment;
use unspin_launch::machine::looks::PollSupport;
use unspin_launch::output::scratch::{self, Scratch};
use unspin_launch::output::stderr;
use unspin_launch::plan::{Compiled, NamesFrom, RunTally};
use unspin_launch::program::Program;
use unspin_launch::program::programs_run::{self, ProgramsRun, Reach, Start};
use unspin_launch::program::reach;
use unspin_launch::program::run_queue_program;
use unspin_launch::program::runtime::Runtime;
use unspin_launch::replace::Replace;
use unspin_launch::replace::arena;
use unspin_launch::replace::engine::Engine;
use unspin_sys::child::{self, End, Ended};
use unspin_sys::creds::Creds;
use unspin_sys::{Errno, process};
use unspin_trace::Fullness;

/// Becomes the program, with the preload library. Returns only if that fails, or with --scheduler.
pub fn run(options: &options::RunOptions) -> Result<ExitCode, Error> {
    let Some(scheduler) = &options.scheduler else { return Err(run_replaced(options)) };
    if replaces_anything(options) {
        return scheduled::run(scheduler, options, || run_replaced(options));
    }
    // A scheduler needs no preload library.
    let program = scheduler.find_beside(&options.command)?;
    scheduled::run(scheduler, options, || program.replace_process_as_it_is())
}

/// Whether the preload library has something to do in the program.
fn replaces_anything(options: &options::RunOptions) -> bool {
    let Replace { mutex, rwlock, spin, waits, run_queue, use_plan } = Replace::from(&options.replace);
    let has_locks = !(mutex.is_empty() && rwlock.is_empty() && spin.is_empty() && waits.is_empty());
    has_locks || run_queue.is_some() || use_plan.is_some() || options.sysv.is_some()
}

/// Becomes the program, with the preload library. Returns only if that fails.
fn run_replaced(options: &options::RunOptions) -> Error {
    match try_run_replaced(options) {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

fn try_run_replaced(options: &options::RunOptions) -> Result<Infallible, Error> {
    let inherited = inherited_descriptors();
    let arena = arena::of(options.sysv, options.arena.as_deref()).map_err(Error::Usage)?;
    let replace = Replace::from(&options.replace);
    let program = match replace.run_queue {
        None => Program::find_runnable(&options.command)?,
        run_queue => run_queue_program::find(&options.command, run_queue)?,
    };
    let plan = replace.compile(&program)?;
    let library = library::unpack()?;
    let engine = options.sysv.unwrap_or(Engine::Kernel);
    arena::try_open(engine, arena.as_deref())?;
    let kept = plan.as_ref().map(Compiled::keep).transpose()?;
    // Before the observer, which tells why no wait polls.
    let looks = plan.as_ref().and_then(Compiled::poll_support);
    if options.verbose
        && let Some(shortcomings) = looks.and_then(PollSupport::shortcomings)
    {
        stderr::say(format_args!("{shortcomings}"));
    }
    // Without an observer the program runs all the same. A program that adopts orphans gets no observer: the observer
    // would become its child, and the program may wait for all of its children.
    let is_counted = plan.is_some() || program.run_queue.is_some() || is_launcher(&program);
    let is_observed = is_counted && !child::adopts_orphans();
    let observed = is_observed.then(|| Observed::new(plan, options, &program)).transpose();
    if options.verbose {
        let why = match &observed {
            Err(error) => Some(error.to_string()),
            Ok(None) if is_counted => {
                Some("this process adopts orphans, so the observer would be the program's child".into())
            }
            Ok(_) => None,
        };
        why.iter().for_each(|why| stderr::say(format_args!("what is replaced is not counted: {why}")));
    }
    // Without an observer nothing would remove the tally.
    let observed = observed.ok().flatten().filter(|observed| {
        let started = observed.start_observer(&inherited);
        if options.verbose
            && let Err(why) = &started
        {
            stderr::say(format_args!("what is replaced is not counted: no process can be started: {why}"));
        }
        started.is_ok()
    });
    Err(program.replace_process(&Environment {
        library: &library,
        engine,
        arena: arena.as_deref(),
        recording: None,
        plan: kept.as_deref(),
        tally: observed.as_ref().map(|observed| observed.tally.path()),
        looks,
    }))
}

/// Whether the preload library can reach at most the programs that this one starts.
fn is_launcher(program: &Program) -> bool {
    program.workload().is_none() && reach::check(&program.path, &Creds::current()).is_err()
}

/// A program whose replacements are counted. Dropping it removes the tally; becoming the program does not drop it.
struct Observed<'o> {
    plan: Option<Compiled>,
    // Before its folder.
    tally: RunTally,
    scratch: Scratch,
    options: &'o options::RunOptions,
    /// The program that is executed.
    program: &'o Program,
}

/// Maximum time of one wait for the program's end.
const SLICE: Duration = Duration::from_secs(3600);
/// The longest sleep between two looks while the observer holds a pipe open that the program may close, and while it
/// counts the executed programs.
const BRIEF_SLICE: Duration = Duration::from_millis(500);
/// The longest sleep between two looks at first, and as long as many programs are executed.
const FIRST_SLICE: Duration = Duration::from_millis(20);
/// The kernel's records are read more often than before if they have filled so much of the room for them.
const FULL: Fullness = Fullness(0.1);

impl<'o> Observed<'o> {
    fn new(
        plan: Option<Compiled>,
        options: &'o options::RunOptions,
        program: &'o Program,
    ) -> Result<Observed<'o>, Error> {
        let scratch = Scratch::new(scratch::RUN, Creds::current().uid)?;
        let tally = RunTally::create(scratch.folder())?;
        Ok(Observed { plan, tally, scratch, options, program })
    }

    /// Starts the observer. Its parent ends at once, so that it does not become a child of the program. If it cannot be started,
    /// nothing is reported.
    fn start_observer(&self, inherited: &[u32]) -> Result<(), Errno> {
        let program = process::pid();
        let observe = |ready: Option<PipeWriter>| {
            // Readers of the program's pipes would see no end. Standard error stays, for the report.
            child::close_descriptors(inherited);
            let _ = child::new_session();
            let mut programs = ProgramsRun::observe(Start::Process(program));
            drop(ready);
            if has_ended_with_its_output(program, &mut programs) {
                programs.finish();
                self.report(&programs);
            }
            let _ = fs::remove_dir_all(self.scratch.folder());
            0
        };
        let started = child::fork(|| {
            let (reader, writer) = pipe().ok().unzip();
            let started = child::fork(|| observe(writer));
            // The program must not begin before the observer is ready. The pipe ends when the observer is ready, or has
            // ended.
            let _ = reader.map(|mut reader| reader.read(&mut [0]));
            started.err().map_or(0, |why| why.0)
        });
        match child::wait_for(started?, SLICE) {
            Ok(Some(Ended { end: End::Exited(why @ 1..), .. })) => Err(Errno(why)),
            _ => Ok(()),
        }
    }

    /// Prints what was replaced, if the user asked for that, and which entries replaced nothing.
    fn report(&self, programs: &ProgramsRun) {
        // If the program could not be executed, the tally is removed.
        if !self.tally.path().exists() {
            return;
        }
        if let Some(lost) = self.tally.why_lost() {
            return stderr::say(format_args!("{lost}"));
        }
        let lines = self.lines_of_plan(programs).into_iter().chain(self.line_of_run_queue());
        for line in lines.chain(self.line_of_engine()) {
            // The reader may be gone.
            stderr::say(format_args!("{line}"));
        }
    }
}

impl Observed<'_> {
    fn lines_of_plan(&self, programs: &ProgramsRun) -> Vec<String> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let replacements = self.tally.replacements(plan);
        if replacements.is_nothing()
            && let Err(nothing_to_replace) = plan.check_reach(self.program)
        {
            // By default report nothing: the service or script that starts the program in this way works, and its standard
            // error stays as it was.
            return self.options.verbose.then(|| nothing_to_replace.to_string()).into_iter().collect();
        }
        if let Some(why) = replacements.passed_on() {
            // As above: the program works.
            let line = format!("replaced: {replacements}; {why}");
            return self.options.verbose.then_some(line).into_iter().collect();
        }
        let mut lines = replacements.warnings(&NamesFrom::Meter(&self.options.command));
        let is_incomplete = !lines.is_empty();
        if self.options.verbose || is_incomplete {
            lines.extend(self.unseen(programs, is_incomplete));
        }
        if self.options.verbose {
            lines.insert(0, format!("replaced: {replacements}"));
        }
        if replacements.has_few_locks() {
            let runtimes = Runtime::of_file(&self.program.path);
            lines.extend(runtimes.into_iter().map(|runtime| runtime.advice().to_owned()));
        }
        lines
    }

    /// What the counts lack: programs that the library did not reach, and processes that still run.
    fn unseen(&self, programs: &ProgramsRun, is_incomplete: bool) -> Vec<String> {
        let mut lines = Vec::new();
        let survivors = if is_incomplete { programs.survivors() } else { Vec::new() };
        match programs.reach() {
            Reach::All => {}
            Reach::Some(sentence) => lines.push(sentence),
            Reach::Unknown(why)
                if self.options.verbose || survivors.is_empty() && programs.unobserved_clause().is_some() =>
            {
                lines.push(format!("which programs the preload library did not reach is not known: {why}"));
            }
            Reach::Unknown(_) => {}
        }
        if !survivors.is_empty() {
            lines
                .push(format!("still running, not counted further: {}", programs_run::processes(&survivors)));
        }
        lines.extend(programs.asan_remedy().filter(|_| is_incomplete));
        lines
    }

    /// Why nothing used the engine, if that is known: the library could not be loaded.
    fn line_of_engine(&self) -> Option<String> {
        let engine = self.options.sysv.filter(|_| self.plan.is_none() && self.tally.programs() == 0)?;
        let why = reach::check(&self.program.path, &Creds::current()).err()?;
        Some(format!("nothing that ran could use the engine {}: {why}", engine.name()))
    }

    fn line_of_run_queue(&self) -> Option<String> {
        let run_queue = self.program.run_queue?;
        let executors = self.tally.executors(run_queue);
        let name = run_queue.name();
        match executors {
            0 => self.tally.run_queue_warning(run_queue),
            _ if !self.options.verbose => None,
            1 => Some(format!("run queue {name}: 1 executor")),
            executors => Some(format!("run queue {name}: {executors} executors")),
        }
    }
}

/// Waits for the program's end, and reads meanwhile which programs are executed. Returns false if the program closed
/// its standard error before its end, as a service does to let the reader of a pipe see the end. Then the observer has
/// nowhere to report, and ends as well.
fn has_ended_with_its_output(program: u32, programs: &mut ProgramsRun) -> bool {
    let output = |pid: &str| fs::read_link(format!("/proc/{pid}/fd/2"));
    let ours = output("self").ok();
    let is_pipe = ours.as_ref().is_some_and(|file| file.as_os_str().as_encoded_bytes().ends_with(b"]"));
    let longest = if is_pipe || programs.is_observed() { BRIEF_SLICE } else { SLICE };
    let mut slice = FIRST_SLICE.min(longest);
    while child::has_ended_within(program, slice) == Ok(false) {
        slice = if programs.read(program) > FULL { FIRST_SLICE } else { (2 * slice).min(longest) };
        let is_given_up = match output(&program.to_string()) {
            Ok(file) => Some(file) != ours,
            // A process that is ending has no descriptors either; it has given up its memory before them.
            Err(error) => {
                error.kind() == std::io::ErrorKind::NotFound
                    && fs::read_link(format!("/proc/{program}/exe")).is_ok()
            }
        };
        if is_pipe && is_given_up && child::has_ended_within(program, Duration::ZERO) == Ok(false) {
            return false;
        }
    }
    true
}

/// The open descriptors that are meant for the program, except standard error.
fn inherited_descriptors() -> Vec<u32> {
    let open: Vec<u32> = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    // The descriptor by which the folder was read is closed now.
    let is_open = |number: &u32| *number != 2 && fs::read_link(format!("/proc/self/fd/{number}")).is_ok();
    open.into_iter().filter(is_open).collect()
}
