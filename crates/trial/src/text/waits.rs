//! The judged waits under all configurations.

use super::super::format::{Percent, paragraph};
use super::super::report::Report;
use super::super::waits::{JudgedSite, SiteRun, Unpolled};
use super::head;
use std::fmt::{self, Formatter};
use unspin_report::figures::{list, time};

/// Prints the table, and why a candidate did not poll.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    if report.waits.is_empty() {
        return Ok(());
    }
    writeln!(f, "Waits, in one metered run each")?;
    writeln!(f, "{:15} {:>10} {:>8} {:>8}", "", "waits", "slept", "median")?;
    for site in &report.waits {
        writeln!(f, "{}", site.name)?;
        for run in &site.runs {
            let SiteRun { candidate, waits, .. } = run;
            let slept = waits.slept_share().map_or("-".into(), |share| Percent::TwoDigits.of(share));
            let name = head(&format!("  {candidate}"));
            writeln!(f, "{name} {:>10} {slept:>8} {:>8}", waits.waits, time(waits.median_s))?;
        }
    }
    for site in &report.waits {
        for run in &site.runs {
            if let Some(sentence) = explain_unpolled(site, run) {
                write!(f, "{}", paragraph(&sentence, 0))?;
            }
        }
    }
    writeln!(f)
}

/// How each judged wait changed, and why a candidate did not poll: a sentence each.
pub fn changes(report: &Report) -> Vec<String> {
    let changes = report.waits.iter().filter_map(describe_change);
    let unpolled =
        report.waits.iter().flat_map(|site| site.runs.iter().filter_map(|run| explain_unpolled(site, run)));
    changes.chain(unpolled).collect()
}

/// "At pop+0x4b threads slept in 100 % of 3903 waits with system, and in 2.4 % of 2427 waits with poll."
fn describe_change(site: &JudgedSite) -> Option<String> {
    let run = |run: &SiteRun| {
        let slept = Percent::TwoDigits.of(run.waits.slept_share()?);
        Some(format!("{slept} of {} with {}", count(run.waits.waits), run.candidate))
    };
    let runs: Vec<String> = site.runs.iter().filter_map(run).collect();
    (runs.len() > 1).then(|| format!("At {} threads slept in {}.", site.name, list(&runs, "and")))
}

fn explain_unpolled(site: &JudgedSite, run: &SiteRun) -> Option<String> {
    let why = run.unpolled?;
    let reason = why.reason();
    let SiteRun { candidate, waits, .. } = run;
    let name = match candidate.ends_with(&format!("@{}", site.name)) {
        true => candidate.clone(),
        false => format!("{candidate} at {}", site.name),
    };
    let slept = waits.slept_share().map_or(String::new(), |share| Percent::TwoDigits.of(share));
    let number = count(waits.waits);
    if why == Unpolled::FewerWaits {
        let before = site.runs.first().map_or(0, |control| control.waits.waits);
        return Some(format!(
            "{name} waited less often, {} times instead of {before}: so fewer waits slept, though {slept} of those that \
             were left did, about the same share as under the control.",
            waits.waits
        ));
    }
    Some(match (waits.slept == waits.waits, waits.polled_s > 0.0) {
        (true, false) => format!("{name} polled in none of {number}: {reason}."),
        _ => format!("{name} slept in {slept} of {number}, about as often as the control: {reason}."),
    })
}

/// "1 wait", "12 waits".
fn count(waits: u64) -> String {
    if waits == 1 { "1 wait".into() } else { format!("{waits} waits") }
}

#[cfg(test)]
mod tests {
    use super::super::super::call_sites::CallSiteWaits;
    use super::*;

    fn run(candidate: &str, waits: u64, unpolled: Option<Unpolled>) -> SiteRun {
        let waits = CallSiteWaits {
            calls: waits,
            waits,
            slept: waits,
            median_s: 50e-6,
            waited_s: 1.0,
            polled_s: 1.0,
        };
        SiteRun { candidate: candidate.into(), waits, unpolled }
    }

    #[test]
    fn change_of_a_wait_is_one_sentence() {
        let half = SiteRun {
            waits: CallSiteWaits { slept: 500, ..run("poll", 1000, None).waits },
            ..run("poll", 1000, None)
        };
        let site = JudgedSite { name: "pop+0x4b".into(), runs: vec![run("system", 1, None), half] };
        assert_eq!(
            describe_change(&site).unwrap(),
            "At pop+0x4b threads slept in 100 % of 1 wait with system and 50 % of 1000 waits with poll."
        );
        let alone = JudgedSite { runs: vec![run("poll", 5, None)], ..site };
        assert_eq!(describe_change(&alone), None);
    }

    /// Issue 14: "slept in 100 % of 78223 waits: the CPUs were busy", when the control had waited 198012 times.
    #[test]
    fn smaller_number_of_waits_is_said() {
        let less = run("poll", 78_223, Some(Unpolled::FewerWaits));
        let site =
            JudgedSite { name: "pop+0x4b".into(), runs: vec![run("system", 198_012, None), less.clone()] };
        let text = explain_unpolled(&site, &less).unwrap();
        assert!(
            text.starts_with("poll at pop+0x4b waited less often, 78223 times instead of 198012: "),
            "{text}"
        );
        assert!(!text.contains("busy"), "{text}");
        let one = run("poll", 1, Some(Unpolled::FewWaits));
        assert!(explain_unpolled(&site, &one).unwrap().contains(" slept in 100 % of 1 wait, "));
    }
}
