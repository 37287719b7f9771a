//! The total of all lenses: where did the threads' time go.

use super::off_cpu::OffCpuReport;
use serde::Serialize;
use std::fmt::Write;
use unspin_report::figures::{Percent, time};
use unspin_report::next::lens::off_cpu::BlockReason;
use unspin_report::{Layout, MeterReport, add_note};
use unspin_wire::RecordKind;

/// Seconds that threads slept in libc's waits that use futexes, by the pthread lens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LibcWaits {
    /// For locks.
    locks: f64,
    /// For conditions, barriers, semaphores, joins, and in futex through libc's `syscall()`.
    others: f64,
}

impl LibcWaits {
    /// Of a report.
    pub fn of(report: &MeterReport) -> LibcWaits {
        let uses_futex = |kind: RecordKind| matches!(kind, RecordKind::Join | RecordKind::Futex);
        let waits = report.waits.iter().filter(|wait| uses_futex(wait.kind));
        let others: f64 = waits.map(|wait| wait.row.sleep).sum();
        LibcWaits { locks: report.blocked.for_locks, others: others + report.blocked.by_design }
    }

    /// All of them.
    pub fn sleep(self) -> f64 {
        self.locks + self.others
    }
}

/// What the lenses have measured; none for those that did not run.
#[derive(Clone, Copy, Debug, Default)]
pub struct LensMeasurements<'a> {
    /// By the pthread lens.
    pub libc: Option<LibcWaits>,
    /// Seconds waited at futexes.
    pub futex: Option<f64>,
    /// Waits for the kernel's locks.
    pub kernel: Option<KernelWaits>,
    /// The time of all threads.
    pub off_cpu: Option<&'a OffCpuReport>,
}

/// Seconds that threads waited for the kernel's locks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KernelWaits {
    /// All of it.
    pub waited: f64,
    /// The part in which they spun.
    pub spun: f64,
}

/// The time of all threads, in parts that add up to it. Times are in seconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ThreadTime {
    /// The time of all threads; none without the off-cpu lens, which measures it.
    pub thread_seconds: Option<f64>,
    /// The parts.
    pub parts: Vec<Part>,
}

/// A part of the threads' time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Part {
    /// What the threads did.
    pub name: &'static str,
    /// Whether it is time spent for locks.
    pub lock: IsLock,
    /// Seconds.
    pub seconds: f64,
}

/// Whether time was spent for locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IsLock {
    /// It was.
    Yes,
    /// It was not.
    No,
    /// A part of it may be: a futex can be a lock, a condition, or the place of an idle thread.
    Unknown,
}

impl ThreadTime {
    /// Of all lenses; none if there is only one.
    pub fn of(measured: LensMeasurements<'_>) -> Option<ThreadTime> {
        let LensMeasurements { libc, futex, kernel, off_cpu } = measured;
        let lenses = [libc.is_some(), futex.is_some(), kernel.is_some(), off_cpu.is_some()];
        if lenses.into_iter().filter(|&is_there| is_there).count() < 2 {
            return None;
        }
        if let Some(off_cpu) = off_cpu {
            let thread_seconds = Some(off_cpu.thread_seconds);
            return Some(ThreadTime { thread_seconds, parts: parts_of_all(off_cpu, kernel, libc) });
        }
        let mut parts = libc_parts(libc, futex);
        let kernel = kernel.map(|kernel| part("waited for locks of the kernel", IsLock::Yes, kernel.waited));
        parts.extend(kernel);
        Some(ThreadTime { thread_seconds: None, parts })
    }

    /// The printed form.
    pub fn text(&self, layout: &Layout) -> String {
        let mut text = String::from("Where the threads' time went\n\n");
        let sum: f64 = self.parts.iter().map(|part| part.seconds).sum();
        for part in &self.parts {
            let share = self
                .thread_seconds
                .map(|all| Percent::ThreeDigits.of(if all > 0.0 { part.seconds / all } else { 0.0 }));
            let _ =
                writeln!(text, "{:>6} {:>8}  {}", time(part.seconds), share.unwrap_or_default(), part.name);
        }
        let of =
            |lock| self.parts.iter().filter(|part| part.lock == lock).map(|part| part.seconds).sum::<f64>();
        let (locks, perhaps) = (of(IsLock::Yes), of(IsLock::Unknown));
        let note = match self.thread_seconds {
            Some(all) => {
                let _ = writeln!(text, "{:>6} {:>8}  all threads", time(sum), "100 %");
                let share =
                    |seconds: f64| Percent::ThreeDigits.of(if all > 0.0 { seconds / all } else { 0.0 });
                let mut note = format!("Of {} of thread time, {} were locks.", time(all), share(locks));
                if perhaps > 0.0 {
                    let _ = write!(
                        note,
                        " Another {} were waits at futexes that no lens tells apart: locks, conditions, idle threads.",
                        share(perhaps)
                    );
                }
                note
            }
            None => {
                "--lens off-cpu adds the rest: the time on CPUs, and what else threads waited for.".to_owned()
            }
        };
        add_note(&note, layout.width, &mut text);
        text
    }
}

fn part(name: &'static str, lock: IsLock, seconds: f64) -> Part {
    Part { name, lock, seconds }
}

/// The off-cpu lens has the whole; the other lenses divide parts of it.
fn parts_of_all(off_cpu: &OffCpuReport, kernel: Option<KernelWaits>, libc: Option<LibcWaits>) -> Vec<Part> {
    let spun = kernel.map_or(0.0, |kernel| kernel.spun).min(off_cpu.on_cpu);
    let mut parts = vec![part("on a CPU", IsLock::No, off_cpu.on_cpu - spun)];
    if kernel.is_some() {
        parts.push(part("on a CPU, spinning for locks of the kernel", IsLock::Yes, spun));
    }
    parts.push(part("runnable, without a CPU", IsLock::No, off_cpu.runnable));
    parts.extend(libc_parts(libc, Some(off_cpu.blocked_for(BlockReason::Futex))));
    parts.push(part(
        "blocked for locks of the kernel",
        IsLock::Yes,
        off_cpu.blocked_for(BlockReason::KernelLock),
    ));
    let named = [
        (BlockReason::Io, "blocked for I/O, or otherwise in state D"),
        (BlockReason::Poll, "blocked in poll, select or epoll"),
        (BlockReason::Socket, "blocked for sockets"),
        (BlockReason::Pipe, "blocked for pipes"),
        (BlockReason::Sleep, "blocked in nanosleep"),
        (BlockReason::Child, "blocked for child processes"),
        (BlockReason::Vfork, "blocked until a vfork child executes or exits"),
        (BlockReason::SystemV, "blocked for semaphores and messages of System V"),
        (BlockReason::Stopped, "blocked for signals, or stopped"),
        (BlockReason::Other, "blocked for other reasons"),
    ];
    let blocked = named.map(|(reason, name)| part(name, IsLock::No, off_cpu.blocked_for(reason)));
    parts.extend(blocked.into_iter().filter(|part| part.seconds > 0.0));
    parts
}

/// The futex waits, divided by what the pthread lens knows of them.
fn libc_parts(libc: Option<LibcWaits>, futex: Option<f64>) -> Vec<Part> {
    match (libc, futex) {
        (Some(libc), Some(futex)) => {
            // The lenses measure at different places: a part cannot be larger than the whole.
            let locks = libc.locks.min(futex);
            let others = libc.others.min(futex - locks);
            vec![
                part("blocked for locks of libc (pthread lens)", IsLock::Yes, locks),
                part(
                    "blocked for conditions, semaphores, joins and futexes of libc (pthread lens)",
                    IsLock::No,
                    others,
                ),
                part(
                    "blocked at futexes that the pthread lens does not see",
                    IsLock::Unknown,
                    futex - locks - others,
                ),
            ]
        }
        (Some(libc), None) => vec![
            part("blocked for locks of libc (pthread lens)", IsLock::Yes, libc.locks),
            part(
                "blocked for conditions, semaphores, joins and futexes of libc (pthread lens)",
                IsLock::No,
                libc.others,
            ),
        ],
        (None, Some(futex)) => {
            vec![part("blocked at futexes: locks, conditions, idle threads", IsLock::Unknown, futex)]
        }
        (None, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::off_cpu::testing::example;
    use super::*;

    #[test]
    fn parts_add_up_to_the_time_of_all_threads() {
        let report = example();
        let (little, much) =
            (LibcWaits { locks: 0.000_5, others: 0.0 }, LibcWaits { locks: 1.0, others: 1.0 });
        for libc in [little, much] {
            let kernel = Some(KernelWaits { waited: 1.0, spun: 1.0 });
            let measured = LensMeasurements { libc: Some(libc), kernel, off_cpu: Some(&report), futex: None };
            let total = ThreadTime::of(measured).unwrap();
            let sum: f64 = total.parts.iter().map(|part| part.seconds).sum();
            assert!((sum - report.thread_seconds).abs() < 1e-12, "{total:?}");
            assert!(total.parts.iter().all(|part| part.seconds >= 0.0), "{total:?}");
        }
    }

    #[test]
    fn total_needs_two_lenses() {
        let report = example();
        let libc = Some(LibcWaits { locks: 0.001, others: 0.0 });
        assert_eq!(ThreadTime::of(LensMeasurements { libc, ..LensMeasurements::default() }), None);
        let off_cpu = Some(&report);
        assert_eq!(ThreadTime::of(LensMeasurements { off_cpu, ..LensMeasurements::default() }), None);
        let total =
            ThreadTime::of(LensMeasurements { libc, off_cpu, ..LensMeasurements::default() }).unwrap();
        let text = total.text(&Layout::default());
        assert!(
            text.replace('\n', " ")
                .contains("of thread time, 32.5 % were locks. Another 32.5 % were waits at"),
            "{text}"
        );
        assert!(text.contains("100 %  all threads"), "{text}");
    }
}
