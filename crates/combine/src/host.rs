//! One result: a session of `unspin prove` on one host.

use crate::format::{clean, list_first};
use std::collections::BTreeSet;
use unspin_results::StoredProof;
use unspin_stats::fleet::HOST_ROUNDS_AT_LEAST;
use unspin_stats::{Comparison, Role, Verdict};

/// A stored result.
#[derive(Clone, Debug)]
pub struct HostResult {
    /// Its file, for messages.
    pub file: String,
    /// The host's name; a second result of the same host has a number behind it.
    pub(crate) name: String,
    /// The result.
    pub proof: StoredProof,
}

/// The number of hosts of which these are results: several of one host are its sessions.
pub fn distinct<'a>(results: impl IntoIterator<Item = &'a HostResult>) -> u32 {
    let hosts: BTreeSet<_> = results.into_iter().map(|result| result.proof.machine.identity()).collect();
    hosts.len() as u32
}

/// The hosts of each value, in the order of the first host that has it. Hosts without a value are left out.
pub fn grouped<'a, V: PartialEq>(
    hosts: &'a [HostResult],
    value: impl Fn(&'a HostResult) -> Option<V>,
) -> Vec<(V, Vec<&'a HostResult>)> {
    let mut groups: Vec<(V, Vec<&HostResult>)> = Vec::new();
    for host in hosts {
        let Some(value) = value(host) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, which)) => which.push(host),
            None => groups.push((value, vec![host])),
        }
    }
    groups
}

/// The names of hosts: `n1, n2 and n3`.
pub fn names(hosts: &[&HostResult]) -> String {
    list_first(hosts.iter().map(|host| host.name.clone()).collect())
}

/// Puts a number behind the names of hosts that have several results.
pub fn number(results: &mut [HostResult]) {
    for index in 0..results.len() {
        let host = clean(&results[index].proof.machine.host);
        let is_free = |name: &str| {
            let earlier = results[..index].iter().any(|other| other.name == name);
            let later = || results[index + 1..].iter().any(|other| clean(&other.proof.machine.host) == name);
            !earlier && (name == host || !later())
        };
        let numbered = (2..).map(|number| format!("{host} ({number})"));
        let name = std::iter::once(host.clone()).chain(numbered).find(|name| is_free(name));
        results[index].name = name.unwrap_or(host);
    }
}

impl HostResult {
    /// The result that this file has.
    pub fn new(file: String, proof: StoredProof) -> HostResult {
        HostResult { file, name: clean(&proof.machine.host), proof }
    }

    /// Why nothing was measured here that can be compared; none if something was.
    pub(crate) fn failure(&self) -> Option<String> {
        let comparisons = &self.proof.analysis.comparisons;
        let of_control = |comparison: &Comparison| match &comparison.verdict {
            Verdict::Failed { name, failed, runs, reason } if *name != comparison.name => {
                Some(clean(&format!("{name} failed in {failed} of {runs} runs (first: {reason})")))
            }
            _ => None,
        };
        if let Some(reason) = comparisons.iter().find_map(of_control) {
            return Some(reason);
        }
        let rounds = self.proof.rounds;
        let is_whole = self.proof.aborted.is_none() && !self.proof.interrupted;
        if rounds == 0 && is_whole && !comparisons.iter().any(|c| c.role == Role::Candidate) {
            return Some("no candidate was judged".into());
        }
        let few = rounds < HOST_ROUNDS_AT_LEAST && !comparisons.iter().any(is_cut_off);
        let ended = match &self.proof.aborted {
            Some(reason) => format!(", ended early: {}", clean(reason)),
            None if self.proof.interrupted => ", interrupted".into(),
            None => String::new(),
        };
        few.then(|| format!("{rounds} rounds{ended}; at least {HOST_ROUNDS_AT_LEAST} are needed"))
    }

    /// What ended the session early, although it is used; none if it ran to its end.
    pub(crate) fn ended_early(&self) -> Option<String> {
        let rounds = self.proof.rounds;
        match &self.proof.aborted {
            Some(reason) => Some(format!("ended early after {rounds} rounds: {}", clean(reason))),
            None => self.proof.interrupted.then(|| format!("interrupted after {rounds} rounds")),
        }
    }
}

/// Whether the candidate's runs were ended, or failed, so that a small number of rounds is a result.
pub fn is_cut_off(comparison: &Comparison) -> bool {
    match comparison.verdict {
        Verdict::Collapsed(_)
        | Verdict::Hangs(_)
        | Verdict::Withheld(_)
        | Verdict::GivenUp { .. }
        | Verdict::Failed { .. } => true,
        Verdict::ProvenFaster { .. } | Verdict::ProvenSlower { .. } | Verdict::NothingProven { .. } => false,
    }
}
