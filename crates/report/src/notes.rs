//! The notes below the tables: the worst lock in a sentence, held locks, event counts, and what is missing.

use crate::figures::{Percent, count, time};
use crate::next;
use crate::paragraph::wrap;
use crate::process::{Blocked, LockInUse};
use crate::report::MeterReport;
use crate::shell;
use crate::wait::Wait;
use std::fmt::Write;
use unspin_wire::{Event, Level, RecordKind};

/// Maximum number of lines of a list.
const MOST: usize = 20;

pub(crate) fn write(report: &MeterReport, width: usize, text: &mut String) {
    next::write(report, width, text);
    locks_among_waits(report, width, text);
    left_out(report, text);
    held(report, text);
    left_locked(report, width, text);
    processes(report, text);
    if !report.events.is_empty() {
        text.push_str("\nCounted beside:\n");
    }
    for event in &report.events {
        let _ = writeln!(text, "{:>12} {}", count(event.count), event.event.name());
    }
    if let Some(sentence) = report.off_cpu_sentence() {
        text.push('\n');
        wrap(&sentence, width, text);
    }
    unrecorded(report, text);
}

/// Some runtimes build their locks from semaphores and conditions. Those that nearly always come back from the threads
/// that took them are recognised ([`used_as_lock`](crate::used_as_lock)). The note is written if the others could
/// account for most of the time lost.
fn locks_among_waits(report: &MeterReport, width: usize, text: &mut String) {
    let waited = report.blocked.by_design;
    // Upper bound of the time that threads with unknown times lived.
    let lived = report.blocked.lived + report.blocked.unknown as f64 * report.seconds;
    let is_unrecognised = |wait: &Wait| {
        matches!(wait.kind, RecordKind::Condition | RecordKind::Semaphore) && !wait.used_as_lock
    };
    if report.waits.iter().any(is_unrecognised) && waited > 10.0 * report.total.lost && waited > 0.1 * lived {
        text.push('\n');
        let sentence = "Locks that are built on semaphores or conditions in other ways (the JVM's, …) may be among the \
                        waits, not in LOST: they are recognised only if the threads that take them give them back.";
        wrap(sentence, width, text);
    }
}

fn left_out(report: &MeterReport, text: &mut String) {
    let left = report.left_out;
    let share = if report.total.lost > 0.0 { left.lost / report.total.lost } else { 0.0 };
    let lost = format!(", which lost {}", Percent::ThreeDigits.of(share));
    let parts = [(left.locks, "lock", lost.as_str()), (left.waits, "wait", ""), (left.callers, "caller", "")];
    let said = |(n, what, rest): &(u64, &str, &str)| {
        (*n > 0).then(|| format!("{n} {what}{}{rest}", if *n == 1 { "" } else { "s" }))
    };
    let parts: Vec<String> = parts.iter().filter_map(said).collect();
    if !parts.is_empty() {
        let _ = writeln!(text, "\nLeft out by the filters: {}. TOTAL has them.", parts.join("; "));
    }
}

fn held(report: &MeterReport, text: &mut String) {
    for (title, verb, locks) in
        [("Waited for at the end", "wanted", &report.waiting), ("Held at the end", "taken", &report.held)]
    {
        if !locks.is_empty() {
            let _ = writeln!(text, "\n{title}:");
            list(report, locks, verb, text);
        }
    }
}

/// The locks that a process left locked. Each process is one line: that it ended is the point, not for how long.
fn left_locked(report: &MeterReport, width: usize, text: &mut String) {
    let locks = &report.left_locked;
    if locks.is_empty() {
        return;
    }
    let sentence = "Still held when their process ended; such a hold counts until the process was last seen alive. If the \
                    lock is shared between processes, release it before the process ends, or make it robust \
                    (pthread_mutexattr_setrobust).";
    text.push('\n');
    wrap(sentence, width, text);
    for held in locks.iter().take(MOST) {
        let mark = held.kind.mark().map_or(String::new(), |mark| format!(" {mark}"));
        let _ = writeln!(text, "    process {}: {}{mark}, taken by {}", held.pid, held.lock, held.caller);
    }
    more(locks.len(), text);
}

fn list(report: &MeterReport, locks: &[LockInUse], verb: &str, text: &mut String) {
    for held in locks.iter().take(MOST) {
        let since = match held.since {
            Some(since) => format!("since {}, for {}", time(since), time((report.seconds - since).max(0.0))),
            None => "since an unknown time".into(),
        };
        let mark = held.kind.mark().map_or(String::new(), |mark| format!(" {mark}"));
        let thread = match held.tid {
            0 => "a thread that has ended".into(),
            tid => format!("thread {tid}"),
        };
        let _ = writeln!(text, "    {thread}: {}{mark} {since}, {verb} by {}", held.lock, held.caller);
    }
    more(locks.len(), text);
}

fn processes(report: &MeterReport, text: &mut String) {
    if report.processes.len() < 2 {
        return;
    }
    text.push_str("\nProcesses:\n");
    for process in report.processes.iter().take(MOST) {
        let command = shell::line(&process.command);
        let _ = writeln!(
            text,
            "{:>12} from {} on, {}: {}",
            process.pid,
            time(process.since),
            threads(process.threads),
            cut(&command)
        );
    }
    more(report.processes.len(), text);
}

fn more(all: usize, text: &mut String) {
    if all > MOST {
        let _ = writeln!(text, "    and {} more", all - MOST);
    }
}

/// The first 70 characters of a text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(70) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

impl MeterReport {
    /// How long threads were off the CPUs, and how much of it the tables do not explain, in a sentence; none if that is not
    /// known.
    pub fn off_cpu_sentence(&self) -> Option<String> {
        let blocked = &self.blocked;
        let is_known = blocked.threads.max(blocked.unknown) > 0 && self.level != Level::Counts;
        is_known.then(|| off_cpu_sentence(blocked))
    }
}

fn off_cpu_sentence(blocked: &Blocked) -> String {
    let mut explained = format!(
        "{} in waits for these locks, {} for conditions, barriers and semaphores",
        time(blocked.for_locks),
        time(blocked.by_design)
    );
    if blocked.other_waits > 0.0 {
        let _ = write!(explained, ", {} in the other waits above", time(blocked.other_waits));
    }
    let sum = || {
        format!(
            "Threads were off the CPUs for {} in all, for {} of it ready to run: {explained}",
            coarse(blocked.off_cpu()),
            coarse(blocked.runnable)
        )
    };
    let waited = blocked.for_locks + blocked.by_design + blocked.other_waits;
    let mut sentence = match blocked.unexplained() {
        Some(_) if blocked.off_cpu().max(waited) < HARDLY_S => {
            String::from("Threads were hardly ever off the CPUs.")
        }
        // Up to one hundredth may be due to the rounding of the printed terms.
        Some(rest) if rest < -0.01 * blocked.off_cpu() => format!(
            "{}. These are {} more: of threads that computed before their first lock, too much CPU time is counted.",
            sum(),
            time(-rest)
        ),
        Some(rest) if rest <= 0.01 * blocked.off_cpu() => sum() + ".",
        Some(rest) => format!(
            "{}; the other {} is in no row: preemption, input and output of files, sleeping, joins and futex \
             waits that had not ended, calls that are not recorded.",
            sum(),
            time(rest)
        ),
        None => format!(
            "Threads were off the CPUs for {explained}. How long for other reasons is not known, because the CPU \
             time of {} of {} was not read before their end. unspin meter --lens off-cpu has the times of all threads.",
            blocked.unknown,
            threads(blocked.threads.saturating_add(blocked.unknown))
        ),
    };
    if blocked.spun > 0.0 {
        let _ = write!(sentence, " They spun and polled for {}, on the CPUs.", time(blocked.spun));
    }
    sentence
}

/// A shorter time off the CPUs is less than the kernel measures it by.
const HARDLY_S: f64 = 1e-6;

/// A time that the kernel has measured: it is not exact to nanoseconds.
fn coarse(seconds: f64) -> String {
    if seconds > 0.0 && seconds < HARDLY_S { "less than 1us".into() } else { time(seconds) }
}

fn threads(n: u64) -> String {
    format!("{n} {}", if n == 1 { "thread" } else { "threads" })
}

fn unrecorded(report: &MeterReport, text: &mut String) {
    let missing = report.unrecorded;
    if !missing.is_nothing() {
        text.push_str("\nNot recorded, so that the true figures are higher:\n");
    }
    let is_filtered = report.events.iter().any(|event| event.event == Event::SeccompFilter);
    let overflowed = match is_filtered {
        true => "samples for new locks and callers after a seccomp filter, or for which there was no memory",
        false => "samples for whose locks and callers there was no memory",
    };
    for (n, what) in [
        (missing.overflowed, overflowed),
        (missing.threads, "threads for which no table was left, with all they did"),
    ] {
        if n > 0 {
            let _ = writeln!(text, "{:>12} {what}", count(n));
        }
    }
}
