//! The table of where the threads' time went.

use super::report::{BlockedCaller, BlockedReason, BlockedRow, OffCpuReport};
use crate::lens::detail::{Detail, waits};
use crate::lens::filters::Filters;
use crate::lens::lens_report::LensReport;
use crate::lens::rows::{CALLERS, LensLine, LensTable, TOTAL};
use crate::lens::section::Section;
use crate::lens::text::{format_count, losses, of_whom};
use crate::lens::thread_time::LensMeasurements;
use std::fmt::Write;
use unspin_report::figures::{Percent, time};
use unspin_report::next::Next;
use unspin_report::next::lens::off_cpu::BlockReason;
use unspin_report::{Column, Figures, Frame::*, Layout};

/// A state of the threads, a reason, or a caller.
struct OffCpuRow {
    seconds: f64,
    /// Of the time of all threads.
    share: f64,
    /// How often, and the longest time; none for the states.
    sums: Option<(u64, f64)>,
}

type OffCpuColumn = Column<OffCpuRow>;

/// The columns before the names.
#[rustfmt::skip]
const COLUMNS: [OffCpuColumn; 4] = [
    OffCpuColumn::new("blocked", Gap(0), 6, ["", "  TIME"], |row, units| units.sum(row.seconds)).on_screen(["TIME", "TIME/s"], 6, 0),
    OffCpuColumn::new("share", Gap(1), 8, ["", "    SHARE"], |row, _| Percent::ThreeDigits.of(row.share)).on_screen(["SHARE"; 2], 8, 1),
    OffCpuColumn::new("count", Gap(1), 10, ["", "      COUNT"], |row, units| row.sums.map_or(String::new(), |(count, _)| units.count(count))).on_screen(["COUNT", "COUNT/s"], 10, 3),
    OffCpuColumn::new("max", Gap(1), 6, ["", "    MAX"], |row, _| row.sums.map_or(String::new(), |(_, max)| time(max))).on_screen(["MAX"; 2], 5, 2),
];

impl LensReport for OffCpuReport {
    fn section(&self, filters: &Filters<'_>, layout: &Layout) -> String {
        let mut report = self.clone();
        report.keep(filters.min_lost, &|caller| filters.caller(caller));
        report.text(layout)
    }

    fn table(&self, figures: Figures) -> LensTable {
        let sums = |row: &BlockedRow| self.row(row.blocked, Some((row.count, row.max)));
        let state = |(seconds, name, _)| (LensLine::new(0, name, name), self.row(seconds, None));
        let mut rows: Vec<_> = self.states().map(state).into();
        for reason in &self.reasons {
            let name = reason.reason.name();
            rows.push((LensLine::new(2, name, name), sums(&reason.row)));
            let callers = reason.callers.iter().take(CALLERS);
            rows.extend(
                callers.map(|caller| (LensLine::new(4, &format_caller(caller), name), sums(&caller.row))),
            );
        }
        LensTable::new(&COLUMNS, rows, self.seconds, figures)
    }

    fn describe(&self, name: &str, detail: &mut Detail) -> Option<()> {
        let Some(reason) = self.reasons.iter().find(|reason| reason.reason.name() == name) else {
            let (_, _, next) = self.states().into_iter().find(|(_, state, _)| *state == name)?;
            detail.next(next?);
            return Some(());
        };
        detail.sums(reason.row.blocked, reason.row.count, reason.row.max);
        detail.title("Stacks that were blocked");
        for caller in &reason.callers {
            let call = caller.system_call.as_ref().map_or(String::new(), |call| format!(", {call}"));
            detail.stack(&format!("{}{call}", waits(caller.row.blocked, caller.row.count)), &caller.frames);
        }
        if let Some(next) = &reason.next {
            detail.next(next);
        }
        Some(())
    }

    fn measure<'r>(&'r self, measurements: &mut LensMeasurements<'r>) {
        measurements.off_cpu = Some(self);
    }
}

impl OffCpuReport {
    /// The table and what it lacks.
    pub fn text(&self, layout: &Layout) -> String {
        let whose = of_whom(self.target, "all processes");
        let threads = format_count(self.threads, "thread", "threads");
        let heading = format!("Time of {threads} over {}: {whose}\n", time(self.seconds));
        if self.thread_seconds == 0.0 {
            return heading + "No thread was seen.\n";
        }
        let mut section = Section::new(heading, &COLUMNS, layout);
        section.titles("STATE AND REASON");
        for (seconds, name, next) in self.states() {
            section.entry(&self.row(seconds, None), name);
            section.next(next, name);
        }
        for reason in &self.reasons {
            self.write_reason(&mut section, reason, layout);
        }
        let losses = losses(self.lost_records, self.unreadable_records);
        section.with_notes([self.denominator()].into_iter().chain(losses))
    }

    /// The states of the threads, with what to do next.
    fn states(&self) -> [(f64, &'static str, Option<&Next>); 4] {
        [
            (self.thread_seconds, TOTAL, None),
            (self.on_cpu, OffCpuReport::ON_CPU, self.on_cpu_next.as_ref()),
            (self.runnable, OffCpuReport::RUNNABLE, self.runnable_next.as_ref()),
            (self.blocked, "blocked", None),
        ]
    }

    fn row(&self, seconds: f64, sums: Option<(u64, f64)>) -> OffCpuRow {
        let all = self.thread_seconds;
        OffCpuRow { seconds, share: if all > 0.0 { seconds / all } else { 0.0 }, sums }
    }

    /// What share of the threads' time was locks.
    fn denominator(&self) -> String {
        let share = |part: f64| Percent::ThreeDigits.of(part / self.thread_seconds);
        let mut sentence = format!(
            "Of {} of thread time, {} were locks, or other waits at a futex: blocked in futex or for a lock of the kernel.",
            time(self.thread_seconds),
            share(self.locks)
        );
        if self.blocked_for(BlockReason::Futex) > self.idle {
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

    fn write_reason(&self, section: &mut Section<'_, OffCpuRow>, reason: &BlockedReason, layout: &Layout) {
        let row = |row: &BlockedRow| self.row(row.blocked, Some((row.count, row.max)));
        let name = reason.reason.name();
        section.line(&row(&reason.row), 2, name);
        for caller in reason.callers.iter().take(layout.callers) {
            section.line(&row(&caller.row), 4, &format_caller(caller));
        }
        if let Some(rest @ [_, ..]) = reason.callers.get(layout.callers..) {
            let blocked: f64 = rest.iter().map(|caller| caller.row.blocked).sum();
            section.line(&self.row(blocked, None), 4, &format!("and {} more", rest.len()));
        }
        section.next(reason.next.as_ref(), name);
    }
}

/// A caller with its system call.
fn format_caller(caller: &BlockedCaller) -> String {
    match &caller.system_call {
        Some(call) => format!("{call}: {}", caller.name),
        None => caller.name.clone(),
    }
}

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
        let titles = "  TIME    SHARE      COUNT    MAX  STATE AND REASON\n";
        assert!(text.contains(titles), "{text}");
        let total = text.lines().find(|line| line.ends_with("*TOTAL*")).unwrap();
        assert_eq!(titles.find("STATE"), total.find("*TOTAL*"));
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
