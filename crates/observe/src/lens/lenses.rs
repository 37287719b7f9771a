//! The requested lenses, in one session.

use super::conditions::Conditions;
use super::futex::{FutexLens, FutexReport};
use super::kernel::{KernelLens, KernelReport};
use super::off_cpu::{OffCpuLens, OffCpuReport};
use super::reports::Reports;
use crate::observed::{self, Sink, failed};
use crate::settings::{Lens, MeterSettings, ObserveSettings};
use std::ops::Range;
use unspin_launch::error::Error;
use unspin_launch::stderr;
use unspin_symbols::Symbols;
use unspin_trace::{Config, Event, KernelSymbols, Payload, Record, RingSize, Sample, Session, Stacks};

/// Bytes of the ring of each event and CPU: some 20 000 waits with their stacks, half a second of waits each 25 µs.
const RING: usize = 4 << 20;
/// Bytes of a ring that is opened as a test, one page.
const TEST_RING: usize = 4096;

/// The lenses that read the kernel's events.
#[derive(Default)]
pub struct Lenses {
    kernel: Option<Placed<KernelLens>>,
    futex: Option<Placed<FutexLens>>,
    off_cpu: Option<Placed<OffCpuLens>>,
}

/// A lens, and which events of the session are its own.
struct Placed<L> {
    events: Range<usize>,
    lens: L,
}

impl<L> Placed<L> {
    /// Another lens with the same events, made of this one.
    fn with(&mut self, make: impl FnOnce(&mut L) -> L) -> Placed<L> {
        Placed { events: self.events.clone(), lens: make(&mut self.lens) }
    }
}

/// Where names come from. Keeps what was read, for the next report.
pub struct Naming {
    /// The kernel's.
    pub kernel: KernelSymbols,
    /// Those of programs and libraries.
    pub programs: Symbols,
}

/// A lens that does not work here.
pub struct LeftOut {
    lens: Lens,
    /// Why.
    pub error: Error,
}

/// What works of the requested lenses.
pub struct Chosen {
    /// The lenses, with the configuration of their session; none if no lens works.
    pub lenses: Option<(Lenses, Config)>,
    /// The others.
    pub left_out: Vec<LeftOut>,
}

impl Chosen {
    /// Finds out which of the requested lenses work.
    pub fn of(options: &MeterSettings) -> Chosen {
        let mut config = no_events(&options.observe);
        let (mut lenses, mut left_out) = (Lenses::default(), Vec::new());
        for &lens in options.lenses() {
            if let Err(error) = lenses.add(lens, &mut config) {
                left_out.push(LeftOut { lens, error });
            }
        }
        Chosen { lenses: (!config.events.is_empty()).then_some((lenses, config)), left_out }
    }
}

impl LeftOut {
    /// Says why lenses are left out, in a line for each reason.
    pub fn say(left_out: &[LeftOut]) {
        LeftOut::lines(left_out).iter().for_each(|line| stderr::say(format_args!("{line}")));
    }

    fn lines(left_out: &[LeftOut]) -> Vec<String> {
        let mut reasons = Vec::<(String, Vec<&str>)>::new();
        for LeftOut { lens, error } in left_out {
            let reason = error.to_string();
            match reasons.iter_mut().find(|(said, _)| *said == reason) {
                Some((_, lenses)) => lenses.push(lens.name()),
                None => reasons.push((reason, vec![lens.name()])),
            }
        }
        let line = |(reason, lenses): (String, Vec<&str>)| match &lenses[..] {
            [lens] => format!("the {lens} lens is left out: {reason}"),
            lenses => format!("the {} lenses are left out: {reason}", lenses.join(" and ")),
        };
        reasons.into_iter().map(line).collect()
    }
}

/// A session for these processes, without events.
fn no_events(observe: &ObserveSettings) -> Config {
    let size = |bytes| RingSize::Exactly(bytes as usize);
    Config {
        target: observed::target(observe),
        events: Vec::new(),
        ring: observe.buffer.map_or(RingSize::AtMost(RING), size),
        processes: true,
    }
}

/// These events, if they can be opened.
fn permitted(config: &Config, events: Vec<Event>) -> Result<Vec<Event>, Error> {
    let test = Config { events: events.clone(), ring: RingSize::Exactly(TEST_RING), ..config.clone() };
    Session::open(&test).map_err(failed)?;
    Ok(events)
}

impl Lenses {
    /// Adds a lens with its events, if they can be opened. The pthread lens has none.
    fn add(&mut self, lens: Lens, config: &mut Config) -> Result<(), Error> {
        match lens {
            Lens::Pthread => {}
            Lens::Kernel => self.kernel = Some(placed(KernelLens::default(), KernelLens::events()?, config)?),
            Lens::Futex => {
                let (lens, events) = FutexLens::with_events()?;
                self.futex = Some(placed(lens, events, config)?);
            }
            Lens::OffCpu => {
                self.off_cpu = Some(placed(OffCpuLens::default(), OffCpuLens::events()?, config)?)
            }
        }
        Ok(())
    }

    /// One lens, with the configuration of a session of its own.
    pub fn of(lens: Lens, observe: &ObserveSettings) -> Result<(Lenses, Config), Error> {
        let (mut lenses, mut config) = (Lenses::default(), no_events(observe));
        lenses.add(lens, &mut config)?;
        Ok((lenses, config))
    }

    /// What was added up since the last call. Times are in nanoseconds of CLOCK_MONOTONIC.
    pub fn drain(&mut self, now: u64) -> Lenses {
        Lenses {
            kernel: self.kernel.as_mut().map(|placed| placed.with(|lens| lens.drain(now))),
            futex: self.futex.as_mut().map(|placed| placed.with(|lens| lens.drain(now))),
            off_cpu: self.off_cpu.as_mut().map(|placed| placed.with(|lens| lens.drain(now))),
        }
    }

    /// Adds what was drained earlier.
    pub fn absorb(&mut self, earlier: &Lenses) {
        if let (Some(lens), Some(earlier)) = (&mut self.kernel, &earlier.kernel) {
            lens.lens.absorb(&earlier.lens);
        }
        if let (Some(lens), Some(earlier)) = (&mut self.futex, &earlier.futex) {
            lens.lens.absorb(&earlier.lens);
        }
        if let (Some(lens), Some(earlier)) = (&mut self.off_cpu, &earlier.off_cpu) {
            lens.lens.absorb(&earlier.lens);
        }
    }

    /// The reports, with names. If the kernel's symbols are hidden, says so.
    pub fn reports(&self, stacks: &Stacks, conditions: &Conditions) -> Reports {
        let needs_symbols = self.kernel.is_some() || self.off_cpu.is_some();
        let symbols = if needs_symbols { kernel_symbols() } else { KernelSymbols::none() };
        self.reports_with(stacks, &Naming { kernel: symbols, programs: Symbols::new() }, conditions)
    }

    /// The reports, with these names.
    pub fn reports_with(&self, stacks: &Stacks, naming: &Naming, conditions: &Conditions) -> Reports {
        let Naming { kernel: symbols, programs } = naming;
        let kernel =
            |placed: &Placed<KernelLens>| KernelReport::new(&placed.lens, stacks, symbols, conditions);
        let futex = |placed: &Placed<FutexLens>| FutexReport::new(&placed.lens, stacks, programs, conditions);
        let off_cpu = |placed: &Placed<OffCpuLens>| {
            OffCpuReport::new(&placed.lens, stacks, symbols, programs, conditions)
        };
        let mut reports = Reports {
            futex: self.futex.as_ref().map(futex),
            kernel: self.kernel.as_ref().map(kernel),
            off_cpu: self.off_cpu.as_ref().map(off_cpu),
            thread_time: None,
        };
        reports.add_thread_time(None);
        reports
    }

    /// The lenses, each as what takes in records.
    fn sinks(&mut self) -> impl Iterator<Item = &mut dyn Sink> {
        let kernel = self.kernel.as_mut().map(|placed| placed as &mut dyn Sink);
        let futex = self.futex.as_mut().map(|placed| placed as &mut dyn Sink);
        let off_cpu = self.off_cpu.as_mut().map(|placed| placed as &mut dyn Sink);
        [kernel, futex, off_cpu].into_iter().flatten()
    }
}

/// A lens after those that the configuration has, if its events can be opened.
fn placed<L>(lens: L, events: Vec<Event>, config: &mut Config) -> Result<Placed<L>, Error> {
    let events = permitted(config, events)?;
    let first = config.events.len();
    config.events.extend(events);
    Ok(Placed { events: first..config.events.len(), lens })
}

impl Sink for Lenses {
    fn note(&mut self, record: &Record, stacks: &Stacks) {
        self.sinks().for_each(|sink| sink.note(record, stacks));
    }

    fn begin(&mut self, session: &Session, now: u64) {
        self.sinks().for_each(|sink| sink.begin(session, now));
    }

    fn end(&mut self, now: u64) {
        self.sinks().for_each(|sink| sink.end(now));
    }
}

/// Passes on samples of the lens's own events, which it numbers from 0, and all records that are no samples.
impl<L: Sink> Sink for Placed<L> {
    fn note(&mut self, record: &Record, stacks: &Stacks) {
        let Payload::Sample(sample) = record.payload else { return self.lens.note(record, stacks) };
        if self.events.contains(&sample.event) {
            let event = sample.event - self.events.start;
            let payload = Payload::Sample(Sample { event, ..sample });
            self.lens.note(&Record { payload, ..*record }, stacks);
        }
    }

    fn begin(&mut self, session: &Session, now: u64) {
        self.lens.begin(session, now);
    }

    fn end(&mut self, now: u64) {
        self.lens.end(now);
    }
}

/// The kernel's symbols. If they are hidden, says so: locks have addresses for names.
fn kernel_symbols() -> KernelSymbols {
    KernelSymbols::read().unwrap_or_else(|e| {
        stderr::say(format_args!("locks of the kernel have no names: {e}"));
        KernelSymbols::none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_trace::{StackId, VALUES};

    /// Notes the events of samples, and 100 for other records.
    struct Numbers(Vec<usize>);

    impl Sink for Numbers {
        fn note(&mut self, record: &Record, _: &Stacks) {
            self.0.push(match &record.payload {
                Payload::Sample(sample) => sample.event,
                _ => 100,
            });
        }
    }

    #[test]
    fn reason_that_lenses_share_is_said_once() {
        let left_out = |lens, why: &str| LeftOut { lens, error: Error::Environment(why.into()) };
        let denied = "tracepoints are not permitted";
        let all =
            [left_out(Lens::Futex, denied), left_out(Lens::Kernel, "other"), left_out(Lens::OffCpu, denied)];
        assert_eq!(
            LeftOut::lines(&all),
            [
                "the futex and off-cpu lenses are left out: tracepoints are not permitted",
                "the kernel lens is left out: other"
            ]
        );
    }

    #[test]
    fn lens_gets_its_own_events_numbered_from_zero() {
        let mut placed = Placed { events: 2..4, lens: Numbers(Vec::new()) };
        let record = |payload| Record { time: 0, pid: 1, tid: 1, payload };
        for event in 0..5 {
            let stack = StackId::EMPTY;
            let sample = Sample { event, cpu: 0, ip: 0, in_kernel: true, values: [0; VALUES], stack };
            placed.note(&record(Payload::Sample(sample)), &Stacks::default());
        }
        placed.note(&record(Payload::Exit), &Stacks::default());
        assert_eq!(placed.lens.0, [0, 1, 100]);
    }
}
