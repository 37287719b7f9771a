//! The table of the kernel's locks, in the style of that of the pthread locks.

use super::report::{KernelCaller, KernelLock, KernelReport, KernelRow, LockOrigin};
use crate::lens::detail::{Detail, waits};
use crate::lens::filters::Filters;
use crate::lens::lens_report::LensReport;
use crate::lens::rows::{CALLERS, LensLine, LensTable, TOTAL};
use crate::lens::section::Section;
use crate::lens::text::{format_count, losses, of_whom, share};
use crate::lens::thread_time::{KernelWaits, LensMeasurements};
use unspin_report::figures::{Percent, time};
use unspin_report::{Column, Figures, Frame::*, Layout};

type KernelColumn = Column<KernelRow>;

/// The columns before the names. HOLD, UTIL, CON and NOWAIT are columns of the pthread lens.
#[rustfmt::skip]
const COLUMNS: [KernelColumn; 13] = [
    KernelColumn::new("lost", Gap(0), 6, ["", "  LOST"], |row, units| units.sum(row.lost)).on_screen(["LOST", "LOST/s"], 6, 0),
    KernelColumn::unknown("util", Gap(2), 5, ["", "   UTIL"]),
    KernelColumn::unknown("con", Gap(1), 5, ["", "   CON"]),
    KernelColumn::unknown("hold_mean", Gap(1), 5, ["", "  MEAN"]),
    KernelColumn::unknown("hold_max", Parentheses, 5, [" HOLD", "(  MAX)"]),
    KernelColumn::new("wait_mean", Gap(1), 5, ["", "  MEAN"], |row, _| time(row.wait_mean)).on_screen(["WAIT"; 2], 6, 2),
    KernelColumn::new("wait_max", Parentheses, 5, [" WAIT", "(  MAX)"], |row, _| time(row.wait_max)).on_screen(["MAX"; 2], 5, 4),
    KernelColumn::new("spin_cpu", Parentheses, 5, ["", "(% CPU)"], |row, _| Percent::Column.of(row.spin_cpu)).on_screen(["%CPU"; 2], 5, 3),
    KernelColumn::new("waits", Gap(1), 10, ["", "      WAITS"], |row, units| units.count(row.waits)).on_screen(["WAITS", "WAITS/s"], 10, 1),
    KernelColumn::unknown("nowait", Gap(1), 6, ["", " NOWAIT"]),
    KernelColumn::new("spun", Gap(1), 5, ["", "  SPIN"], |row, _| share(row.spun, row.waits)).on_screen(["SPIN"; 2], 5, 5),
    KernelColumn::new("slept", Gap(1), 5, ["", " SLEPT"], |row, _| share(row.slept, row.waits)).on_screen(["SLEPT"; 2], 5, 6),
    KernelColumn::new("rejected", Gap(1), 5, ["", " RJECT"], |row, _| share(row.rejected, row.waits)).on_screen(["RJECT"; 2], 5, 7),
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
        let heading =
            format!("Kernel locks over {} on {} {cpus}: waits of {whose}\n", time(self.seconds), self.cpus);
        let mut section = Section::new(heading, &COLUMNS, layout);
        if self.locks.is_empty() {
            section.add(match self.total.waits {
                0 => "No thread waited for a lock of the kernel.\n",
                _ => "No lock is left.\n",
            });
        } else {
            section.titles("NAME");
            section.entry(&self.total, &self.total.name);
            for lock in self.locks.iter().take(layout.rows) {
                write_lock(&mut section, lock);
            }
            section.omitted(&self.locks, "which lost", |lock| lock.row.lost);
        }
        section.with_notes(self.notes())
    }

    /// What the table does not know, and what was not recorded.
    fn notes(&self) -> Vec<String> {
        let unknown = (!self.locks.is_empty()).then(|| UNKNOWN.to_owned());
        let mut notes: Vec<String> =
            unknown.into_iter().chain(losses(self.lost_records, self.unreadable_records)).collect();
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

fn write_lock(section: &mut Section<'_, KernelRow>, lock: &KernelLock) {
    // A name by its caller begins with the kind.
    let kind = if lock.origin == LockOrigin::Caller { String::new() } else { format!(", {}", lock.kind) };
    section.entry(&lock.row, &format!("{}{}{kind}", lock.row.name, many(lock)));
    for one in &lock.uses {
        let mut indent = 2;
        if lock.uses.len() > 1 {
            section.line(&one.row, indent, &format!("({})", one.kind));
            indent += 2;
        }
        section.callers(&one.callers, indent, |caller| (&caller.row, with_outer(caller)));
    }
    section.next(lock.next.as_ref(), &lock.row.name);
}

/// A caller with the function that called it, in its stack that lost most.
fn with_outer(caller: &KernelCaller) -> String {
    let outer = caller.stacks.first().and_then(|stack| stack.frames.get(1));
    outer.map_or(caller.row.name.clone(), |outer| format!("{}  from {outer}", caller.row.name))
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
        assert_eq!(titles.lines().nth(1).unwrap().find("NAME"), total.find("*TOTAL*"));
        assert!(text.contains("are unknown, not zero"), "{text}");
    }

    #[test]
    fn omitted_rows_are_counted() {
        let text = example().text(&Layout { width: 120, rows: 1, callers: 8 });
        assert!(text.contains("and 3 more, which lost 11us: --all"), "{text}");
    }
}
