//! The table of futex waits.

use super::report::{FutexEntry, FutexReport, FutexRow};
use super::sums::FutexWakes;
use crate::lens::detail::{Detail, waits};
use crate::lens::filters::Filters;
use crate::lens::lens_report::LensReport;
use crate::lens::rows::{CALLERS, LensLine, LensTable, TOTAL};
use crate::lens::section::Section;
use crate::lens::text::{format_count, losses, of_whom, share};
use crate::lens::thread_time::{LensMeasurements, LibcWaits};
use std::fmt::Write;
use unspin_report::figures::{Percent, time};
use unspin_report::{Column, Figures, Frame::*, Layout};

type FutexColumn = Column<FutexRow>;

/// The columns before the names.
#[rustfmt::skip]
const COLUMNS: [FutexColumn; 9] = [
    FutexColumn::new("waited", Gap(0), 6, ["", "WAITED"], |row, units| units.sum(row.waited)).on_screen(["WAITED", "WAIT/s"], 6, 0),
    FutexColumn::new("wait_mean", Gap(2), 6, ["    WAIT", "    MEAN"], |row, _| time(row.wait_mean)).on_screen(["MEAN"; 2], 6, 2),
    FutexColumn::new("wait_max", Parentheses, 5, ["", "(  MAX)"], |row, _| time(row.wait_max)).on_screen(["MAX"; 2], 5, 3),
    FutexColumn::new("waits", Gap(1), 10, ["", "      WAITS"], |row, units| units.count(row.counts.waits)).on_screen(["WAITS", "WAITS/s"], 10, 1),
    FutexColumn::new("woken", Gap(1), 6, ["", "  WOKEN"], |row, _| share(row.counts.woken, row.counts.waits)).on_screen(["WOKEN"; 2], 6, 4),
    FutexColumn::new("waited_again", Gap(1), 6, ["", "  AGAIN"], |row, _| share(row.counts.waited_again, row.counts.woken)).on_screen(["AGAIN"; 2], 6, 5),
    FutexColumn::new("value_changed", Gap(1), 6, ["", " EAGAIN"], |row, _| share(row.counts.value_changed, row.counts.waits)).on_screen(["EAGAIN"; 2], 6, 6),
    FutexColumn::new("interrupted", Gap(1), 6, ["", "  EINTR"], |row, _| share(row.counts.interrupted, row.counts.waits)).on_screen(["EINTR"; 2], 6, 8),
    FutexColumn::new("timed_out", Gap(1), 6, ["", "  TMOUT"], |row, _| share(row.counts.timed_out, row.counts.waits)).on_screen(["TMOUT"; 2], 6, 7),
];

/// What the columns mean.
const MEANING: &str = "WOKEN, EAGAIN (the value had changed, so the thread did not sleep), EINTR and TMOUT (timeouts) are shares of \
                       the WAITS; AGAIN is the share of the woken that waited at the same futex again at once. Callers are \
                       found by frame pointers: of code without them (-fomit-frame-pointer) some are missing.";

impl LensReport for FutexReport {
    fn section(&self, filters: &Filters<'_>, layout: &Layout) -> String {
        let mut report = self.clone();
        report.keep(filters.min_lost, &|lock| filters.lock(lock), &|caller| filters.caller(caller));
        report.text(layout)
    }

    fn table(&self, figures: Figures) -> LensTable {
        let mut rows = vec![(LensLine::new(0, TOTAL, TOTAL), self.total.clone())];
        for futex in &self.futexes {
            let name = futex.label();
            rows.push((LensLine::new(0, &name, &name), futex.row.clone()));
            let callers = futex.callers.iter().take(CALLERS);
            rows.extend(callers.map(|one| (LensLine::new(2, &one.row.name, &name), one.row.clone())));
        }
        LensTable::new(&COLUMNS, rows, self.seconds, figures)
    }

    fn describe(&self, name: &str, detail: &mut Detail) -> Option<()> {
        let futex = self.futexes.iter().find(|futex| futex.label() == name)?;
        let row = &futex.row;
        detail.sums(row.waited, row.counts.waits, row.wait_max);
        detail.title("Stacks that waited");
        for stack in futex.callers.iter().flat_map(|caller| &caller.stacks) {
            detail.stack(&waits(stack.waited, stack.waits), &stack.frames);
        }
        detail.title("Stacks that woke threads");
        for waker in &futex.wakers {
            detail.stack(&waker.wakes.text(), &waker.frames);
        }
        detail.next(&futex.next);
        Some(())
    }

    fn measure<'r>(&'r self, measurements: &mut LensMeasurements<'r>) {
        measurements.futex = Some(self.total.waited);
    }

    fn explain(&mut self, libc: LibcWaits) {
        self.compare(libc.sleep());
    }
}

impl FutexReport {
    /// The table and what it lacks.
    pub fn text(&self, layout: &Layout) -> String {
        let heading = format!(
            "Futex waits over {}: waits of {}\n",
            time(self.seconds),
            of_whom(self.target, "all processes")
        );
        let mut section = Section::new(heading, &COLUMNS, layout);
        if self.futexes.is_empty() {
            section.add(match self.total.counts.waits {
                0 => "No thread waited at a futex.\n",
                _ => "No futex is left.\n",
            });
        } else {
            section.titles("NAME");
            section.entry(&self.total, &self.total.name);
            section.add(&format!("{:WAKES_AT$}{}\n", "", self.wakes.text()));
            for futex in self.futexes.iter().take(layout.rows) {
                write_futex(&mut section, futex, layout);
            }
            section.omitted(&self.futexes, "with waits of", |futex| futex.row.waited);
        }
        section.with_notes(self.notes())
    }

    /// What the columns mean, and what was not recorded.
    fn notes(&self) -> Vec<String> {
        let meaning = (!self.futexes.is_empty()).then(|| MEANING.to_owned());
        let mut notes = Vec::from_iter(meaning);
        if let Some(explained) = &self.explained
            && self.total.waited > 0.0
        {
            let share = (explained.pthread_sleep / self.total.waited).min(1.0);
            let mut note = format!(
                "The pthread lens explains {} of these waits: its threads slept {} in libc's locks, conditions, semaphores, \
                 joins and calls of futex.",
                Percent::ThreeDigits.of(share),
                time(explained.pthread_sleep),
            );
            if explained.unexplained > 0.0 {
                let _ = write!(note, " It does not see the other {}.", time(explained.unexplained));
            }
            notes.push(note);
        }
        notes.extend(losses(self.lost_records, self.unreadable_records));
        if self.unpaired > 0 {
            notes.push(format!(
                "{} not in the table: the beginning or the end was lost, or came before the observation.",
                format_count(self.unpaired, "call is", "calls are")
            ));
        }
        if self.total.counts.unfinished > 0 {
            let waits = format_count(self.total.counts.unfinished, "wait", "waits");
            notes.push(format!(
                "{waits} had not ended: they count until the end of the observation or of the thread."
            ));
        }
        notes
    }
}

fn write_futex(section: &mut Section<'_, FutexRow>, futex: &FutexEntry, layout: &Layout) {
    let label = futex.label();
    section.entry(&futex.row, &label);
    section.callers(&futex.callers, 2, |caller| (&caller.row, caller.row.name.clone()));
    for waker in futex.wakers.iter().take(layout.callers) {
        section.add(&format!("{:WAKES_AT$}{} by {}\n", "", waker.wakes.text(), waker.name));
    }
    section.next(Some(&futex.next), &label);
}

impl FutexWakes {
    /// What they did.
    pub fn text(&self) -> String {
        let calls = format_count(self.calls, "wake", "wakes");
        let threads = format_count(self.woken, "thread", "threads");
        let unknown = match self.unknown {
            0 => String::new(),
            count => format!(", {count} (FUTEX_UNLOCK_PI) do not say whether they woke one"),
        };
        format!("{calls}: woke {threads}, {} woke none{unknown}", self.none)
    }
}

/// Columns before wakes. They have no figures, and their names are never cut: a terminal of 80 columns has no room behind
/// [`COLUMNS`].
const WAKES_AT: usize = 4;

#[cfg(test)]
mod tests {
    use super::super::testing::example;
    use super::*;

    #[test]
    fn futexes_end_with_what_to_do_next() {
        let mut report = example();
        report.compare(0.001_505);
        let text = report.text(&Layout { width: 200, ..Layout::default() });
        for expected in [
            "Futex waits over 5.0ms: waits of the process, and its children",
            "-> many woken threads wait again at once",
            "2 wakes: woke 2 threads, 0 woke none by ",
            "The pthread lens explains 50.0 % of these waits",
            "2 events were lost because a ring buffer was full",
        ] {
            assert!(text.replace('\n', " ").contains(expected), "{expected}: {text}");
        }
        let titles =
            "          WAIT\nWAITED    MEAN(  MAX)      WAITS  WOKEN  AGAIN EAGAIN  EINTR  TMOUT  NAME\n";
        assert!(text.contains(titles), "{text}");
        let total = text.lines().find(|line| line.ends_with("*TOTAL*")).unwrap();
        assert_eq!(titles.lines().nth(1).unwrap().find("NAME"), total.find("*TOTAL*"));
    }

    #[test]
    fn wakers_are_whole_in_a_narrow_terminal() {
        let mut report = example();
        let outer = "outer".repeat(20);
        report.futexes[0].wakers[0].name = format!("notify+0x10  from {outer}+0x20");
        let text = report.text(&Layout { width: 60, ..Layout::default() });
        let line = format!("\n    2 wakes: woke 2 threads, 0 woke none by notify+0x10  from {outer}+0x20\n");
        assert!(text.contains(&line), "{text}");
    }

    #[test]
    fn unlocks_of_priority_locks_are_not_called_needless() {
        let mut report = example();
        report.futexes[0].wakers[0].wakes = FutexWakes { calls: 3, unknown: 3, ..FutexWakes::default() };
        let text = report.text(&Layout { width: 200, ..Layout::default() });
        let line =
            "3 wakes: woke 0 threads, 0 woke none, 3 (FUTEX_UNLOCK_PI) do not say whether they woke one by ";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn omitted_futexes_are_counted() {
        let text = example().text(&Layout { width: 120, rows: 1, callers: 8 });
        assert!(text.contains("and 2 more, with waits of 10us: --all"), "{text}");
    }
}
