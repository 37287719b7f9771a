//! What disturbed a session: other programs, the hypervisor, the CPU quota.

use super::super::format::paragraph;
use super::Detail;
use std::fmt::{self, Formatter};
use unspin_observe::disturbance::Disturbance;
use unspin_observe::throttling::Throttling;
use unspin_report::DISTURBED;

/// Prints the sentences that matter; with [`Detail::Full`] also that nothing disturbed.
pub fn write(f: &mut Formatter<'_>, disturbance: &Disturbance, detail: Detail) -> fmt::Result {
    if detail == Detail::Full || is_high(disturbance) {
        write!(f, "{}", paragraph(&sentence(disturbance), 0))?;
    }
    match explain_throttling(disturbance) {
        Some(sentence) => write!(f, "{}", paragraph(&sentence, 0)),
        None => Ok(()),
    }
}

/// Whether other programs and the hypervisor used so much that intervals are wider for it.
pub fn is_high(disturbance: &Disturbance) -> bool {
    let (steal, others) = disturbance.percent();
    steal + others >= 100.0 * DISTURBED
}

/// What other programs and the hypervisor used, with a remedy if that is much.
pub fn sentence(disturbance: &Disturbance) -> String {
    let (steal, others) = disturbance.percent();
    let judgement = match is_high(disturbance) {
        true => " The intervals are wider for it; measure on a quiet machine (--wait-for-quiet).",
        false => "",
    };
    format!(
        "Disturbance: other programs used {others:.1} % of the CPUs meanwhile, the hypervisor took \
         {steal:.1} %.{judgement}"
    )
}

/// What the CPU quota did to the runs, and what to do next; none if it was never used up.
pub fn explain_throttling(disturbance: &Disturbance) -> Option<String> {
    let Throttling { periods, throttled, throttled_s } = disturbance.throttling?;
    (throttled > 0).then(|| {
        format!(
            "CPU quota: the control group in which unspin and the program run was stopped in {throttled} of {periods} periods, for \
             {throttled_s:.1} s summed over the CPUs. A run that is stopped is as fast as the quota permits: raise the quota (cpu.max; \
             docker run --cpus, limits.cpu, CPUQuota=), or compare what the work costs (--metric cpu-time)."
        )
    })
}
