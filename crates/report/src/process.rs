//! The processes of a recording, their threads' times, and the locks that they held at its end.

use crate::serial;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use unspin_wire::{Class, Image, Key, RecordKind, Snapshot, Thread, Window};

/// A process from its start, or from its last exec, on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: u32,
    /// Process id of its parent.
    pub parent: u32,
    /// The arguments, the first of which is the program's name.
    pub command: Vec<String>,
    /// Start of recording in it, in seconds since the recording began.
    pub since: f64,
    /// Threads that used locks. Threads that ran one after another may be counted as one.
    pub threads: u64,
}

/// A lock that a thread holds, or waits for, at the end of the recording or at the time of the snapshot; or that a thread
/// held when its process ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LockInUse {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// The lock's name.
    pub lock: String,
    /// The kind of use: how it is held, or is to be held.
    #[serde(with = "serial::RecordKind")]
    pub kind: RecordKind,
    /// The caller that took it, or waits for it.
    pub caller: String,
    /// Start of the hold or the wait, in seconds since the recording began; none if it was not timed.
    pub since: Option<f64>,
}

/// CPU times of a thread that still exists, from `/proc/PID/task/TID/schedstat`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadTimes {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Nanoseconds on a CPU since it began.
    pub on_cpu: u64,
    /// Nanoseconds ready to run, waiting for a CPU.
    pub runnable: u64,
}

pub(crate) fn processes(snapshot: &Snapshot) -> Vec<Process> {
    let process = |image: &Image| Process {
        pid: image.pid,
        parent: image.parent,
        command: image.command.clone(),
        since: snapshot.window.to_seconds(image.since),
        threads: image.threads.len() as u64,
    };
    // A second recorder in a process has an image of its own, without threads.
    let has_another = |image: &Image| {
        snapshot.images.iter().any(|other| other.pid == image.pid && !other.threads.is_empty())
    };
    let shown = snapshot.images.iter().filter(|image| !image.threads.is_empty() || !has_another(image));
    shown.map(process).collect()
}

/// Returns the names of lock and caller.
type LockAndCaller<'a> = dyn Fn(&Image, &Key) -> (String, String) + 'a;

/// The locks that are held.
pub(crate) fn held(snapshot: &Snapshot, names: &LockAndCaller<'_>) -> Vec<LockInUse> {
    let running = snapshot.images.iter().filter(|image| image.ended.is_none());
    each(running, snapshot, names, |thread| thread.holds.clone())
}

/// The locks that processes held when they ended before the recording did.
pub(crate) fn left_locked(snapshot: &Snapshot, names: &LockAndCaller<'_>) -> Vec<LockInUse> {
    let ended = snapshot.images.iter().filter(|image| image.ended.is_some());
    each(ended, snapshot, names, |thread| thread.holds.clone())
}

/// The locks that threads wait for. Waits by design are not included.
pub(crate) fn waiting(snapshot: &Snapshot, names: &LockAndCaller<'_>) -> Vec<LockInUse> {
    let is_lock = |key: &Key| key.kind().is_some_and(|kind| kind.class() == Class::Lock);
    each(snapshot.images.iter(), snapshot, names, |thread| {
        thread.waits.into_iter().filter(|(key, _)| is_lock(key)).collect()
    })
}

fn each<'a>(
    images: impl Iterator<Item = &'a Image>,
    snapshot: &Snapshot,
    names: &LockAndCaller<'_>,
    of: impl Fn(&Thread) -> Vec<(Key, u64)>,
) -> Vec<LockInUse> {
    let mut all = Vec::new();
    for image in images {
        for (tid, (key, since)) in
            image.threads.iter().flat_map(|thread| of(thread).into_iter().map(|lock| (thread.tid, lock)))
        {
            let (lock, caller) = names(image, &key);
            let since = (since > 0).then(|| snapshot.window.to_seconds(since));
            let kind = key.kind().unwrap_or(RecordKind::Engine);
            all.push(LockInUse { pid: image.pid, tid, lock, kind, caller, since });
        }
    }
    all
}

/// How long the threads were blocked, and how much of that the report explains.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Blocked {
    /// Threads whose times are known.
    pub threads: u64,
    /// Threads whose times are not known: they did not end, and their times were not read while they ran.
    pub unknown: u64,
    /// Seconds that the threads with known times lived, each from its first use of a lock on.
    pub lived: f64,
    /// Seconds of these that they were on a CPU.
    pub on_cpu: f64,
    /// Seconds of these that they were ready to run and had no CPU.
    pub runnable: f64,
    /// The remainder: seconds blocked, for any reason.
    pub blocked: f64,
    /// Seconds asleep for locks, over all threads, each until the thread ran again.
    pub for_locks: f64,
    /// Seconds asleep for conditions, barriers and semaphores, over all threads.
    pub by_design: f64,
    /// Seconds asleep in all other waits of the report, over all threads: joins, descriptors, futexes, the System V
    /// engine.
    pub other_waits: f64,
    /// Seconds that threads spun for locks and polled in waits. This is time on the CPUs and no part of the time off
    /// the CPUs.
    pub spun: f64,
}

impl Blocked {
    /// The times of the threads only, without the times that they waited.
    pub(crate) fn of_threads(snapshot: &Snapshot, extra: &[ThreadTimes]) -> Blocked {
        let mut blocked = Blocked::default();
        // A program may have thousands of processes.
        let alive: HashMap<(u32, u32), &ThreadTimes> =
            extra.iter().map(|times| ((times.pid, times.tid), times)).collect();
        for image in &snapshot.images {
            for thread in &image.threads {
                match alive.get(&(image.pid, thread.tid)) {
                    Some(now) => blocked.add(
                        &snapshot.window,
                        thread.lived,
                        thread.on_cpu.saturating_add(now.on_cpu),
                        thread.runnable.saturating_add(now.runnable),
                    ),
                    None if thread.tid == 0 && thread.on_cpu | thread.runnable != 0 => {
                        blocked.add(&snapshot.window, thread.lived, thread.on_cpu, thread.runnable);
                    }
                    None => blocked.unknown += 1,
                }
            }
        }
        blocked
    }

    fn add(&mut self, window: &Window, lived: u64, on_cpu: u64, runnable: u64) {
        let lived = window.to_seconds(lived);
        let (on_cpu, runnable) = (on_cpu as f64 / 1e9, runnable as f64 / 1e9);
        self.threads += 1;
        self.lived += lived;
        self.on_cpu += on_cpu;
        self.runnable += runnable;
        // A thread's CPU time begins before its first use of a lock, so the difference can be negative.
        self.blocked += (lived - on_cpu - runnable).max(0.0);
    }

    /// Seconds off the CPUs: blocked, or ready to run. Waits are compared with this time, because a wait lasts until
    /// its thread runs again.
    pub fn off_cpu(&self) -> f64 {
        self.blocked + self.runnable
    }

    /// Seconds off the CPUs that no row of the report explains; none if that is unknown. Negative if the rows contain
    /// more than the time off the CPUs: if a thread computed before its first use of a lock, too much CPU time is
    /// counted.
    pub fn unexplained(&self) -> Option<f64> {
        (self.threads > 0 && self.unknown == 0)
            .then(|| self.off_cpu() - self.for_locks - self.by_design - self.other_waits)
    }
}
