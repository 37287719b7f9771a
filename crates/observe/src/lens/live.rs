//! A lens that is read while it observes.
//!
//! The thread that reads the rings must not stop for names: it hands over what it has added up since the last reading, and the
//! caller makes the reports.

use super::conditions::Conditions;
use super::lenses::Lenses;
use super::naming::Naming;
use super::reports::Reports;
use super::text;
use crate::observed::{self, RingReader, Sink};
use crate::settings::{Lens, ObserveSettings};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_report::next::Subject;
use unspin_symbols::Symbols;
use unspin_sys::clock;
use unspin_trace::{KernelSymbols, Losses, Record, Stacks, Target, Tracer};

/// One lens with a tracer of its own.
pub struct LiveLens {
    reader: RingReader<LiveSink>,
    ask: Sender<()>,
    drained: Receiver<Drained>,
    /// Whether an answer is due.
    is_asked: bool,
    target: Target,
    subject: Subject,
    naming: Naming,
    /// Why locks of the kernel have no names; none if they have.
    nameless: Option<String>,
    /// All that was handed over.
    all: Option<Lenses>,
    /// When the previous reading was made; none before the first.
    before: Option<u64>,
}

/// What a lens has seen.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LensReading {
    /// Since the previous reading.
    pub lately: Reports,
    /// Since the lens was opened.
    pub since_start: Reports,
    /// What is missing in them.
    pub notes: Vec<String>,
}

/// The sums between two readings. Times are in nanoseconds of CLOCK_MONOTONIC, the clock of the records, because the
/// sums are divided by the time between the readings.
struct Drained {
    lenses: Lenses,
    stacks: Stacks,
    losses: Losses,
    began: u64,
    at: u64,
}

/// Takes in records, and hands over the sums when it is asked.
struct LiveSink {
    lenses: Lenses,
    /// When the observation began.
    began: u64,
    asked: Receiver<()>,
    hand_over: Sender<Drained>,
}

/// How long a reading may take: the thread looks at the rings a hundred times a second, if it gets a CPU.
const TIMEOUT: Duration = Duration::from_millis(500);

impl LiveLens {
    /// Starts to observe. The subject is for suggested commands.
    pub fn start(lens: Lens, observe: &ObserveSettings, subject: &Subject) -> Result<LiveLens, Error> {
        let (lenses, config) = Lenses::of(lens, observe)?;
        let has_kernel_names = lenses.has_kernel_names();
        let (ask, asked) = mpsc::channel();
        let (hand_over, drained) = mpsc::channel();
        let reader = RingReader::start(&config, LiveSink { lenses, began: 0, asked, hand_over })?;
        let (kernel, nameless) = match KernelSymbols::read() {
            Ok(symbols) => (symbols, None),
            Err(e) => (KernelSymbols::none(), Some(format!("locks of the kernel have no names: {e}"))),
        };
        Ok(LiveLens {
            reader,
            ask,
            drained,
            is_asked: false,
            target: observed::target(observe),
            subject: subject.clone(),
            naming: Naming { kernel, programs: Symbols::new() },
            nameless: nameless.filter(|_| has_kernel_names),
            all: None,
            before: None,
        })
    }

    /// What was seen since the last call, and in all; none if the reading thread gets no CPU, or has ended.
    pub fn read(&mut self) -> Option<LensReading> {
        // An answer that came too late for the previous call answers this one.
        if !std::mem::replace(&mut self.is_asked, true) {
            self.ask.send(()).ok()?;
        }
        let Drained { mut lenses, stacks, losses, began, at } = self.drained.recv_timeout(TIMEOUT).ok()?;
        self.is_asked = false;
        let conditions = |since: u64| self.conditions(seconds(since, at), losses);
        let before = self.before.unwrap_or(began);
        let lately = lenses.reports_with(&stacks, &self.naming, &conditions(before));
        if let Some(all) = &self.all {
            lenses.absorb(all);
        }
        let since_start = lenses.reports_with(&stacks, &self.naming, &conditions(began));
        self.before = Some(at);
        self.all = Some(lenses);
        let notes =
            self.nameless.iter().cloned().chain(text::losses(losses.records, losses.unreadable)).collect();
        Some(LensReading { lately, since_start, notes })
    }

    fn conditions(&self, seconds: f64, losses: Losses) -> Conditions {
        let (target, subject) = (self.target, self.subject.clone());
        Conditions { target, subject, seconds, cpus: unspin_trace::cpus(), losses }
    }

    /// Stops observing, and returns what was seen in all.
    pub fn stop(self) -> Reports {
        let (target, subject) = (self.target, self.subject);
        let (LiveSink { mut lenses, began, .. }, stacks, losses) = self.reader.stop();
        let seconds = seconds(began, clock::monotonic_ns());
        for late in self.drained.try_iter() {
            lenses.absorb(&late.lenses);
        }
        if let Some(all) = &self.all {
            lenses.absorb(all);
        }
        let conditions = Conditions { target, subject, seconds, cpus: unspin_trace::cpus(), losses };
        lenses.reports_with(&stacks, &self.naming, &conditions)
    }
}

fn seconds(since: u64, until: u64) -> f64 {
    until.saturating_sub(since) as f64 / 1e9
}

impl Sink for LiveSink {
    fn note(&mut self, record: &Record, stacks: &Stacks) {
        self.lenses.note(record, stacks);
    }

    fn after_reading(&mut self, tracer: &Tracer, now: u64) {
        if self.asked.try_recv().is_ok() {
            let (stacks, losses) = (tracer.stacks().clone(), tracer.losses());
            let (lenses, began) = (self.lenses.drain(now), self.began);
            let drained = Drained { lenses, stacks, losses, began, at: now };
            // Fails if the caller has gone.
            let _ = self.hand_over.send(drained);
        }
    }

    fn begin(&mut self, tracer: &Tracer, now: u64) {
        self.began = now;
        self.lenses.begin(tracer, now);
    }

    fn end(&mut self, now: u64) {
        self.lenses.end(now);
    }
}
