//! The kernel's times of recorded threads while they live. A thread that is alive when its process ends cannot record
//! them itself.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};
use unspin_report::ThreadTimes;
use unspin_sys::process::{Liveness, ThreadGroup};
use unspin_wire::{Recording, Snapshot};

/// Minimum time between two checks: programs that run for seconds are checked a dozen times.
const PAUSE: Duration = Duration::from_millis(250);
/// Time before the first check. Each pause is twice the one before, up to [`PAUSE`], so that short programs are checked
/// too.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// A check may take this share of one CPU's time: with many threads checks are less frequent.
const SHARE: u32 = 500;
/// Maximum time between two checks, because each one renews the recording's sign of life.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// The times of all threads.
pub struct ThreadClocks {
    seen: BTreeMap<(u32, u32), FirstAndLast>,
    next: Instant,
    pause: Duration,
}

/// The first and the last times of one thread.
#[derive(Clone, Copy, Debug)]
struct FirstAndLast {
    first: CpuTimes,
    last: CpuTimes,
}

#[derive(Clone, Copy, Debug)]
struct CpuTimes {
    at: Instant,
    /// Nanoseconds on a CPU since the thread's start.
    on_cpu: u64,
    /// Nanoseconds waiting for a CPU.
    runnable: u64,
}

impl Default for ThreadClocks {
    /// The times before the first check.
    fn default() -> ThreadClocks {
        ThreadClocks { seen: BTreeMap::new(), next: Instant::now() + FIRST_PAUSE, pause: FIRST_PAUSE }
    }
}

impl ThreadClocks {
    /// Time until the next check.
    pub fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Reads the times of every thread that has a table, and records which processes have ended.
    pub fn check(&mut self, recording: &Recording) {
        let began = Instant::now();
        recording.note_ends(&has_ended);
        for (pid, tid) in recording.owners() {
            let Some(look) = CpuTimes::at_thread(pid, tid) else { continue };
            let seen = self.seen.entry((pid, tid)).or_insert(FirstAndLast { first: look, last: look });
            // A reused pid begins anew.
            *seen = if look.on_cpu < seen.last.on_cpu {
                FirstAndLast { first: look, last: look }
            } else {
                FirstAndLast { last: look, ..*seen }
            };
        }
        self.pause = (2 * self.pause).min(PAUSE).max(SHARE * began.elapsed()).min(PAUSE_MAX);
        self.next = Instant::now() + self.pause;
    }

    /// Adds the times to those threads of the snapshot that have not ended by themselves.
    pub fn complete(&self, snapshot: &mut Snapshot) {
        let window = snapshot.window;
        for image in &mut snapshot.images {
            for thread in image.threads.iter_mut().filter(|thread| thread.tid != 0) {
                let lived = window.to_seconds(thread.lived);
                let (on_cpu, runnable) = self.recent_times(image.pid, thread.tid, lived).unwrap_or_default();
                thread.on_cpu = thread.on_cpu.saturating_add(on_cpu);
                thread.runnable = thread.runnable.saturating_add(runnable);
            }
        }
    }

    /// Writes the times into the recording of a program that has ended, and forgets them: snapshots contain them from
    /// now on.
    pub fn write(&mut self, recording: &Recording) {
        let window = recording.window();
        recording.store_cpu_times(&|pid, tid, lived| self.recent_times(pid, tid, window.to_seconds(lived)));
        self.seen.clear();
    }

    /// Nanoseconds on a CPU and waiting for one, in the last `lived` seconds of a thread.
    fn recent_times(&self, pid: u32, tid: u32, lived: f64) -> Option<(u64, u64)> {
        Some(self.seen.get(&(pid, tid))?.within((lived * 1e9) as u64))
    }
}

/// Whether a process has ended. The recording ends with the program that unspin has started, so its end is known exactly
/// and is not noted here.
fn has_ended(process: ThreadGroup, parent: u32) -> bool {
    parent != std::process::id() && process.liveness() == Liveness::Dead
}

/// The threads of a snapshot that had not ended by themselves but whose times are in the snapshot already, so that
/// nothing has to be added.
pub fn known_threads(snapshot: &Snapshot) -> Vec<ThreadTimes> {
    let mut known = Vec::new();
    for image in &snapshot.images {
        let running = image.threads.iter().filter(|thread| thread.tid != 0);
        let seen = running.filter(|thread| thread.on_cpu | thread.runnable != 0);
        known.extend(seen.map(|thread| ThreadTimes {
            pid: image.pid,
            tid: thread.tid,
            on_cpu: 0,
            runnable: 0,
        }));
    }
    known
}

impl CpuTimes {
    /// `/proc/PID/task/TID/schedstat`: nanoseconds on a CPU and waiting for one.
    fn at_thread(pid: u32, tid: u32) -> Option<CpuTimes> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
        Some(CpuTimes { at: Instant::now(), on_cpu: numbers.next()??, runnable: numbers.next()?? })
    }
}

impl FirstAndLast {
    /// Nanoseconds on a CPU and waiting for one, during a life of `lived`. The time on a CPU is at least one, because
    /// zero means unknown. The life begins with the first use of a lock, the thread itself is older, so its rate
    /// between the two checks is applied to the whole life. If the checks are too close together, its total since its
    /// start is used.
    fn within(&self, lived: u64) -> (u64, u64) {
        let apart = self.last.at.duration_since(self.first.at).as_nanos() as u64;
        if apart < 1_000_000 {
            return cap(self.last.on_cpu, self.last.runnable, lived);
        }
        let scale = |n: u64| (n as f64 * lived as f64 / apart as f64) as u64;
        let on_cpu = scale(self.last.on_cpu - self.first.on_cpu);
        let runnable = scale(self.last.runnable.saturating_sub(self.first.runnable));
        cap(on_cpu, runnable, lived)
    }
}

fn cap(on_cpu: u64, runnable: u64, lived: u64) -> (u64, u64) {
    let on_cpu = on_cpu.min(lived).max(1);
    (on_cpu, runnable.min(lived.saturating_sub(on_cpu)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_between_two_checks_applies_to_the_whole_life() {
        let at = Instant::now();
        let first = CpuTimes { at, on_cpu: 5_000_000_000, runnable: 0 };
        let second = at + Duration::from_secs(1);
        let last = CpuTimes { at: second, on_cpu: 5_250_000_000, runnable: 100_000_000 };
        assert_eq!(FirstAndLast { first, last }.within(2_000_000_000), (500_000_000, 200_000_000));
        let alone = FirstAndLast { first, last: first };
        assert_eq!(alone.within(7), (7, 0), "no more than it lived");
    }

    #[test]
    fn process_of_another_pid_namespace_is_not_taken_for_an_ended_one() {
        let here = unspin_sys::process::pid_namespace();
        let nobody = |namespace| ThreadGroup { pid: u32::MAX >> 1, start_time: 0, namespace };
        assert!(has_ended(nobody(here), 0) && !has_ended(nobody(here + 1), 0));
    }

    #[test]
    fn schedstat_of_a_thread_is_read() {
        let me = std::process::id();
        let look = CpuTimes::at_thread(me, me).expect("schedstat is there on every distribution's kernel");
        assert!(look.on_cpu > 0);
        assert!(CpuTimes::at_thread(me, 1).is_none());
    }
}
