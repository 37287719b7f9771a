//! Sentences about why there is nothing to gain.

use super::super::format::share_of;
use super::findings::Findings;
use super::picks::{Pick, WORTH};
use super::sites::Polling;
use unspin_meter::figures::time;

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
        return vec![silence.clone()];
    }
    match judged.best {
        Some(factor) if factor > NEARLY => vec![format!(
            "In these runs the best was {factor:.2} times as good, which may be noise: give it more time (--time-budget), \
             on a machine with nothing else to do."
        )],
        _ if picks.is_empty() => {
            [vec![no_contention(findings)], waits(polling, judged), elsewhere(findings)].concat()
        }
        _ => [contention(findings), waits(polling, judged), elsewhere(findings)].concat(),
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
            vec!["Whether polling before sleeping could help is unknown: what a wake-up costs was not measured.".into()]
        }
        (waits, Some(cost)) => vec![format!(
            "Polling before sleeping could save {} at most, a wake-up costing {} here: its {waits} waits are few, or long.",
            time(polling.saving_s),
            time(cost)
        )],
    }
}

/// No mutex costs time: what costs time instead.
fn no_contention(findings: &Findings) -> String {
    match findings.attempts {
        0 => "It locks no mutex.".into(),
        attempts => format!(
            "Its mutexes cost it nothing: they were asked for {attempts} times, and threads waited {} for them in all. Below \
             {} in {} on {} a better lock is not worth looking for.",
            time(findings.mutexes_s),
            time(WORTH * findings.capacity()),
            time(findings.seconds),
            findings.all_cpus()
        ),
    }
}

/// Mutexes cost time, and no kind helps.
fn contention(findings: &Findings) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(worst) = &findings.worst {
        let hold = time(worst.hold_mean_s);
        sentences.push(match (worst.utilisation >= SATURATED, worst.hold_mean_s >= LONG_HOLD_S) {
            (true, true) => format!(
                "{} was held {} of the time, {hold} at a time: its holders work one after another, and that does not end \
                 sooner whoever is next. Hold it shorter, or split it.",
                worst.name,
                share_of(worst.utilisation)
            ),
            (true, false) => format!(
                "{} was held {} of the time, if only {hold} at a time: its holders work one after another under any kind. \
                 Take it less often, or split it.",
                worst.name,
                share_of(worst.utilisation)
            ),
            (false, true) => format!(
                "{} was held {hold} at a time: beside that it does not matter how it is handed over. Hold it shorter.",
                worst.name
            ),
            (false, false) => format!(
                "Threads waited {} for {}, and no kind that was tried is better for it. (Mutexes that are shared between \
                 processes, or robust, stay libc's under any.)",
                time(worst.lost_s),
                worst.name
            ),
        });
    }
    sentences
}

/// What else costs time.
fn elsewhere(findings: &Findings) -> Vec<String> {
    let share = |seconds| findings.share(seconds);
    let notable = |seconds| share(seconds) >= NOTABLE;
    let mut sentences = Vec::new();
    let other_locks = [(findings.rwlocks_s, "read-write locks"), (findings.spin_locks_s, "spin locks")];
    for (seconds, locks) in other_locks.into_iter().filter(|&(seconds, _)| share(seconds) >= WORTH) {
        sentences.push(format!(
            "Threads waited {} for {locks}, {} at any moment on average; these stay libc's.",
            time(seconds),
            findings.waiting(seconds)
        ));
    }
    if findings.computed >= 1.0 - NOTABLE {
        sentences.push(format!(
            "It kept {} busy: a profiler tells more than a lock meter.",
            findings.in_cpus(findings.computed)
        ));
        return sentences;
    }
    sentences
        .push(format!("On average {} were idle, or another's.", findings.in_cpus(1.0 - findings.computed)));
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
            "For {} threads were off the CPUs without waiting for any lock of libc's: input and output, sleep, waiting for \
             another's end, or a lock that is not libc's.",
            time(seconds)
        )),
        Some(_) => (),
        None => sentences.push("What else its threads waited for cannot be told.".into()),
    }
    sentences
}

#[cfg(test)]
mod tests {
    use super::super::findings::Worst;
    use super::*;

    /// Ten seconds on two CPUs, half of them computing.
    fn findings() -> Findings {
        Findings {
            seconds: 10.0,
            cpus: 2,
            computed: 0.5,
            mutexes_s: 0.01,
            rwlocks_s: 0.0,
            spin_locks_s: 0.0,
            by_design_s: 0.0,
            by_design_mean_s: 0.0,
            other_waits_s: 0.0,
            unexplained_s: Some(0.0),
            attempts: 1000,
            worst: None,
            silence: None,
        }
    }

    fn pick() -> Pick {
        let name = "cache_lock".to_owned();
        Pick { name, origin: None, lost_s: 5.0, lost: 0.25, ceiling: 1.5, starved: false, located: None }
    }

    fn said(findings: &Findings, picks: &[Pick]) -> String {
        why(findings, picks, &Polling::default(), Judged { best: Some(0.9), ..Judged::default() }).join(" ")
    }

    #[test]
    fn a_program_without_contention() {
        let text = said(&Findings { computed: 0.98, ..findings() }, &[]);
        assert!(
            text.contains(
                "asked for 1000 times, and threads waited 10ms for them in all. Below 200ms in 10.0s on 2 CPUs"
            ),
            "{text}"
        );
        assert!(text.contains("It kept 1.96 of the 2 CPUs busy"), "{text}");
        assert!(!text.contains("idle"), "{text}");
        assert!(said(&Findings { attempts: 0, ..findings() }, &[]).starts_with("It locks no mutex."));
    }

    #[test]
    fn time_that_goes_elsewhere() {
        let text = said(&Findings { unexplained_s: Some(9.0), computed: 0.05, ..findings() }, &[]);
        assert!(text.contains("On average 1.90 of the 2 CPUs were idle, or another's"), "{text}");
        assert!(text.contains("For 9.00s threads were off the CPUs without waiting for any lock"), "{text}");
        let text = said(&Findings { by_design_s: 8.0, ..findings() }, &[]);
        assert!(text.contains("waited 8.00s for conditions"), "{text}");
        let text = said(&Findings { rwlocks_s: 4.0, ..findings() }, &[]);
        assert!(text.contains("4.00s for read-write locks, 0.40 threads at any moment"), "{text}");
    }

    #[test]
    fn a_lock_that_is_held_long() {
        let worst = |utilisation, hold_mean_s| Findings {
            worst: Some(Worst { name: "cache_lock".into(), lost_s: 5.0, utilisation, hold_mean_s }),
            ..findings()
        };
        let text = said(&worst(0.97, 0.0012), &[pick()]);
        assert!(text.contains("cache_lock was held 97 % of the time, 1.2ms at a time"), "{text}");
        assert!(said(&worst(0.97, 1e-6), &[pick()]).contains("Take it less often"));
        assert!(said(&worst(0.3, 0.01), &[pick()]).contains("beside that it does not matter"));
        assert!(said(&worst(0.3, 1e-6), &[pick()]).contains("no kind that was tried is better for it"));
    }

    #[test]
    fn what_only_seemed_better_takes_more_runs() {
        let judged = Judged { best: Some(1.2), ..Judged::default() };
        let text = why(&findings(), &[pick()], &Polling::default(), judged).join(" ");
        assert!(text.contains("1.20 times as good, which may be noise: give it more time"), "{text}");
    }

    #[test]
    fn what_cannot_be_seen_is_said_alone() {
        let silence = "No lock was recorded.".to_owned();
        assert_eq!(
            why(
                &Findings { silence: Some(silence.clone()), ..findings() },
                &[],
                &Polling::default(),
                Judged::default()
            ),
            [silence]
        );
    }

    #[test]
    fn polling_that_is_proven_worse_is_called_worse() {
        let site = super::super::SitePick {
            name: "f+0x2d".into(),
            place: None,
            kind: unspin_meter::Kind::Poll,
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
    fn waits_that_were_not_tried_are_explained() {
        let long = Polling { waits: 120, saving_s: 0.001, wake_up_s: Some(48e-6), sites: Vec::new() };
        let text = why(&findings(), &[], &long, Judged::default()).join(" ");
        assert!(
            text.contains("could save 1.0ms at most, a wake-up costing 48us here: its 120 waits are few"),
            "{text}"
        );
        let unknown =
            why(&findings(), &[], &Polling { wake_up_s: None, ..long }, Judged::default()).join(" ");
        assert!(unknown.contains("what a wake-up costs was not measured"), "{unknown}");
        let text = said(&Findings { other_waits_s: 6.0, ..findings() }, &[]);
        assert!(text.contains("Threads waited 6.00s for descriptors"), "{text}");
    }
}
