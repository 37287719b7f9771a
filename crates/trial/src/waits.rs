//! How the judged waits ended: whether threads slept or polled in them, under the control and under each candidate.

use super::call_sites::{CallSiteWaits, TRIAL};
use super::configuration::Configuration;
use super::locks::Metered;
use serde::Serialize;
use unspin_launch::machine::looks;
use unspin_launch::plan::{Compiled, Located};
use unspin_observe::disturbance::Disturbance;

/// The judged waits of one call site in the metered runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgedSite {
    /// The call site's name in the plan, or in the report if all waits are judged.
    pub name: String,
    /// The runs in which it waited, the control's first.
    pub runs: Vec<SiteRun>,
}

/// The waits of a call site in one metered run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SiteRun {
    /// The control or the candidate.
    pub candidate: String,
    /// How the waits ended.
    #[serde(flatten)]
    pub waits: CallSiteWaits,
    /// Why about as many of them slept as under the control; none if fewer did, or if that was intended.
    pub unpolled: Option<Unpolled>,
}

/// The likely reason why a candidate did not poll, or polled in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unpolled {
    /// It waited less often, so fewer waits slept.
    FewerWaits,
    /// A seccomp filter, or this kernel, does not permit all polls.
    Seccomp,
    /// The CPUs were busy, so polling threads yielded.
    Busy,
    /// There were too few waits for a trial of polling.
    FewWaits,
    /// The policy measured that polling does not pay there.
    DoesNotPay,
}

/// Number of call sites that are shown if all waits are judged.
const SHOWN: usize = 3;
/// By how much the share of waits that slept must be lower for a candidate to count as polling: smaller differences may
/// be chance.
const FEWER: f64 = 0.05;
/// Share of the CPU time from which on the CPUs count as busy.
const BUSY: f64 = 0.9;
/// If fewer waits slept than this share of the control's, the number of waits fell. Runs vary by less.
const LESS_OFTEN: f64 = 0.8;

/// The judged waits: those at the call sites that the candidates name, and at the costliest ones if all waits poll.
pub fn judged_sites(configurations: &[Configuration], metered: &[Metered], cpus: usize) -> Vec<JudgedSite> {
    let judged = configurations.iter().filter(|configuration| configuration.is_judged());
    let plans: Vec<(&str, &Compiled)> = judged
        .filter_map(|configuration| {
            Some((configuration.name(), &configuration.setup.as_ref()?.plan.as_ref()?.compiled))
        })
        .collect();
    let Some((first, others)) = metered.split_first() else { return Vec::new() };
    let is_control = plans.iter().all(|(name, _)| *name != first.candidate);
    let filtered = looks::poll_support().shortcomings().is_some();
    let runs = |polls: &dyn Fn(&Compiled) -> bool, find: &dyn Fn(&Metered) -> Option<CallSiteWaits>| {
        let control = is_control.then(|| find(first)).flatten();
        let mut runs = Vec::new();
        if let Some(waits) = &control {
            let candidate = first.candidate.clone();
            runs.push(SiteRun { candidate, waits: waits.clone(), unpolled: None });
        }
        for metered in if is_control { others } else { metered } {
            let polls = plans.iter().any(|(name, plan)| *name == metered.candidate && polls(plan));
            let Some(waits) = find(metered).filter(|_| polls) else { continue };
            let unpolled = control
                .as_ref()
                .and_then(|control| why_unpolled(control, &waits, cpu_share(metered, cpus), filtered));
            runs.push(SiteRun { candidate: metered.candidate.clone(), waits, unpolled });
        }
        runs
    };
    let mut named: Vec<&Located> = Vec::new();
    for located in plans.iter().flat_map(|(_, plan)| plan.polling_sites()) {
        if !named.iter().any(|known| known.places == located.places) {
            named.push(located);
        }
    }
    let mut sites: Vec<JudgedSite> = Vec::new();
    for located in named {
        let polls = |plan: &Compiled| {
            plan.polls_everywhere() || plan.polling_sites().iter().any(|site| site.places == located.places)
        };
        let runs = runs(&polls, &|metered| metered.call_sites.waits_at(located));
        sites.push(JudgedSite { name: located.name.clone(), runs });
    }
    if plans.iter().any(|(_, plan)| plan.polls_everywhere()) {
        for site in first.call_sites.costliest(SHOWN) {
            let find = |metered: &Metered| metered.call_sites.waits_named(&site.name, site.place.as_deref());
            if !sites.iter().any(|known| known.name == site.name) {
                sites.push(JudgedSite {
                    name: site.name.clone(),
                    runs: runs(&Compiled::polls_everywhere, &find),
                });
            }
        }
    }
    sites.retain(|site| !site.runs.is_empty());
    sites
}

/// The share of the CPU time that the program and others used during a run.
fn cpu_share(metered: &Metered, cpus: usize) -> f64 {
    let Disturbance { others_s, steal_s, .. } = metered.disturbance;
    (metered.cpu_s + others_s + steal_s) / (metered.elapsed_s * cpus as f64)
}

/// Why the waits under a candidate slept as often as under the control, if they did. `used` is the share of the CPU
/// time that was used.
fn why_unpolled(
    control: &CallSiteWaits,
    waits: &CallSiteWaits,
    used: f64,
    filtered: bool,
) -> Option<Unpolled> {
    let (before, after) = (control.slept_share()?, waits.slept_share()?);
    if after < before - FEWER {
        return None;
    }
    Some(match waits.waits {
        _ if (waits.slept as f64) < LESS_OFTEN * control.slept as f64 => Unpolled::FewerWaits,
        // A filter may forbid the polls of some functions alone.
        _ if filtered && waits.polled_s == 0.0 => Unpolled::Seccomp,
        _ if used >= BUSY => Unpolled::Busy,
        ..TRIAL => Unpolled::FewWaits,
        _ => Unpolled::DoesNotPay,
    })
}

impl Unpolled {
    /// The reason, as the end of a sentence.
    pub fn reason(self) -> String {
        let reason = match self {
            Unpolled::FewerWaits => "it waited less often",
            Unpolled::Seccomp => return looks::poll_support().shortcomings().unwrap_or_default(),
            Unpolled::Busy => {
                "the CPUs were busy, and polling would have delayed the thread that makes the wake-up"
            }
            Unpolled::FewWaits => {
                "too few waits: one trial of polling needs 16 waits of a thread at a call site"
            }
            Unpolled::DoesNotPay => {
                "each thread tried it from time to time, and measured that it does not pay there"
            }
        };
        reason.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(waits: u64, slept: u64) -> CallSiteWaits {
        CallSiteWaits { calls: waits, waits, slept, median_s: 50e-6, waited_s: 1.0, polled_s: 0.0 }
    }

    #[test]
    fn unchanged_share_of_sleeps_has_a_reason() {
        let control = waits(1000, 990);
        let reason = |waits: &CallSiteWaits, used| why_unpolled(&control, waits, used, false);
        assert_eq!(reason(&waits(1000, 100), 0.5), None);
        assert_eq!(reason(&waits(1000, 990), 0.5), Some(Unpolled::DoesNotPay));
        assert_eq!(reason(&waits(1000, 990), 0.95), Some(Unpolled::Busy));
        assert_eq!(why_unpolled(&waits(10, 10), &waits(10, 10), 0.5, false), Some(Unpolled::FewWaits));
        assert_eq!(why_unpolled(&control, &control, 0.5, true), Some(Unpolled::Seccomp));
        let polled = CallSiteWaits { polled_s: 0.1, ..waits(1000, 990) };
        assert_eq!(
            why_unpolled(&control, &polled, 0.5, true),
            Some(Unpolled::DoesNotPay),
            "elsewhere it is forbidden"
        );
        assert_eq!(why_unpolled(&waits(0, 0), &waits(10, 10), 0.5, false), None);
        assert_eq!(why_unpolled(&control, &waits(450, 449), 0.99, false), Some(Unpolled::FewerWaits));
    }
}
