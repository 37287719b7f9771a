//! The finding of `unspin scale` in a sentence.

use crate::name::name;
use crate::number::factor;
use maud::{Markup, html};
use unspin_results::{StoredScale, StoredScaling};
use unspin_scaling::fit::{FigureSource, MISS, Prediction};

/// What was measured on the most CPUs, and what is predicted, if a check of the model bears it. Without intervals: those of the
/// throughputs are not those of their quotient. Candidates are not judged here: `unspin prove` does that.
pub fn sentence(scale: &StoredScale) -> Markup {
    let Some(control) = scale.configurations.first() else {
        return html! { "Nothing is predicted: " (scale.rounds) " complete rounds are too few for a fit." };
    };
    let Some((one, measured)) = of(control, FigureSource::Measured) else {
        return html! { (name(&control.name)) " was measured on one number of CPUs, which predicts nothing." };
    };
    html! {
        "On " (measured.cpus) " CPUs the program did " (factor(measured.throughput / one)) " times the work of one CPU, under " (name(&control.name)) "."
        @match of(control, FigureSource::Predicted).filter(|_| is_checked(control)) {
            Some((one, predicted)) => {
                " On " (predicted.cpus) " CPUs it is predicted to do " (factor(predicted.throughput / one)) " times that work."
            },
            None => " No larger number of CPUs is predicted.",
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

/// Whether the model has predicted what was measured.
fn is_checked(control: &StoredScaling) -> bool {
    control.fit.validations.last().is_some_and(|check| check.error.abs() <= MISS)
}
