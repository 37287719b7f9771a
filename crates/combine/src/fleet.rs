//! What was measured where, and what it proves.

use crate::cpu_limit;
use crate::group::groupings;
use crate::host::{HostResult, distinct, is_cut_off};
use unspin_results::Grouping;
use unspin_stats::fleet::{
    FleetAnalysis, FleetCandidate, FleetComparison, FleetVerdict, HOST_ROUNDS_AT_LEAST, HostRounds,
};
use unspin_stats::{
    Candidate, Comparison, Conclusion, Pairs, Role, RoundingBounds, Run, SampleSet, Settings, Verdict,
};

/// The seed of the permutation tests: the same files give the same report.
const SEED: u64 = 1;

/// All results, and what they prove together.
pub struct Fleet {
    /// The results, in the order of the files. Each is a stratum, also if several are of one host.
    pub hosts: Vec<HostResult>,
    /// Number of hosts that were to measure.
    pub expected: u32,
    /// The results in which nothing was measured that can be compared, with the reason.
    pub failed: Vec<(usize, String)>,
    /// The candidates, in the order in which the files name them.
    pub candidates: Vec<JudgedCandidate>,
    /// The noise floor and the levels.
    pub analysis: FleetAnalysis,
}

/// A candidate in the fleet.
pub struct JudgedCandidate {
    /// The figures and the verdict of the hosts that measured it.
    pub comparison: FleetComparison,
    /// The hosts on which it is not ranked (it failed, collapsed, hung or was given up), with the sentence that says so.
    pub unsound: Vec<(usize, String)>,
    /// Whether it is proven slower, has collapsed or hangs on all of these.
    pub unsound_is_slower: bool,
    /// The hosts that did not measure it, or in too few rounds.
    pub lacking: Vec<usize>,
    /// Number of hosts that measured nothing, or wrote no result.
    pub unmeasured: u32,
    /// The hosts on which it may exceed the limit of CPU time.
    pub over_cpu_limit: Vec<usize>,
    /// By which property of the hosts the effect differs; empty unless it differs.
    pub groupings: Vec<Grouping>,
}

impl Fleet {
    /// Combines results that belong together.
    pub fn of(hosts: Vec<HostResult>, expected: u32) -> Fleet {
        let failed: Vec<(usize, String)> =
            hosts.iter().enumerate().filter_map(|(index, host)| Some((index, host.failure()?))).collect();
        let usable: Vec<usize> =
            (0..hosts.len()).filter(|index| failed.iter().all(|(host, _)| host != index)).collect();
        let settings = Settings { cpu_limit: cpu_limit::strictest(&hosts), ..Settings::default() };
        let names = names(&hosts);
        let measured: Vec<FleetCandidate> =
            names.iter().map(|name| measured(name, &hosts, &usable)).collect();
        let pairs = usable.iter().filter_map(|&host| rounds(host, &hosts, |c| c.role == Role::AaControl));
        let analysis = FleetAnalysis::of(&measured, &pairs.collect::<Vec<_>>(), &settings, SEED);
        let measured_hosts = distinct(usable.iter().map(|&index| &hosts[index]));
        let judged = analysis.comparisons.iter().zip(&measured);
        let candidates = judged
            .map(|(comparison, rounds)| JudgedCandidate::of(comparison, rounds, &hosts, &usable, &settings))
            .map(|candidate| JudgedCandidate { unmeasured: expected - measured_hosts, ..candidate });
        Fleet { candidates: candidates.collect(), failed, expected, analysis, hosts }
    }

    /// The number of hosts that wrote no result.
    pub fn missing(&self) -> u32 {
        self.expected - distinct(&self.hosts)
    }

    /// The results in which something was measured.
    pub fn usable(&self) -> impl Iterator<Item = &HostResult> {
        let is_usable = |index: &usize| self.failed.iter().all(|(failed, _)| failed != index);
        (0..self.hosts.len()).filter(is_usable).map(|index| &self.hosts[index])
    }

    /// Whether a host has several results.
    pub fn has_sessions(&self) -> bool {
        (distinct(&self.hosts) as usize) < self.hosts.len()
    }

    /// The only host, if all results are of one: then they are sessions, and no fleet.
    pub fn single_host(&self) -> Option<&str> {
        (distinct(&self.hosts) == 1).then_some(&*self.hosts[0].proof.machine.host)
    }

    /// The largest factor that the digits of the figures hide, if that is more than the noise makes: neither rounds nor hosts lower it.
    pub fn digits(&self) -> Option<f64> {
        let floor = self.analysis.noise_floor;
        let of_candidates = self.candidates.iter().filter_map(|candidate| candidate.comparison.rounding);
        let digits = of_candidates.chain(floor.and_then(|floor| floor.rounding)).reduce(f64::max);
        digits.filter(|digits| *digits >= floor.map_or(1.0, |floor| floor.of_noise()))
    }

    /// The verdict of all candidates, for the exit code.
    pub fn conclusion(&self) -> Conclusion {
        let any = |test: fn(&JudgedCandidate) -> bool| self.candidates.iter().any(test);
        let is_lost = |candidate: &JudgedCandidate| {
            candidate.comparison.hosts.is_empty() && !candidate.unsound.is_empty()
        };
        if any(JudgedCandidate::is_recommended) {
            Conclusion::Faster
        } else if any(|candidate| candidate.is_faster() && candidate.is_sound()) {
            Conclusion::OverCpuLimit
        } else if any(JudgedCandidate::is_faster) {
            Conclusion::NothingProven
        } else if any(JudgedCandidate::is_slower) {
            Conclusion::Slower
        } else if self.failed.len() == self.hosts.len() || self.candidates.iter().all(is_lost) {
            Conclusion::Failed
        } else {
            Conclusion::NothingProven
        }
    }
}

impl JudgedCandidate {
    fn of(
        comparison: &FleetComparison,
        measured: &FleetCandidate,
        hosts: &[HostResult],
        usable: &[usize],
        settings: &Settings,
    ) -> JudgedCandidate {
        let name = &comparison.name;
        let at = |host: usize| find(&hosts[host], |c| c.role == Role::Candidate && c.name == *name);
        let unsound: Vec<(usize, &Comparison)> = usable
            .iter()
            .filter_map(|&host| Some((host, at(host).filter(|comparison| is_cut_off(comparison))?)))
            .collect();
        let is_measured = |host: usize| comparison.hosts.iter().any(|measured| measured.host == host);
        let is_unsound = |host: usize| unsound.iter().any(|(index, _)| *index == host);
        let lacking = usable.iter().copied().filter(|&host| !is_measured(host) && !is_unsound(host));
        let is_over = |comparison| cpu_limit::is_over(comparison, settings.cpu_limit);
        let over = usable.iter().copied().filter(|&host| at(host).is_some_and(is_over));
        let groupings = match comparison.differs_between_hosts(settings.alpha) {
            true => groupings(hosts, measured, settings, SEED),
            false => Vec::new(),
        };
        JudgedCandidate {
            lacking: lacking.collect(),
            unmeasured: 0,
            over_cpu_limit: over.collect(),
            unsound_is_slower: unsound.iter().all(|(_, comparison)| comparison.verdict.is_slower()),
            unsound: unsound
                .into_iter()
                .map(|(host, comparison)| (host, comparison.sentence.clone()))
                .collect(),
            comparison: comparison.clone(),
            groupings,
        }
    }

    fn is_faster(&self) -> bool {
        matches!(self.comparison.verdict, FleetVerdict::ProvenFaster { .. })
    }

    /// Whether it was measured on every host, and failed on none.
    fn is_sound(&self) -> bool {
        self.unsound.is_empty() && self.lacking.is_empty() && self.unmeasured == 0
    }

    /// Whether it is proven faster, was measured everywhere, failed nowhere, and stays within the limit of CPU time.
    pub fn is_recommended(&self) -> bool {
        self.is_faster() && self.is_sound() && self.over_cpu_limit.is_empty()
    }

    /// Whether it is proven slower, or collapsed or hung on every host that tried it.
    fn is_slower(&self) -> bool {
        let everywhere =
            self.comparison.hosts.is_empty() && !self.unsound.is_empty() && self.unsound_is_slower;
        matches!(self.comparison.verdict, FleetVerdict::ProvenSlower { .. }) || everywhere
    }
}

/// The names of all judged candidates.
fn names(hosts: &[HostResult]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for comparison in hosts.iter().flat_map(|host| &host.proof.analysis.comparisons) {
        if comparison.role == Role::Candidate && !names.contains(&comparison.name) {
            names.push(comparison.name.clone());
        }
    }
    names
}

/// The rounds of a candidate on the hosts where it is ranked.
fn measured(name: &str, hosts: &[HostResult], usable: &[usize]) -> FleetCandidate {
    let is_it = |c: &Comparison| c.role == Role::Candidate && c.name == name && !is_cut_off(c);
    let rounds = usable.iter().filter_map(|&host| rounds(host, hosts, is_it));
    let enough = rounds.filter(|rounds| rounds.log_ratios.len() >= HOST_ROUNDS_AT_LEAST as usize);
    FleetCandidate { name: name.to_owned(), hosts: enough.collect() }
}

fn find(host: &HostResult, is_it: impl Fn(&Comparison) -> bool) -> Option<&Comparison> {
    host.proof.analysis.comparisons.iter().find(|comparison| is_it(comparison))
}

/// The log ratios of a comparison of a host.
fn rounds(host: usize, hosts: &[HostResult], is_it: impl Fn(&Comparison) -> bool) -> Option<HostRounds> {
    let analysis = &hosts[host].proof.analysis;
    let comparison = find(&hosts[host], is_it)?;
    // Runs of the A/A configuration can have been ended, too; such a host has no noise floor to contribute.
    if matches!(comparison.verdict, Verdict::Failed { .. }) {
        return None;
    }
    let samples = |candidate, runs: &[Run]| SampleSet { runs: runs.to_vec(), ..SampleSet::new(candidate) };
    let control = samples(Candidate::control(&*analysis.control), &analysis.control_runs);
    let candidate = samples(Candidate::new(&*comparison.name), &comparison.runs);
    let direction = analysis.metric.direction;
    let pairs = Pairs::of(&control, &candidate, direction);
    let rounding = match comparison.role {
        Role::AaControl => RoundingBounds::of_rounds_of_pair(&control, &candidate, direction),
        _ => RoundingBounds::of_rounds(&control, &candidate, direction),
    };
    Some(HostRounds { host, log_ratios: pairs.log_ratios(), rounding })
}
