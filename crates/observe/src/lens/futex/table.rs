//! The table of futex waits.

use super::report::{FutexEntry, FutexReport, FutexRow};
use super::sums::Wakes;
use crate::lens::next::Said;
use crate::lens::text::{counted, cut, losses, of_whom};
use std::fmt::Write;
use unspin_meter::figures::{count, percent, spoken_percent, time};
use unspin_meter::{Layout, add_note};

const TITLES: &str =
    "          WAIT\nWAITED    MEAN(  MAX)      WAITS  WOKEN  AGAIN EAGAIN  EINTR  TMOUT  NAME\n";

/// What the columns mean.
const MEANING: &str = "WOKEN, EAGAIN (the value had changed, so the thread did not sleep), EINTR and TMOUT (timeouts) are shares of \
                       the WAITS; AGAIN is the share of the woken that waited at the same futex again at once. Callers are \
                       found by frame pointers: of code without them (-fomit-frame-pointer) some are missing.";

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
            text += TITLES;
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
                counted(self.unpaired, "call is", "calls are")
            ));
        }
        if self.total.counts.unfinished > 0 {
            let waits = counted(self.total.counts.unfinished, "wait", "waits");
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
        let _ = writeln!(text, "{:NAME_AT$}  and {} more", "", rest.len());
    }
    for waker in futex.wakers.iter().take(layout.callers) {
        let _ = writeln!(text, "{:WAKES_AT$}{} by {}", "", waker.wakes.text(), waker.name);
    }
}

impl Wakes {
    /// What they did.
    pub fn text(&self) -> String {
        let calls = counted(self.calls, "wake", "wakes");
        let threads = counted(self.woken, "thread", "threads");
        let unknown = match self.unknown {
            0 => String::new(),
            count => format!(", {count} (FUTEX_UNLOCK_PI) do not say whether they woke one"),
        };
        format!("{calls}: woke {threads}, {} woke none{unknown}", self.none)
    }
}

/// Columns before wakes. They have no figures, and their names are never cut: a terminal of 80 columns has no room behind
/// [`NAME_AT`].
const WAKES_AT: usize = 4;
/// Width of the numbers.
const NAME_AT: usize = 69;
/// Minimum width of the name, even if the line becomes longer than the terminal.
const NAME_MIN: usize = 20;

fn line(row: &FutexRow, indent: usize, layout: &Layout) -> String {
    let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
    let numbers = format!(
        "{:>6}  {:>6}({:>5}) {:>10} {:>6} {:>6} {:>6} {:>6} {:>6}",
        time(row.waited),
        time(row.wait_mean),
        time(row.wait_max),
        count(row.counts.waits),
        percent(share(row.counts.woken, row.counts.waits)),
        percent(share(row.counts.waited_again, row.counts.woken)),
        percent(share(row.counts.value_changed, row.counts.waits)),
        percent(share(row.counts.interrupted, row.counts.waits)),
        percent(share(row.counts.timed_out, row.counts.waits)),
    );
    let room = layout.width.saturating_sub(NAME_AT + indent).max(NAME_MIN);
    format!("{numbers:<NAME_AT$}{:indent$}{}", "", cut(&row.name, room))
}

#[cfg(test)]
mod tests {
    use super::super::testing::example;
    use super::*;

    #[test]
    fn futexes_end_with_what_to_do_next() {
        let mut report = example();
        report.explain(0.001_505);
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
        assert_eq!(TITLES.lines().nth(1).unwrap().find("NAME"), Some(NAME_AT));
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
        report.futexes[0].wakers[0].wakes = Wakes { calls: 3, unknown: 3, ..Wakes::default() };
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
