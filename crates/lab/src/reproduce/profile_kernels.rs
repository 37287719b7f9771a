//! Hartner 2002 on a kernel of today that was booted with `profile=2`: readprofile(8), and `unspin profile` of the same run.

use super::experiment::{Experiment, Size, words};
use super::historical_report::HistoricalReport;
use super::observation::{Observation, Observed};
use super::profile;
use super::published::Published;
use crate::options::ReportChoice;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use unspin_launch::error::Error;

/// The two profiles.
pub struct ProfileKernels;

/// The line between the two tables.
const BETWEEN: &str = "== unspin profile -a";
/// Functions of the comparison.
const SHOWN: usize = 15;
/// readprofile(8) is in this package.
const PROGRAM: &str = "/usr/sbin/readprofile";

/// Letters of a name that are left of such a line, behind address and type.
const NAME: usize = LINE - 19;
/// Bytes of a symbol's line that readprofile(8) can read; the names of functions that were written in Rust may be longer.
const LINE: usize = 126;

/// The guest's script. Debian's kernels come without a System.map; the running kernel's symbols are one when they are sorted. The ticks
/// of readprofile are copied when the load has ended, and read later. Both tables are in the order of `readprofile | sort -n +0 -r`.
fn script(load: &str) -> String {
    let measured =
        format!("{PROGRAM} -r && unspin semopbench {load} > /dev/null && cat /proc/profile > /tmp/ticks");
    format!(
        "grep -v '\\[' /proc/kallsyms | cut -c-{LINE} | sort > /tmp/map && unspin profile -a -o /tmp/ours sh -c '{measured}' && \
         {PROGRAM} -p /tmp/ticks -m /tmp/map > /tmp/theirs && sort -n -r /tmp/theirs && echo '{BETWEEN}' && cat /tmp/ours"
    )
}

impl HistoricalReport for ProfileKernels {
    fn choice(&self) -> ReportChoice {
        ReportChoice::Profile
    }

    fn name(&self) -> &'static str {
        "profile"
    }

    fn title(&self) -> &'static str {
        "Hartner 2002: the kernel profile of semopbench by readprofile, and by unspin profile beside it"
    }

    fn published(&self) -> Vec<Published> {
        profile::published()
    }

    fn obstacle(&self, _: &str) -> Option<Error> {
        let missing = format!("there is no {PROGRAM}: apt-get install util-linux");
        let has = Path::new(PROGRAM).exists();
        unspin_vm::machine::require_qemu().err().or_else(|| (!has).then_some(Error::NotFound(missing)))
    }

    fn experiments(&self, _: Size, _: &str) -> Vec<Experiment> {
        Vec::new()
    }

    fn observations(&self, size: Size) -> Vec<Observation> {
        let (load, seconds) = match size {
            Size::Quick => ("-g 8 -s 4 -n 500", 300),
            Size::Full => ("-g 64 -s 16 -n 500", 1800),
        };
        let mut command = words("unspin vm --quiet --kernel cloud --kernel-parameter profile=2 -- sh -c");
        command.push(script(load));
        vec![Observation {
            what: "the ticks of one run by both profilers",
            command,
            limit: Duration::from_secs(seconds),
        }]
    }

    fn interpretation(&self, observed: &Observed) -> Option<String> {
        let (theirs, ours) = observed.output.split_once(BETWEEN)?;
        let (theirs, ours) = (Shares::of(theirs), Shares::of(ours));
        (theirs.total > 0 && ours.total > 0).then(|| compared(&theirs, &ours))
    }

    fn same(&self) -> &'static str {
        "semopbench on a kernel that was booted with profile=2, and readprofile(8), with its ticks set to zero before"
    }

    fn not_the_same(&self) -> &'static str {
        "the kernel is one of today, which has had the patch since 2002. It runs in a virtual machine; where KVM does not work its \
         instructions are translated, and the shares are those of the translator. readprofile counts one tick of each CPU for each timer \
         interrupt, of which a CPU has none while it is idle for long; unspin profile takes 997 in a second by a perf clock. Neither sees \
         code that runs with interrupts disabled before they are enabled again"
    }

    fn next(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("the locks of this kernel:", "unspin meter --lens kernel semopbench -g 64 -s 16 -n 500"),
            ("one lock and RCU, in user space:", "unspin reproduce profile"),
        ]
    }
}

/// The ticks of functions.
#[derive(Default, Debug)]
struct Shares {
    total: u64,
    ticks: BTreeMap<String, u64>,
}

impl Shares {
    /// Of a table of readprofile's form: ticks, name, load. Functions of one name are one, and a long name is as long as in the
    /// symbols that readprofile reads.
    fn of(table: &str) -> Shares {
        let mut shares = Shares::default();
        for line in table.lines() {
            let mut words = line.split_whitespace();
            let (Some(Ok(ticks)), Some(name)) = (words.next().map(str::parse::<u64>), words.next()) else {
                continue;
            };
            match name {
                "total" => shares.total = ticks,
                name => *shares.ticks.entry(name.chars().take(NAME).collect()).or_default() += ticks,
            }
        }
        shares
    }

    /// In percent of all ticks.
    fn percent(&self, name: &str) -> f64 {
        100.0 * self.ticks.get(name).copied().unwrap_or(0) as f64 / self.total.max(1) as f64
    }
}

/// The share by which two samples of one profile would differ by chance, in percent: the mean distance of two shares that are distributed
/// normally, summed over the functions and halved.
fn by_chance(theirs: &Shares, ours: &Shares, names: &[&String]) -> f64 {
    let ticks = |shares: &Shares| shares.total as f64;
    let all = ticks(theirs) + ticks(ours);
    let deviation = |name: &&String| {
        let of = |shares: &Shares| shares.ticks.get(*name).copied().unwrap_or(0) as f64;
        let share = (of(theirs) + of(ours)) / all;
        (share * (1.0 - share) * (1.0 / ticks(theirs) + 1.0 / ticks(ours))).sqrt()
    };
    100.0 * names.iter().map(deviation).sum::<f64>() * (2.0 / std::f64::consts::PI).sqrt() / 2.0
}

/// The functions with the most ticks of either profile, with their shares in both, and by how much the profiles overlap.
fn compared(theirs: &Shares, ours: &Shares) -> String {
    let mut names: Vec<&String> = theirs.ticks.keys().chain(ours.ticks.keys()).collect();
    names.sort();
    names.dedup();
    let both = |name: &str| [theirs.percent(name), ours.percent(name)];
    let common: f64 = names.iter().map(|name| both(name)).map(|[a, b]| a.min(b)).sum();
    let chance = by_chance(theirs, ours, &names);
    let most = |name: &str| both(name).into_iter().fold(0.0, f64::max);
    names.sort_by(|a, b| most(b).total_cmp(&most(a)));
    let mut text = format!("{:>12} {:>12}  function\n", "readprofile", "unspin");
    for name in names.into_iter().take(SHOWN) {
        let [a, b] = both(name);
        let _ = writeln!(text, "{a:>10.1} % {b:>10.1} %  {name}");
    }
    let _ = write!(
        text,
        "{} and {} ticks. The profiles overlap by {common:.0} %, the sum of each function's smaller share; two samples of one profile \
         of as many ticks would by some {:.0} %.",
        theirs.total,
        ours.total,
        100.0 - chance
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_both_tables_stand_beside_each_other() {
        let theirs = Shares::of("   10 total   0.0\n    8 do_semtimedop   0.1\n    2 idle_loop 0.0\n");
        let ours = Shares::of(
            "semopbench: text\n  200 total 0.0\n  100 do_semtimedop 0.2\n   60 idle_loop 1\n   40 x 2\n",
        );
        let text = compared(&theirs, &ours);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "      80.0 %       50.0 %  do_semtimedop");
        assert_eq!(lines[2], "      20.0 %       30.0 %  idle_loop");
        assert_eq!(lines[3], "       0.0 %       20.0 %  x");
        assert_eq!(
            lines[4],
            "10 and 200 ticks. The profiles overlap by 70 %, the sum of each function's smaller share; two samples of one profile of as \
             many ticks would by some 83 %."
        );
    }

    #[test]
    fn table_without_ticks_has_no_shares() {
        let none = Shares::of("");
        assert_eq!(none.percent("x"), 0.0);
    }
}
