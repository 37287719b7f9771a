//! Whether two sides say anything about each other, and by which quantity.

use crate::options::CompareOptions;
use crate::session::Session;
use std::fmt;
use unspin_report::shell_line;
use unspin_results::{Basis, StoredMachine};
use unspin_stats::{Direction, Metric};
use unspin_sys::printable;

/// Why the sides cannot be compared: what differs, and what to do. The text is one line.
#[derive(Clone, Debug, PartialEq)]
pub struct Incomparable(pub(crate) String);

impl fmt::Display for Incomparable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable::line(&self.0))
    }
}

impl std::error::Error for Incomparable {}

/// Decides by which quantity the sides are compared, or why they are not.
pub fn decide(
    before: &[Session],
    after: &[Session],
    options: &CompareOptions,
) -> Result<Basis, Incomparable> {
    let all: Vec<&Session> = before.iter().chain(after).collect();
    let Some((first, others)) = all.split_first() else {
        return Err(Incomparable("no results are given: name two files of `unspin prove --json`".into()));
    };
    refuse_repeated(&all)?;
    refuse_one_against_several(before.len(), after.len())?;
    for other in others {
        refuse_other_metric(first, other)?;
        refuse_other_command(first, other, options)?;
        refuse_other_control(first, other)?;
    }
    let basis = match differing_machine(&all) {
        Some(_) if !options.across_machines => Basis::Gains,
        _ => Basis::Figures,
    };
    refuse_another_mix(before, after, options)?;
    refuse_unknown_names(&all, options)?;
    if let (Basis::Gains, Some(difference)) = (basis, differing_machine(&all)) {
        refuse_without_gains(&all, &difference, options)?;
    }
    if options.fail_if_slower.is_some_and(|limit| limit >= 1.0)
        && first.proof.analysis.metric.direction == Direction::HigherIsBetter
    {
        let name = &first.proof.analysis.metric.name;
        return Err(Incomparable(format!(
            "--fail-if-slower: {name} is a rate, which cannot become lower by 100 % or more: give less"
        )));
    }
    Ok(basis)
}

fn refuse_repeated(all: &[&Session]) -> Result<(), Incomparable> {
    for (n, session) in all.iter().enumerate() {
        if let Some(other) = all[..n].iter().find(|other| other.is_same(session)) {
            return Err(Incomparable(format!(
                "{} and {} hold the same session: name results of two sessions",
                other.file, session.file
            )));
        }
    }
    Ok(())
}

fn refuse_one_against_several(before: usize, after: usize) -> Result<(), Incomparable> {
    if before.min(after) == 1 && before.max(after) > 1 {
        return Err(Incomparable(format!(
            "{} before and {} after: one session does not show how much sessions differ: name one on each side, or at least two \
             on each",
            sessions(before),
            sessions(after)
        )));
    }
    Ok(())
}

/// Where both sides have sessions of the same machines, in other proportions, the mix would decide and not the program: Simpson's
/// paradox. Containers of one machine have host names of their own, so with --across-machines the name makes no machine.
fn refuse_another_mix(
    before: &[Session],
    after: &[Session],
    options: &CompareOptions,
) -> Result<(), Incomparable> {
    let machine = |session: &Session| {
        let machine = &session.proof.machine;
        let host = (!options.across_machines).then(|| machine.host.clone());
        (host, machine.processor.clone(), machine.cpus)
    };
    let count = |side: &[Session], of: &Session| {
        side.iter().filter(|session| machine(session) == machine(of)).count()
    };
    let is_other = |session: &&Session| {
        let [earlier, later] = [count(before, session), count(after, session)];
        earlier > 0 && later > 0 && earlier * after.len() != later * before.len()
    };
    let Some(session) = before.iter().find(is_other) else { return Ok(()) };
    let [earlier, later] = [count(before, session), count(after, session)];
    let described = match machine(session) {
        (Some(host), ..) => host,
        (None, processor, cpus) => format!("{cpus} CPUs, {processor}"),
    };
    let kind = |session: &Session| (session.proof.machine.processor.clone(), session.proof.machine.cpus);
    let may_be_one = before.iter().chain(after).all(|other| kind(other) == kind(session));
    let remedy = match may_be_one {
        true => "; if all are containers of one machine, add --across-machines",
        false => "",
    };
    Err(Incomparable(format!(
        "{} of {} before and {} of {} after are of the machine of {} ({described}), so the mix of machines would decide: give the machines \
         the same shares on both sides, or compare each by itself{remedy}",
        sessions(earlier),
        before.len(),
        sessions(later),
        after.len(),
        session.file,
    )))
}

/// "1 session", "3 sessions".
pub fn sessions(number: usize) -> String {
    if number == 1 { "1 session".into() } else { format!("{number} sessions") }
}

fn refuse_other_metric(first: &Session, other: &Session) -> Result<(), Incomparable> {
    let (one, two) = (&first.proof.analysis.metric, &other.proof.analysis.metric);
    if (&one.name, &one.unit, one.direction) == (&two.name, &two.unit, two.direction) {
        return Ok(());
    }
    Err(Incomparable(format!(
        "the metrics differ: {} in {}, {} in {}: measure both with the same --metric",
        describe_metric(one),
        first.file,
        describe_metric(two),
        other.file
    )))
}

fn describe_metric(metric: &Metric) -> String {
    let unit = if metric.unit.is_empty() { String::new() } else { format!(" [{}]", metric.unit) };
    let better = match metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    format!("{}{unit}, {better}", metric.name)
}

fn refuse_other_command(
    first: &Session,
    other: &Session,
    options: &CompareOptions,
) -> Result<(), Incomparable> {
    if options.different_commands || !differs_in_command(first, other) {
        return Ok(());
    }
    Err(Incomparable(format!(
        "the commands differ: {} in {}, {} in {}: measure the same command, or compare nevertheless with --different-commands",
        describe_command(first),
        first.file,
        describe_command(other),
        other.file
    )))
}

/// Whether they measured different commands, be it of the server or of its load.
pub fn differs_in_command(one: &Session, other: &Session) -> bool {
    let load = |session: &Session| session.proof.service.as_ref().map(|service| service.load.clone());
    one.proof.command != other.proof.command || load(one) != load(other)
}

pub fn describe_command(session: &Session) -> String {
    let command = shell_line(&session.proof.command);
    match &session.proof.service {
        Some(service) => format!("`{command}` loaded by `{}`", service.load),
        None => format!("`{command}`"),
    }
}

fn refuse_other_control(first: &Session, other: &Session) -> Result<(), Incomparable> {
    if first.control() == other.control() {
        return Ok(());
    }
    Err(Incomparable(format!(
        "the controls differ: {} in {}, {} in {}: measure both with the same options of `unspin prove`",
        first.control(),
        first.file,
        other.control(),
        other.file
    )))
}

fn refuse_unknown_names(all: &[&Session], options: &CompareOptions) -> Result<(), Incomparable> {
    for name in &options.configurations {
        if let Some(without) = all.iter().find(|session| !session.names().any(|known| known == name)) {
            let known: Vec<&str> = without.names().collect();
            return Err(Incomparable(format!(
                "--configuration {name}: {} has no such configuration: it has {}",
                without.file,
                known.join(", ")
            )));
        }
    }
    Ok(())
}

fn refuse_without_gains(
    all: &[&Session],
    difference: &str,
    options: &CompareOptions,
) -> Result<(), Incomparable> {
    const FORCE: &str =
        "measure both on one machine, or compare the figures nevertheless with --across-machines";
    if options.fail_if_slower.is_some() {
        return Err(Incomparable(format!(
            "--fail-if-slower compares figures, and the machines differ ({difference}): {FORCE}"
        )));
    }
    let is_common = |name: &&str| all.iter().all(|session| session.candidates().any(|known| known == *name));
    let is_chosen =
        |name: &&str| options.configurations.is_empty() || options.configurations.iter().any(|n| n == *name);
    if all[0].candidates().filter(is_chosen).any(|name| is_common(&name)) {
        return Ok(());
    }
    Err(Incomparable(format!(
        "the machines differ ({difference}), so only gains compare, and the results have no candidate in common: judge the same one \
         in both (--mutex, --waits, --use-plan), or compare the figures nevertheless with --across-machines"
    )))
}

/// What differs between the machines, if the figures of all results cannot be those of one machine.
pub fn differing_machine(all: &[&Session]) -> Option<String> {
    let (first, others) = all.split_first()?;
    others.iter().find_map(|other| {
        let (one, two) = (&first.proof.machine, &other.proof.machine);
        let differences: Vec<String> = [
            difference("host", &one.host, &two.host),
            difference("processor", &one.processor, &two.processor),
            difference("CPUs", &one.cpus.to_string(), &two.cpus.to_string()),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!differences.is_empty()).then(|| differences.join(", "))
    })
}

fn difference(what: &str, one: &str, two: &str) -> Option<String> {
    (one != two).then(|| format!("{what} {one} and {two}"))
}

/// The machine in one line.
pub fn describe_machine(machine: &StoredMachine) -> String {
    format!("{} CPUs ({}), Linux {}, host {}", machine.cpus, machine.processor, machine.kernel, machine.host)
}
