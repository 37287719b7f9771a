//! The ring buffer of one event on one CPU.

use crate::config::{CallChain, Config, Event, EventSource, INNERMOST, Target};
use crate::error::Error;
use crate::permissions::{explain_map, explain_open, setting};
use crate::record::{Mapping, Payload, Record, Sample, Switch, VALUES};
use crate::stacks::Stacks;
use perf_event::data::endian::Native;
use perf_event::data::parse::{ParseConfig, Parser};
use perf_event::data::{self, RecordMetadata, Visitor};
use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, ReadFormat, SampleFlag, Sampler};
use std::io;
use unspin_sys::printable;

/// The bits of a record's `misc` that say where the CPU was (perf_event.h: PERF_RECORD_MISC_CPUMODE_MASK).
const CPU_MODE: u16 = 7;
/// PERF_RECORD_MISC_KERNEL.
const IN_KERNEL: u16 = 1;
/// PERF_RECORD_MISC_COMM_EXEC.
const EXEC: u16 = 1 << 13;
/// PERF_RECORD_SWITCH.
const SWITCH: u32 = 14;
/// PERF_RECORD_MISC_SWITCH_OUT.
const SWITCH_OUT: u16 = 1 << 13;
/// Bytes of `struct perf_event_header`.
const HEADER: usize = 8;
/// Number of bytes in a ring at which the kernel wakes its reader: more than fit, because no thread waits for that. The
/// rings are read by the clock.
const NO_WAKE_UP: usize = u32::MAX as usize >> 1;
/// errno.h: the kernel does not know a flag.
const EINVAL: i32 = 22;

/// One event on one CPU.
pub struct Ring {
    sampler: Sampler,
    config: ParseConfig<Native>,
    /// The ring's event: an index into the tracer's events.
    event: usize,
    /// Whether the kernel counts the records that did not fit (since Linux 6.0).
    counts_lost: bool,
}

/// What was read out of a ring.
pub enum RingRecord {
    /// A record to keep.
    Record(Record),
    /// The kernel dropped this many records, because the ring was full.
    Lost(u64),
    /// The kernel took fewer samples than asked for, because they took too much of its time.
    Throttled,
    /// A record that cannot be parsed, or a sample without a field that was asked for.
    Unreadable,
    /// Something else.
    Other,
}

impl Ring {
    /// Opens the event, disabled. `index` is that of the event in the configuration; `rings` is how many there will be, of
    /// so many bytes.
    pub fn open(
        config: &Config,
        index: usize,
        cpu: usize,
        rings: usize,
        bytes: usize,
    ) -> Result<Ring, Error> {
        let event = &config.events[index];
        let mut builder = builder(event);
        match config.target {
            Target::Children => {
                builder.observe_self().inherit(true).enable_on_exec(true);
            }
            Target::Executing(pid) => {
                let pid = i32::try_from(pid).map_err(|_| Error::NoProcess(pid))?;
                builder.observe_pid(pid).inherit(true).enable_on_exec(true);
            }
            Target::System | Target::Started | Target::Tree(_) => {
                builder.any_pid();
            }
        }
        builder.one_cpu(cpu);
        if index == 0 {
            let processes = config.processes;
            builder.comm(processes).comm_exec(processes).mmap(processes).mmap2(processes);
            builder.task(processes || config.target.is_chosen());
        }
        builder.read_format(ReadFormat::LOST);
        let (counter, counts_lost) = match builder.build() {
            Err(e) if e.raw_os_error() == Some(EINVAL) => {
                (builder.read_format(ReadFormat::empty()).build(), false)
            }
            built => (built, true),
        };
        let counter = counter.map_err(|e| explain_open(config, event, rings, e))?;
        let sampler = counter.sampled(bytes).map_err(|e| explain_map(event, bytes, rings, e))?;
        let config = sampler.config().clone();
        Ok(Ring { sampler, config, event: index, counts_lost })
    }

    /// Index of its event.
    pub fn event(&self) -> usize {
        self.event
    }

    /// Enables the event.
    pub fn enable(&mut self) -> io::Result<()> {
        self.sampler.enable()
    }

    /// Disables the event.
    pub fn disable(&mut self) -> io::Result<()> {
        self.sampler.disable()
    }

    /// Records that did not fit so far, if the kernel counts them.
    pub fn lost(&mut self) -> Option<u64> {
        if self.counts_lost { self.sampler.read_full().ok()?.lost() } else { None }
    }

    /// Takes the next record out of the ring. Returns it with its size there.
    pub fn next(&mut self, event: &Event, stacks: &mut Stacks) -> Option<(RingRecord, usize)> {
        let index = self.event;
        let record = self.sampler.next_record()?;
        let body = record.to_contiguous();
        let translator = Translator { index, event, stacks };
        let read = translator.translate((record.ty(), record.misc()), &body, &self.config);
        Some((read, body.len() + HEADER))
    }
}

fn builder(event: &Event) -> Builder<'static> {
    let mut builder = match &event.source {
        EventSource::CpuClock(frequency) => {
            let mut builder = Builder::new(Software::CPU_CLOCK);
            builder.sample_frequency(frequency.0);
            builder
        }
        EventSource::ContextSwitches => {
            let mut builder = Builder::new(Software::DUMMY);
            builder.context_switch(true);
            builder
        }
        EventSource::Nothing => Builder::new(Software::DUMMY),
        EventSource::Tracepoint(tracepoint) | EventSource::TracepointOfAll(tracepoint) => {
            let mut builder = Builder::new(Tracepoint::with_id(tracepoint.id));
            builder.sample_period(1).sample(SampleFlag::RAW);
            builder
        }
    };
    builder
        .sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU)
        .exclude_kernel(!event.kernel)
        .exclude_user(!event.user)
        .exclude_hv(true)
        .wakeup_watermark(NO_WAKE_UP)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC);
    if event.call_chain != CallChain::None {
        builder
            .sample(SampleFlag::CALLCHAIN)
            .exclude_callchain_kernel(!event.call_chain.kernel())
            .exclude_callchain_user(!event.call_chain.user());
    }
    if event.call_chain == CallChain::KernelInnermost {
        // A greater number than the setting would be refused; 0 stands for the setting.
        let most = setting("kernel.perf_event_max_stack").and_then(|most| u16::try_from(most).ok());
        builder.sample_max_stack(most.map_or(INNERMOST, |most| most.min(INNERMOST)));
    }
    builder
}

/// Makes our records of the kernel's.
struct Translator<'a> {
    index: usize,
    event: &'a Event,
    stacks: &'a mut Stacks,
}

impl Translator<'_> {
    /// Of a record with this type and `misc`.
    fn translate(self, (ty, misc): (u32, u16), body: &[u8], config: &ParseConfig<Native>) -> RingRecord {
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&ty.to_le_bytes());
        header[4..6].copy_from_slice(&misc.to_le_bytes());
        header[6..].copy_from_slice(&((body.len() + HEADER) as u16).to_le_bytes());
        let header = Parser::new(&header[..], config.clone()).parse();
        let mut body = Parser::new(body, config.clone());
        let read = header.and_then(|header| match ty {
            // `perf-event-data` 0.1.8 has no case for it. It has no body.
            SWITCH => body.parse_metadata_with_header(header).map(|(_, metadata)| switch(&metadata)),
            _ => body.parse_record_with_header(self, header),
        });
        read.unwrap_or(RingRecord::Unreadable)
    }
}

fn record(metadata: &RecordMetadata, pid: u32, tid: u32, payload: Payload) -> RingRecord {
    RingRecord::Record(Record { time: metadata.sample_id().time().unwrap_or(0), pid, tid, payload })
}

/// A context switch. Its record names no thread: the thread is in the fields that all records have.
fn switch(metadata: &RecordMetadata) -> RingRecord {
    let direction = if metadata.misc() & SWITCH_OUT == 0 { Switch::In } else { Switch::Out };
    match (metadata.sample_id().pid(), metadata.sample_id().tid()) {
        (Some(pid), Some(tid)) => record(metadata, pid, tid, Payload::Switch(direction)),
        _ => RingRecord::Other,
    }
}

impl<'p> Visitor<'p> for Translator<'_> {
    type Output = RingRecord;

    fn visit_unimplemented(self, _: RecordMetadata) -> RingRecord {
        RingRecord::Other
    }

    fn visit_sample(self, sample: data::Sample<'p>, metadata: RecordMetadata) -> RingRecord {
        let mut values = [0; VALUES];
        for (value, field) in values.iter_mut().zip(self.event.fields()) {
            let Some(read) = sample.raw().and_then(|raw| field.read(raw)) else {
                return RingRecord::Unreadable;
            };
            *value = read;
        }
        let payload = Payload::Sample(Sample {
            event: self.index,
            cpu: sample.cpu().unwrap_or(0),
            ip: sample.ip().unwrap_or(0),
            in_kernel: metadata.misc() & CPU_MODE == IN_KERNEL,
            values,
            stack: self.stacks.number(sample.callchain().unwrap_or(&[])),
        });
        let number = |number: Option<u32>| number.unwrap_or(0);
        let time = sample.time().unwrap_or(0);
        RingRecord::Record(Record { time, pid: number(sample.pid()), tid: number(sample.tid()), payload })
    }

    fn visit_comm(self, comm: data::Comm<'p>, metadata: RecordMetadata) -> RingRecord {
        let name = printable::line(&String::from_utf8_lossy(&comm.comm)).into_owned();
        let exec = metadata.misc() & EXEC != 0;
        record(&metadata, comm.pid, comm.tid, Payload::Comm { name, exec })
    }

    fn visit_fork(self, fork: data::Fork, metadata: RecordMetadata) -> RingRecord {
        record(&metadata, fork.pid, fork.tid, Payload::Fork { parent: fork.ppid })
    }

    fn visit_exit(self, exit: data::Exit, metadata: RecordMetadata) -> RingRecord {
        record(&metadata, exit.pid, exit.tid, Payload::Exit)
    }

    fn visit_mmap2(self, mapped: data::Mmap2<'p>, metadata: RecordMetadata) -> RingRecord {
        let mapping = Mapping {
            start: mapped.addr,
            length: mapped.len,
            offset: mapped.pgoff,
            major: mapped.maj().unwrap_or(0),
            minor: mapped.min().unwrap_or(0),
            inode: mapped.ino().unwrap_or(0),
            path: mapped.filename.into_owned(),
        };
        record(&metadata, mapped.pid, mapped.tid, Payload::Mmap(mapping))
    }

    fn visit_switch_cpu_wide(self, _: data::SwitchCpuWide, metadata: RecordMetadata) -> RingRecord {
        switch(&metadata)
    }

    fn visit_lost(self, lost: data::Lost, _: RecordMetadata) -> RingRecord {
        RingRecord::Lost(lost.lost)
    }

    fn visit_lost_samples(self, lost: data::LostSamples, _: RecordMetadata) -> RingRecord {
        RingRecord::Lost(lost.lost)
    }

    fn visit_throttle(self, _: data::Throttle, _: RecordMetadata) -> RingRecord {
        RingRecord::Throttled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Frequency;

    /// PERF_RECORD_EXIT and PERF_RECORD_SAMPLE.
    const TYPES: [u32; 2] = [4, 9];

    #[test]
    fn record_that_is_cut_short_is_unreadable() {
        let source = EventSource::CpuClock(Frequency(1));
        let event = Event { source, call_chain: CallChain::None, kernel: true, user: true };
        let config = ParseConfig::from(*builder(&event).attrs());
        let read = |ty, body: &[u8]| {
            let translator = Translator { index: 0, event: &event, stacks: &mut Stacks::default() };
            translator.translate((ty, 0), body, &config)
        };
        for ty in TYPES {
            assert!(matches!(read(ty, &[0; 64]), RingRecord::Record(_)), "{ty}");
            assert!(matches!(read(ty, &[0; 4]), RingRecord::Unreadable), "{ty}");
        }
    }
}
