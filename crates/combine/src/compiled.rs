//! The compiled plans of a candidate on the hosts: are they one plan?

use crate::format::clean;
use crate::host::{HostResult, grouped, names};
use std::collections::BTreeSet;
use unspin_report::figures::list;
use unspin_results::{CompiledPlan, StoredProof};

/// What two plans of one name do, if that differs: "poll for all waits" and "adaptive for all mutexes".
pub fn different_actions(one: &str, other: &str) -> Option<(String, String)> {
    let (one, other) = (CompiledPlan::of(one).actions(), CompiledPlan::of(other).actions());
    let words = |actions: BTreeSet<String>| match actions.is_empty() {
        true => "nothing".into(),
        false => list(&actions.into_iter().collect::<Vec<_>>(), "and"),
    };
    (one != other).then(|| (words(one), words(other)))
}

/// A sentence for each candidate whose plan has other places on some hosts.
pub fn different_places(hosts: &[HostResult]) -> Vec<String> {
    let mut candidates: Vec<&str> = Vec::new();
    for configuration in hosts.iter().flat_map(|host| &host.proof.candidates) {
        if !candidates.contains(&&*configuration.name) {
            candidates.push(&configuration.name);
        }
    }
    candidates.into_iter().filter_map(|candidate| places(candidate, hosts)).collect()
}

fn places(candidate: &str, hosts: &[HostResult]) -> Option<String> {
    let groups = grouped(hosts, |host| compiled(&host.proof, candidate).map(CompiledPlan::of));
    if groups.len() < 2 {
        return None;
    }
    let each: Vec<String> = groups.iter().map(|(_, which)| names(which)).collect();
    Some(format!(
        "{} replaces other places on some hosts ({}): the builds of the program or of a library differ there, or the plans do. Make \
         sure that it is one plan for one program.",
        clean(candidate),
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
    fn actions_that_differ_are_put_in_words() {
        let said = different_actions("unspin plan 2\nadaptive\tall\nwaits\tpoll\n", POLL).unwrap();
        assert_eq!(
            said,
            ("adaptive for all mutexes and poll for all waits".into(), "poll for all waits".into())
        );
        let said = different_actions(POLL, "unspin plan 2\n").unwrap();
        assert_eq!(said.1, "nothing");
        let newer = different_actions(POLL, "unspin plan 3\nwaits\tpoll\n").unwrap();
        assert_eq!(
            newer.1, "unspin plan 3 and waits poll",
            "a plan of another version is named as it stands"
        );
    }
}
