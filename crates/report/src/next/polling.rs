//! Sentences about waits: which of them polling could shorten, which waits slept although they polled, and what to do
//! next.

use super::command;
use super::statement::{PROVE_IT, Statement};
use crate::figures::time;
use crate::report::MeterReport;
use crate::shell;
use crate::wait::{Wait, WaitRow};
use std::fmt::Write;
use unspin_wire::{Level, RecordKind, WakeUpCost};

/// The minimum saving by polling, as a share of the metered time, that is worth a sentence. A smaller one is lost in
/// the noise of a proof.
pub(crate) const WORTH_POLLING: f64 = 0.02;
/// The minimum saving in seconds. A shorter program has nothing to gain.
const WORTH_IT_S: f64 = 1e-3;

/// Maximum number of waits with a sentence.
const SENTENCES_MAX: usize = 2;

/// A sentence for each of the waits that polling could shorten most, and what to do next. None if the saving is
/// too small: long waits are those of idle threads. If every wait polls already: how many slept nevertheless. Waits
/// for the conditions in `explained` have another cause.
pub(crate) fn statement(report: &MeterReport, explained: &[&str]) -> Option<Statement> {
    if report.invocation.polls_everywhere() {
        return still_slept(report);
    }
    let cost = report.wake_up.filter(|_| report.level != Level::Counts)?;
    let polls = |wait: &Wait| wait.callers.iter().all(|caller| report.invocation.polls_at(&caller.row.name));
    let mut worth = worth_polling(report);
    worth.retain(|wait| !polls(wait) && !explained.contains(&wait.row.name.as_str()));
    worth.truncate(SENTENCES_MAX);
    if worth.is_empty() {
        return None;
    }
    let sentence = |wait: &&Wait| {
        let row = &wait.row;
        format!(
            "{} {}{} ({}), median {}; a wake-up {}: {}.",
            grouped(row.waits),
            subject(wait),
            from(wait),
            share(row.share),
            time(row.median),
            price(cost, wait.kind),
            prospect(cost, wait),
        )
    };
    let sentences = worth.iter().map(sentence).collect();
    let first = worth.into_iter().find(|wait| !finds_cpus_awake(cost, wait));
    Some(Statement { sentences, commands: first.map_or(Vec::new(), |wait| commands(report, wait)) })
}

/// The commands that poll, and the one that polls in this wait only.
fn commands(report: &MeterReport, wait: &Wait) -> Vec<(&'static str, String)> {
    let command = command::of(report);
    let mut commands = vec![
        ("Try:", format!("unspin run --waits poll {command}")),
        (PROVE_IT, format!("unspin prove --waits poll {command}")),
    ];
    if let Some(site) = site_to_name(report, wait) {
        let choice = shell::quoted(&format!("poll@{site}"));
        commands.push(("One site:", format!("unspin prove --waits {choice} {command}")));
    }
    commands
}

/// The waits that polling could shorten enough for a sentence, largest saving first.
fn worth_polling(report: &MeterReport) -> Vec<&Wait> {
    let worth = (WORTH_POLLING * report.seconds).max(WORTH_IT_S);
    let mut waits: Vec<&Wait> = report.waits.iter().filter(|wait| wait.row.saving >= worth).collect();
    waits.sort_by(|a, b| b.row.saving.total_cmp(&a.row.saving));
    waits
}

/// The call site with the largest part of a wait, if `--waits` can find it. It searches the program that is started,
/// and no other program that this one starts.
fn site_to_name<'r>(report: &'r MeterReport, wait: &'r Wait) -> Option<&'r str> {
    let [process] = &report.processes[..] else { return None };
    let given = &report.invocation.command;
    let site = wait.callers.first()?.row.name.as_str();
    let is_call = site.rsplit_once("+0x").is_some_and(|(within, _)| !within.is_empty());
    (is_call && (given.is_empty() || *given == process.command)).then_some(site)
}

/// How many waits slept although they polled first: of all waits, and of those where that may still cost time.
fn still_slept(report: &MeterReport) -> Option<Statement> {
    let sum = |count: fn(&WaitRow) -> u64| {
        report.waits.iter().fold(0u64, |sum, wait| sum.saturating_add(count(&wait.row)))
    };
    let (waits, slept) = (sum(|row| row.waits), sum(WaitRow::slept));
    if waits == 0 {
        return None;
    }
    let share = 100.0 * slept as f64 / waits as f64;
    let mut sentence = format!(
        "Polling was on for every wait; {} of {} waits still slept ({share:.0} %).",
        grouped(slept),
        grouped(waits)
    );
    if report.wake_up.is_some() && report.level != Level::Counts {
        let long = waits.saturating_sub(sum(|row| row.short));
        let _ = write!(sentence, " {} took longer than three wake-ups: too long to poll.", grouped(long));
    }
    let mut sentences = vec![sentence];
    for wait in worth_polling(report).iter().take(SENTENCES_MAX) {
        let (row, subject) = (&wait.row, subject(wait));
        let (slept, waits) = (grouped(row.slept()), grouped(row.waits));
        sentences.push(format!(
            "{slept} of the {waits} {subject}{} slept, median {}.",
            from(wait),
            time(row.median)
        ));
    }
    Some(Statement { sentences, commands: Vec::new() })
}

/// ` at PyThread_acquire_lock_timed+0x173`: the call site of a wait whose name differs from it.
fn from(wait: &Wait) -> String {
    match &wait.callers[..] {
        _ if !wait.kind.has_object() => String::new(),
        [only] if only.row.name != wait.row.name => format!(" at {}", only.row.name),
        [first, _, ..] => format!(", most at {}", first.row.name),
        _ => String::new(),
    }
}

/// `costs 45us here`
fn price(cost: WakeUpCost, kind: RecordKind) -> String {
    let seconds = time(cost.seconds(kind));
    match cost.is_assumed(kind) {
        true => {
            format!("is assumed to cost {seconds}, as the CPUs were too busy to measure it")
        }
        false => format!("costs {seconds} here"),
    }
}

impl MeterReport {
    /// Whether most waits in this row ended before a wake-up from an idle CPU would have: then the CPUs were awake, and polling
    /// saves little of what [`WaitRow::saving`] bounds. Not if the cost of a wake-up is not known.
    pub fn found_cpus_awake(&self, wait: &Wait) -> bool {
        wait.row.waits > 0 && self.wake_up.is_some_and(|cost| finds_cpus_awake(cost, wait))
    }
}

/// Whether most sleeps were shorter than a wake-up from an idle CPU: then their CPUs were not idle.
fn finds_cpus_awake(cost: WakeUpCost, wait: &Wait) -> bool {
    wait.row.median < cost.seconds(wait.kind)
}

/// What polling could save.
fn prospect(cost: WakeUpCost, wait: &Wait) -> String {
    if finds_cpus_awake(cost, wait) {
        return String::from(
            "most of these waits found the CPUs awake, so polling first saves little; measure on a machine that does \
             nothing else",
        );
    }
    format!("polling first could save up to {}", time(wait.row.saving))
}

/// `waits in epoll_wait at uv__io_poll`
fn subject(wait: &Wait) -> String {
    let name = &wait.row.name;
    let the = |noun: &str| if name.contains(noun) { name.clone() } else { format!("the {noun} {name}") };
    let call = match wait.kind {
        RecordKind::Condition | RecordKind::Semaphore => {
            return format!("waits for {}", the(wait.kind.noun()));
        }
        RecordKind::Barrier => return format!("waits at {}", the("barrier")),
        RecordKind::Join => "pthread_join",
        RecordKind::Epoll => "epoll_wait",
        RecordKind::Receive => "read or recv",
        RecordKind::EngineWait => "System V calls",
        kind => kind.noun(),
    };
    format!("waits in {call} at {name}")
}

/// `95 % of the run`. If several threads wait at a time the value is not a share, and the mean number of threads is
/// given.
fn share(of_the_run: f64) -> String {
    if of_the_run > 1.05 {
        format!("{of_the_run:.1} threads at any time")
    } else {
        format!("{:.0} % of the run", (100.0 * of_the_run).min(100.0))
    }
}

/// A number with a comma before each three digits.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_three_digits() {
        let grouped = [0, 999, 1_000, 20_000, 1_234_567].map(grouped);
        assert_eq!(grouped, ["0", "999", "1,000", "20,000", "1,234,567"]);
    }

    #[test]
    fn shares_above_one_are_threads() {
        assert_eq!(
            [0.954, 1.0, 1.04, 3.84].map(share),
            ["95 % of the run", "100 % of the run", "100 % of the run", "3.8 threads at any time"]
        );
    }
}
