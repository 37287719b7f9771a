//! Joins the events of the kernel's locks.

use super::contention::{Contention, Outcome, Unpaired, Wait, Waiter};
use super::flags::LockFlags;
use super::sums::Sums;
use crate::error::Error;
use crate::observed::{Sink, failed};
use std::collections::HashMap;
use unspin_trace::{CallChain, Event, Payload, Record, StackId, Stacks, Tracefs};

/// Indices of the events.
const BEGIN: usize = 0;
const END: usize = 1;

/// Joins the waits for the kernel's locks, and adds them up.
#[derive(Debug, Default)]
pub struct KernelLens {
    pub(super) contention: Contention,
    pub(super) sums: HashMap<Use, Sums>,
}

/// A use of a lock: by its address, its kind, and the stack that waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Use {
    pub lock: u64,
    pub flags: LockFlags,
    pub stack: StackId,
}

impl KernelLens {
    /// The tracepoints that it needs, in the order that [`note`](Sink::note) expects. The program's part of the stacks is
    /// left out: a kernel lock is known by the kernel's, and recording the stack takes a part of the wait.
    pub fn events() -> Result<Vec<Event>, Error> {
        let tracefs = Tracefs::find().map_err(failed)?;
        let begin = tracefs.tracepoint("lock:contention_begin", &["lock_addr", "flags"]).map_err(failed)?;
        let end = tracefs.tracepoint("lock:contention_end", &["lock_addr", "ret"]).map_err(failed)?;
        Ok(vec![
            Event::tracepoint(begin, CallChain::KernelInnermost),
            Event::tracepoint(end, CallChain::None),
        ])
    }

    /// What was added up since the last call, as a lens of its own.
    pub fn drain(&mut self) -> KernelLens {
        KernelLens { sums: std::mem::take(&mut self.sums), contention: Contention::default() }
    }

    /// Adds what was drained earlier.
    pub fn absorb(&mut self, earlier: &KernelLens) {
        for (one, sums) in &earlier.sums {
            self.sums.entry(*one).or_default().merge(sums);
        }
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
            Payload::Exit => return self.contention.thread_ended(record.tid),
            _ => return,
        };
        let waiter = Waiter::new(record.tid, sample.cpu);
        let [lock, second, ..] = sample.values;
        match sample.event {
            BEGIN => {
                self.contention.begin(waiter, lock, LockFlags(second as u32), sample.stack, record.time);
            }
            END => {
                let outcome = if second == 0 { Outcome::Acquired } else { Outcome::GaveUp };
                if let Some(wait) = self.contention.end(waiter, lock, outcome, record.time) {
                    let Wait { lock, flags, stack, .. } = wait;
                    self.sums.entry(Use { lock, flags, stack }).or_default().merge(&Sums::of(&wait));
                }
            }
            _ => {}
        }
    }
}
