//! The finding of `unspin scale` in a sentence.

use crate::name::name;
use crate::number::factor;
use maud::{Markup, html};
use unspin_figures::Percent;
use unspin_results::{StoredScale, StoredScaling};
use unspin_scaling::fit::{FigureSource, MISS, Prediction};

/// What was measured on the most CPUs, and what is predicted, if a check of the model bears it. Without intervals: those of the
/// throughputs are not those of their quotient. Candidates are not judged here: `unspin prove` does that.
pub fn sentence(scale: &StoredScale) -> Markup {
    let Some(control) = scale.configurations.first() else {
        return html! {
            "Nothing is predicted: " (scale.rounds)
            @if scale.rounds == 1 { " complete round is" } @else { " complete rounds are" }
            " too few for a fit."
        };
    };
    let Some((one, measured)) = of(control, FigureSource::Measured) else {
        return html! { (name(&control.name)) " was measured on one number of CPUs, which predicts nothing." };
    };
    html! {
        "On " (measured.cpus) " CPUs the program did " (factor(measured.throughput / one)) " times the work of one CPU, under " (name(&control.name)) "."
        @match (of(control, FigureSource::Predicted), worst_miss(scale)) {
            (Some((one, predicted)), Some(miss)) if miss <= MISS => {
                " On " (predicted.cpus) " CPUs it is predicted to do " (factor(predicted.throughput / one)) " times that work."
            },
            (Some(_), Some(miss)) => {
                " The model misses what was measured by up to " (Percent::TwoDigits.of(miss)) ", so its figures for more CPUs are not stated here."
            },
            _ => " No larger number of CPUs is predicted.",
        }
    }
}

/// The figure of this source for the most CPUs, beside that of one CPU.
fn of(control: &StoredScaling, source: FigureSource) -> Option<(f64, &Prediction)> {
    let predictions = &control.fit.predictions;
    let one = predictions.iter().find(|prediction| prediction.cpus == 1)?.throughput;
    let of_source =
        predictions.iter().filter(|prediction| prediction.source == source && prediction.cpus > 1);
    of_source.max_by_key(|prediction| prediction.cpus).filter(|_| one > 0.0).map(|most| (one, most))
}

/// By how much the model misses what was measured, of the configuration with the largest error; none if nothing checks it.
fn worst_miss(scale: &StoredScale) -> Option<f64> {
    let checks = scale.configurations.iter().filter_map(|configuration| configuration.fit.validations.last());
    checks.map(|check| check.error.abs()).reduce(f64::max)
}
