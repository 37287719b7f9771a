//! Figures with so few digits that these, not the noise, decide what can be proven.

use super::super::report::Report;
use unspin_stats::{Conclusion, NEGLIGIBLE_ROUNDING, NotProvenReason, Verdict, effect, quantity};

/// Says so, if the digits set the noise floor or withhold the proof of a candidate.
pub fn sentence(report: &Report) -> Option<String> {
    let analysis = &report.session.analysis;
    let floor = analysis.noise_floor.filter(|floor| floor.is_of_digits()).and_then(|floor| floor.rounding);
    let judged = report.configurations.iter().filter(|configuration| configuration.is_judged());
    let withheld = judged.filter_map(|configuration| {
        let comparison = report.comparison(configuration)?;
        match comparison.verdict {
            Verdict::NothingProven { doubt: NotProvenReason::BelowFloor { floor }, .. } => {
                comparison.rounding.filter(|rounding| *rounding >= floor)
            }
            _ => None,
        }
    });
    let withheld = withheld.reduce(f64::max);
    let hidden = withheld.into_iter().chain(floor).reduce(f64::max)?;
    // Nothing is missing from a proof whose digits hide so little.
    if analysis.conclusion() != Conclusion::NothingProven && hidden < NEGLIGIBLE_ROUNDING {
        return None;
    }
    // The floor is that of the control's figures; a candidate may have others.
    let steps = report.session.runs.iter().filter(|run| run.candidate == 0 || withheld.is_some());
    let steps: Vec<f64> = steps.filter_map(|run| run.trial.step).collect();
    let shown = |step: Option<f64>| Some(quantity(step?, &analysis.metric.unit));
    let (least, most) =
        (shown(steps.iter().copied().reduce(f64::min))?, shown(steps.iter().copied().reduce(f64::max))?);
    let step = if least == most { least } else { format!("{least} to {most}") };
    Some(format!(
        "The figures have steps of {step}: a difference below {} cannot be told, whatever the number of rounds. Let the program \
         print more digits, or compare larger figures.",
        effect(hidden)
    ))
}
