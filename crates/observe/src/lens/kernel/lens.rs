//! Joins the events of the kernel's locks.

use super::contention::{Contention, LockWait, LockWaitOutcome, Unpaired, WaiterId};
use super::flags::LockFlags;
use super::sums::Sums;
use crate::lens::collector::Collector;
use crate::lens::timeline::longest::LongestWaits;
use crate::lens::timeline::track::Track;
use crate::observed::{Sink, trace_error};
use std::collections::HashMap;
use unspin_launch::error::Error;
use unspin_trace::{CallChain, Event, Payload, Record, StackId, Stacks, Tracefs};

/// Indices of the events.
const BEGIN: usize = 0;
const END: usize = 1;

/// Joins the waits for the kernel's locks, and adds them up.
#[derive(Debug, Default)]
pub struct KernelLens {
    pub(super) contention: Contention,
    pub(super) sums: HashMap<LockUse, Sums>,
    /// The longest waits, if they are to be kept.
    pub(super) kept: Option<LongestWaits<LockUse, LockWaitEnd>>,
}

/// How a wait ended that is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockWaitEnd {
    pub outcome: LockWaitOutcome,
    /// Whether the thread slept at some time.
    pub slept: bool,
}

/// A use of a lock: by its address, its kind, and the stack that waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct LockUse {
    pub lock: u64,
    pub flags: LockFlags,
    pub stack: StackId,
}

impl Collector for KernelLens {
    const HAS_KERNEL_NAMES: bool = true;

    /// The tracepoints that it needs, in the order that [`note`](Sink::note) expects. The program's part of the stacks is
    /// left out: a kernel lock is known by the kernel's, and recording the stack takes a part of the wait.
    fn with_events() -> Result<(KernelLens, Vec<Event>), Error> {
        let tracefs = Tracefs::find().map_err(trace_error)?;
        let begin =
            tracefs.tracepoint("lock:contention_begin", &["lock_addr", "flags"]).map_err(trace_error)?;
        let end = tracefs.tracepoint("lock:contention_end", &["lock_addr", "ret"]).map_err(trace_error)?;
        let events = vec![
            Event::tracepoint(begin, CallChain::KernelInnermost),
            Event::tracepoint(end, CallChain::None),
        ];
        Ok((KernelLens::default(), events))
    }

    fn drain(&mut self, now: u64) -> KernelLens {
        for wait in self.contention.cut(now) {
            self.add(&wait, &Sums::part(&wait));
        }
        KernelLens { sums: std::mem::take(&mut self.sums), ..KernelLens::default() }
    }

    fn absorb(&mut self, earlier: &KernelLens) {
        for (one, sums) in &earlier.sums {
            self.sums.entry(*one).or_default().merge(sums);
        }
    }

    fn keep_waits(&mut self) {
        self.kept = Some(LongestWaits::default());
    }
}

impl KernelLens {
    fn add(&mut self, &LockWait { lock, flags, stack, .. }: &LockWait, sums: &Sums) {
        self.sums.entry(LockUse { lock, flags, stack }).or_default().merge(sums);
    }

    /// Keeps a wait that ends at this time, if waits are to be kept.
    fn keep(&mut self, pid: u32, waiter: WaiterId, wait: &LockWait, end: u64) {
        let Some(kept) = &mut self.kept else { return };
        let track = match waiter {
            WaiterId::Thread(tid) => Track::Thread(pid, tid),
            WaiterId::Idle(cpu) => Track::Idle(cpu),
            WaiterId::Exiting(cpu) => Track::Exiting(cpu),
        };
        let &LockWait { lock, flags, stack, outcome, .. } = wait;
        let start = end.saturating_sub(wait.spin_ns + wait.sleep_ns);
        let ended = LockWaitEnd { outcome, slept: wait.sleep_ns > 0 };
        kept.note(track, [start, end], &LockUse { lock, flags, stack }, ended);
    }

    /// What could not be paired.
    pub(super) fn unpaired(&self) -> Unpaired {
        self.contention.unpaired()
    }
}

impl Sink for KernelLens {
    fn note(&mut self, record: &Record, _: &Stacks) {
        let sample = match &record.payload {
            Payload::Sample(sample) => sample,
            Payload::Exit => return self.contention.note_thread_end(record.tid),
            _ => return,
        };
        let waiter = WaiterId::new(record.tid, sample.cpu);
        let [lock, second, ..] = sample.values;
        match sample.event {
            BEGIN => {
                self.contention.begin(waiter, lock, LockFlags(second as u32), sample.stack, record.time);
            }
            END => {
                let outcome = if second == 0 { LockWaitOutcome::Acquired } else { LockWaitOutcome::GaveUp };
                if let Some(wait) = self.contention.end(waiter, lock, outcome, record.time) {
                    self.add(&wait, &Sums::of(&wait));
                    self.keep(record.pid, waiter, &wait, record.time);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags::MUTEX;
    use super::*;
    use unspin_trace::{Sample, VALUES};

    fn note(lens: &mut KernelLens, event: usize, time: u64, second: u64) {
        let mut values = [0; VALUES];
        values[..2].copy_from_slice(&[0x10, second]);
        let sample = Sample { event, cpu: 0, ip: 0, in_kernel: true, values, stack: StackId::EMPTY };
        let record = Record { time, pid: 7, tid: 7, payload: Payload::Sample(sample) };
        lens.note(&record, &Stacks::default());
    }

    fn sum(lens: &KernelLens) -> Sums {
        let mut all = Sums::default();
        lens.sums.values().for_each(|sums| all.merge(sums));
        all
    }

    /// The time in an interval is at most the interval for each thread, and the parts add up to the whole.
    #[test]
    fn wait_across_intervals_is_divided_among_them() {
        let mut lens = KernelLens::default();
        note(&mut lens, BEGIN, 1000, MUTEX.into());
        let parts = [1300, 1700].map(|now| lens.drain(now));
        assert_eq!(parts.each_ref().map(|part| (sum(part).waits, sum(part).wait_ns())), [(0, 300), (0, 400)]);
        note(&mut lens, END, 1900, 0);
        let mut last = lens.drain(2000);
        let end = sum(&last);
        assert_eq!((end.waits, end.wait_ns(), end.max_ns, end.whole_ns), (1, 200, 900, 900));
        parts.iter().for_each(|part| last.absorb(part));
        assert_eq!((sum(&last).waits, sum(&last).wait_ns()), (1, 900));
    }
}
