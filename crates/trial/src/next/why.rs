//! Sentences about why there is nothing to gain.

use crate::format::Percent;
use crate::search::{Findings, Pick, Polling, WORTH};
use unspin_report::figures::time;
use unspin_report::next::Next;
use unspin_report::{Cause, Finding};

/// Minimum share of wall-clock time × CPUs for a sentence.
const NOTABLE: f64 = 0.1;
/// A lock that is held for this share of the time is saturated by holds: it passes from owner to owner without a gap.
const SATURATED: f64 = 0.8;
/// A ratio above this that is not proven may be proven by more runs.
const NEARLY: f64 = 1.02;
/// With longer holds the cost of handing over a lock (about 5 µs to 50 µs) does not matter.
const LONG_HOLD_S: f64 = 200e-6;

/// The results of the candidates, none of which is proven better.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judged {
    /// The ratio of the best candidate, if any ran: above 1 if it could not be distinguished from noise.
    pub best: Option<f64>,
    /// Whether a candidate that polls is proven worse.
    pub is_polling_worse: bool,
}

/// The facts for the sentences.
pub fn why(findings: &Findings, picks: &[Pick], polling: &Polling, judged: Judged) -> Vec<String> {
    if let Some(silence) = &findings.silence {
        // Of some runtimes it names the lenses itself.
        let next = (!silence.contains("--lens")).then(waits_by_caller);
        return [silence.clone()].into_iter().chain(next).collect();
    }
    match judged.best {
        Some(factor) if factor > NEARLY => vec![format!(
            "The best candidate was {factor:.2} times as good in these runs, which may be noise: allow more time \
             (--time-budget), on an idle machine (--wait-for-quiet)."
        )],
        _ if picks.is_empty() => [
            vec![no_contention(findings)],
            causes(findings),
            waits(polling, judged),
            elsewhere(findings),
            unseen(findings),
        ]
        .concat(),
        _ => [contention(findings), waits(polling, judged), elsewhere(findings), unseen(findings)].concat(),
    }
}

/// The effect of polling before sleeping, or why it was not tried.
fn waits(polling: &Polling, judged: Judged) -> Vec<String> {
    if polling.is_promising() {
        let proven = if judged.is_polling_worse { "is proven worse" } else { "is not proven better" };
        return vec![format!("Polling before sleeping was tried, and {proven}.")];
    }
    match (polling.waits, polling.wake_up_s) {
        (0, _) => Vec::new(),
        (_, None) => {
            vec![
                "Whether polling before sleeping could help is unknown: the cost of a wake-up was not measured. To judge it all \
                 the same, name it: --waits poll."
                    .into(),
            ]
        }
        (waits, Some(cost)) => vec![format!(
            "Polling before sleeping could save {} at most, because a wake-up costs {} here and its {waits} waits are few or long.",
            time(polling.saving_s),
            time(cost)
        )],
    }
}

/// No lock costs time: what costs time instead.
fn no_contention(findings: &Findings) -> String {
    match findings.attempts {
        0 if findings.kept_mutexes_s + findings.kept_rwlocks_s > 0.0 => {
            "It uses no lock that unspin replaces.".into()
        }
        0 => "It uses no mutex, no read-write lock and no spin lock.".into(),
        attempts => format!(
            "Its locks cost no time: they were requested {attempts} times, and threads waited {} for them in total. Less \
             than {} in {} on {} is not worth a search for a better lock.",
            time(findings.locks_s()),
            time(WORTH * findings.capacity()),
            time(findings.seconds),
            findings.all_cpus()
        ),
    }
}

/// What costs the time, each cause with what to do next.
pub fn causes(findings: &Findings) -> Vec<String> {
    sentences(findings, |_| true)
}

/// What costs the time besides the locks that threads merely wait for: other kinds have been tried for them.
fn untried_causes(findings: &Findings) -> Vec<String> {
    let has_been_tried = |finding: &Finding| {
        finding.next.command.is_some()
            && matches!(finding.cause, Cause::Contended | Cause::Convoy | Cause::ContendedReaders)
    };
    sentences(findings, |finding| !has_been_tried(finding))
}

fn sentences(findings: &Findings, is_told: impl Fn(&Finding) -> bool) -> Vec<String> {
    let told = findings.causes.iter().filter(|finding| is_told(finding));
    told.flat_map(|finding| [finding.text.clone(), finding.next.sentence()]).collect()
}

/// Locks cost time, and no kind helps.
fn contention(findings: &Findings) -> Vec<String> {
    let mut sentences = untried_causes(findings);
    if !sentences.is_empty() {
        return sentences;
    }
    if let Some(worst) = &findings.worst {
        let hold = time(worst.hold_mean_s);
        sentences.push(match (worst.utilisation >= SATURATED, worst.hold_mean_s >= LONG_HOLD_S) {
            (true, true) => format!(
                "{} was held {} of the time, {hold} at a time: the lock is saturated by long holds, and no lock algorithm \
                 can help. Hold it shorter, or split it.",
                worst.name,
                Percent::TwoDigits.of(worst.utilisation)
            ),
            (true, false) => format!(
                "{} was held {} of the time, if only {hold} at a time: the lock is saturated, and no lock algorithm can \
                 help. Lock it less often, or split it.",
                worst.name,
                Percent::TwoDigits.of(worst.utilisation)
            ),
            (false, true) => format!(
                "{} was held {hold} at a time: compared with that, the cost of a hand-over does not matter. Hold it shorter.",
                worst.name
            ),
            (false, false) => format!(
                "Threads waited {} for {}, and no tried kind is better for it: hold it for less time, or lock it less \
                 often. (Process-shared locks and robust mutexes are not replaced.)",
                time(worst.lost_s),
                worst.name
            ),
        });
    }
    sentences
}

/// Which locks the meter could not see.
fn unseen(findings: &Findings) -> Vec<String> {
    findings.unseen.iter().cloned().collect()
}

/// What else costs time.
fn elsewhere(findings: &Findings) -> Vec<String> {
    let share = |seconds| findings.share(seconds);
    let notable = |seconds| share(seconds) >= NOTABLE;
    let mut sentences = Vec::new();
    for (locks, seconds) in findings.not_replaceable() {
        sentences.push(format!(
            "Threads waited {} for {locks}, {} at any moment on average; these stay libc's: hold them for less time, or lock \
             them less often. `unspin meter` names them.",
            time(seconds),
            findings.waiting(seconds)
        ));
    }
    if findings.computed >= 1.0 - NOTABLE {
        sentences.push(format!(
            "It kept {} busy: use a profiler instead of a lock meter (`unspin profile --user`, in front of the same command).",
            findings.in_cpus(findings.computed)
        ));
        return sentences;
    }
    sentences.push(format!(
        "On average {} were idle or used by other programs.",
        findings.in_cpus(1.0 - findings.computed)
    ));
    if notable(findings.by_design_s) {
        sentences.push(format!(
            "Threads waited {} for conditions, barriers or semaphores: for work, or for each other, not for a lock.",
            time(findings.by_design_s)
        ));
    }
    if notable(findings.other_waits_s) {
        sentences.push(format!(
            "Threads waited {} for descriptors, for the end of other threads, or in futexes that are not pthread's.",
            time(findings.other_waits_s)
        ));
    }
    match findings.unexplained_s {
        Some(seconds) if notable(seconds) => sentences.push(format!(
            "Threads were off the CPUs for {} without waiting for a lock of libc: input and output, sleep, waiting for a \
             process to end, or other locks.",
            time(seconds)
        )),
        Some(_) => (),
        None => sentences.push("What else its threads waited for is unknown.".into()),
    }
    let is_off_cpu = notable(findings.by_design_s) || notable(findings.other_waits_s);
    if is_off_cpu || findings.unexplained_s.is_none_or(notable) {
        sentences.push(waits_by_caller());
    }
    sentences
}

/// The lens that tells what threads wait for.
const WAITS_BY_CALLER: &str =
    "`unspin meter --lens off-cpu`, in front of the same command, says what the threads wait for, and where.";

fn waits_by_caller() -> String {
    Next::new(WAITS_BY_CALLER).sentence()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::findings::{Worst, of_ten_seconds as findings};
    use unspin_wire::plan::LockFamily;

    fn pick() -> Pick {
        let name = "cache_lock".to_owned();
        Pick {
            family: LockFamily::Mutex,
            name,
            origin: None,
            lost_s: 5.0,
            lost: 0.25,
            ceiling: 1.5,
            starved: false,
            held_long: false,
            contended_readers: false,
            located: None,
        }
    }

    fn say(findings: &Findings, picks: &[Pick]) -> String {
        why(findings, picks, &Polling::default(), Judged { best: Some(0.9), ..Judged::default() }).join(" ")
    }

    #[test]
    fn program_without_contention_is_explained() {
        let text = say(&Findings { computed: 0.98, ..findings() }, &[]);
        assert!(
            text.contains(
                "requested 1000 times, and threads waited 10ms for them in total. Less than 200ms in 10.0s on 2 CPUs"
            ),
            "{text}"
        );
        assert!(text.contains("It kept 1.96 of the 2 CPUs busy"), "{text}");
        assert!(text.contains("`unspin profile --user`, in front of the same command"), "{text}");
        assert!(!text.contains("idle"), "{text}");
        let text = say(&Findings { attempts: 0, ..findings() }, &[]);
        assert!(text.starts_with("It uses no mutex, no read-write lock and no spin lock."), "{text}");
    }

    #[test]
    fn time_outside_of_locks_is_explained() {
        let text = say(&Findings { unexplained_s: Some(9.0), computed: 0.05, ..findings() }, &[]);
        assert!(text.contains("On average 1.90 of the 2 CPUs were idle or used by other programs"), "{text}");
        assert!(text.contains("Threads were off the CPUs for 9.00s without waiting for a lock"), "{text}");
        assert!(text.ends_with(WAITS_BY_CALLER), "{text}");
        let text = say(&Findings { unexplained_s: None, ..findings() }, &[]);
        assert!(text.ends_with(WAITS_BY_CALLER), "{text}");
        assert!(!say(&findings(), &[]).contains("off-cpu"), "no thread waited");
        let text = say(&Findings { by_design_s: 8.0, ..findings() }, &[]);
        assert!(text.contains("waited 8.00s for conditions"), "{text}");
        let text = say(&Findings { semaphores_s: 4.0, ..findings() }, &[]);
        assert!(
            text.contains("4.00s for semaphores and conditions that are used as locks, 0.40 threads"),
            "{text}"
        );
    }

    #[test]
    fn causes_of_the_meter_are_said_with_the_next_step() {
        let finding = |cause, command: Option<&str>| Finding {
            cause,
            name: "table".into(),
            text: "table is a read-write lock that is mostly written.".into(),
            next: Next { text: "use a mutex: it costs less.".into(), command: command.map(str::to_owned) },
        };
        let with = |finding: Finding| Findings { rwlocks_s: 4.0, causes: vec![finding], ..findings() };
        let text = say(&with(finding(Cause::MostlyWritten, None)), &[]);
        assert!(text.contains("mostly written. Next: use a mutex: it costs less."), "{text}");
        let text = say(&with(finding(Cause::Contended, Some("unspin prove"))), &[pick()]);
        assert!(!text.contains("Next:"), "the search has tried what it advises: {text}");
    }

    #[test]
    fn locks_that_stay_libcs_are_named() {
        let text = say(&Findings { attempts: 0, kept_mutexes_s: 4.0, ..findings() }, &[]);
        assert!(text.starts_with("It uses no lock that unspin replaces."), "{text}");
        assert!(text.contains("4.00s for process-shared or robust mutexes, or mutexes with a"), "{text}");
        let text = say(&Findings { attempts: 0, kept_rwlocks_s: 4.0, ..findings() }, &[]);
        assert!(text.starts_with("It uses no lock that unspin replaces."), "{text}");
        assert!(text.contains("4.00s for process-shared read-write locks"), "{text}");
    }

    #[test]
    fn long_hold_is_explained() {
        let worst = |utilisation, hold_mean_s| Findings {
            worst: Some(Worst { name: "cache_lock".into(), lost_s: 5.0, utilisation, hold_mean_s }),
            ..findings()
        };
        let text = say(&worst(0.97, 0.0012), &[pick()]);
        assert!(text.contains("cache_lock was held 97 % of the time, 1.2ms at a time"), "{text}");
        assert!(say(&worst(0.97, 1e-6), &[pick()]).contains("Lock it less often"));
        assert!(say(&worst(0.3, 0.01), &[pick()]).contains("compared with that, the cost of a hand-over"));
        assert!(say(&worst(0.3, 1e-6), &[pick()]).contains("no tried kind is better for it"));
    }

    #[test]
    fn unproven_gain_advises_more_time() {
        let judged = Judged { best: Some(1.2), ..Judged::default() };
        let text = why(&findings(), &[pick()], &Polling::default(), judged).join(" ");
        assert!(text.contains("1.20 times as good in these runs, which may be noise: allow more"), "{text}");
    }

    #[test]
    fn missing_recording_is_the_only_explanation() {
        let said = |silence: &str| {
            let findings = Findings { silence: Some(silence.to_owned()), ..findings() };
            why(&findings, &[], &Polling::default(), Judged::default())
        };
        assert_eq!(said("No lock was recorded."), ["No lock was recorded.", &waits_by_caller()]);
        let of_go = "No lock was recorded. unspin meter --lens futex,off-cpu shows where its threads wait.";
        assert_eq!(said(of_go), [of_go]);
    }

    #[test]
    fn locks_that_are_not_seen_are_named_last() {
        let unseen = Some("Not seen are Go's locks.".to_owned());
        assert!(say(&Findings { unseen, ..findings() }, &[]).ends_with("Not seen are Go's locks."));
    }

    #[test]
    fn worse_polling_is_reported_as_worse() {
        let site = crate::search::SitePick {
            name: "f+0x2d".into(),
            place: None,
            kind: unspin_wire::RecordKind::Poll,
            waits: 1000,
            short: 900,
            median_s: 50e-6,
            saving_s: 1.0,
            located: None,
        };
        let polling = Polling { waits: 1000, saving_s: 1.0, wake_up_s: Some(48e-6), sites: vec![site] };
        let said = |is_polling_worse| {
            why(&findings(), &[], &polling, Judged { best: Some(0.5), is_polling_worse }).join(" ")
        };
        assert!(said(true).contains("was tried, and is proven worse."), "{}", said(true));
        assert!(said(false).contains("was tried, and is not proven better."), "{}", said(false));
    }

    #[test]
    fn untried_waits_are_explained() {
        let long = Polling { waits: 120, saving_s: 0.001, wake_up_s: Some(48e-6), sites: Vec::new() };
        let text = why(&findings(), &[], &long, Judged::default()).join(" ");
        assert!(
            text.contains(
                "could save 1.0ms at most, because a wake-up costs 48us here and its 120 waits are few"
            ),
            "{text}"
        );
        let unknown =
            why(&findings(), &[], &Polling { wake_up_s: None, ..long }, Judged::default()).join(" ");
        assert!(unknown.contains("the cost of a wake-up was not measured"), "{unknown}");
        let text = say(&Findings { other_waits_s: 6.0, ..findings() }, &[]);
        assert!(text.contains("Threads waited 6.00s for descriptors"), "{text}");
    }
}
