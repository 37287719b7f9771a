//! The table of the kernel's locks, in the style of that of the pthread locks.

use super::report::{KernelCaller, KernelLock, KernelReport, KernelRow, Origin};
use crate::lens::next::Said;
use crate::lens::text::{counted, losses, of_whom};
use std::fmt::Write;
use unspin_meter::figures::{count, percent, time};
use unspin_meter::{Layout, add_note};

/// The titles. HOLD, UTIL, CON and NOWAIT are those of the other lens, and unknown here.
const TITLES: &str = "                          HOLD         WAIT\n  LOST   UTIL   CON  MEAN(  MAX)  MEAN(  MAX)(% CPU)      WAITS \
                      NOWAIT  SPIN SLEPT RJECT  NAME\n";

/// Why columns have dashes.
const UNKNOWN: &str = "The kernel reports a lock only when a thread waits for it: HOLD, UTIL, CON and NOWAIT (holds, and \
                       attempts that got the lock at once) are unknown, not zero. SPIN, SLEPT and RJECT are shares of \
                       the WAITS. An rwsem that is acquired while its waiter still spins is not reported.";

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
            text += TITLES;
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
                counted(self.unpaired, "event is", "events are")
            ));
        }
        if self.unfinished > 0 {
            let waits = counted(self.unfinished, "wait", "waits");
            notes.push(format!("{waits} had not ended, which the table does not count."));
        }
        notes
    }
}

fn lock_lines(text: &mut String, lock: &KernelLock, layout: &Layout) {
    let mut row = lock.row.clone();
    let many = if lock.locks > 1 { format!(" ({})", lock.locks) } else { String::new() };
    // A name by its caller begins with the kind.
    let kind = if lock.origin == Origin::Caller { String::new() } else { format!(", {}", lock.kind) };
    row.name = format!("{}{many}{kind}", row.name);
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
            let _ = writeln!(text, "{:name_at$}{:indent$}and {} more", "", "", rest.len(), name_at = NAME_AT);
        }
    }
}

/// A caller with the function that called it, in its stack that lost most.
fn with_outer(caller: &KernelCaller) -> String {
    let outer = caller.stacks.first().and_then(|stack| stack.frames.get(1));
    outer.map_or(caller.row.name.clone(), |outer| format!("{}  from {outer}", caller.row.name))
}

/// Width of the numbers.
const NAME_AT: usize = 90;

fn line(row: &KernelRow, indent: usize, layout: &Layout) -> String {
    let share = |part: u64| if row.waits == 0 { 0.0 } else { part as f64 / row.waits as f64 };
    let numbers = format!(
        "{:>6}  {:>5} {:>5} {:>5}({:>5}) {:>5}({:>5})({:>5}) {:>10} {:>6} {} {} {}",
        time(row.lost),
        "-",
        "-",
        "-",
        "-",
        time(row.wait_mean),
        time(row.wait_max),
        percent(row.spin_cpu),
        count(row.waits),
        "-",
        percent(share(row.spun)),
        percent(share(row.slept)),
        percent(share(row.rejected)),
    );
    let room = layout.width.saturating_sub(NAME_AT + indent).max(NAME_MIN);
    let mut name: String = row.name.chars().take(room).collect();
    if name.len() < row.name.len() {
        name.pop();
        name.push('…');
    }
    format!("{numbers:<NAME_AT$}{:indent$}{name}", "")
}

/// Minimum width of the name, even if the line becomes longer than the terminal.
const NAME_MIN: usize = 20;

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
        let titles = TITLES.lines().nth(1).unwrap();
        assert_eq!(titles.find("NAME"), Some(NAME_AT));
        assert!(text.contains("are unknown, not zero"), "{text}");
    }

    #[test]
    fn omitted_rows_are_counted() {
        let text = example().text(&Layout { width: 120, rows: 1, callers: 8 });
        assert!(text.contains("and 3 more, which lost 11us: --all"), "{text}");
    }
}
