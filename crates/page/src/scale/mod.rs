//! The page of `unspin scale`.

mod lead;
mod numbers;
mod plot;

use crate::facts::Facts;
use crate::frame::{Frame, Section};
use crate::name::{name, visible};
use crate::number::time;
use crate::prose::prose;
use maud::{Markup, html};
use unspin_figures::{Percent, significant};
use unspin_report::shell_line;
use unspin_results::{StoredScale, StoredScaling};
use unspin_scaling::misses;
use unspin_scaling::program::WaitStyle;
use unspin_stats::Direction;

/// The page.
pub fn frame(scale: &StoredScale) -> Frame {
    let throughput = ("throughput", "Throughput by the number of CPUs", plot::render(scale));
    let checks = numbers::checks(scale).map(|checks| ("checks", "Does the model hold?", checks));
    let model = (!scale.configurations.is_empty()).then(|| ("model", "The model", models(scale)));
    let failures = (!scale.failures.is_empty()).then(|| {
        ("failures", "Failures", html! { ul { @for failure in &scale.failures { li { (prose(failure)) } } } })
    });
    let sections = [
        Some(throughput),
        checks,
        model,
        failures,
        Some(("measured", "How this was measured", measured(scale))),
    ];
    Frame {
        title: format!("unspin scale: {}", unspin_report::shell_line(&scale.command)),
        header: header(scale),
        sections: sections
            .into_iter()
            .flatten()
            .map(|(id, title, contents)| Section { id, title: title.into(), contents })
            .collect(),
        footer: html! {},
    }
}

fn header(scale: &StoredScale) -> Markup {
    html! {
        h1 { "Scaling of " code { (visible(&shell_line(&scale.command))) } }
        p.lead { (lead::sentence(scale)) }
        @if scale.interrupted { p { "Interrupted: the results are those of the rounds until then." } }
        @if let Some(sentence) = disturbance_sentence(scale) { p.note { (sentence) } }
        @if let Some(next) = &scale.next { p { "Next: " (prose(next)) } }
        p.soft {
            "unspin runs a program on one CPU and on more, fits a model of its most contended lock, and predicts what more CPUs than this "
            "machine has would do. The program itself is not changed."
        }
    }
}

/// What disturbed the runs; none if that is little.
fn disturbance_sentence(scale: &StoredScale) -> Option<String> {
    scale.disturbance.taken()?;
    let (hypervisor, others) = scale.disturbance.shares();
    let mut taken =
        format!("Other programs took {} of the CPUs during the runs", Percent::TwoDigits.of(others));
    if hypervisor > 0.0 {
        taken += &format!(", the hypervisor {}", Percent::TwoDigits.of(hypervisor));
    }
    Some(taken + ": all figures contain that. Repeat on a quiet machine before you rely on them.")
}

/// What the throughput is, with its unit.
fn unit(scale: &StoredScale) -> String {
    let unit = if scale.metric.unit.is_empty() {
        String::new()
    } else {
        format!(" in {}", visible(&scale.metric.unit))
    };
    match scale.metric.direction {
        Direction::LowerIsBetter => format!("1/{}{unit}", visible(&scale.metric.name)),
        Direction::HigherIsBetter => format!("{}{unit}", visible(&scale.metric.name)),
    }
}

fn models(scale: &StoredScale) -> Markup {
    html! {
        p {
            "A queueing model of the most contended lock: it knows from the runs on one CPU how long the lock is held and how often it is "
            "taken, and from the machine what a hand-over between CPUs costs. The rest of the program is assumed to run in parallel."
        }
        @if let Some(cost) = &scale.machine_cost {
            p {
                "Between this machine's CPUs a cache line takes " (time(cost.transfer_s)) ", a sleep with its wake-up " (time(cost.sleep_across_s))
                " of CPU time (" (time(cost.sleep_here_s)) " within one CPU, " (time(cost.sleep_placed_s)) " where the scheduler places the threads)."
            }
        }
        ul { @for configuration in &scale.configurations { li { (model(configuration)) } } }
    }
}

fn model(configuration: &StoredScaling) -> Markup {
    let profile = &configuration.fit.model.profile;
    let lock = configuration.lock.as_ref().and_then(|lock| Some((lock, lock.name.as_deref()?)));
    let style = match profile.style {
        WaitStyle::Spin => "waiters spin",
        WaitStyle::Barging => "waiters sleep, and running threads may overtake them",
        WaitStyle::HandOff => "waiters sleep, and get it in strict order",
    };
    html! {
        (name(&configuration.name)) ": "
        @match lock {
            Some((lock, lock_name)) => {
                @if lock.locks > 1 { (lock.locks) " locks " } @else { "the lock " }
                (name(lock_name)) ", held" @if lock.for_writing { " for writing" } " for "
                (Percent::TwoDigits.of(lock.share)) " of the CPU time on one CPU, " (time(lock.hold_s)) " each time, "
                (significant(profile.acquisitions)) " acquisitions a unit; " (style) "; "
            },
            None => "no lock is contended, so the model has none; ",
        }
        (profile.threads) " threads can run at once."
        @if let Some((low, high)) = configuration.fit.cost_interval_s {
            " Cost of a contended acquisition as fitted: " (time(configuration.fit.model.cost_s)) " (" (time(low)) " to " (time(high)) "), by the probe alone "
            (time(configuration.fit.probed_cost_s)) "."
        }
        @for sentence in misses::sentences(&configuration.sleeps, &configuration.busy, lock.is_some()) { " " (sentence) }
    }
}

fn measured(scale: &StoredScale) -> Markup {
    let disturbance = &scale.disturbance;
    let share = |seconds: f64| if disturbance.total_s > 0.0 { seconds / disturbance.total_s } else { 0.0 };
    let percent = |seconds: f64| Percent::TwoDigits.of(share(seconds));
    Facts::default()
        .with_repeat(scale.repeat.as_ref())
        .with_command("Program", &scale.command)
        .with("Rounds", html! { (scale.rounds) " complete, in random order, " (time(scale.elapsed_s)) })
        .with(
            "Disturbance",
            html! { "other programs took " (percent(disturbance.others_s)) " of the CPUs, the hypervisor " (percent(disturbance.steal_s)) },
        )
        .with_machine(Some(&scale.machine))
        .with_build(Some(&scale.unspin))
        .render()
}
