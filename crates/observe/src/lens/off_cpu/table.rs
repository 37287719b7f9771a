//! The table of where the threads' time went.

use super::reason::Reason;
use super::report::{BlockedCaller, BlockedReason, OffCpuReport};
use crate::lens::next::Said;
use crate::lens::text::{cut, losses, of_whom};
use std::fmt::Write;
use unspin_meter::figures::{count, spoken_percent, time};
use unspin_meter::{Layout, add_note};

const TITLES: &str = "  TIME    SHARE      COUNT    MAX  STATE AND REASON\n";

impl OffCpuReport {
    /// The table and what it lacks.
    pub fn text(&self, layout: &Layout) -> String {
        let whose = of_whom(self.target, "all processes");
        let threads = crate::lens::text::counted(self.threads, "thread", "threads");
        let mut text = format!("Time of {threads} over {}: {whose}\n", time(self.seconds));
        if self.thread_seconds == 0.0 {
            text += "No thread was seen.\n";
            return text;
        }
        text += TITLES;
        let states = [
            (self.thread_seconds, "*TOTAL*", &None),
            (self.on_cpu, OffCpuReport::ON_CPU, &self.on_cpu_next),
            (self.runnable, OffCpuReport::RUNNABLE, &self.runnable_next),
            (self.blocked, "blocked", &None),
        ];
        let mut said = Said::default();
        for (seconds, name, next) in states {
            let _ = writeln!(text, "\n{}", self.line(seconds, None, 0, name, layout));
            if let Some(next) = next {
                said.write(next, name, layout.width, &mut text);
            }
        }
        for reason in &self.reasons {
            self.reason_lines(&mut text, reason, layout);
            if let Some(next) = &reason.next {
                said.write(next, reason.reason.name(), layout.width, &mut text);
            }
        }
        add_note(&self.denominator(), layout.width, &mut text);
        for note in losses(self.lost_records, self.unreadable_records) {
            add_note(&note, layout.width, &mut text);
        }
        text
    }

    /// What share of the threads' time was locks.
    fn denominator(&self) -> String {
        let share = |part: f64| spoken_percent(part / self.thread_seconds);
        let mut sentence = format!(
            "Of {} of thread time, {} were locks, or other waits at a futex: blocked in futex or for a lock of the kernel.",
            time(self.thread_seconds),
            share(self.locks)
        );
        if self.blocked_for(Reason::Futex) > self.idle {
            sentence += " These include any workers that wake now and then without work, by timed waits: --lens futex shows such \
                         waits as TMOUT.";
        }
        if self.idle > 0.0 {
            let _ = write!(
                sentence,
                " {} more were threads that waited at a futex already when the observation began: idle threads, such as \
                 workers without work, unless a lock is not released at all.",
                share(self.idle)
            );
        }
        sentence
    }

    fn reason_lines(&self, text: &mut String, reason: &BlockedReason, layout: &Layout) {
        let row = &reason.row;
        let numbers = Some((row.count, row.max));
        let _ = writeln!(text, "{}", self.line(row.blocked, numbers, 2, reason.reason.name(), layout));
        for caller in reason.callers.iter().take(layout.callers) {
            let numbers = Some((caller.row.count, caller.row.max));
            let _ = writeln!(text, "{}", self.line(caller.row.blocked, numbers, 4, &named(caller), layout));
        }
        if let Some(rest @ [_, ..]) = reason.callers.get(layout.callers..) {
            let blocked: f64 = rest.iter().map(|caller| caller.row.blocked).sum();
            let name = format!("and {} more", rest.len());
            let _ = writeln!(text, "{}", self.line(blocked, None, 4, &name, layout));
        }
    }

    fn line(
        &self,
        seconds: f64,
        numbers: Option<(u64, f64)>,
        indent: usize,
        name: &str,
        layout: &Layout,
    ) -> String {
        let share = spoken_percent(seconds / self.thread_seconds);
        let (times, max) = numbers.map_or_else(Default::default, |(times, max)| (count(times), time(max)));
        let room = layout.width.saturating_sub(NAME_AT + indent).max(NAME_MIN);
        format!("{:>6} {share:>8} {times:>10} {max:>6}  {:indent$}{}", time(seconds), "", cut(name, room))
    }
}

/// A caller with its system call.
fn named(caller: &BlockedCaller) -> String {
    match &caller.system_call {
        Some(call) => format!("{call}: {}", caller.name),
        None => caller.name.clone(),
    }
}

/// Width of the numbers.
const NAME_AT: usize = 35;
/// Minimum width of the name, even if the line becomes longer than the terminal.
const NAME_MIN: usize = 20;

#[cfg(test)]
mod tests {
    use super::super::testing::example;
    use super::*;

    #[test]
    fn table_has_all_states_and_the_share_of_locks() {
        let text = example().text(&Layout { width: 120, ..Layout::default() });
        for expected in [
            "Time of 1 thread over 3.1ms: the program, and its children",
            "*TOTAL*",
            "runnable, without a CPU",
            "futex: (no stack)",
            "Of 3.1ms of thread time, 64.9 % were locks",
            "unspin meter --lens futex ./server",
            "unspin meter ./server",
            "1 event was lost",
        ] {
            assert!(text.replace('\n', " ").contains(expected), "{expected}: {text}");
        }
        assert_eq!(TITLES.find("STATE"), Some(NAME_AT));
    }

    #[test]
    fn threads_that_were_idle_all_the_time_are_no_locks() {
        let report = OffCpuReport { idle: 0.001, locks: 0.001, ..example() };
        let said = report.denominator();
        assert!(
            said.contains("32.5 % were locks") && said.contains("32.5 % more were threads that waited"),
            "{said}"
        );
        assert!(!example().denominator().contains("idle threads"));
        assert!(example().denominator().contains("without work, by timed waits: --lens futex"));
    }
}
