//! The predictions of `unspin scale`.

use crate::format::Percent;
use crate::scale::measurement::ROUNDS_MIN;
use crate::scale::report::{ScaleReport, ScaledConfiguration};
use unspin_report::next::Next;
use unspin_scaling::fit::{FigureSource, MISS, REACH};

/// What to do with predictions, or about runs that are too few for one.
pub fn next(report: &ScaleReport) -> Next {
    Next::new(match report.rounds < ROUNDS_MIN {
        true => format!("let {ROUNDS_MIN} rounds end; --cpus with fewer numbers makes a round shorter."),
        false => text(report),
    })
}

fn text(report: &ScaleReport) -> String {
    let validations = || report.configurations.iter().flat_map(|c| c.fit.validations.last());
    let worst = validations().map(|v| v.error.abs()).fold(0.0, f64::max);
    let most = report.measured_cpus.last().copied().unwrap_or(1);
    if validations().next().is_none() {
        return "nothing checks these predictions, because only one CPU was measured. Leave out --cpus 1 on a \
                machine with more, and compare."
            .into();
    }
    let borne = borne(report);
    let mut all = report.configurations.iter().flat_map(|c| &c.fit.predictions);
    let is_any_unborne = all.any(|prediction| prediction.source == FigureSource::Unborne);
    if worst > MISS {
        let advice = match borne {
            Some(_) => "Take the predictions as a direction, and measure",
            None => "So it predicts nothing: measure",
        };
        return format!(
            "the model misses what was measured by up to {}. {advice} on a machine with more than {most} CPUs: `unspin \
             scale` there checks the predictions.",
            Percent::TwoDigits.of(worst)
        );
    }
    if borne.is_none() && is_any_unborne {
        return format!(
            "the runs differ too much for a prediction ({}). Repeat on a quiet machine, with more --runs, or measure on a \
             machine with more than {most} CPUs.",
            spread(report)
        );
    }
    format!(
        "the model is within {} of what was measured. It bears predictions up to {} CPUs; beyond that measure on a \
         larger machine. `unspin prove` tells whether a difference on this one is real.",
        Percent::TwoDigits.of(worst),
        borne.unwrap_or(REACH * most)
    )
}

/// The most CPUs for which every configuration has a prediction; none if there is no such number.
fn borne(report: &ScaleReport) -> Option<u32> {
    let of = |configuration: &ScaledConfiguration| {
        let predictions = configuration.fit.predictions.iter();
        predictions.filter(|p| p.source == FigureSource::Predicted).map(|p| p.cpus).max()
    };
    report.configurations.iter().map(of).min().flatten()
}

/// How widely the worst check of the model spreads.
fn spread(report: &ScaleReport) -> String {
    let checks = report.configurations.iter().filter_map(|c| c.fit.validations.last()?.error_interval);
    let widest = checks.max_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    widest.map_or("nothing checks the model".into(), |(low, high)| {
        format!("the error of a check lies between {:+.0} and {:+.0} %", 100.0 * low, 100.0 * high)
    })
}
