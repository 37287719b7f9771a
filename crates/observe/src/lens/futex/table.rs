//! The table of futex waits.

use super::report::{FutexEntry, FutexReport, FutexRow};
use super::sums::FutexWakes;
use crate::lens::column::{LensColumn, Printed, name_at, printed_line, printed_titles, share};
use crate::lens::detail::{Detail, waits};
use crate::lens::filters::Filters;
use crate::lens::lens_report::LensReport;
use crate::lens::next::Said;
use crate::lens::rows::{CALLERS, Figures, LensLine, LensTable, TOTAL};
use crate::lens::text::{format_count, losses, of_whom};
use crate::lens::thread_time::{LensMeasurements, LibcWaits};
use std::fmt::Write;
use unspin_report::figures::{spoken_percent, time};
use unspin_report::{Layout, add_note};

/// The columns before the names.
#[rustfmt::skip]
const COLUMNS: [LensColumn<FutexRow>; 9] = [
    LensColumn::new(Printed::spaced("", "WAITED", 6), ["WAITED", "WAIT/s"], 6, 0, |row, units| units.sum(row.waited)),
    LensColumn::new(Printed::spaced("  ", "MEAN", 6).below("WAIT"), ["MEAN"; 2], 6, 2, |row, _| time(row.wait_mean)),
    LensColumn::new(Printed::in_parentheses("MAX", 5), ["MAX"; 2], 5, 3, |row, _| time(row.wait_max)),
    LensColumn::new(Printed::spaced(" ", "WAITS", 10), ["WAITS", "WAITS/s"], 10, 1, |row, units| units.count(row.counts.waits)),
    LensColumn::new(Printed::spaced(" ", "WOKEN", 6), ["WOKEN"; 2], 6, 4, |row, _| share(row.counts.woken, row.counts.waits)),
    LensColumn::new(Printed::spaced(" ", "AGAIN", 6), ["AGAIN"; 2], 6, 5, |row, _| share(row.counts.waited_again, row.counts.woken)),
    LensColumn::new(Printed::spaced(" ", "EAGAIN", 6), ["EAGAIN"; 2], 6, 6, |row, _| share(row.counts.value_changed, row.counts.waits)),
    LensColumn::new(Printed::spaced(" ", "EINTR", 6), ["EINTR"; 2], 6, 8, |row, _| share(row.counts.interrupted, row.counts.waits)),
    LensColumn::new(Printed::spaced(" ", "TMOUT", 6), ["TMOUT"; 2], 6, 7, |row, _| share(row.counts.timed_out, row.counts.waits)),
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
        let mut text = format!(
            "Futex waits over {}: waits of {}\n",
            time(self.seconds),
            of_whom(self.target, "all processes")
        );
        if self.futexes.is_empty() {
            text += if self.total.counts.waits == 0 {
                "No thread waited at a futex.\n"
            } else {
                "No futex is left.\n"
            };
        } else {
            text += &printed_titles(&COLUMNS, "NAME");
            let _ = writeln!(text, "\n{}", line(&self.total, 0, layout));
            let _ = writeln!(text, "{:WAKES_AT$}{}", "", self.wakes.text());
            let mut said = Said::default();
            for futex in self.futexes.iter().take(layout.rows) {
                futex_lines(&mut text, futex, layout);
                said.write(&futex.next, &futex.label(), layout.width, &mut text);
            }
            if let Some(rest @ [_, ..]) = self.futexes.get(layout.rows..) {
                let waited: f64 = rest.iter().map(|futex| futex.row.waited).sum();
                let _ = writeln!(text, "\nand {} more, with waits of {}: --all", rest.len(), time(waited));
            }
            add_note(MEANING, layout.width, &mut text);
        }
        for note in self.notes() {
            add_note(&note, layout.width, &mut text);
        }
        text
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(explained) = &self.explained
            && self.total.waited > 0.0
        {
            let share = (explained.pthread_sleep / self.total.waited).min(1.0);
            let mut note = format!(
                "The pthread lens explains {} of these waits: its threads slept {} in libc's locks, conditions, semaphores, \
                 joins and calls of futex.",
                spoken_percent(share),
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

fn futex_lines(text: &mut String, futex: &FutexEntry, layout: &Layout) {
    let row = FutexRow { name: futex.label(), ..futex.row.clone() };
    let _ = writeln!(text, "\n{}", line(&row, 0, layout));
    for caller in futex.callers.iter().take(layout.callers) {
        let _ = writeln!(text, "{}", line(&caller.row, 2, layout));
    }
    if let Some(rest @ [_, ..]) = futex.callers.get(layout.callers..) {
        let _ = writeln!(text, "{:1$}  and {2} more", "", name_at(&COLUMNS), rest.len());
    }
    for waker in futex.wakers.iter().take(layout.callers) {
        let _ = writeln!(text, "{:WAKES_AT$}{} by {}", "", waker.wakes.text(), waker.name);
    }
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

fn line(row: &FutexRow, indent: usize, layout: &Layout) -> String {
    printed_line(&COLUMNS, row, indent, &row.name, layout)
}

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
        assert_eq!(titles.lines().nth(1).unwrap().find("NAME"), Some(name_at(&COLUMNS)));
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
