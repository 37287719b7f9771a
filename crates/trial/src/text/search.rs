//! How the candidates were found.

use super::super::format::{Percent, paragraph};
use super::super::report::Report;
use super::super::search::{Findings, Pick, Polling, Screened, Search, SitePick, WORTH};
use crate::next::not_searched;
use crate::next::why::causes;
use crate::reason::Reason;
use std::fmt::{self, Formatter};
use unspin_launch::replace::engine::Engine;
use unspin_report::figures::time;
use unspin_stats::screening::{ScreeningEnd, ScreeningResult};
use unspin_stats::{Quantity, three_digits};
use unspin_wire::plan::LockFamily;
use unspin_wire::{RecordKind, WakeUpCost};

/// Maximum number of call sites that are shown.
const SITES: usize = 4;

/// Why nothing was judged, and what to do: a paragraph each. Empty if the search found nothing to try, or was interrupted.
pub fn outcome(report: &Report) -> Vec<String> {
    let Some(search) = report.search.as_ref().filter(|_| !report.interrupted) else { return Vec::new() };
    let mut paragraphs = Vec::new();
    if let Some(shortfall) = &search.shortfall {
        paragraphs.push(format!("Proven: nothing, because {}.", shortfall.sentence()));
    }
    paragraphs.extend(search.not_worth.map(not_searched::not_worth));
    if let Some(unprovable) = &search.unprovable {
        paragraphs.extend(not_searched::unprovable(unprovable, &report.session.analysis.control));
    }
    paragraphs
}

/// Prints why nothing was judged, and what to do.
pub fn write_outcome(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let paragraphs = outcome(report);
    paragraphs.iter().try_for_each(|text| write!(f, "{}", paragraph(text, 0)))?;
    if paragraphs.is_empty() { Ok(()) } else { writeln!(f) }
}

/// Why nothing was judged, also if the search found nothing to try.
pub fn why_none(report: &Report) -> Vec<String> {
    let outcome = outcome(report);
    match &report.search {
        Some(search) if outcome.is_empty() => {
            picks(search).into_iter().map(|(sentence, _)| sentence).take(1).collect()
        }
        _ => outcome,
    }
}

/// Prints the findings and the results of the screening.
pub fn write(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let Some(search) = &report.search else { return Ok(()) };
    writeln!(f, "{}", place(&search.findings))?;
    picked(search).iter().try_for_each(|reason| write_reason(f, reason))?;
    if let Some(text) = disturbed(report) {
        write!(f, "{}", paragraph(text, 4))?;
    }
    if has_long_holds(search) {
        write!(f, "{}", paragraph(LONG_HOLDS, 4))?;
    }
    polling(search).iter().try_for_each(|reason| write_reason(f, reason))?;
    if report.interrupted {
        for sentence in causes(&search.findings) {
            write!(f, "{}", paragraph(&sentence, 2))?;
        }
    }
    writeln!(f)?;
    match &search.screening {
        Some(screened) => write_screening(f, report, screened),
        None => Ok(()),
    }
}

fn write_reason(f: &mut Formatter<'_>, reason: &Reason) -> fmt::Result {
    write!(f, "{}", paragraph(&reason.sentence, 2))?;
    reason.places.iter().try_for_each(|text| write!(f, "{}", paragraph(text, 4)))
}

/// Where the program loses time, as the search found it in a metered run; nothing if there was no search.
pub fn found(report: &Report) -> Vec<Reason> {
    let Some(search) = &report.search else { return Vec::new() };
    let holds = has_long_holds(search).then(|| Reason::from(LONG_HOLDS.to_owned()));
    let first = Reason::from(format!("{}.", place(&search.findings)));
    [first].into_iter().chain(picked(search)).chain(holds).chain(polling(search)).collect()
}

/// What other programs hid from the search, and what to do about it.
pub fn disturbed(report: &Report) -> Option<&'static str> {
    let search = report.search.as_ref().filter(|search| search.findings.disturbed)?;
    Some(match search.picks.is_empty() && !search.polling.is_promising() {
        false => {
            "Other programs used so much CPU time that no bound on the gain is known: repeat it with --wait-for-quiet."
        }
        true => {
            "Other programs used so much CPU time in that run that waits worth a search may have been missed: repeat it \
             with --wait-for-quiet."
        }
    })
}

const LONG_HOLDS: &str = "No kind of lock is tried where holds are long: none can make them shorter.";

fn has_long_holds(search: &Search) -> bool {
    search.picks.iter().any(|pick| pick.held_long)
}

/// `Found in one metered run: 219ms on 2 CPUs`
fn place(findings: &Findings) -> String {
    format!("Found in one metered run: {} on {} CPUs", time(findings.seconds), findings.cpus)
}

fn picked(search: &Search) -> Vec<Reason> {
    let places = |picks: Vec<&Pick>| picks.iter().map(|pick| describe(&search.findings, pick)).collect();
    picks(search).into_iter().map(|(sentence, picks)| Reason { sentence, places: places(picks) }).collect()
}

fn polling(search: &Search) -> Option<Reason> {
    let places = || search.polling.sites.iter().take(SITES).map(describe_site).collect();
    let is_promising = search.polling.is_promising();
    is_promising.then(|| Reason { sentence: waits(&search.polling), places: places() })
}

/// The picked locks, each group with the sentence that says why; or the sentence that none was picked.
fn picks(search: &Search) -> Vec<(String, Vec<&Pick>)> {
    let findings = &search.findings;
    if search.picks.is_empty() {
        let sentence = match (&search.screening, search.polling.is_promising()) {
            (None, false) => "No lock and no wait costs enough time to search for a better one.",
            (_, true) => "No lock costs enough time to search for a better one, but waits do.",
            (Some(_), false) => {
                "No lock and no wait costs enough time to search for a better one; other candidates were tried."
            }
        };
        return vec![(format!("{sentence}{}", not_replaceable(findings)), Vec::new())];
    }
    let (contended, waited): (Vec<&Pick>, Vec<&Pick>) =
        search.picks.iter().partition(|pick| pick.contended_readers && pick.lost < WORTH);
    let also = if waited.is_empty() { "Picked" } else { "Also picked" };
    let fight =
        format!("{also}, though hardly any thread waits, as readers fight for the lock's cache line:");
    let cost = format!(
        "Threads waited {}, {} at any moment on average. Picked, as threads waited more than {} for each:",
        waited_for(findings),
        findings.waiting(findings.locks_s()),
        time(WORTH * findings.capacity()),
    );
    let groups = [(cost, waited), (fight, contended)];
    groups.into_iter().filter(|(_, picks)| !picks.is_empty()).collect()
}

/// `2.00s for mutexes and 1.00s for read-write locks`
fn waited_for(findings: &Findings) -> String {
    let all = [
        (LockFamily::Mutex, findings.mutexes_s),
        (LockFamily::RwLock, findings.rwlocks_s),
        (LockFamily::Spin, findings.spin_locks_s),
    ];
    let notable = all.iter().filter(|(_, seconds)| findings.share(*seconds) >= WORTH);
    let parts: Vec<String> =
        notable.map(|(family, seconds)| format!("{} for {}", time(*seconds), family.nouns())).collect();
    match parts.split_last() {
        None => format!("{} for locks", time(findings.locks_s())),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// ` Threads waited 4.00s for semaphores: unspin replaces only mutexes, read-write locks and spin locks.`
fn not_replaceable(findings: &Findings) -> String {
    let kinds = findings.not_replaceable();
    let waited: Vec<String> =
        kinds.iter().map(|(locks, seconds)| format!("{} for {locks}", time(*seconds))).collect();
    match waited.is_empty() {
        true => String::new(),
        false => format!(
            " Threads waited {}: unspin replaces only mutexes, read-write locks and spin locks.",
            waited.join(", and ")
        ),
    }
}

fn waits(polling: &Polling) -> String {
    let assumed = WakeUpCost::ASSUMED.seconds(RecordKind::Futex);
    let cost = match polling.wake_up_s {
        None => String::new(),
        Some(cost) if cost == assumed => {
            format!(", assumed to cost {}, as the CPUs were too busy to measure it", time(cost))
        }
        Some(cost) => format!(", which costs {} here", time(cost)),
    };
    format!(
        "Threads slept in waits that were not much longer than a wake-up{cost}. Call sites where polling first could save most:"
    )
}

fn describe_site(site: &SitePick) -> String {
    let place = site.place.as_ref().map_or(String::new(), |place| format!(", {place}"));
    let short = if site.waits == 0 { 0.0 } else { site.short as f64 / site.waits as f64 };
    format!(
        "{}{place} [{}]: {} waits, {} of them short, median {}; polling could save {} at most",
        site.name,
        site.kind.noun(),
        site.waits,
        Percent::TwoDigits.of(short),
        time(site.median_s),
        time(site.saving_s)
    )
}

fn describe(findings: &Findings, pick: &Pick) -> String {
    let origin = pick.origin.as_ref().map_or(String::new(), |origin| format!(", {origin}"));
    let held_long = if pick.held_long { "; it is held long at a time" } else { "" };
    let starved =
        if pick.starved { "; some waited so much longer than others that they starved" } else { "" };
    let bound = match findings.disturbed || pick.contended_readers {
        true => String::new(),
        false => {
            format!(
                "; without it the program would be at most {} times as fast",
                three_digits(pick.ceiling, 2)
            )
        }
    };
    let family = match pick.family {
        LockFamily::Mutex => String::new(),
        other => format!(" [{}]", other.noun()),
    };
    if pick.contended_readers && pick.lost < WORTH {
        return format!("{}{origin}{family}", pick.name);
    }
    let contended = if pick.contended_readers { "; its readers fight for its cache line" } else { "" };
    format!(
        "{}{origin}{family}: {}, {} at any moment{held_long}{bound}{starved}{contended}",
        pick.name,
        time(pick.lost_s),
        findings.waiting(pick.lost_s)
    )
}

fn write_screening(f: &mut Formatter<'_>, report: &Report, screened: &Screened) -> fmt::Result {
    let text = format!(
        "Tried in {} short runs, {:.0} s: ratios to {}. These runs only select candidates.",
        screened.runs(),
        screened.elapsed_s,
        report.session.analysis.control
    );
    write!(f, "{}", paragraph(&text, 0))?;
    let unrun = if report.interrupted { "^C came before it had run" } else { "there was no time to run it" };
    for standing in in_order(&screened.standings) {
        let judged = report.configurations.iter().any(|c| c.name() == standing.name);
        writeln!(f, "  {:>5}  {}{}", ratio(standing), standing.name, fate(standing, judged, unrun))?;
    }
    if let Some(bound) = exceeded_bound(report, screened) {
        let text = format!(
            "A ratio above {} is more than these locks and waits cost in the metered run: that is noise, or an effect that \
             the bound does not know.",
            three_digits(bound, 2)
        );
        write!(f, "{}", paragraph(&text, 2))?;
    }
    writeln!(f)
}

/// The best first; those without a ratio, or that failed, last.
fn in_order(standings: &[ScreeningResult]) -> Vec<&ScreeningResult> {
    let is_ranked =
        |standing: &ScreeningResult| matches!(standing.end, ScreeningEnd::Kept | ScreeningEnd::Dropped);
    let key = |standing: &ScreeningResult| (is_ranked(standing), standing.ratio.unwrap_or(0.0));
    let mut standings: Vec<&ScreeningResult> = standings.iter().collect();
    standings.sort_by(|a, b| {
        let ((a_ranked, a), (b_ranked, b)) = (key(a), key(b));
        b_ranked.cmp(&a_ranked).then(b.total_cmp(&a))
    });
    standings
}

/// The upper bound on the gain, if a candidate for locks and waits was better than that in the short runs.
fn exceeded_bound(report: &Report, screened: &Screened) -> Option<f64> {
    let is_about_time = report.session.analysis.metric.quantity == Quantity::WallTime;
    let bound = report.search.as_ref()?.bound().filter(|_| is_about_time)?;
    // Engines are no part of the bound.
    let is_engine =
        |standing: &ScreeningResult| Engine::ALL.iter().any(|engine| engine.name() == standing.name);
    let exceeds = |standing: &&ScreeningResult| {
        !is_engine(standing) && standing.ratio.is_some_and(|ratio| ratio > bound)
    };
    screened.standings.iter().find(exceeds).map(|_| bound)
}

fn ratio(standing: &ScreeningResult) -> String {
    standing.ratio.map_or("-".into(), |ratio| format!("{ratio:.2}"))
}

fn fate(standing: &ScreeningResult, judged: bool, unrun: &str) -> String {
    match &standing.end {
        ScreeningEnd::Collapsed { limit_s } => format!(": too slow, stopped after {limit_s:.1} s"),
        ScreeningEnd::Hung { limit_s } => format!(": hangs, stopped after {limit_s:.1} s"),
        ScreeningEnd::Failed { reason } => format!(": {reason}"),
        ScreeningEnd::Kept | ScreeningEnd::Dropped if judged => ": is judged".into(),
        _ if standing.ratio.is_none() => format!(": {unrun}"),
        ScreeningEnd::Kept | ScreeningEnd::Dropped => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::findings;

    fn standing(name: &str, ratio: Option<f64>, end: ScreeningEnd) -> ScreeningResult {
        ScreeningResult { index: 1, name: name.into(), ratio, rounds: 2, end }
    }

    /// Issue 14: those that were kept came first, whatever their ratio.
    #[test]
    fn candidates_are_sorted_by_their_ratios() {
        let stuck = ScreeningEnd::Collapsed { limit_s: 5.0 };
        let standings = [
            standing("kept", Some(1.1), ScreeningEnd::Kept),
            standing("new", None, ScreeningEnd::Kept),
            standing("dropped", Some(1.4), ScreeningEnd::Dropped),
            standing("stuck", Some(2.0), stuck),
        ];
        let names: Vec<&str> = in_order(&standings).iter().map(|standing| standing.name.as_str()).collect();
        assert_eq!(names, ["dropped", "kept", "new", "stuck"]);
    }

    /// Issue 14: a row `-  adaptive` without a reason.
    #[test]
    fn row_without_a_ratio_has_a_reason() {
        let new = standing("new", None, ScreeningEnd::Kept);
        assert_eq!(fate(&new, false, "there was no time to run it"), ": there was no time to run it");
    }

    #[test]
    fn families_for_which_threads_waited_are_named() {
        let findings = Findings { rwlocks_s: 2.0, ..findings::of_ten_seconds() };
        assert_eq!(waited_for(&findings), "2.00s for read-write locks");
        let findings = Findings { mutexes_s: 1.0, spin_locks_s: 0.5, ..findings };
        assert_eq!(
            waited_for(&findings),
            "1.00s for mutexes, 2.00s for read-write locks and 500ms for spin locks"
        );
        assert_eq!(not_replaceable(&findings), "");
    }
}
