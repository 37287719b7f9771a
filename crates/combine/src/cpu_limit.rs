//! The limit of CPU time of a fleet.

use crate::host::{HostResult, grouped, names};
use unspin_stats::Comparison;

/// The strictest limit that a host had; none if no host had one.
pub fn strictest(hosts: &[HostResult]) -> Option<f64> {
    hosts.iter().filter_map(limit).min_by(f64::total_cmp)
}

/// Whether the host's runs fail to show that the candidate stays within a limit, which need not be the host's own.
pub fn is_over(comparison: &Comparison, limit: Option<f64>) -> bool {
    limit.is_some_and(|limit| !comparison.cpu.is_some_and(|cpu| cpu.is_within(limit)))
}

/// The limits and their hosts, if not all hosts had the same.
pub fn difference(hosts: &[HostResult]) -> Option<String> {
    let groups = grouped(hosts, |host| Some(limit(host)));
    if groups.len() < 2 {
        return None;
    }
    let each: Vec<String> =
        groups.iter().map(|(limit, which)| format!("{} on {}", percent(*limit), names(which))).collect();
    Some(format!(
        "The hosts had different limits of CPU time ({}): the strictest counts on all, {}.",
        each.join("; "),
        percent(strictest(hosts))
    ))
}

fn limit(host: &HostResult) -> Option<f64> {
    host.proof.analysis.settings.cpu_limit
}

fn percent(limit: Option<f64>) -> String {
    // Two digits after the point, without zeros at the end: a limit is a round number.
    limit.map_or("none".into(), |share| format!("{} %", (share * 10_000.0).round() / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::Fleet;
    use crate::testing::{HostModel, results};
    use unspin_stats::Conclusion;

    fn fleet(hosts: &[HostModel]) -> Fleet {
        Fleet::of(results(hosts), hosts.len() as u32)
    }

    /// Three hosts with these limits. The candidate takes 1.3 times the CPU time of the control.
    fn hosts(limits: [Option<f64>; 3]) -> Vec<HostModel> {
        let host = |(number, cpu_limit): (usize, Option<f64>)| HostModel {
            cpu_limit,
            ..HostModel::new(&format!("n{}", number + 1), &[("poll", 1.5)])
        };
        limits.into_iter().enumerate().map(host).collect()
    }

    #[test]
    fn strictest_limit_counts_on_all_hosts() {
        let within = fleet(&hosts([Some(0.5), None, Some(0.4)]));
        assert_eq!(within.conclusion(), Conclusion::Faster);
        assert_eq!(
            difference(&within.hosts).unwrap(),
            "The hosts had different limits of CPU time (50 % on n1; none on n2; 40 % on n3): the strictest counts on all, 40 %."
        );
        let over = fleet(&hosts([Some(0.5), None, Some(0.2)]));
        assert_eq!(over.conclusion(), Conclusion::OverCpuLimit);
        assert_eq!(over.candidates[0].over_cpu_limit, [0, 1, 2]);
        assert_eq!(over.analysis.settings.cpu_limit, Some(0.2));
    }

    #[test]
    fn equal_limits_are_not_mentioned() {
        assert_eq!(difference(&fleet(&hosts([Some(0.5); 3])).hosts), None);
        assert_eq!(difference(&fleet(&hosts([None; 3])).hosts), None);
    }
}
