//! The default layout: Lockmeter's columns, with sleeping separate from spinning, sorted by time lost.

use crate::disturbance::{SHORTEST_MS, describe_disturbance, is_throttled};
use crate::figures::{Percent, time};
use crate::fold::Fold;
use crate::layout::Layout;
use crate::line::{Line, fitted, with_place};
use crate::lock::{Address, Caller, Lock, LockUse};
use crate::next::WORTH_POLLING;
use crate::printed_table::PrintedTable;
use crate::report::MeterReport;
use crate::row::Row;
use crate::units::Units;
use crate::wait_text;
use crate::{notes, paragraph};
use std::fmt::{self, Write};
use unspin_wire::{Event, Level, RecordKind, WakeUpCost};

/// Number of locks that are shown even if no thread waited for any lock.
const SHOWN_MIN: usize = 3;

/// A bound on the speed-up from which on a lock seems worth the work.
const BOUND_WORTH: f64 = 1.05;

/// The report in the default layout.
impl fmt::Display for MeterReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Layout::default()))
    }
}

impl MeterReport {
    /// The tables and the notes: the time metered, the cost of a wake-up, the worst lock in a sentence, locks held at
    /// the end, event counts, and what was not recorded or cannot be measured. Locks or waits come first, whichever
    /// cost more.
    pub fn text(&self, layout: &Layout) -> String {
        let (first, second) = match self.waits_cost_more() {
            true => (("Waits", wait_text::section(self, layout)), ("Locks", self.lock_section(layout))),
            false => (("Locks", self.lock_section(layout)), ("Waits", wait_text::section(self, layout))),
        };
        let mut text = String::new();
        let head = format!("{} {}", first.0, self.extent());
        let width = paragraph::sentence_width(layout.width);
        paragraph::wrap(&head, width, &mut text);
        if let Some(sentence) = self.disturbance_sentence() {
            paragraph::wrap(&sentence, width, &mut text);
        }
        text += &first.1;
        if !second.1.is_empty() {
            let _ = write!(text, "\n{}\n{}", second.0, second.1);
        }
        notes::write(self, width, &mut text);
        text
    }

    /// How long and how much was recorded, behind a noun: `over 1.12s on 2 CPUs, counted only: no times are known`.
    pub fn extent(&self) -> String {
        let cpus = if self.cpus == 1 { "CPU" } else { "CPUs" };
        let (level, policy, wake_up) = (self.level_note(), self.policy_note(), self.wake_up_note());
        format!("over {} on {} {cpus}{level}{policy}{wake_up}", time(self.seconds), self.cpus)
    }

    /// The disturbance while the program ran, and what follows from it, also if the run was too short to measure it; none if it was not
    /// measured for another reason.
    pub fn disturbance_sentence(&self) -> Option<String> {
        let Some(disturbance) = &self.disturbance else { return self.unknown_disturbance() };
        let said = describe_disturbance(disturbance);
        Some(match self.is_disturbed() {
            true if is_throttled(disturbance) => format!(
                "{said}: waits contain these stops, so CEIL is not given; raise the quota (cpu.max; docker run --cpus, \
                 limits.cpu, CPUQuota=), or meter again with less to do."
            ),
            true => format!(
                "{said}: waits contain their time, so CEIL is not given; meter again on a quiet machine."
            ),
            false => said + ".",
        })
    }

    /// That a bound on the speed-up may be another program's time.
    fn unknown_disturbance(&self) -> Option<String> {
        let is_short = self.seconds * 1e3 < SHORTEST_MS as f64;
        let has_bound = self.locks.iter().any(|lock| lock.row.ceiling >= BOUND_WORTH);
        (is_short && has_bound).then(|| {
            format!(
                "What other programs used of the CPUs is unknown, because the run was shorter than {SHORTEST_MS} ms. Waits, and so CEIL, \
                 may contain their time: give the program more to do."
            )
        })
    }

    /// Whether waits come before locks: if polling could save more in one wait than was lost for all locks, and enough
    /// to be worth the time, or if no lock was recorded. Waits of idle threads come after the locks.
    pub(crate) fn waits_cost_more(&self) -> bool {
        let saving = self.waits.iter().map(|wait| wait.row.saving).fold(0.0, f64::max);
        let waited = self.waits.iter().any(|wait| wait.row.waits > 0 || wait.row.waited > 0.0);
        let worth = saving > self.total.lost && saving >= WORTH_POLLING * self.seconds;
        waited && (worth || self.locks.is_empty())
    }

    /// The table of locks, or a line that says that there is none.
    fn lock_section(&self, layout: &Layout) -> String {
        match (self.locks.is_empty(), self.left_out.is_nothing()) {
            (false, _) => self.table(layout),
            (true, true) => "No lock was recorded.\n".into(),
            (true, false) => "No lock is left.\n".into(),
        }
    }

    /// The wait policies that the user requested.
    fn policy_note(&self) -> String {
        self.invocation.policies().map_or(String::new(), |policies| format!("; {policies}"))
    }

    fn level_note(&self) -> String {
        match self.level {
            Level::Full => String::new(),
            Level::Auto => self.sampled_threads_note(),
            Level::Counts => ", counted only: no times are known".into(),
            Level::Sampled { every } => {
                format!(", 1 of {every} holds timed: HOLD, UTIL and CPUS are estimates")
            }
        }
    }

    /// How many threads were sampled, at level `auto`.
    fn sampled_threads_note(&self) -> String {
        match self.sampled_threads() {
            0 => String::new(),
            n => {
                let threads = if n == 1 { "thread" } else { "threads" };
                let every = Level::AUTO_EVERY;
                format!(
                    ", 1 of {every} holds of frequent locks timed in {n} {threads}: their HOLD, UTIL and CPUS are estimates"
                )
            }
        }
    }

    /// The number of threads of which level `auto` has timed only some holds of frequent locks.
    pub fn sampled_threads(&self) -> u64 {
        let sampled = self.events.iter().find(|event| event.event == Event::Sampled);
        sampled.map_or(0, |event| event.count)
    }

    /// The cost of a wake-up, if the report compares anything with it.
    fn wake_up_note(&self) -> String {
        match self.wake_up {
            Some(cost @ WakeUpCost::ASSUMED) if self.level != Level::Counts => {
                let cost = time(cost.seconds(RecordKind::Futex));
                format!("; the CPUs were too busy to measure a wake-up: {cost} assumed")
            }
            Some(cost) if self.level != Level::Counts => {
                let [futex, epoll] = [RecordKind::Futex, RecordKind::Epoll].map(|kind| {
                    let assumed = if cost.is_assumed(kind) { " assumed" } else { "" };
                    time(cost.seconds(kind)) + assumed
                });
                format!("; a wake-up costs {futex} (futex), {epoll} (epoll)")
            }
            _ => String::new(),
        }
    }

    /// The table of locks only.
    pub fn table(&self, layout: &Layout) -> String {
        let printed = self.printed(layout);
        let mut text = printed.titles("NAME");
        if !self.locks.is_empty() {
            let total = Line { blank_util: true, ..Line::of_lock(&self.total, self.total.name.clone()) };
            let _ = writeln!(text, "\n{}", total.print(&printed));
        }
        let (shown, idle) = self.locks.split_at(self.locks.len() - self.idle(layout));
        for lock in shown.iter().take(layout.rows) {
            self.lock_lines(&mut text, lock, layout);
        }
        if let Some(rest @ [_, ..]) = shown.get(layout.rows..) {
            let lost = rest.iter().map(|lock| lock.row.lost).sum();
            let _ = writeln!(text, "\nand {} more{}: --all", rest.len(), self.share_of_loss(lost));
        }
        if !idle.is_empty() {
            let locks = if idle.len() == 1 {
                "lock that lost nothing: --all shows it"
            } else {
                "locks that lost nothing: --all shows them"
            };
            let _ = writeln!(text, "\nand {} {locks}", idle.len());
        }
        text
    }

    /// Number of rows at the end that are not shown: locks for which no thread waited. If no thread waited for any
    /// lock, the most used are shown. All rows that a filter has kept are shown.
    fn idle(&self, layout: &Layout) -> usize {
        if layout.rows == usize::MAX || !self.left_out.is_nothing() {
            return 0;
        }
        let waited_for = |lock: &Lock| lock.row.lost > 0.0 || lock.row.spun > 0 || lock.row.slept > 0;
        match self.locks.iter().rposition(waited_for) {
            Some(last) => self.locks.len() - last - 1,
            None => self.locks.len().saturating_sub(SHOWN_MIN),
        }
    }

    fn share_of_loss(&self, lost: f64) -> String {
        match self.total.lost {
            0.0 => String::new(),
            total => {
                format!(", which lost {} %", Percent::Column.of(lost / total).trim().trim_end_matches('%'))
            }
        }
    }

    fn lock_lines(&self, text: &mut String, lock: &Lock, layout: &Layout) {
        let printed = self.printed(layout);
        let name = self.lock_name(lock);
        let known = match &lock.origin {
            Some(origin) => format!("{name}, {origin}"),
            None => name.clone(),
        };
        // The full name, beside the numbers if it fits, otherwise above them.
        let fits = known.chars().count() + printed.name_at() <= layout.width;
        text.push('\n');
        if !fits {
            let _ = writeln!(text, "{}", fitted(&known, layout.width));
        }
        let _ =
            writeln!(text, "{}", Line::of_lock(&lock.row, if fits { known } else { name }).print(&printed));
        for one in &lock.uses {
            self.use_lines(text, one, one.kind.mark().filter(|_| lock.uses.len() > 1), layout);
        }
    }

    /// The callers. If the lock has several kinds of use they come under a row for this use. That row and the row of
    /// an only caller are merged if there is room.
    fn use_lines(&self, text: &mut String, one: &LockUse, mark: Option<&str>, layout: &Layout) {
        let mut indent = 2;
        let printed = self.printed(layout);
        let name_at = printed.name_at();
        let fits = |caller: &Caller, mark: &str| {
            name_at + indent + mark.len() + 1 + caller.row.name.chars().count() <= layout.width
        };
        match (mark, &one.callers[..]) {
            (Some(mark), [caller]) if fits(caller, mark) => {
                let mut line = Line::of_caller(one.kind, caller, indent);
                (line.name, line.blank_util) = (format!("{mark} {}", line.name), false);
                self.caller_line(text, line, layout);
                return;
            }
            (Some(mark), _) => {
                let line = Line { indent, ..Line::of_lock(&one.row, mark.into()) };
                let _ = writeln!(text, "{}", line.print(&printed));
                indent = 4;
            }
            (None, _) => (),
        }
        for caller in one.callers.iter().take(layout.callers) {
            self.caller_line(text, Line::of_caller(one.kind, caller, indent), layout);
        }
        if let Some(more @ 1..) = one.callers.len().checked_sub(layout.callers) {
            text.push_str(&printed.more(indent, more));
        }
    }

    /// The row. The name is written above it if neither the name nor, for a template, the place fits beside the numbers.
    fn caller_line(&self, text: &mut String, line: Line<'_>, layout: &Layout) {
        let (printed, indent) = (self.printed(layout), line.indent);
        let beside = with_place(&line.name, line.place, printed.room(indent));
        let has_place = line.place.is_some_and(|place| beside.contains(place));
        if !beside.starts_with(&line.name) && !has_place {
            let width = layout.width.saturating_sub(indent);
            let _ = writeln!(text, "{:indent$}{}", "", with_place(&line.name, line.place, width));
        }
        let _ = writeln!(text, "{}", line.print(&printed));
    }

    fn printed(&self, layout: &Layout) -> PrintedTable<Row> {
        PrintedTable::locks(Units::of(self), layout)
    }

    /// Number and name. Adds the address if locks are not folded, and the kind of use if it is the only one and
    /// unusual.
    fn lock_name(&self, lock: &Lock) -> String {
        let mut name = lock.label();
        if let (Fold::Apart, Some(Address { pid, address })) = (self.fold, lock.address) {
            let _ = write!(name, " {address:#x}");
            if self.processes.len() > 1 {
                let _ = write!(name, " of {pid}");
            }
        }
        if let Some(mark) = lock.only_mark() {
            let _ = write!(name, " {mark}");
        }
        name
    }
}
