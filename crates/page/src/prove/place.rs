//! Where, with what and how it was measured, and what disturbed it.

use crate::frame::Section;
use crate::name::{code, visible};
use crate::number::{percent, time};
use maud::{Markup, html};
use unspin_results::{StoredDisturbance, StoredProof};
use unspin_stats::{Direction, INTERVALS_OF_DIGITS, StopReason, effect};

/// The section.
pub fn section(proof: &StoredProof) -> Section {
    let StoredProof { machine, unspin, analysis, .. } = proof;
    let better = match analysis.metric.direction {
        Direction::LowerIsBetter => "lower is better",
        Direction::HigherIsBetter => "higher is better",
    };
    let settings = &analysis.settings;
    let contents = html! {
        dl {
            (entry("Machine", html! { (machine.cpus) " CPUs, " (visible(&machine.processor)) }))
            (entry("Kernel", html! { "Linux " (visible(&machine.kernel)) }))
            (entry("Host", html! { (visible(&machine.host)) }))
            (entry("unspin", html! { (visible(&unspin.version)) " (" (visible(&unspin.commit)) ")" }))
            (entry("Program", code(&unspin_report::shell_line(&proof.command))))
            @if let Some(service) = &proof.service {
                (entry("Ready when", code(&service.ready)))
                (entry("Loaded by", code(&service.load)))
                @if let Some(stop) = &service.stop { (entry("Stopped by", code(stop))) }
            }
            (entry("Measured", html! { (visible(&analysis.metric.name)) ", " (better) }))
            @if proof.runs.is_empty() {
                (entry("Session", html! { "no candidate was run" }))
            } @else {
                (entry("Session", session(proof)))
                (entry("Disturbance", disturbance(&proof.disturbance)))
                (entry("Noise floor", html! {
                    @match analysis.noise_floor {
                        Some(floor) => { "differences below " (effect(floor.factor)) " are not ranked" },
                        None => { "unknown: the control has not run often enough" },
                    }
                }))
            }
            (entry("Statistics", html! {
                "paired by rounds; intervals of " (percent(100.0 * settings.confidence)) " by bootstrap (" (settings.resamples) " resamples), "
                "p by permutation (at most " (settings.draws) " draws), a difference is proven up to p = " (settings.alpha)
                ", corrected for the number of candidates (Holm)"
                @if let Some(limit) = settings.cpu_limit { "; at most " (percent(100.0 * limit)) " more CPU time" }
            }))
            (entry("Seed", html! { (analysis.seed) " (order of the runs and intervals)" }))
        }
    };
    Section { id: "place", title: "Machine and measurement".into(), contents }
}

fn entry(name: &str, value: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn session(proof: &StoredProof) -> Markup {
    let warm_ups = proof.runs.iter().filter(|run| run.round == 0).count();
    html! {
        (proof.rounds) " complete rounds, " (proof.runs.len() - warm_ups) " runs and " (warm_ups) " warm-ups, "
        (time(proof.elapsed_s)) ". " (ended(proof))
    }
}

fn ended(proof: &StoredProof) -> &'static str {
    match proof.analysis.stop {
        Some(StopReason::NarrowEnough) if proof.analysis.has_intervals_of_digits() => INTERVALS_OF_DIGITS,
        Some(StopReason::NarrowEnough) => "Every interval is narrow enough.",
        Some(StopReason::BudgetSpent) => "The time budget is spent.",
        Some(StopReason::RoundsMax) => "All rounds have been run.",
        Some(StopReason::ControlFailed) => "Stopped, because the control failed.",
        Some(StopReason::NoneLeft) => "Stopped, because no candidate was left.",
        None => "Cut short.",
    }
}

fn disturbance(found: &StoredDisturbance) -> Markup {
    let share = |seconds: f64| if found.total_s > 0.0 { 100.0 * seconds / found.total_s } else { 0.0 };
    html! {
        "other programs used " (percent(share(found.others_s))) " of the CPUs meanwhile, the hypervisor took " (percent(share(found.steal_s)))
        @if let Some(quota) = found.throttling.filter(|quota| quota.throttled > 0) {
            "; the CPU quota stopped the program in " (quota.throttled) " of " (quota.periods) " periods, for " (time(quota.throttled_s))
        }
    }
}
