//! The requested lenses, in one tracer.

use super::collector::Collector;
use super::conditions::Conditions;
use super::naming::Naming;
use super::reports::Reports;
use super::timeline::file::Timeline;
use super::timeline::threads::ObservedThreads;
use crate::observed::{self, Sink, trace_error};
use crate::settings::{Lens, MeterSettings, ObserveSettings};
use std::ops::Range;
use unspin_launch::error::Error;
use unspin_launch::output::stderr;
use unspin_symbols::Symbols;
use unspin_trace::{Config, Event, KernelSymbols, Payload, Record, RingSize, Sample, Stacks, Tracer};

/// Bytes of the ring of each event and CPU: some 20 000 waits with their stacks, half a second of waits each 25 µs.
const RING: usize = 4 << 20;
/// Bytes of a ring that is opened as a test, one page.
const TEST_RING: usize = 4096;

macro_rules! define_lenses {
    ($($(#[doc = $doc:literal])+ $lens:ident $name:literal {
        field: $field:ident, collector: $collector:ty, report: $report:ty, listed: $listed:literal
    })+) => {
        /// The lenses that read the kernel's events.
        #[derive(Default)]
        pub struct Lenses {
            $($field: Option<Placed<$collector>>,)+
            /// The threads of the timeline, if one is requested.
            threads: Option<ObservedThreads>,
        }

        impl Lenses {
            /// Adds a lens with its events, if they can be opened. The pthread lens has none.
            fn add(&mut self, lens: Lens, config: &mut Config) -> Result<(), Error> {
                match lens {
                    Lens::Pthread => {}
                    $(Lens::$lens => self.$field = Some(Placed::add(config)?),)+
                }
                Ok(())
            }

            /// What was added up since the last call. Times are in nanoseconds of CLOCK_MONOTONIC.
            pub fn drain(&mut self, now: u64) -> Lenses {
                Lenses { $($field: self.$field.as_mut().map(|placed| placed.drain(now)),)+ threads: None }
            }

            /// Adds what was drained earlier.
            pub fn absorb(&mut self, earlier: &Lenses) {
                $(if let (Some(placed), Some(earlier)) = (&mut self.$field, &earlier.$field) {
                    placed.lens.absorb(&earlier.lens);
                })+
            }

            /// Whether a report has names of the kernel's functions or locks.
            pub fn has_kernel_names(&self) -> bool {
                false $(|| self.$field.is_some() && <$collector>::HAS_KERNEL_NAMES)+
            }

            /// The reports, with these names.
            pub fn reports_with(&self, stacks: &Stacks, naming: &Naming, conditions: &Conditions) -> Reports {
                let mut reports = Reports {
                    $($field: self.$field.as_ref().map(|placed| {
                        <$report>::new(&placed.lens, stacks, naming, conditions)
                    }),)+
                    thread_time: None,
                };
                reports.add_thread_time(None);
                reports
            }

            /// Keeps the longest waits with their times. Call it before the first record.
            pub fn keep_waits(&mut self) {
                $(if let Some(placed) = &mut self.$field {
                    placed.lens.keep_waits();
                })+
                self.threads = Some(ObservedThreads::default());
            }

            /// The waits that were kept, with these names; none if none were to be kept.
            fn timeline_with(&mut self, stacks: &Stacks, naming: &Naming) -> Option<Timeline> {
                let threads = self.threads.take()?;
                let lenses = [$(self.$field.as_ref().map(|placed| {
                    <$report>::timeline(&placed.lens, stacks, naming)
                })),+];
                Some(Timeline { lenses: lenses.into_iter().flatten().collect(), threads })
            }

            /// The lenses, each as what takes in records.
            fn sinks(&mut self) -> impl Iterator<Item = &mut dyn Sink> {
                let lenses = [$(self.$field.as_mut().map(|placed| placed as &mut dyn Sink)),+];
                let threads = self.threads.as_mut().map(|threads| threads as &mut dyn Sink);
                lenses.into_iter().chain([threads]).flatten()
            }
        }
    };
}
for_each_lens!(define_lenses);

/// A lens, and which events of the tracer are its own.
struct Placed<L> {
    events: Range<usize>,
    lens: L,
}

impl<L: Collector> Placed<L> {
    /// A lens after those that the configuration has, if its events can be opened.
    fn add(config: &mut Config) -> Result<Placed<L>, Error> {
        let (lens, events) = L::with_events()?;
        let events = check_permitted(config, events)?;
        let first = config.events.len();
        config.events.extend(events);
        Ok(Placed { events: first..config.events.len(), lens })
    }

    /// What was added up since the last call, with the same events.
    fn drain(&mut self, now: u64) -> Placed<L> {
        Placed { events: self.events.clone(), lens: self.lens.drain(now) }
    }
}

/// A lens that does not work here.
pub struct LeftOutLens {
    lens: Lens,
    /// Why.
    pub error: Error,
}

/// What works of the requested lenses.
pub struct Chosen {
    /// The lenses, with the configuration of their tracer; none if no lens works.
    pub lenses: Option<(Lenses, Config)>,
    /// The others.
    pub left_out: Vec<LeftOutLens>,
}

impl Chosen {
    /// Finds out which of the requested lenses work.
    pub fn of(options: &MeterSettings) -> Chosen {
        let mut config = no_events(&options.observe);
        let (mut lenses, mut left_out) = (Lenses::default(), Vec::new());
        for &lens in options.lenses() {
            if let Err(error) = lenses.add(lens, &mut config) {
                left_out.push(LeftOutLens { lens, error });
            }
        }
        if options.firefox.is_some() {
            lenses.keep_waits();
        }
        Chosen { lenses: (!config.events.is_empty()).then_some((lenses, config)), left_out }
    }
}

impl LeftOutLens {
    /// Says why lenses are left out, in a line for each reason.
    pub fn say(left_out: &[LeftOutLens]) {
        LeftOutLens::lines(left_out).iter().for_each(|line| stderr::say(format_args!("{line}")));
    }

    fn lines(left_out: &[LeftOutLens]) -> Vec<String> {
        let mut reasons = Vec::<(String, Vec<&str>)>::new();
        for LeftOutLens { lens, error } in left_out {
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

/// A tracer for these processes, without events.
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
fn check_permitted(config: &Config, events: Vec<Event>) -> Result<Vec<Event>, Error> {
    let test = Config { events: events.clone(), ring: RingSize::Exactly(TEST_RING), ..config.clone() };
    Tracer::open(&test).map_err(trace_error)?;
    Ok(events)
}

impl Lenses {
    /// One lens, with the configuration of a tracer of its own.
    pub fn of(lens: Lens, observe: &ObserveSettings) -> Result<(Lenses, Config), Error> {
        let (mut lenses, mut config) = (Lenses::default(), no_events(observe));
        lenses.add(lens, &mut config)?;
        Ok((lenses, config))
    }

    /// The reports, with names, and the timeline if waits were kept. If the kernel's symbols are hidden, says so.
    pub fn reports(&mut self, stacks: &Stacks, conditions: &Conditions) -> (Reports, Option<Timeline>) {
        let kernel = if self.has_kernel_names() { kernel_symbols() } else { KernelSymbols::none() };
        let naming = Naming { kernel, programs: Symbols::new() };
        (self.reports_with(stacks, &naming, conditions), self.timeline_with(stacks, &naming))
    }
}

impl Sink for Lenses {
    fn note(&mut self, record: &Record, stacks: &Stacks) {
        self.sinks().for_each(|sink| sink.note(record, stacks));
    }

    fn begin(&mut self, tracer: &Tracer, now: u64) {
        self.sinks().for_each(|sink| sink.begin(tracer, now));
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

    fn begin(&mut self, tracer: &Tracer, now: u64) {
        self.lens.begin(tracer, now);
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
        let left_out = |lens, why: &str| LeftOutLens { lens, error: Error::Environment(why.into()) };
        let denied = "tracepoints are not permitted";
        let all =
            [left_out(Lens::Futex, denied), left_out(Lens::Kernel, "other"), left_out(Lens::OffCpu, denied)];
        assert_eq!(
            LeftOutLens::lines(&all),
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
