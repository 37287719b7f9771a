//! The runs: browsers, measurement, checks.

use crate::Error;
use crate::browser::{Journal, Setting, browse};
use crate::database::{Database, Failure, Session};
use crate::figures::{Figures, RunFigures};
use crate::integrity::{self, Counts};
use crate::interaction::Interaction;
use crate::options::Options;
use crate::pool::Pool;
use crate::population::{self, Populated, Scale};
use crate::random::Random;
use crate::shop::Shop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// What happens, for the observer.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The tables are being filled.
    Populating(Populated),
    /// The population is complete, or was there; what follows is measured with it.
    Ready(&'a str),
    /// A run is under way.
    Running {
        /// The number of the run, from 1.
        run: usize,
        /// Time of all runs so far.
        elapsed: Duration,
    },
    /// The tables are being checked after a run.
    Checking(usize),
    /// A run has ended, and all checks held.
    Ended(&'a RunFigures),
}

/// Populates the database if it is empty, and performs all runs. When `stop` is set, the benchmark ends soon.
pub fn run(
    options: &Options,
    database: &dyn Database,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Figures, Error> {
    let scale = ensure_populated(options, database, stop, observer)?;
    let header = header(options, database, scale);
    observer(Event::Ready(&header));
    let mut session = database.connect().map_err(Error::database)?;
    let mut counts = Counts::read(&mut *session).map_err(Error::database)?;
    let mut figures = Figures { runs: Vec::new() };
    for number in 1..=options.runs {
        let benchmark = Benchmark { options, database, scale, stop, number };
        let journal = benchmark.perform(observer)?;
        observer(Event::Checking(number));
        counts = benchmark.check(&mut *session, &counts, &journal)?;
        let Journal { times, conflicts, .. } = journal;
        let run = RunFigures { number, time: options.duration, times, conflicts };
        observer(Event::Ended(&run));
        figures.runs.push(run);
    }
    Ok(figures)
}

/// Populates the database if it has no population. Returns the scale of the population.
pub fn ensure_populated(
    options: &Options,
    database: &dyn Database,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(Event<'_>),
) -> Result<Scale, Error> {
    let existing = population::existing(database).map_err(|failure| match failure {
        Failure::Wrong(text) => {
            Error::Option(format!("the database cannot be used: {text}; name another one, or remove it"))
        }
        other => Error::database(other),
    })?;
    let Some(scale) = existing else {
        let scale = options.scale();
        let mut progress = |populated| observer(Event::Populating(populated));
        return match population::populate(database, scale, stop, &mut progress) {
            Ok(true) => Ok(scale),
            Ok(false) => Err(Error::Interrupted),
            Err(failure) => Err(Error::database(failure)),
        };
    };
    let wanted = [("--items", options.items, scale.items), ("--scale", options.scale, scale.browsers)];
    for (option, wanted, found) in wanted {
        if wanted.is_some_and(|wanted| wanted != found) {
            return Err(Error::Option(format!(
                "{option} {}: the database was populated with {option} {found}: leave the option out, or name another database",
                wanted.unwrap_or_default()
            )));
        }
    }
    Ok(scale)
}

fn header(options: &Options, database: &dyn Database, scale: Scale) -> String {
    format!(
        "{}: {} items, {} customers, {} mix\n{} browsers, {} connections, think time {} s, {} runs of {} s after {} s of warm-up\n",
        database.name(),
        scale.items,
        scale.customers(),
        options.mix.name(),
        options.browsers,
        options.connections(),
        options.think_time.as_secs_f64(),
        options.runs,
        options.duration.as_secs_f64(),
        options.warm_up.as_secs_f64(),
    )
}

/// A run.
struct Benchmark<'a> {
    options: &'a Options,
    database: &'a dyn Database,
    scale: Scale,
    stop: &'a AtomicBool,
    number: usize,
}

/// Time between two events while a run is under way.
const REPORTED: Duration = Duration::from_millis(100);

/// What a browser's thread returns.
type Outcome = Result<Journal, (Interaction, Failure)>;

impl Benchmark<'_> {
    fn perform(&self, observer: &mut dyn FnMut(Event<'_>)) -> Result<Journal, Error> {
        let pool = Pool::new(self.database, self.options.connections()).map_err(Error::database)?;
        let shop = Shop::open(&mut *pool.borrow(), self.scale).map_err(Error::database)?;
        let began = Instant::now();
        let measured_from = began + self.options.warm_up;
        let setting = Setting {
            pool,
            shop: &shop,
            mix: self.options.mix,
            think_time: self.options.think_time,
            measured_from,
            until: measured_from + self.options.duration,
            is_over: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            let mut browsers = Vec::new();
            let mut refused = None;
            for browser in 0..self.options.browsers {
                let random = self.random(browser);
                let setting = &setting;
                let body = move || {
                    let outcome = browse(setting, random);
                    if outcome.is_err() {
                        // Relaxed: the flag guards no other data.
                        setting.is_over.store(true, Ordering::Relaxed);
                    }
                    outcome
                };
                match thread::Builder::new().name(format!("browser {browser}")).spawn_scoped(scope, body) {
                    Ok(thread) => browsers.push(thread),
                    Err(error) => {
                        refused = Some(error);
                        break;
                    }
                }
            }
            if refused.is_none() {
                self.watch(&setting, &browsers, observer);
            }
            setting.is_over.store(true, Ordering::Relaxed); // Relaxed: as above.
            browsers.iter().for_each(|browser| browser.thread().unpark());
            let journal = self.journal(browsers);
            match refused {
                None => journal,
                Some(error) => Err(Error::Run(format!(
                    "--browsers {}: a thread is refused: {error} (fewer browsers, or more of ulimit -u, pids.max, memory)",
                    self.options.browsers
                ))),
            }
        })
    }

    /// The random numbers of a browser in this run.
    fn random(&self, browser: usize) -> Random {
        Random::new(self.options.seed, (self.number as u64) << 32 | browser as u64)
    }

    /// Waits until the run is over.
    fn watch(
        &self,
        setting: &Setting<'_>,
        browsers: &[ScopedJoinHandle<'_, Outcome>],
        observer: &mut dyn FnMut(Event<'_>),
    ) {
        let each = self.options.warm_up + self.options.duration;
        let began = setting.until - each;
        // Relaxed: the flags guard no other data.
        while !self.stop.load(Ordering::Relaxed)
            && !setting.is_over.load(Ordering::Relaxed)
            && !browsers.iter().all(ScopedJoinHandle::is_finished)
        {
            let Some(left) = setting.until.checked_duration_since(Instant::now()) else { return };
            thread::sleep(left.min(REPORTED));
            let elapsed = each * (self.number as u32 - 1) + began.elapsed().min(each);
            observer(Event::Running { run: self.number, elapsed });
        }
    }

    /// What all browsers did together; the first failure if one failed.
    fn journal(&self, browsers: Vec<ScopedJoinHandle<'_, Outcome>>) -> Result<Journal, Error> {
        let outcomes: Vec<Outcome> =
            browsers.into_iter().map(|browser| browser.join().expect("a browser does not panic")).collect();
        let mut journal = Journal::default();
        for outcome in outcomes {
            match outcome {
                Ok(one) => journal.merge(&one),
                Err((_, Failure::Interrupted)) => return Err(Error::Interrupted),
                Err((interaction, failure)) => {
                    return Err(Error::Run(format!("run {}, {interaction}: {failure}", self.number)));
                }
            }
        }
        // Relaxed: the flag guards no other data.
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(journal) }
    }

    fn check(&self, session: &mut dyn Session, before: &Counts, journal: &Journal) -> Result<Counts, Error> {
        let populated = self.scale.orders();
        let (counts, violations) =
            integrity::check(session, before, &journal.ledger, populated).map_err(Error::database)?;
        match violations.is_empty() {
            true => Ok(counts),
            false => Err(Error::Run(format!(
                "run {}: the database is not consistent: {}",
                self.number,
                violations.join("; ")
            ))),
        }
    }
}
