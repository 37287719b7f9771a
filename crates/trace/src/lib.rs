//! Observes programs through perf_event_open(2): samples of the program counter, tracepoints with their fields and stacks,
//! and the forks, names, mappings and exits of processes. And names the kernel's addresses.
//!
//! ```text
//! Config ─► Tracer::open ─► one ring for each event and CPU ──┐
//! Tracefs ─► Tracepoint (id, offsets of fields) ──────────────┤
//!                       Tracer::read ◄── records by time ◄────┘ ─► Processes, lenses
//! KernelSymbols ◄─ /proc/kallsyms
//! ```
//!
//! **The ABI** is that of the crate `perf-event2`. It makes the system call, maps the rings and parses the records, behind a
//! safe interface. So this crate has no unsafe code and makes no system call itself. The alternative, `perf-event-open`,
//! chooses the kernel's version when it is compiled, patches its bindings in a build script, and needs `futures`. Both
//! leave out PERF_EVENT_IOC_SET_OUTPUT, which would let several events share a ring. So each event has its own.
//!
//! **Rings are read by the clock**: [`Tracer::read`] is called every few milliseconds. To be woken by the kernel instead
//! would cost an interrupt and a wake-up on the CPU that is observed, while it waits for the lock that is observed.
//!
//! **Targets** ([`Target`]).
//!
//! - *A command* is observed by events of the thread that starts it. Its children inherit them, and they become active when
//!   a child executes a program. This is complete from the first instruction, and no other process pays for it.
//! - *Samples of a command* by a timer come from events of all CPUs, if that is permitted ([`Target::Started`]).
//! - *A running process* is observed by events of all CPUs, from which the records of its tree are chosen. Events of its
//!   threads would cost only that process, but could not be complete. A thread that is created while they are opened has
//!   inherited them or has not, and nothing tells which: it would be missed or counted twice. They also need a descriptor for
//!   each thread, CPU and event. The price of events of CPUs is CAP_PERFMON, which the tracepoints of locks need anyway.
//!   To detach is to close the descriptors. The observed process is not touched at any time.
#![forbid(unsafe_code)]

mod config;
mod cpus;
mod error;
mod format;
mod kallsyms;
mod permissions;
mod processes;
mod record;
mod ring;
mod stacks;
mod threads;
mod tracefs;
mod tracer;
mod tree;

pub use config::{CallChain, Config, Event, EventSource, Frequency, INNERMOST, RingSize, Target};
pub use cpus::cpus;
pub use error::Error;
pub use format::Field;
pub use kallsyms::{KernelSection, KernelSymbols, Symbol};
pub use processes::Processes;
pub use record::{Mapping, Payload, Record, Sample, Switch, VALUES};
pub use stacks::{Stack, StackId, Stacks};
pub use threads::{RunningThread, SystemCall};
pub use tracefs::{Tracefs, Tracepoint};
pub use tracer::{Fullness, Losses, Tracer};
pub use tree::process_of;
