//! All that is stored and shown.

use crate::fleet::{Fleet, JudgedCandidate};
use crate::host::HostResult;
use crate::{next, sentence};
use unspin_results::{
    COMBINE_SCHEMA, CombinedCandidate, CombinedHost, CombinedPlan, CombinedResults, CombinedSummary,
    Grouping, NotRanked, StoredBuild,
};

/// The document of a fleet.
pub fn of(fleet: &Fleet, build: StoredBuild) -> CombinedResults {
    let first = &fleet.hosts[0].proof;
    let plan = |(plan, which): (&str, Vec<&HostResult>)| CombinedPlan {
        plan: plan.to_owned(),
        hosts: which.iter().map(|host| host.name.clone()).collect(),
    };
    CombinedResults {
        schema: COMBINE_SCHEMA.into(),
        unspin: build,
        command: first.command.clone(),
        metric: first.analysis.metric.clone(),
        control: first.analysis.control.clone(),
        conclusion: fleet.conclusion(),
        summary: CombinedSummary {
            compared: sentence::compared(fleet),
            noise: sentence::noise(fleet),
            hosts: sentence::hosts_to_mention(fleet),
        },
        hosts_expected: fleet.expected,
        hosts: (0..fleet.hosts.len()).map(|index| host(fleet, index)).collect(),
        seed: fleet.analysis.seed,
        settings: fleet.analysis.settings,
        noise_floor: fleet.analysis.noise_floor,
        candidates: fleet.candidates.iter().map(|candidate| entry(fleet, candidate)).collect(),
        plans: next::grouped_plans(fleet).into_iter().map(plan).collect(),
        next: next::steps(fleet),
        repeat: None,
    }
}

fn host(fleet: &Fleet, index: usize) -> CombinedHost {
    let result = &fleet.hosts[index];
    let (proof, machine) = (&result.proof, &result.proof.machine);
    let failure = fleet.failed.iter().find(|(host, _)| *host == index).map(|(_, why)| why.clone());
    CombinedHost {
        name: result.name.clone(),
        file: result.file.clone(),
        host: machine.host.clone(),
        processor: machine.processor.clone(),
        cpus: machine.cpus,
        kernel: machine.kernel.clone(),
        unspin: format!("{} ({})", proof.unspin.version, proof.unspin.commit),
        rounds: proof.rounds,
        elapsed_s: proof.elapsed_s,
        conclusion: proof.conclusion,
        ended_early: failure.is_none().then(|| result.ended_early()).flatten(),
        failure,
    }
}

fn entry(fleet: &Fleet, candidate: &JudgedCandidate) -> CombinedCandidate {
    let alpha = fleet.analysis.settings.alpha;
    let described =
        |found: &Grouping| Grouping { sentence: sentence::grouping(found, alpha), ..found.clone() };
    let not_ranked =
        |(host, sentence): &(usize, String)| NotRanked { host: *host, sentence: sentence.clone() };
    CombinedCandidate {
        sentence: sentence::verdict(fleet, candidate),
        certainty: sentence::certainty(fleet, candidate),
        between_hosts: sentence::heterogeneity(candidate, alpha),
        recommended: candidate.is_recommended(),
        lacking: candidate.lacking.clone(),
        not_ranked: candidate.unsound.iter().map(not_ranked).collect(),
        over_cpu_limit: candidate.over_cpu_limit.clone(),
        groupings: candidate.groupings.iter().map(described).collect(),
        comparison: candidate.comparison.clone(),
    }
}
