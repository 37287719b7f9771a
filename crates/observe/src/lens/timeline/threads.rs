//! The threads of a timeline: their names, and when they began and ended.

use super::track::Track;
use crate::observed::Sink;
use std::collections::HashMap;
use std::fs;
use std::time::{Duration, SystemTime};
use unspin_sys::{clock, printable};
use unspin_trace::{Payload, Record, Stacks, Tracer};

/// Threads of which names and times are kept. Those that come later have their numbers for names.
const THREADS_MAX: usize = 100_000;

/// What is known of a thread. Times are in nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObservedThread {
    /// Its name; none if no record has told it.
    pub name: Option<String>,
    /// When it began; none if that was before the observation.
    pub started: Option<u64>,
    /// When it ended; none if it goes on.
    pub ended: Option<u64>,
}

/// Takes in names, beginnings and ends of threads.
#[derive(Debug, Default)]
pub struct ObservedThreads {
    /// When the observation began.
    began: u64,
    /// The same by the clock of the machine; none before it begins.
    began_at: Option<SystemTime>,
    ended: u64,
    threads: HashMap<(u32, u32), ObservedThread>,
}

impl ObservedThreads {
    /// When the observation began, in nanoseconds of CLOCK_MONOTONIC.
    pub fn began(&self) -> u64 {
        self.began
    }

    /// When the observation began, by the clock of the machine.
    pub fn began_at(&self) -> SystemTime {
        self.began_at.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// When the observation ended, in nanoseconds of CLOCK_MONOTONIC.
    pub fn ended(&self) -> u64 {
        self.ended.max(self.began)
    }

    /// What is known of a thread.
    pub fn get(&self, track: Track) -> Option<&ObservedThread> {
        match track {
            Track::Thread(pid, tid) => self.threads.get(&(pid, tid)),
            Track::Idle(_) | Track::Exiting(_) => None,
        }
    }

    /// The name of a thread, or its number.
    pub fn name(&self, track: Track) -> String {
        match track {
            Track::Thread(_, tid) => {
                let name = self.get(track).and_then(|thread| thread.name.clone());
                name.unwrap_or_else(|| format!("thread {tid}"))
            }
            Track::Idle(cpu) => format!("idle thread of CPU {cpu}"),
            Track::Exiting(cpu) => format!("exiting threads on CPU {cpu}"),
        }
    }

    /// The name of a process: that of its first thread.
    pub fn process_name(&self, track: Track) -> String {
        let pid = track.pid();
        match track {
            Track::Thread(..) => {
                let first = self.threads.get(&(pid, pid)).and_then(|thread| thread.name.clone());
                first.unwrap_or_else(|| format!("process {pid}"))
            }
            Track::Idle(_) => "idle CPUs".into(),
            Track::Exiting(_) => "exiting threads".into(),
        }
    }

    /// The thread of this number; none if there is no room for another one.
    fn entry(&mut self, pid: u32, tid: u32) -> Option<&mut ObservedThread> {
        if self.threads.len() >= THREADS_MAX && !self.threads.contains_key(&(pid, tid)) {
            return None;
        }
        Some(self.threads.entry((pid, tid)).or_default())
    }

    /// A thread has the name of the process that created it until it gets another one.
    fn note_begin(&mut self, record: &Record, parent: u32) {
        let creator = if record.pid == record.tid { parent } else { record.pid };
        let name = self.threads.get(&(creator, creator)).and_then(|thread| thread.name.clone());
        if let Some(thread) = self.entry(record.pid, record.tid) {
            *thread = ObservedThread { name, started: Some(record.time), ended: None };
        }
    }
}

impl Sink for ObservedThreads {
    fn note(&mut self, record: &Record, _: &Stacks) {
        match &record.payload {
            Payload::Comm { name, exec } => {
                // The first record of a program that unspin starts.
                let started = exec.then_some(record.time);
                if let Some(thread) = self.entry(record.pid, record.tid) {
                    thread.name = Some(name.clone());
                    thread.started = thread.started.or(started);
                    thread.ended = None;
                }
            }
            Payload::Fork { parent } => self.note_begin(record, *parent),
            Payload::Exit => {
                if let Some(thread) = self.threads.get_mut(&(record.pid, record.tid)) {
                    thread.ended = Some(record.time);
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, tracer: &Tracer, now: u64) {
        let since = Duration::from_nanos(clock::monotonic_ns().saturating_sub(now));
        (self.began, self.began_at) = (now, SystemTime::now().checked_sub(since));
        for thread in tracer.running_threads() {
            let file = format!("/proc/{}/task/{}/comm", thread.pid, thread.tid);
            let name = fs::read(file).ok().map(|name| {
                let name = String::from_utf8_lossy(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned();
                printable::line(&name).into_owned()
            });
            if let Some(known) = self.entry(thread.pid, thread.tid) {
                known.name = name;
            }
        }
    }

    fn end(&mut self, now: u64) {
        self.ended = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: u32 = u32::MAX - 1;

    fn note(threads: &mut ObservedThreads, time: u64, tid: u32, payload: Payload) {
        threads.note(&Record { time, pid: PID, tid, payload }, &Stacks::default());
    }

    #[test]
    fn thread_has_the_name_of_its_process_until_it_gets_another() {
        let mut threads = ObservedThreads::default();
        let comm = |name: &str, exec| Payload::Comm { name: name.into(), exec };
        note(&mut threads, 5, PID, comm("server", true));
        note(&mut threads, 10, 7, Payload::Fork { parent: 1 });
        let track = Track::Thread(PID, 7);
        assert_eq!(threads.name(track), "server");
        note(&mut threads, 11, 7, comm("worker", false));
        note(&mut threads, 20, 7, Payload::Exit);
        let expected = ObservedThread { name: Some("worker".into()), started: Some(10), ended: Some(20) };
        assert_eq!(threads.get(track), Some(&expected));
        assert_eq!(
            (threads.process_name(track), threads.get(Track::Thread(PID, PID)).unwrap().started),
            ("server".into(), Some(5))
        );
        assert_eq!(threads.name(Track::Thread(3, 4)), "thread 4");
    }
}
