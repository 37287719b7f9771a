//! The numbers of `unspin scale`.

use crate::name::name;
use crate::number::factor;
use crate::table::{Cell, Table, TableRow};
use maud::{Markup, html};
use unspin_figures::significant;
use unspin_results::{StoredScale, StoredScaling};
use unspin_scaling::fit::{FigureSource, Prediction};

/// The throughputs, measured and predicted; if nothing could be fitted, the runs.
pub fn throughputs(scale: &StoredScale, unit: &str) -> Table {
    let rows = match scale.configurations.is_empty() {
        true => runs(scale),
        false => scale.configurations.iter().flat_map(predictions).collect(),
    };
    let head = ["Configuration", "CPUs", "Throughput", "From", "To", "Of one CPU", "By USL", "Source"];
    Table {
        caption: format!("Throughput ({unit}), with 95 % intervals"),
        head: head.map(|head| html! { (head) }).into(),
        rows,
    }
}

fn predictions(configuration: &StoredScaling) -> Vec<TableRow> {
    let all = &configuration.fit.predictions;
    let one = all.iter().find(|prediction| prediction.cpus == 1).map(|prediction| prediction.throughput);
    let row = |prediction: &Prediction| {
        let is_borne = prediction.source != FigureSource::Unborne;
        let throughput = is_borne.then_some(prediction.throughput);
        let source = match prediction.source {
            FigureSource::Measured => "measured",
            FigureSource::Predicted => "predicted",
            FigureSource::FarBeyond => "predicted, far beyond the measurements",
            FigureSource::Unborne => "no prediction: the interval is too wide",
        };
        TableRow {
            head: name(&configuration.name),
            cells: vec![
                Cell::Number(f64::from(prediction.cpus), prediction.cpus.to_string()),
                Cell::number(throughput, significant),
                Cell::number(prediction.interval.map(|(low, _)| low), significant),
                Cell::number(prediction.interval.map(|(_, high)| high), significant),
                Cell::number(throughput.zip(one).map(|(t, one)| t / one), factor),
                Cell::number(prediction.by_law.zip(one).map(|(law, one)| law / one), factor),
                Cell::text(source),
            ],
        }
    };
    all.iter().map(row).collect()
}

fn runs(scale: &StoredScale) -> Vec<TableRow> {
    let row = |run: &unspin_results::StoredScaleRun| TableRow {
        head: name(scale.names.get(run.configuration).map_or("?", String::as_str)),
        cells: vec![
            Cell::Number(f64::from(run.cpus), run.cpus.to_string()),
            Cell::Number(run.throughput, significant(run.throughput)),
            Cell::Unknown,
            Cell::Unknown,
            Cell::Unknown,
            Cell::Unknown,
            Cell::text(format!("run of round {}", run.round + 1)),
        ],
    };
    scale.runs.iter().map(row).collect()
}

/// How well the model predicted what was measured; none if nothing checks it.
pub fn checks(scale: &StoredScale) -> Option<Markup> {
    let percent = |error: f64| format!("{:+.1} %", 100.0 * error);
    let rows = scale.configurations.iter().flat_map(|configuration| {
        configuration.fit.validations.iter().map(move |check| TableRow {
            head: name(&configuration.name),
            cells: vec![
                Cell::Number(f64::from(check.from), check.from.to_string()),
                Cell::Number(f64::from(check.cpus), check.cpus.to_string()),
                Cell::Number(check.predicted, significant(check.predicted)),
                Cell::Number(check.measured, significant(check.measured)),
                Cell::Number(check.error, percent(check.error)),
                Cell::number(check.error_interval.map(|(low, _)| low), percent),
                Cell::number(check.error_interval.map(|(_, high)| high), percent),
            ],
        })
    });
    let rows: Vec<TableRow> = rows.collect();
    let head =
        ["Configuration", "Fit on up to", "Predicts CPUs", "Predicted", "Measured", "Error", "From", "To"];
    (!rows.is_empty()).then(|| {
        let table = Table {
            caption: "Predictions of what was measured, from fewer CPUs".into(),
            head: head.map(|head| html! { (head) }).into(),
            rows,
        };
        html! {
            p { "The model was fitted on fewer CPUs than were measured, and predicted the rest. An error of more than some 15 % means that it lacks something that matters." }
            (table.render())
        }
    })
}
