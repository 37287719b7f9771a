//! The open events with their rings, read in the order of time.

use crate::config::{Config, Event, EventSource, Target};
use crate::cpus;
use crate::error::Error;
use crate::permissions::{check_filters, setting};
use crate::record::{Payload, Record};
use crate::ring::{Ring, RingRecord};
use crate::stacks::Stacks;
use crate::threads::{self, RunningThread};
use crate::tree::Tree;
use unspin_sys::clock;

/// A CPU may still be writing a record with an earlier time than a record that was read. An interrupt between the clock
/// and the ring delays it, by less than this. If a hypervisor stops the CPU in between, it takes longer, and the record
/// is passed on late.
const DELAY_NS: u64 = 2_000_000;

/// The open events with their rings.
pub struct Tracer {
    events: Vec<Event>,
    target: Target,
    rings: Vec<Ring>,
    tree: Option<Tree>,
    stacks: Stacks,
    /// Records that were read. Other CPUs may still write earlier ones.
    pending: Vec<Record>,
    losses: Losses,
    /// Bytes of each ring.
    capacity: usize,
}

/// The part of a ring that was full, from 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Fullness(pub f64);

/// What the kernel did not tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses {
    /// Records for which a ring had no room.
    pub records: u64,
    /// Records that could not be parsed.
    pub unreadable: u64,
    /// How often the kernel stopped sampling for a while because samples took too much time.
    pub throttled: u64,
}

impl Losses {
    /// Counts what is no record to keep. Returns the others.
    fn count(&mut self, read: RingRecord) -> Option<Record> {
        match read {
            RingRecord::Record(record) => return Some(record),
            RingRecord::Lost(records) => self.records += records,
            RingRecord::Throttled => self.throttled += 1,
            RingRecord::Unreadable => self.unreadable += 1,
            RingRecord::Other => {}
        }
        None
    }
}

impl Tracer {
    /// Opens the events, which do not record yet.
    pub fn open(config: &Config) -> Result<Tracer, Error> {
        check_frequency(config)?;
        check_filters(config)?;
        if let Target::Tree(pid) = config.target {
            Tree::of(pid).ok_or(Error::NoProcess(pid))?;
        }
        let mut opened = Err(Error::LockedMemory { bytes: 0, rings: 0 });
        for bytes in config.ring.sizes() {
            opened = open_rings(config, bytes).map(|rings| (rings, bytes));
            if !matches!(opened, Err(Error::LockedMemory { .. })) {
                break;
            }
        }
        let (rings, capacity) = opened?;
        Ok(Tracer {
            events: config.events.clone(),
            target: config.target,
            rings,
            tree: None,
            stacks: Stacks::default(),
            pending: Vec::new(),
            losses: Losses::default(),
            capacity,
        })
    }

    /// Starts recording. Events of [`Target::Children`] and [`Target::Executing`] start by themselves.
    pub fn start(&mut self) -> Result<(), Error> {
        if matches!(self.target, Target::Children | Target::Executing(_)) {
            return Ok(());
        }
        for ring in &mut self.rings {
            ring.enable().map_err(|error| Error::Failed { what: "enabling an event".into(), error })?;
        }
        self.tree = match self.target {
            Target::Tree(pid) => Some(Tree::of(pid).ok_or(Error::NoProcess(pid))?),
            Target::Started => Some(Tree::started_by(std::process::id())),
            Target::System | Target::Children | Target::Executing(_) => None,
        };
        Ok(())
    }

    /// Reads the rings. Passes on, in the order of their times, all records up to about now; those of the last moment
    /// are passed on next time. To be called often enough for the rings not to fill. Returns how full the fullest was.
    pub fn read(&mut self, pass_on: &mut dyn FnMut(&Record, &Stacks)) -> Fullness {
        let until = clock::monotonic_ns().saturating_sub(DELAY_NS);
        let fullness = self.fetch();
        self.pass_on(until, pass_on);
        fullness
    }

    /// Stops recording, passes on the rest, and closes the events. Returns the stacks.
    pub fn finish(mut self, pass_on: &mut dyn FnMut(&Record, &Stacks)) -> (Stacks, Losses) {
        for ring in &mut self.rings {
            // Fails for no event that was opened.
            let _ = ring.disable();
        }
        self.fetch();
        self.pass_on(u64::MAX, pass_on);
        // The records about losses appear only when there is room again.
        let counted: u64 = self.rings.iter_mut().filter_map(Ring::lost).sum();
        self.losses.records = self.losses.records.max(counted);
        (self.stacks, self.losses)
    }

    /// The threads that run already: none for a command, whose processes begin after the events. Call it after
    /// [`start`](Tracer::start). Threads that begin meanwhile may be in the list and in a record.
    pub fn running_threads(&self) -> Vec<RunningThread> {
        match (self.target, &self.tree) {
            (Target::Children | Target::Executing(_) | Target::Started, _) => Vec::new(),
            (Target::System, _) => threads::running(&|_| true),
            (Target::Tree(_), tree) => {
                threads::running(&|pid| tree.as_ref().is_some_and(|tree| tree.has(pid)))
            }
        }
    }

    /// What was lost so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// The stacks of the samples so far.
    pub fn stacks(&self) -> &Stacks {
        &self.stacks
    }

    fn fetch(&mut self) -> Fullness {
        let Tracer { rings, events, stacks, pending, losses, capacity, .. } = self;
        let mut fullest = 0;
        for ring in rings {
            let event = &events[ring.event()];
            // No more than what fits: on a busy CPU the ring would not become empty.
            let mut most = *capacity;
            while most > 0
                && let Some((record, size)) = ring.next(event, stacks)
            {
                most = most.saturating_sub(size);
                pending.extend(losses.count(record));
            }
            fullest = fullest.max(*capacity - most);
        }
        Fullness(fullest as f64 / *capacity as f64)
    }

    fn pass_on(&mut self, until: u64, pass_on: &mut dyn FnMut(&Record, &Stacks)) {
        // Stable: records of one ring with the same time keep their order.
        self.pending.sort_by_key(|record| record.time);
        let ready = self.pending.partition_point(|record| record.time <= until);
        for record in self.pending.drain(..ready) {
            let is_of_all = || {
                matches!(&record.payload, Payload::Sample(sample)
                    if matches!(self.events[sample.event].source, EventSource::TracepointOfAll(_)))
            };
            if self.tree.as_mut().is_none_or(|tree| tree.contains(&record)) || is_of_all() {
                pass_on(&record, &self.stacks);
            }
        }
    }
}

/// The rings of all events on all CPUs, of so many bytes each.
fn open_rings(config: &Config, bytes: usize) -> Result<Vec<Ring>, Error> {
    let cpus = cpus::online()?;
    let count = cpus.len() * config.events.len();
    let mut rings = Vec::with_capacity(count);
    for &cpu in &cpus {
        for event in 0..config.events.len() {
            rings.push(Ring::open(config, event, cpu, count, bytes)?);
        }
    }
    Ok(rings)
}

fn check_frequency(config: &Config) -> Result<(), Error> {
    for event in &config.events {
        if let EventSource::CpuClock(frequency) = &event.source
            && let Some(most) =
                setting("kernel.perf_event_max_sample_rate").and_then(|most| most.try_into().ok())
            && frequency.0 > most
        {
            return Err(Error::Frequency { requested: frequency.0, most });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_record_is_counted() {
        let mut losses = Losses::default();
        for read in [
            RingRecord::Lost(5),
            RingRecord::Unreadable,
            RingRecord::Throttled,
            RingRecord::Unreadable,
            RingRecord::Other,
        ] {
            assert_eq!(losses.count(read), None);
        }
        assert_eq!(losses, Losses { records: 5, unreadable: 2, throttled: 1 });
    }

    #[test]
    fn records_are_passed_on_in_order_of_time_and_the_latest_are_kept_back() {
        let record = |time| Record { time, pid: 1, tid: 1, payload: Payload::Exit };
        let mut tracer = Tracer {
            events: Vec::new(),
            target: Target::System,
            rings: Vec::new(),
            tree: None,
            stacks: Stacks::default(),
            pending: [5, 3, 9, 4].map(record).into(),
            losses: Losses::default(),
            capacity: 4096,
        };
        let mut times = Vec::new();
        tracer.pass_on(5, &mut |record, _| times.push(record.time));
        assert_eq!(times, [3, 4, 5]);
        tracer.pending.extend([7, 8].map(record));
        tracer.finish(&mut |record, _| times.push(record.time));
        assert_eq!(times, [3, 4, 5, 7, 8, 9]);
    }
}
