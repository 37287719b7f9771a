//! What a candidate costs in CPU time.

use crate::fleet::{Fleet, JudgedCandidate};
use unspin_stats::{CpuCost, Quantity, Role};

/// ", with 1.21 to 1.35 times the CPU time": the smallest and the largest cost of the hosts that ranked it. Empty if it is not known on
/// all of them, if it differs from the control's on none, or if CPU time is the metric.
pub fn price(fleet: &Fleet, candidate: &JudgedCandidate) -> String {
    let is_metric = fleet.hosts[0].proof.analysis.metric.quantity == Quantity::CpuTime;
    let costs: Option<Vec<CpuCost>> =
        candidate.comparison.hosts.iter().map(|host| cost(fleet, candidate, host.host)).collect();
    let Some(costs) = costs.filter(|costs| !is_metric && costs.iter().any(|cost| cost.price().is_some()))
    else {
        return String::new();
    };
    let by_value = |a: &&CpuCost, b: &&CpuCost| a.times.value.total_cmp(&b.times.value);
    let ends = [costs.iter().min_by(by_value), costs.iter().max_by(by_value)];
    let [least, most] = ends.map(|cost| cost.map_or(String::new(), |cost| cost.times.shown().0));
    let times = if least == most { least } else { format!("{least} to {most}") };
    format!(", with {times} times the CPU time{}", costs[0].per.of_work())
}

fn cost(fleet: &Fleet, candidate: &JudgedCandidate, host: usize) -> Option<CpuCost> {
    let comparisons = &fleet.hosts[host].proof.analysis.comparisons;
    let found =
        comparisons.iter().find(|c| c.role == Role::Candidate && c.name == candidate.comparison.name)?;
    found.cpu
}
