//! The samples, counted.

use std::collections::HashMap;
use std::sync::Arc;
use unspin_trace::{Payload, Processes, Record, StackId};

/// Where a sample was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SampledPlace {
    /// The address space of the program: an index into [`Samples::spaces`]. That of the kernel if only the kernel is
    /// sampled.
    pub space: usize,
    /// Whether the program counter is the kernel's.
    pub in_kernel: bool,
    /// The program counter.
    pub ip: u64,
    /// The stack.
    pub stack: StackId,
}

/// An address space: a process from one exec to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Space {
    /// The name of the thread that was sampled first.
    pub name: String,
    /// The text of its maps, as of `/proc/PID/maps`.
    pub maps: Arc<Vec<u8>>,
}

/// Whether the address spaces of processes are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spaces {
    /// All share one: only the kernel is sampled.
    Shared,
    /// Each process has its own.
    OfProcesses,
}

/// All samples.
pub struct Samples {
    counts: HashMap<SampledPlace, u64>,
    spaces: Vec<Space>,
    /// The present space of each process.
    current: HashMap<u32, usize>,
    processes: Processes,
    kind: Spaces,
}

impl Samples {
    /// No samples.
    pub fn new(kind: Spaces) -> Samples {
        let shared = Space { name: "kernel".into(), maps: Arc::default() };
        Samples {
            counts: HashMap::new(),
            spaces: vec![shared],
            current: HashMap::new(),
            processes: Processes::new(),
            kind,
        }
    }

    /// Sets all counters to zero.
    pub fn clear(&mut self) {
        self.counts.clear();
    }

    /// Takes in a record.
    pub fn note(&mut self, record: &Record) {
        match &record.payload {
            Payload::Sample(sample) => {
                let space = self.space(record);
                let (in_kernel, ip, stack) = (sample.in_kernel, sample.ip, sample.stack);
                *self.counts.entry(SampledPlace { space, in_kernel, ip, stack }).or_insert(0) += 1;
            }
            payload => {
                let is_process = record.pid == record.tid;
                // A fork, too: if the record of the exit was lost, the number belonged to another process.
                let begins_or_ends = is_process && matches!(payload, Payload::Exit | Payload::Fork { .. });
                if begins_or_ends || matches!(payload, Payload::Comm { exec: true, .. }) {
                    self.end_space(record.pid);
                }
                self.processes.note(record);
            }
        }
    }

    /// The process has ended, or another one has its number, or it executes another program: keeps its maps if it was sampled.
    fn end_space(&mut self, pid: u32) {
        if let Some(space) = self.current.remove(&pid) {
            self.spaces[space].maps = self.processes.maps(pid);
        }
        self.processes.forget_maps(pid);
    }

    fn space(&mut self, record: &Record) -> usize {
        if self.kind == Spaces::Shared {
            return 0;
        }
        if let Some(&space) = self.current.get(&record.pid) {
            return space;
        }
        self.processes.look_up(record.pid);
        let name = match record.pid {
            0 => "idle".into(),
            pid => self.processes.name(pid).unwrap_or_else(|| pid.to_string()),
        };
        let space = self.spaces.len();
        self.spaces.push(Space { name, maps: Arc::default() });
        self.current.insert(record.pid, space);
        space
    }

    /// All spaces, with their maps.
    pub fn spaces(&self) -> Vec<Space> {
        let mut spaces = self.spaces.clone();
        for (&pid, &space) in &self.current {
            spaces[space].maps = self.processes.maps(pid);
        }
        spaces
    }

    /// How often each place was sampled.
    pub fn counts(&self) -> impl Iterator<Item = (&SampledPlace, u64)> {
        self.counts.iter().map(|(place, &count)| (place, count))
    }

    /// Number of samples.
    pub fn ticks(&self) -> u64 {
        self.counts.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_trace::{Sample, VALUES};

    fn sample(pid: u32, ip: u64) -> Record {
        let sample = Sample {
            event: 0,
            cpu: 0,
            ip,
            in_kernel: ip > 1 << 63,
            values: [0; VALUES],
            stack: StackId::EMPTY,
        };
        Record { time: 0, pid, tid: pid, payload: Payload::Sample(sample) }
    }

    #[test]
    fn same_places_are_added_up_and_clear_sets_them_to_zero() {
        let mut samples = Samples::new(Spaces::Shared);
        for (pid, ip) in [(1, u64::MAX), (2, u64::MAX), (1, u64::MAX - 1)] {
            samples.note(&sample(pid, ip));
        }
        assert_eq!(samples.ticks(), 3);
        assert_eq!(samples.counts().count(), 2, "processes share the kernel");
        samples.clear();
        assert_eq!(samples.ticks(), 0);
    }

    #[test]
    fn exec_begins_a_new_space() {
        let mut samples = Samples::new(Spaces::OfProcesses);
        let pid = u32::MAX - 1;
        let exec = |name: &str| Record {
            time: 0,
            pid,
            tid: pid,
            payload: Payload::Comm { name: name.into(), exec: true },
        };
        samples.note(&exec("sh"));
        samples.note(&sample(pid, 4));
        samples.note(&exec("ls"));
        samples.note(&sample(pid, 4));
        let names: Vec<String> = samples.spaces().into_iter().map(|space| space.name).collect();
        assert_eq!(names, ["kernel", "sh", "ls"]);
        assert_eq!(samples.counts().count(), 2);
    }

    #[test]
    fn reused_number_begins_a_new_space_even_if_the_exit_was_lost() {
        let mut samples = Samples::new(Spaces::OfProcesses);
        let (pid, parent) = (u32::MAX - 1, u32::MAX - 2);
        let record = |pid, payload| Record { time: 0, pid, tid: pid, payload };
        samples.note(&record(pid, Payload::Comm { name: "first".into(), exec: true }));
        samples.note(&sample(pid, 4));
        samples.note(&record(pid, Payload::Fork { parent }));
        samples.note(&sample(pid, 4));
        let names: Vec<String> = samples.spaces().into_iter().map(|space| space.name).collect();
        assert_eq!(names, ["kernel", "first", &pid.to_string()], "the name of its parent is not known");
    }
}
