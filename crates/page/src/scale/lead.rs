//! The finding of `unspin scale` in a sentence.

use crate::name::name;
use crate::number::factor;
use maud::{Markup, html};
use unspin_results::{StoredScale, StoredScaling};
use unspin_scaling::fit::{FigureSource, Prediction};

/// The sentence.
pub fn sentence(scale: &StoredScale) -> Markup {
    let Some((control, candidates)) = scale.configurations.split_first() else {
        return html! { "Nothing is predicted: " (scale.rounds) " complete rounds are too few for a fit." };
    };
    let best = candidates
        .iter()
        .filter_map(|candidate| against(control, candidate))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    html! {
        (of_control(control))
        @if let Some((candidate, ratio, cpus)) = best {
            " There " (name(candidate)) " would do " (factor(ratio)) " times the work of " (name(&control.name)) " (on " (cpus) " CPUs)."
        }
    }
}

/// How far the control comes, on the most CPUs for which the data bear a prediction.
fn of_control(control: &StoredScaling) -> Markup {
    let predictions = &control.fit.predictions;
    let one =
        predictions.iter().find(|prediction| prediction.cpus == 1).map(|prediction| prediction.throughput);
    let Some((last, one)) = last_borne(predictions).zip(one.filter(|one| *one > 0.0)) else {
        return html! { (name(&control.name)) " was measured on one number of CPUs, which predicts nothing." };
    };
    let range = last
        .interval
        .map(|(low, high)| format!(" (95 % interval {} to {})", factor(low / one), factor(high / one)));
    let verb = if last.source == FigureSource::Measured { "did" } else { "is predicted to do" };
    html! {
        "On " (last.cpus) " CPUs the program " (verb) " " (factor(last.throughput / one)) " times the work of one CPU" (range.unwrap_or_default())
        ", under " (name(&control.name)) "."
    }
}

fn is_borne(prediction: &Prediction) -> bool {
    matches!(prediction.source, FigureSource::Measured | FigureSource::Predicted)
}

/// The prediction, or the measurement, of the most CPUs that the data bear.
fn last_borne(predictions: &[Prediction]) -> Option<&Prediction> {
    predictions.iter().filter(|prediction| is_borne(prediction)).max_by_key(|prediction| prediction.cpus)
}

/// A candidate against the control, on the most CPUs that the data of both bear.
fn against<'s>(control: &StoredScaling, candidate: &'s StoredScaling) -> Option<(&'s str, f64, u32)> {
    let pairs =
        candidate.fit.predictions.iter().filter(|prediction| is_borne(prediction)).filter_map(|prediction| {
            let other = control
                .fit
                .predictions
                .iter()
                .find(|other| other.cpus == prediction.cpus && is_borne(other))?;
            Some((prediction, other))
        });
    let (prediction, other) = pairs.max_by_key(|(prediction, _)| prediction.cpus)?;
    let ratio = prediction.throughput / other.throughput;
    ratio.is_finite().then_some((candidate.name.as_str(), ratio, prediction.cpus))
}
