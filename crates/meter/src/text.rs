//! Our own layout: Lockmeter's columns with sleeping apart and the losses first.

use crate::figures::{count, number, percent, time};
use crate::fold::Fold;
use crate::kind::Kind;
use crate::level::Level;
use crate::lock::{Address, Caller, Lock, Use};
use crate::report::Report;
use crate::row::Row;
use crate::wait::{Wait, WaitRow};
use std::fmt::{self, Write};

pub(crate) const HEADER: &str = "                                HOLD         WAIT
  LOST  CEIL  CPUS  UTIL   CON  MEAN(  MAX)  MEAN(  MAX)(% CPU)     TOTAL NOWAIT SPIN SLEPT RJECT  NAME
";

const WAITS: &str = "
Waits by design: an idle thread loses nothing
        WAIT
WAITED  MEAN(  MAX)     CALLS NOWAIT   GOT RJECT  NAME
";

/// What the columns of the table mean, for a help text.
pub const COLUMNS: &str = "\
Columns, with dt the seconds metered and n the CPUs that the program could run on:
  LOST    seconds waited for the lock, spinning and asleep, summed over all waiters
  CEIL    bound on the speed-up if this lock cost nothing: the smaller of 1 + LOST/dt, as without the lock all who
          wait at a time could go on, and n dt / (CPU time - time spun), as what else the program computes has to
          be computed all the same. No promise: the most that can be hoped for
  CPUS    CPUs eaten by the lock: UTIL + %CPU n
  UTIL    share of the time in which the lock was held; of reads: in which there was a reader. Several locks of one
          name add up, and can exceed 100 %
  CON     share of the attempts that did not get the lock at once
  HOLD    mean and longest time held
  WAIT    mean and longest wait of those who waited, spinning and asleep
  % CPU   time spent spinning, as a share of n dt; who sleeps burns no CPU
  TOTAL   attempts; NOWAIT those that got the lock at once, SPIN after spinning, SLEPT after sleeping, RJECT those
          that did not get it: a try-lock that found it taken, a wait that timed out
  NAME    the lock, (number) if several of one name share the row; its callers below it, most time lost first
Waits by design (conditions, barriers, semaphores): WAITED seconds in all, GOT what was waited for.
A dash is a time that was not measured: level counts reads no clock. At level sampled HOLD, UTIL and CPUS are
estimated from the holds that were timed.
";

/// Columns before the name.
const NAME_AT: usize = 100;
/// The same in the table of waits.
const WAIT_NAME_AT: usize = 50;

/// How much of the table is printed, and how wide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Columns in all, at least 110. Names are cut where they are longer; where there is room, callers have their file and
    /// line.
    pub width: usize,
    /// Locks, and waits, most lost first; what is left out is said.
    pub rows: usize,
    /// Callers of each.
    pub callers: usize,
}

impl Default for Layout {
    /// 120 columns, 20 locks of 8 callers each.
    fn default() -> Layout {
        Layout { width: 120, rows: 20, callers: 8 }
    }
}

impl Layout {
    /// Everything, in as many columns.
    pub fn all(width: usize) -> Layout {
        Layout { width, rows: usize::MAX, callers: usize::MAX }
    }
}

/// The report in the default layout.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&Layout::default()))
    }
}

impl Report {
    /// The table with what belongs to it: the time metered, the worst lock in a sentence, waits, locks held at the end,
    /// event counts, and what was not recorded or cannot be seen.
    pub fn text(&self, layout: &Layout) -> String {
        let mut text = String::new();
        let cpus = if self.cpus == 1 { "CPU" } else { "CPUs" };
        let _ =
            writeln!(text, "Locks over {} on {} {cpus}{}", time(self.seconds), self.cpus, self.level_note());
        if self.locks.is_empty() {
            let none = if self.left_out.is_nothing() { "No lock was recorded." } else { "No lock is left." };
            let _ = writeln!(text, "{none}");
        } else {
            text += &self.table(layout);
        }
        text += &self.waits_table(layout);
        crate::notes::write(self, &mut text);
        text
    }

    fn level_note(&self) -> String {
        match self.level {
            Level::Full => String::new(),
            Level::Counts => ", counted only: no times are known".into(),
            Level::Sampled { every } => {
                format!(", 1 of {every} holds timed: HOLD, UTIL and CPUS are estimates")
            }
        }
    }

    /// The table of locks alone.
    pub fn table(&self, layout: &Layout) -> String {
        let mut text = String::from(HEADER);
        if !self.locks.is_empty() {
            let total = Line { blank_util: true, ..Line::of_lock(&self.total, self.total.name.clone()) };
            let _ = writeln!(text, "\n{}", total.print(self.level, layout));
        }
        for lock in self.locks.iter().take(layout.rows) {
            self.lock_lines(&mut text, lock, layout);
        }
        let (locks, lost) = self
            .locks
            .iter()
            .skip(layout.rows)
            .fold((0u64, 0.0), |(n, lost), lock| (n + 1, lost + lock.row.lost));
        if locks > 0 {
            let _ = writeln!(text, "\nand {locks} more{}: --all", self.share_of_loss(lost));
        }
        text
    }

    fn share_of_loss(&self, lost: f64) -> String {
        match self.total.lost {
            0.0 => String::new(),
            total => format!(", which lost {} %", percent(lost / total).trim().trim_end_matches('%')),
        }
    }

    fn lock_lines(&self, text: &mut String, lock: &Lock, layout: &Layout) {
        let print = |line: Line<'_>| line.print(self.level, layout);
        let name = self.lock_name(lock);
        let known = match &lock.origin {
            Some(origin) => format!("{name}, {origin}"),
            None => name.clone(),
        };
        // All of it beside the numbers, or above them if it has no room there.
        let fits = known.chars().count() + NAME_AT <= layout.width;
        text.push('\n');
        if !fits {
            let _ = writeln!(text, "{}", fitted(&known, layout.width));
        }
        let _ = writeln!(text, "{}", print(Line::of_lock(&lock.row, if fits { known } else { name })));
        for one in &lock.uses {
            let mark = one.kind.mark().filter(|_| lock.uses.len() > 1);
            if let Some(mark) = mark {
                let _ =
                    writeln!(text, "{}", print(Line { indent: 2, ..Line::of_lock(&one.row, mark.into()) }));
            }
            let indent = if mark.is_some() { 4 } else { 2 };
            for caller in one.callers.iter().take(layout.callers) {
                if caller.row.name.chars().count() + NAME_AT + indent > layout.width {
                    let name = with_place(&caller.row.name, caller.place.as_deref(), layout.width - indent);
                    let _ = writeln!(text, "{:indent$}{name}", "");
                }
                let _ = writeln!(text, "{}", print(Line::of_caller(one.kind, caller, indent)));
            }
            if let Some(more @ 1..) = one.callers.len().checked_sub(layout.callers) {
                let _ = writeln!(text, "{:NAME_AT$}{:indent$}and {more} more", "", "");
            }
        }
    }

    /// Number and name, with what is special about it: its address if it has a row of its own, the only kind of its use.
    fn lock_name(&self, lock: &Lock) -> String {
        let mut name = lock.label();
        if let (Fold::Apart, Some(Address { pid, address })) = (self.fold, lock.address) {
            let _ = write!(name, " {address:#x}");
            if self.processes.len() > 1 {
                let _ = write!(name, " of {pid}");
            }
        }
        if let [Use { kind, .. }] = lock.uses[..]
            && let Some(mark) = kind.mark()
        {
            let _ = write!(name, " {mark}");
        }
        name
    }

    fn waits_table(&self, layout: &Layout) -> String {
        if self.waits.is_empty() {
            return String::new();
        }
        let mut text = String::from(WAITS);
        for wait in self.waits.iter().take(layout.rows) {
            let _ = writeln!(text, "\n{}", self.wait_line(&wait.row, &wait_label(wait), 0, layout));
            for caller in wait.callers.iter().take(layout.callers) {
                let name =
                    with_place(&caller.row.name, caller.place.as_deref(), layout.width - WAIT_NAME_AT - 2);
                let _ = writeln!(text, "{}", self.wait_line(&caller.row, &name, 2, layout));
            }
            if let Some(more @ 1..) = wait.callers.len().checked_sub(layout.callers) {
                let _ = writeln!(text, "{:WAIT_NAME_AT$}  and {more} more", "");
            }
        }
        if let Some(more @ 1..) = self.waits.len().checked_sub(layout.rows) {
            let _ = writeln!(text, "\nand {more} more: --all");
        }
        text
    }

    fn wait_line(&self, row: &WaitRow, name: &str, indent: usize, layout: &Layout) -> String {
        let clock = |seconds| if self.level == Level::Counts { "-".into() } else { time(seconds) };
        let share = |n: u64| percent(if row.calls == 0 { 0.0 } else { n as f64 / row.calls as f64 });
        format!(
            "{:>6} {:>5}({:>5}) {:>10} {} {} {}{:indent$}  {}",
            clock(row.waited),
            clock(row.mean),
            clock(row.max),
            count(row.calls),
            share(row.nowait),
            share(row.satisfied),
            share(row.gave_up),
            "",
            fitted(name, layout.width.saturating_sub(WAIT_NAME_AT + indent)),
        )
    }
}

fn wait_label(wait: &Wait) -> String {
    let number = if wait.objects == 1 { String::new() } else { format!("({}) ", wait.objects) };
    let origin = wait.origin.as_ref().map_or(String::new(), |origin| format!(", {origin}"));
    let kind = wait.kind.noun();
    let kind = if wait.row.name.contains(kind) { String::new() } else { format!(" [{kind}]") };
    format!("{number}{}{kind}{origin}", wait.row.name)
}

/// One row, and what it is called.
#[derive(Clone)]
pub(crate) struct Line<'a> {
    row: &'a Row,
    name: String,
    place: Option<&'a str>,
    indent: usize,
    /// The utilisation means nothing: of all locks, and of one caller of a lock for reading.
    blank_util: bool,
}

impl<'a> Line<'a> {
    pub fn of_lock(row: &'a Row, name: String) -> Line<'a> {
        Line { row, name, place: None, indent: 0, blank_util: false }
    }

    fn of_caller(kind: Kind, caller: &'a Caller, indent: usize) -> Line<'a> {
        let place = caller.place.as_deref();
        let name = caller.row.name.clone();
        Line { place, indent, blank_util: kind == Kind::Read, ..Line::of_lock(&caller.row, name) }
    }

    pub fn print(&self, level: Level, layout: &Layout) -> String {
        let row = self.row;
        let share = |part: u64| percent(row.share(part));
        let clock = |text: String| if level == Level::Counts { "-".into() } else { text };
        // Without any timed hold, of rarely used locks at level sampled, nothing is known of their holds.
        let untimed = row.timed == 0 && row.hold == 0.0 && row.attempts > row.rejected;
        let held = |text: String| if untimed { "-".into() } else { clock(text) };
        let used = |text: String| if self.blank_util { String::new() } else { held(text) };
        let room = layout.width.saturating_sub(NAME_AT + self.indent);
        format!(
            "{:>6} {:>5} {:>5} {:>5} {} {:>5}({:>5}) {:>5}({:>5})({:>5}) {:>10} {} {} {} {}{:indent$}{}",
            clock(time(row.lost)),
            clock(number(row.ceiling) + "x"),
            used(number(row.cpus)),
            used(percent(row.util)),
            percent(row.con),
            held(time(row.hold_mean)),
            held(time(row.hold_max)),
            clock(time(row.wait_mean)),
            clock(time(row.wait_max)),
            clock(percent(row.spin_cpu)),
            count(row.attempts),
            share(row.nowait),
            share(row.spun),
            share(row.slept),
            share(row.rejected),
            "",
            with_place(&self.name, self.place, room),
            indent = self.indent + 2,
        )
    }
}

/// The name, and where it is if there is room for that.
fn with_place(name: &str, place: Option<&str>, width: usize) -> String {
    match place {
        Some(place) if name.chars().count() + 2 + place.chars().count() <= width => {
            format!("{name}  {place}")
        }
        _ => fitted(name, width),
    }
}

/// The name; where it is too long its beginning is cut off, as namespaces say less than what is in them.
fn fitted(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.into();
    }
    ['…'].into_iter().chain(name.chars().skip(length + 1 - width)).collect()
}
