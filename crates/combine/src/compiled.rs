//! The compiled plans of a candidate on the hosts: are they one plan?
//!
//! A plan names locks and call sites; a compiled plan has their addresses in the builds of one host. The cost of a wake-up in it is
//! that of the host, and says nothing about the plan.

use crate::format::clean;
use crate::host::HostResult;
use std::collections::BTreeSet;
use unspin_report::figures::list;
use unspin_results::StoredProof;
use unspin_wire::plan::{self, AnyKind, Line};

type PlanLine<'text> = Line<'text, AnyKind<String, String, String>>;

/// The lines that are the same on every host that has the same builds; none if it is no plan of this version.
fn lines(plan: &str) -> Option<Vec<PlanLine<'_>>> {
    let mut lines = Vec::new();
    let parsed = plan::parse(plan.as_bytes(), |line: PlanLine| {
        if !matches!(line, Line::WakeUp(_)) {
            lines.push(line);
        }
        true
    });
    parsed.is_ok().then_some(lines)
}

/// What a plan does, without the places: each kind and policy, for all or for some.
fn actions(plan: &str) -> Option<BTreeSet<String>> {
    let action = |line: &PlanLine| match line {
        Line::All(kind) => Some(format!("{kind} for all {}", kind.family().nouns())),
        Line::Locks(kind, ..) => Some(format!("{kind} for some {}", kind.family().nouns())),
        Line::Waits(policy) => Some(format!("{policy} for all waits")),
        Line::Site(policy, _) => Some(format!("{policy} for some waits")),
        Line::ForcePolls => Some("forced polls".into()),
        Line::ForceReady => Some("forced answers".into()),
        Line::WakeUp(_) | Line::Library(_) | Line::Program(_) | Line::Module(_) | Line::Entry(_) => None,
    };
    Some(lines(plan)?.iter().filter_map(action).collect())
}

/// What two plans of one name do, if that differs: "poll for all waits" and "adaptive for all mutexes".
pub fn different_actions(one: &str, other: &str) -> Option<(String, String)> {
    let (one, other) = (actions(one)?, actions(other)?);
    let words = |actions: BTreeSet<String>| match actions.is_empty() {
        true => "nothing".into(),
        false => list(&actions.into_iter().collect::<Vec<_>>(), "and"),
    };
    (one != other).then(|| (words(one), words(other)))
}

/// A sentence for each candidate whose plan has other places on some hosts.
pub fn different_places(hosts: &[HostResult]) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for configuration in hosts.iter().flat_map(|host| &host.proof.candidates) {
        if !names.contains(&&*configuration.name) {
            names.push(&configuration.name);
        }
    }
    names.into_iter().filter_map(|name| places(name, hosts)).collect()
}

fn places(name: &str, hosts: &[HostResult]) -> Option<String> {
    let mut groups: Vec<(Vec<PlanLine>, Vec<&str>)> = Vec::new();
    for host in hosts {
        let Some(lines) = compiled(&host.proof, name).and_then(lines) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == lines) {
            Some((_, which)) => which.push(&host.name),
            None => groups.push((lines, vec![&host.name])),
        }
    }
    if groups.len() < 2 {
        return None;
    }
    let each: Vec<String> = groups.iter().map(|(_, which)| list(which, "and")).collect();
    Some(format!(
        "{} replaces other places on some hosts ({}): the builds of the program or of a library differ there, or the plans do. Make \
         sure that it is one plan for one program.",
        clean(name),
        each.join("; ")
    ))
}

fn compiled<'proof>(proof: &'proof StoredProof, name: &str) -> Option<&'proof str> {
    proof.candidates.iter().find(|configuration| configuration.name == name)?.plan.as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::HostModel;

    fn hosts(plans: &[&str]) -> Vec<HostResult> {
        let host = |(number, plan): (usize, &&str)| {
            let model = HostModel::new(&format!("n{}", number + 1), &[("p.toml", 1.5)]);
            HostModel { compiled: Some((*plan).into()), ..model }.result("x.json")
        };
        plans.iter().enumerate().map(host).collect()
    }

    const POLL: &str = "unspin plan 2\nwakeup\t25000\nwaits\tpoll\n";

    #[test]
    fn cost_of_a_wake_up_is_the_hosts_own() {
        let other = POLL.replace("25000", "51000");
        assert_eq!(different_places(&hosts(&[POLL, &other])), [""; 0]);
        assert_eq!(different_actions(POLL, &other), None);
    }

    #[test]
    fn hosts_with_other_places_are_named() {
        let plan = "unspin plan 2\nadaptive\tvariable\t4040-4068@/x\n";
        let other = plan.replace("4040-4068", "5040-5068");
        let said = different_places(&hosts(&[plan, plan, &other]));
        assert_eq!(said.len(), 1);
        assert!(
            said[0].starts_with("p.toml replaces other places on some hosts (n1 and n2; n3): the builds "),
            "{said:?}"
        );
        assert_eq!(different_actions(plan, &other), None, "the same kind, in another build");
    }

    #[test]
    fn other_kinds_and_other_scopes_are_other_actions() {
        let all = "unspin plan 2\nadaptive\tall\nwaits\tpoll\n";
        let said = different_actions(all, POLL).unwrap();
        assert_eq!(
            said,
            ("adaptive for all mutexes and poll for all waits".into(), "poll for all waits".into())
        );
        let one = "unspin plan 2\nadaptive\tvariable\t4040-4068@/x\nwaits\tpoll\n";
        assert!(different_actions(all, one).unwrap().1.starts_with("adaptive for some mutexes"));
        assert_eq!(different_actions(all, "unspin plan 3\n"), None, "nothing is known about another version");
    }
}
