//! What is to be observed.

use crate::format::Field;
use crate::tracefs::Tracepoint;
use std::fmt;

/// What a tracer observes.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which processes.
    pub target: Target,
    /// Which events.
    pub events: Vec<Event>,
    /// The ring of each event and CPU.
    pub ring: RingSize,
    /// Whether the births, names, mappings and deaths of processes are recorded.
    pub processes: bool,
}

/// Size of a ring in bytes. It becomes a power of two of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingSize {
    /// So many, or an error.
    Exactly(usize),
    /// This many bytes, or as many as the caller may lock in memory.
    AtMost(usize),
}

/// The smallest ring, 16 pages: one of fewer would lose records of any program.
const RING_MIN: usize = 64 << 10;
/// Bytes of a page, the unit of a ring.
const PAGE: usize = 4096;

impl RingSize {
    /// The sizes to try, in this order.
    pub(crate) fn sizes(self) -> impl Iterator<Item = usize> {
        let (first, last) = match self {
            RingSize::Exactly(bytes) => (bytes.max(PAGE), bytes.max(PAGE)),
            RingSize::AtMost(bytes) => (bytes.max(PAGE), bytes.clamp(PAGE, RING_MIN)),
        };
        std::iter::successors(Some(first), |&bytes| Some(bytes / 2))
            .take_while(move |&bytes| bytes >= last)
            .map(|bytes| bytes.checked_next_power_of_two().unwrap_or(bytes))
    }
}

/// Which processes are observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// All, on all CPUs, the kernel's own included.
    System,
    /// The children that the calling thread starts from now on, from when they execute a program, with their threads
    /// and descendants. Open the tracer in the thread that starts the command.
    Children,
    /// This process, from when it executes a program, with its threads and descendants. It may be another than the caller.
    Executing(u32),
    /// The processes of [`Target::Children`], but from when they are created, chosen from the events of all CPUs. For
    /// samples by a timer: the timer of [`Target::Children`] begins anew in each process, so it never samples a process
    /// that runs for less than its period.
    Started,
    /// A running process with its present and future threads and descendants.
    Tree(u32),
}

impl Target {
    /// Whether processes are chosen from the events of all CPUs, which takes records of their births.
    pub(crate) fn is_chosen(self) -> bool {
        matches!(self, Target::Started | Target::Tree(_))
    }
}

/// One event.
#[derive(Clone, Debug)]
pub struct Event {
    /// When a sample is taken.
    pub source: EventSource,
    /// The stacks that are recorded with it.
    pub call_chain: CallChain,
    /// Whether samples are taken while the kernel runs; a tracepoint always is in the kernel.
    pub kernel: bool,
    /// Whether samples are taken while the program runs.
    pub user: bool,
}

/// When a sample is taken.
#[derive(Clone, Debug)]
pub enum EventSource {
    /// At this frequency on each CPU, by a timer of the kernel.
    CpuClock(Frequency),
    /// Whenever the tracepoint is passed.
    Tracepoint(Tracepoint),
    /// Whenever the tracepoint is passed. Its samples are passed on whichever process caused them: the waker of an
    /// observed thread can be any process, or an interrupt.
    TracepointOfAll(Tracepoint),
    /// No samples, but a record each time that a thread gets a CPU or leaves it.
    ContextSwitches,
    /// No samples: for a tracer that wants the records of processes only ([`Config::processes`]).
    Nothing,
}

/// Samples in a second of each CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frequency(pub u64);

/// Number of frames of [`CallChain::KernelInnermost`]. Some four of them are functions that take a lock for others; `perf lock
/// record` records 8.
pub const INNERMOST: u16 = 12;

/// Which parts of the stack are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallChain {
    /// None.
    None,
    /// The kernel's.
    Kernel,
    /// The innermost [`INNERMOST`] frames of the kernel's. Each frame takes some 55 ns to record, so this is for events whose
    /// duration is measured.
    KernelInnermost,
    /// The program's, by frame pointers.
    User,
    /// Both.
    Both,
}

impl CallChain {
    /// Whether the kernel's part is recorded.
    pub fn kernel(self) -> bool {
        matches!(self, CallChain::Kernel | CallChain::KernelInnermost | CallChain::Both)
    }

    /// Whether the program's part is recorded.
    pub fn user(self) -> bool {
        matches!(self, CallChain::User | CallChain::Both)
    }
}

impl Event {
    /// A tracepoint, in the kernel and with the stacks given.
    pub fn tracepoint(tracepoint: Tracepoint, call_chain: CallChain) -> Event {
        Event { source: EventSource::Tracepoint(tracepoint), call_chain, kernel: true, user: true }
    }

    /// A tracepoint whose samples are passed on whichever process caused them.
    pub fn tracepoint_of_all(tracepoint: Tracepoint) -> Event {
        let source = EventSource::TracepointOfAll(tracepoint);
        Event { source, call_chain: CallChain::None, kernel: true, user: true }
    }

    /// A record for each time that a thread gets a CPU or leaves it.
    pub fn context_switches() -> Event {
        Event { source: EventSource::ContextSwitches, call_chain: CallChain::None, kernel: true, user: true }
    }

    /// No samples. Any user may open it for the processes that this user starts.
    pub fn nothing() -> Event {
        Event { source: EventSource::Nothing, call_chain: CallChain::None, kernel: false, user: true }
    }

    /// The fields that a sample's values hold.
    pub(crate) fn fields(&self) -> &[Field] {
        match &self.source {
            EventSource::CpuClock(_) | EventSource::ContextSwitches | EventSource::Nothing => &[],
            EventSource::Tracepoint(tracepoint) | EventSource::TracepointOfAll(tracepoint) => {
                &tracepoint.fields
            }
        }
    }
}

impl fmt::Display for EventSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EventSource::CpuClock(_) => f.write_str("samples by cpu-clock"),
            EventSource::Tracepoint(tracepoint) | EventSource::TracepointOfAll(tracepoint) => {
                f.write_str(&tracepoint.name)
            }
            EventSource::ContextSwitches => f.write_str("context switches"),
            EventSource::Nothing => f.write_str("records of processes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smaller_rings_are_tried_down_to_a_minimum() {
        let sizes = |size: RingSize| size.sizes().collect::<Vec<_>>();
        assert_eq!(sizes(RingSize::AtMost(256 << 10)), [256 << 10, 128 << 10, 64 << 10]);
        assert_eq!(sizes(RingSize::AtMost(8192)), [8192], "it is smaller than the minimum");
        assert_eq!(sizes(RingSize::Exactly(1 << 20)), [1 << 20]);
        assert_eq!(sizes(RingSize::Exactly(5000)), [8192], "a power of two");
        assert_eq!(sizes(RingSize::Exactly(0)), [4096], "a page");
    }
}
