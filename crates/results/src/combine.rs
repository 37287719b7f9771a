//! A result of `unspin combine --json`: `docs/combine-json.md`. It is read as the type that is written.

use crate::machine::StoredBuild;
use serde::{Deserialize, Serialize};
use unspin_stats::fleet::{FleetComparison, Moderator};
use unspin_stats::{Conclusion, Metric, NoiseFloor, Settings};

/// The number after the slash is increased when a field changes its meaning or is removed. New fields may be added
/// without that.
pub const COMBINE_SCHEMA: &str = "unspin.combine/1";

/// The results of many hosts combined. Hosts are named by their index into `hosts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CombinedResults {
    /// The format.
    pub schema: String,
    /// The build that combines.
    pub unspin: StoredBuild,
    /// The command of all results.
    pub command: Vec<String>,
    /// Their metric.
    pub metric: Metric,
    /// The name of their control.
    pub control: String,
    /// The meaning of the exit code.
    pub conclusion: Conclusion,
    /// What the report says beside the candidates.
    pub summary: CombinedSummary,
    /// Number of hosts that were to measure.
    pub hosts_expected: u32,
    /// One for each file.
    pub hosts: Vec<CombinedHost>,
    /// The seed of the permutation tests.
    pub seed: u64,
    /// The levels.
    pub settings: Settings,
    /// The A/A pairs of the hosts, combined as a candidate is; none if fewer than two hosts have both.
    pub noise_floor: Option<NoiseFloor>,
    /// The candidates, in the order in which the files name them.
    pub candidates: Vec<CombinedCandidate>,
    /// Each plan that hosts proved.
    pub plans: Vec<CombinedPlan>,
    /// What to do, one sentence each.
    pub next: Vec<String>,
    /// The command that combines the results again.
    pub repeat: Option<String>,
}

/// Sentences of the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CombinedSummary {
    /// What was combined.
    pub compared: String,
    /// The noise floor of the fleet.
    pub noise: String,
    /// Hosts that failed, wrote nothing or ended early, and hosts with several results: one sentence each.
    pub hosts: Vec<String>,
}

impl CombinedResults {
    /// What is proven if no host judged a candidate: nothing, and why. None if one did.
    pub fn without_candidates(&self) -> Option<&'static str> {
        self.candidates.is_empty().then_some("nothing, because no host judged a candidate.")
    }
}

/// A host, or a session of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CombinedHost {
    /// Its name; a second result of one host has a number behind it.
    pub name: String,
    /// The file of its result.
    pub file: String,
    /// The name that the machine has.
    pub host: String,
    /// The model name of its processor.
    pub processor: String,
    /// Number of CPUs that programs could use.
    pub cpus: usize,
    /// The kernel's release.
    pub kernel: String,
    /// The build that measured.
    pub unspin: String,
    /// Complete rounds.
    pub rounds: u32,
    /// Duration of the session, in seconds.
    pub elapsed_s: f64,
    /// What the host concludes by itself.
    pub conclusion: Conclusion,
    /// Why it is not used; none if it is.
    pub failure: Option<String>,
    /// What ended a session early that is used.
    pub ended_early: Option<String>,
}

/// A candidate in the fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CombinedCandidate {
    /// The verdict in a sentence.
    pub sentence: String,
    /// How certain it is, in a sentence; none if fewer than two hosts ranked it.
    pub certainty: Option<String>,
    /// Whether the effect differs between hosts, in a sentence; none with fewer than two.
    pub between_hosts: Option<String>,
    /// Whether it is proven better, was measured everywhere, and failed nowhere.
    pub recommended: bool,
    /// The hosts that did not measure it, or in too few rounds.
    pub lacking: Vec<usize>,
    /// The hosts on which it is not ranked, and why.
    pub not_ranked: Vec<NotRanked>,
    /// The hosts on which it may exceed the limit of CPU time.
    pub over_cpu_limit: Vec<usize>,
    /// By which property of the hosts the effect differs; empty unless it differs.
    pub groupings: Vec<Grouping>,
    /// The figures and the verdict.
    #[serde(flatten)]
    pub comparison: FleetComparison,
}

/// A host on which a candidate is not ranked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRanked {
    /// The host.
    pub host: usize,
    /// Why.
    pub sentence: String,
}

/// The hosts grouped by one property, or by several that divide them alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grouping {
    /// The properties: `processor`, `kernel`, `CPUs`, `unspin`.
    pub properties: Vec<String>,
    /// The value of each group. Of several properties, all values.
    pub values: Vec<String>,
    /// What the groups show.
    pub moderator: Moderator,
    /// The same in a sentence.
    pub sentence: String,
}

/// A plan that hosts proved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CombinedPlan {
    /// The plan, as a file for `unspin run --use-plan`.
    pub plan: String,
    /// The names of the hosts.
    pub hosts: Vec<String>,
}
