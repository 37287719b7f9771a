//! The table of the kernel's locks, in the style of that of the pthread locks.

use super::report::{KernelCaller, KernelLock, KernelReport, KernelRow, LockOrigin};
use crate::lens::column::{LensColumn, Printed, name_at, printed_line, printed_titles, share};
use crate::lens::detail::{Detail, waits};
use crate::lens::filters::Filters;
use crate::lens::lens_report::LensReport;
use crate::lens::next::Said;
use crate::lens::rows::{CALLERS, Figures, LensLine, LensTable, TOTAL};
use crate::lens::text::{format_count, losses, of_whom};
use crate::lens::thread_time::{KernelWaits, LensMeasurements};
use std::fmt::Write;
use unspin_report::figures::{percent, time};
use unspin_report::{Layout, add_note};

/// The columns before the names. HOLD, UTIL, CON and NOWAIT are columns of the pthread lens.
#[rustfmt::skip]
const COLUMNS: [LensColumn<KernelRow>; 13] = [
    LensColumn::new(Printed::spaced("", "LOST", 6), ["LOST", "LOST/s"], 6, 0, |row, units| units.sum(row.lost)),
    LensColumn::unknown(Printed::spaced("  ", "UTIL", 5)),
    LensColumn::unknown(Printed::spaced(" ", "CON", 5)),
    LensColumn::unknown(Printed::spaced(" ", "MEAN", 5)),
    LensColumn::unknown(Printed::in_parentheses("MAX", 5).below("HOLD ")),
    LensColumn::new(Printed::spaced(" ", "MEAN", 5), ["WAIT"; 2], 6, 2, |row, _| time(row.wait_mean)),
    LensColumn::new(Printed::in_parentheses("MAX", 5).below("WAIT "), ["MAX"; 2], 5, 4, |row, _| time(row.wait_max)),
    LensColumn::new(Printed::in_parentheses("% CPU", 5), ["%CPU"; 2], 5, 3, |row, _| percent(row.spin_cpu)),
    LensColumn::new(Printed::spaced(" ", "WAITS", 10), ["WAITS", "WAITS/s"], 10, 1, |row, units| units.count(row.waits)),
    LensColumn::unknown(Printed::spaced(" ", "NOWAIT", 6)),
    LensColumn::new(Printed::spaced(" ", "SPIN", 5), ["SPIN"; 2], 5, 5, |row, _| share(row.spun, row.waits)),
    LensColumn::new(Printed::spaced(" ", "SLEPT", 5), ["SLEPT"; 2], 5, 6, |row, _| share(row.slept, row.waits)),
    LensColumn::new(Printed::spaced(" ", "RJECT", 5), ["RJECT"; 2], 5, 7, |row, _| share(row.rejected, row.waits)),
];

/// Why columns have dashes.
const UNKNOWN: &str = "The kernel reports a lock only when a thread waits for it: HOLD, UTIL, CON and NOWAIT (holds, and \
                       attempts that got the lock at once) are unknown, not zero. SPIN, SLEPT and RJECT are shares of \
                       the WAITS. An rwsem that is acquired while its waiter still spins is not reported.";

impl LensReport for KernelReport {
    fn section(&self, filters: &Filters<'_>, layout: &Layout) -> String {
        let mut report = self.clone();
        report.keep(filters.min_lost, &|lock| filters.lock(lock), &|caller| filters.caller(caller));
        report.text(layout)
    }

    fn table(&self, figures: Figures) -> LensTable {
        let mut rows = vec![(LensLine::new(0, TOTAL, TOTAL), self.total.clone())];
        for lock in &self.locks {
            let name = &lock.row.name;
            let label = format!("{name}{}, {}", many(lock), lock.kind);
            rows.push((LensLine::new(0, &label, name), lock.row.clone()));
            let callers = lock.uses.iter().flat_map(|one| &one.callers).take(CALLERS);
            rows.extend(callers.map(|one| (LensLine::new(2, &one.row.name, name), one.row.clone())));
        }
        LensTable::new(&COLUMNS, rows, self.seconds, figures)
    }

    fn describe(&self, name: &str, detail: &mut Detail) -> Option<()> {
        let lock = self.locks.iter().find(|lock| lock.row.name == name)?;
        detail.sums(lock.row.lost, lock.row.waits, lock.row.wait_max);
        detail.title("Stacks that waited");
        for one in &lock.uses {
            for stack in one.callers.iter().flat_map(|caller| &caller.stacks) {
                detail.stack(&format!("{}, {}", waits(stack.lost, stack.waits), one.kind), &stack.frames);
            }
        }
        if let Some(next) = &lock.next {
            detail.next(next);
        }
        Some(())
    }

    fn measure<'r>(&'r self, measurements: &mut LensMeasurements<'r>) {
        measurements.kernel = Some(KernelWaits { waited: self.total.lost, spun: self.total.spin });
    }
}

impl KernelReport {
    /// The table and what it lacks.
    pub fn text(&self, layout: &Layout) -> String {
        let cpus = if self.cpus == 1 { "CPU" } else { "CPUs" };
        let whose = of_whom(self.target, "all processes, and the kernel");
        let mut text =
            format!("Kernel locks over {} on {} {cpus}: waits of {whose}\n", time(self.seconds), self.cpus);
        if self.locks.is_empty() {
            text += match self.total.waits {
                0 => "No thread waited for a lock of the kernel.\n",
                _ => "No lock is left.\n",
            };
        } else {
            text += &printed_titles(&COLUMNS, "NAME");
            let _ = writeln!(text, "\n{}", line(&self.total, 0, layout));
            let mut said = Said::default();
            for lock in self.locks.iter().take(layout.rows) {
                lock_lines(&mut text, lock, layout);
                if let Some(next) = &lock.next {
                    said.write(next, &lock.row.name, layout.width, &mut text);
                }
            }
            if let Some(rest @ [_, ..]) = self.locks.get(layout.rows..) {
                let lost: f64 = rest.iter().map(|lock| lock.row.lost).sum();
                let _ = writeln!(text, "\nand {} more, which lost {}: --all", rest.len(), time(lost));
            }
            add_note(UNKNOWN, layout.width, &mut text);
        }
        for note in self.notes() {
            add_note(&note, layout.width, &mut text);
        }
        text
    }

    /// What was not recorded.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::from_iter(losses(self.lost_records, self.unreadable_records));
        if !self.has_variables && !self.locks.is_empty() {
            notes.push(
                "This kernel does not list its variables (CONFIG_KALLSYMS_ALL), so static locks are named like dynamic \
                 ones: by functions that wait for them."
                    .into(),
            );
        }
        if self.unpaired > 0 {
            notes.push(format!(
                "{} not in the table: the other event of the wait was lost, or came before or after the observation.",
                format_count(self.unpaired, "event is", "events are")
            ));
        }
        if self.unfinished > 0 {
            let waits = format_count(self.unfinished, "wait", "waits");
            notes.push(format!("{waits} had not ended, which the table does not count."));
        }
        notes
    }
}

/// The number of locks behind a name that several have.
fn many(lock: &KernelLock) -> String {
    if lock.locks > 1 { format!(" ({})", lock.locks) } else { String::new() }
}

fn lock_lines(text: &mut String, lock: &KernelLock, layout: &Layout) {
    let mut row = lock.row.clone();
    // A name by its caller begins with the kind.
    let kind = if lock.origin == LockOrigin::Caller { String::new() } else { format!(", {}", lock.kind) };
    row.name = format!("{}{}{kind}", row.name, many(lock));
    let _ = writeln!(text, "\n{}", line(&row, 0, layout));
    for one in &lock.uses {
        let mut indent = 2;
        if lock.uses.len() > 1 {
            let row = KernelRow { name: format!("({})", one.kind), ..one.row.clone() };
            let _ = writeln!(text, "{}", line(&row, indent, layout));
            indent += 2;
        }
        for caller in one.callers.iter().take(layout.callers) {
            let row = KernelRow { name: with_outer(caller), ..caller.row.clone() };
            let _ = writeln!(text, "{}", line(&row, indent, layout));
        }
        if let Some(rest @ [_, ..]) = one.callers.get(layout.callers..) {
            let _ = writeln!(
                text,
                "{:name_at$}{:indent$}and {} more",
                "",
                "",
                rest.len(),
                name_at = name_at(&COLUMNS)
            );
        }
    }
}

/// A caller with the function that called it, in its stack that lost most.
fn with_outer(caller: &KernelCaller) -> String {
    let outer = caller.stacks.first().and_then(|stack| stack.frames.get(1));
    outer.map_or(caller.row.name.clone(), |outer| format!("{}  from {outer}", caller.row.name))
}

fn line(row: &KernelRow, indent: usize, layout: &Layout) -> String {
    printed_line(&COLUMNS, row, indent, &row.name, layout)
}

#[cfg(test)]
mod tests {
    use super::super::testing::example;
    use super::*;

    #[test]
    fn unknown_columns_are_dashes_and_explained() {
        let text = example().text(&Layout { width: 200, ..Layout::default() });
        let total = text.lines().find(|line| line.ends_with("*TOTAL*")).unwrap();
        assert_eq!(total.split_whitespace().filter(|word| word.starts_with('-')).count(), 5, "{total}");
        for expected in [
            "Kernel locks over 1.0ms on 2 CPUs: waits of all processes, and the kernel",
            "run-queue lock (2), spinlock",
            "__schedule+0x10  from schedule+0x10",
            "rwsem in other\n",
            "3 events were lost because a ring buffer was full",
            "1 wait had not ended",
            "    -> the functions above want the lock",
            "       unspin profile -a --seconds 10\n",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let titles = "                          HOLD         WAIT\n  LOST   UTIL   CON  MEAN(  MAX)  MEAN(  MAX)(% CPU)      WAITS \
                      NOWAIT  SPIN SLEPT RJECT  NAME\n";
        assert!(text.contains(titles), "{text}");
        assert_eq!(titles.lines().nth(1).unwrap().find("NAME"), Some(name_at(&COLUMNS)));
        assert!(text.contains("are unknown, not zero"), "{text}");
    }

    #[test]
    fn omitted_rows_are_counted() {
        let text = example().text(&Layout { width: 120, rows: 1, callers: 8 });
        assert!(text.contains("and 3 more, which lost 11us: --all"), "{text}");
    }
}
