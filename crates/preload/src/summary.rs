//! The line about what the plan replaced, which the user of a deployed plan may want when the program ends (`UNSPIN_SUMMARY`).
//!
//! It goes to standard error, which is the log of a service. The program may have closed that descriptor, and opened another file
//! under its number. So the line is written only if the descriptor leads to the file to which it led at the start. It is written by
//! one call that does not wait, and raises no signal. A program that ends without exit(3), by a signal or by `_exit`, prints none.

use crate::notice::Line;
use crate::swap::{own_tally, plan};
use crate::{environment, sandbox};
use core::fmt::{self, Write};
use unspin_sync::atomic::{AtomicU64, Ordering::Relaxed};
use unspin_sys::open_file::{identity, write_without_waiting};
use unspin_sys::{file, process};
use unspin_wire::plan::LockFamily;
use unspin_wire::{OwnTally, TallyCount, TallyUse};

const STDERR: i32 = 2;

/// Device and inode number of standard error at the start; 0 if it was closed, or if no line is wanted. Relaxed: two numbers, written before the program
/// begins.
static AT_START: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// To be called before the program begins.
pub fn prepare() {
    if environment::wants_summary()
        && plan::is_on()
        && let Some((device, inode)) = identity(STDERR)
    {
        AT_START[0].store(device, Relaxed);
        AT_START[1].store(inode, Relaxed);
    }
}

/// To be called when the process ends.
pub fn print() {
    if !is_wanted() || sandbox::is_closed() || !is_log() {
        return;
    }
    let (Some(plan), Some(tally)) = (plan::get(), own_tally::get()) else { return };
    // A child made by fork that has counted nothing prints nothing, nor does one made by vfork.
    if tally.process() != Some(process::pid()) {
        return;
    }
    let summary = Summary::of(plan, tally);
    // A plan that is not a deployed one is in effect in all programs, of which most have nothing to replace.
    if plan.is_deployed() || summary.is_something() {
        let mut line = Line::new();
        // A full line returns an error, and contains what fits.
        let _ = write!(line, "unspin: pid {} {}: {summary}", process::pid(), Name);
        write_without_waiting(STDERR, line.end());
    }
}

/// Whether the user wants the line, and standard error was open at the start. The environment is not asked again: a program may have
/// overwritten it.
fn is_wanted() -> bool {
    at_start() != (0, 0)
}

fn at_start() -> (u64, u64) {
    let [device, inode] = &AT_START;
    (device.load(Relaxed), inode.load(Relaxed))
}

fn is_log() -> bool {
    identity(STDERR) == Some(at_start())
}

/// The name of the program's file.
struct Name;

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut path = [0; 512];
        let path = file::link(c"/proc/self/exe", &mut path).unwrap_or(b"?");
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        name.iter().try_for_each(|&byte| match byte {
            b' '..=b'~' => f.write_char(char::from(byte)),
            _ => f.write_char('?'),
        })
    }
}

/// What the plan replaced in this process, and how that was used.
#[derive(PartialEq, Eq, Debug)]
struct Summary {
    locks: Option<u64>,
    sites: Option<u64>,
    entries: u32,
    entries_in_effect: u32,
    spun: u64,
    slept: u64,
    found: u64,
    in_vain: u64,
    obstacle: Option<&'static str>,
}

impl Summary {
    fn of(plan: &plan::Plan, tally: OwnTally) -> Summary {
        let sum = |used: fn(LockFamily) -> TallyUse| {
            LockFamily::ALL.map(|family| tally.uses(used(family))).iter().sum()
        };
        let mut summary = Summary {
            locks: None,
            sites: None,
            entries: 0,
            entries_in_effect: 0,
            spun: sum(TallyUse::Spun),
            slept: sum(TallyUse::Slept),
            found: tally.uses(TallyUse::Found),
            in_vain: tally.uses(TallyUse::InVain),
            obstacle: obstacle(tally),
        };
        let (mut known, mut in_effect) = (Entries::default(), Entries::default());
        for (entry, count) in plan.effects() {
            let counted = tally.get(count);
            let of_sort =
                if matches!(count, TallyCount::Sites(_)) { &mut summary.sites } else { &mut summary.locks };
            *of_sort = Some(of_sort.unwrap_or(0) + counted);
            summary.entries += u32::from(known.add(entry));
            summary.entries_in_effect += u32::from(counted > 0 && in_effect.add(entry));
        }
        summary
    }

    fn is_something(&self) -> bool {
        self.entries_in_effect > 0
    }
}

/// Why less was replaced than the plan says.
fn obstacle(tally: OwnTally) -> Option<&'static str> {
    let obstacles = [
        (
            TallyCount::Wrapped,
            "nothing is replaced beside a library that wraps the lock functions, or a sanitizer",
        ),
        (TallyCount::Bypassed, "nothing was replaced after code was loaded whose calls bypass the hooks"),
        (
            TallyCount::Filters,
            "no wait polls under a seccomp filter for which UNSPIN_LOOKS does not state what it permits (docs/containers.md)",
        ),
    ];
    obstacles.into_iter().find(|&(count, _)| tally.get(count) > 0).map(|(_, why)| why)
}

/// `3 locks replaced, 2 of 3 entries of the plan are in effect; 120 acquisitions waited, 118 of them without sleep; 5 of 6 polls ended a wait`
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |number: u64| if number == 1 { "" } else { "s" };
        if let Some(locks) = self.locks {
            write!(f, "{locks} lock{} replaced, ", plural(locks))?;
        }
        if let Some(sites) = self.sites {
            write!(f, "{sites} call site{} of waits, ", plural(sites))?;
        }
        let (in_effect, all) = (self.entries_in_effect, self.entries);
        if all == 0 {
            return f.write_str(self.obstacle.unwrap_or("nothing to replace"));
        }
        let entries = if all == 1 { "entry" } else { "entries" };
        write!(f, "{in_effect} of {all} {entries} of the plan in effect")?;
        if self.locks.is_some() {
            let waited = self.spun + self.slept;
            write!(
                f,
                "; {waited} acquisition{} waited, {} of them without sleep",
                plural(waited),
                self.spun
            )?;
        }
        if self.sites.is_some() {
            write!(f, "; {} of {} polls ended a wait", self.found, self.found + self.in_vain)?;
        }
        self.obstacle.map_or(Ok(()), |why| write!(f, "; {why}"))
    }
}

/// A set of entries of a plan.
#[derive(Default)]
struct Entries([u64; plan::ENTRIES.div_ceil(64)]);

impl Entries {
    /// Adds one, and returns whether it was not there.
    fn add(&mut self, entry: u16) -> bool {
        let Some(word) = self.0.get_mut(usize::from(entry) / 64) else { return false };
        let bit = 1 << (entry % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_says_what_the_plan_can_replace() {
        let both = Summary {
            locks: Some(1),
            sites: Some(4),
            entries: 3,
            entries_in_effect: 2,
            spun: 118,
            slept: 2,
            found: 5,
            in_vain: 1,
            obstacle: None,
        };
        assert_eq!(
            both.to_string(),
            "1 lock replaced, 4 call sites of waits, 2 of 3 entries of the plan in effect; 120 acquisitions waited, 118 of them \
             without sleep; 5 of 6 polls ended a wait"
        );
        let waits = Summary { locks: None, entries: 1, entries_in_effect: 0, obstacle: Some("why"), ..both };
        assert_eq!(
            waits.to_string(),
            "4 call sites of waits, 0 of 1 entry of the plan in effect; 5 of 6 polls ended a wait; why"
        );
        assert!(!waits.is_something());
    }

    #[test]
    fn entry_is_counted_once() {
        let mut entries = Entries::default();
        assert!(
            entries.add(3) && !entries.add(3) && entries.add(67) && entries.add(plan::ENTRIES as u16 - 1)
        );
        assert!(!entries.add(u16::MAX));
    }
}
