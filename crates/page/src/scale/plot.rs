//! Throughput by the number of CPUs: runs as dots, the model as a line with a band.

use super::numbers;
use crate::name::short;
use crate::number::{factor, tick};
use crate::palette::Series;
use crate::picture::{NumbersShown, Picture};
use crate::svg::{Axis, line, mark, px, text, text_around, text_before};
use maud::{Markup, html};
use unspin_figures::significant;
use unspin_results::{StoredScale, StoredScaling};
use unspin_scaling::fit::{FigureSource, Prediction};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 744.0;
const PLOT: f64 = 300.0;
/// Height of an entry of the key.
const KEY: f64 = 20.0;
/// Width of an entry of the key.
const KEY_WIDTH: f64 = 240.0;
/// Letters of a configuration's name in the key.
const KEY_LETTERS: usize = 28;
/// Runs of a configuration that are drawn one by one.
const RUNS: usize = 400;

/// Most distance between configurations at one number of CPUs.
const BESIDE: f64 = 16.0;

/// Both axes, and the distance at which configurations stand beside one another at each number of CPUs, so that all are seen.
struct Plot {
    cpus: Axis,
    throughput: Axis,
    beside: f64,
    configurations: usize,
}

/// The picture.
pub fn render(scale: &StoredScale) -> Markup {
    if scale.runs.is_empty() && scale.configurations.is_empty() {
        return html! { p { "No run was successful." } };
    }
    let top = (scale.names.len().div_ceil(3) as f64) * KEY + 14.0;
    let plot = Plot::of(scale, top);
    let unit = super::unit(scale);
    let picture = Picture {
        id: "throughput-picture".into(),
        title: "Throughput by the number of CPUs".into(),
        description: scale.configurations.iter().map(description).collect::<Vec<_>>().join(" "),
        how_to_read: html! {
            "Higher is better (" (unit) "). At each number of CPUs the configurations stand beside one another. Large marks are measured means, small dots single runs. The line joins the measured means, and beyond them it is the model; the band is the 95 % interval; "
            "dashed is far beyond the measurements, and shows a direction only. The dotted line is what perfect scaling would be. "
            "By USL in the table: what Gunther's universal scalability law gives, a curve that knows no lock, fitted to the same runs. Where it "
            "is far from the model, trust neither."
        },
        width: WIDTH,
        height: top + PLOT + 46.0,
        drawing: html! {
            (key(scale))
            (plot.axes(top))
            (plot.perfect(scale))
            @for (number, configuration) in scale.configurations.iter().enumerate() {
                (plot.model(series_of(scale, configuration, number), configuration))
            }
            @for number in 0..scale.names.len() { (plot.runs(scale, number)) }
            @for (number, configuration) in scale.configurations.iter().enumerate() {
                (plot.means(series_of(scale, configuration, number), configuration))
            }
        },
        numbers: numbers::throughputs(scale, &unit),
        numbers_shown: NumbersShown::AtOnce,
    };
    picture.render()
}

/// The series of a configuration: its place among all names, which the runs count.
fn series_of(scale: &StoredScale, configuration: &StoredScaling, number: usize) -> Series {
    Series(scale.names.iter().position(|name| *name == configuration.name).unwrap_or(number))
}

fn shown(configuration: &StoredScaling) -> impl Iterator<Item = &Prediction> {
    configuration.fit.predictions.iter().filter(|prediction| prediction.source != FigureSource::Unborne)
}

impl Plot {
    fn of(scale: &StoredScale, top: f64) -> Plot {
        let predicted = scale.configurations.iter().flat_map(shown);
        let points = predicted.flat_map(|p| {
            // A far prediction may have an interval that would flatten the rest.
            let high = p.interval.map_or(p.throughput, |(_, high)| high.min(3.0 * p.throughput));
            [(p.cpus, p.throughput), (p.cpus, high)]
        });
        let runs = scale.runs.iter().map(|run| (run.cpus, run.throughput));
        let (mut cpus, mut high) = (1, 0.0f64);
        for (n, throughput) in points.chain(runs).filter(|(_, throughput)| throughput.is_finite()) {
            cpus = cpus.max(n);
            high = high.max(throughput);
        }
        let axis = Axis::log((0.8, f64::from(cpus) * 1.2), (LEFT, RIGHT));
        let configurations = scale.names.len().max(1);
        // Half of the distance from one number of CPUs to its double.
        let room = 0.5 * (axis.at(2.0) - axis.at(1.0));
        Plot {
            cpus: axis,
            throughput: Axis::linear((0.0, 1.05 * high), (top + PLOT, top)),
            beside: (room / configurations as f64).min(BESIDE),
            configurations,
        }
    }

    /// Where a configuration has its mark.
    fn at(&self, series: Series, cpus: u32, throughput: f64) -> (f64, f64) {
        let place = series.0 as f64 - (self.configurations - 1) as f64 / 2.0;
        (self.cpus.at(f64::from(cpus)) + place * self.beside, self.throughput.at(throughput))
    }

    fn axes(&self, top: f64) -> Markup {
        let most = self.cpus.ends().1 as u32;
        let powers = (0..20).map(|power| 1u32 << power).take_while(|cpus| *cpus <= most);
        html! {
            @for value in self.throughput.ticks(6) {
                @let y = self.throughput.at(value);
                (line("grid", (LEFT, y), (RIGHT, y)))
                (text_before("small", (LEFT - 8.0, y + 4.0), &tick(value)))
            }
            @for cpus in powers {
                @let x = self.cpus.at(f64::from(cpus));
                (line("grid", (x, top), (x, top + PLOT)))
                (text_around("small", (x, top + PLOT + 18.0), &cpus.to_string()))
            }
            (line("axis", (LEFT, top + PLOT), (RIGHT, top + PLOT)))
            (text_around("small", ((LEFT + RIGHT) / 2.0, top + PLOT + 38.0), "CPUs"))
        }
    }

    /// Throughput that grows with the CPUs, from that of the control on one.
    fn perfect(&self, scale: &StoredScale) -> Markup {
        let one = scale.configurations.first().and_then(|control| shown(control).find(|p| p.cpus == 1));
        let Some(one) = one.map(|p| p.throughput).filter(|one| *one > 0.0) else { return html! {} };
        let (high, cpus) = (self.throughput.ends().1, self.cpus.ends().1);
        let end = (high / one).min(cpus).max(1.0);
        // The axis of CPUs is logarithmic, so the line is bent.
        let steps = (0..=40).map(|step| end.powf(f64::from(step) / 40.0));
        let points: Vec<String> =
            steps.map(|n| format!("{},{}", px(self.cpus.at(n)), px(self.throughput.at(n * one)))).collect();
        html! { polyline.perfect fill="none" points=(points.join(" ")) {} }
    }

    /// The line of the model and its band.
    fn model(&self, series: Series, configuration: &StoredScaling) -> Markup {
        let all: Vec<&Prediction> = shown(configuration).collect();
        let upper = all.iter().filter_map(|p| Some(self.at(series, p.cpus, p.interval?.1)));
        let lower = all.iter().rev().filter_map(|p| Some(self.at(series, p.cpus, p.interval?.0)));
        let band: Vec<String> = upper.chain(lower).map(point).collect();
        let is_far = |p: &&&Prediction| p.source == FigureSource::FarBeyond;
        let near: Vec<String> =
            all.iter().filter(|p| !is_far(p)).map(|p| point(self.at(series, p.cpus, p.throughput))).collect();
        let last_near = all.iter().rposition(|p| !is_far(&p)).unwrap_or(0);
        let far: Vec<String> = all[last_near.min(all.len())..]
            .iter()
            .map(|p| point(self.at(series, p.cpus, p.throughput)))
            .collect();
        html! {
            @if band.len() > 3 { polygon class={ "range " (series.class()) } points=(band.join(" ")) {} }
            @if near.len() > 1 { polyline class={ "stroke " (series.class()) } points=(near.join(" ")) {} }
            @if far.len() > 1 { polyline class={ "stroke dashed " (series.class()) } points=(far.join(" ")) {} }
        }
    }

    fn runs(&self, scale: &StoredScale, number: usize) -> Markup {
        let runs = scale.runs.iter().filter(|run| run.configuration == number && run.throughput.is_finite());
        html! {
            @for run in runs.take(RUNS) {
                @let (x, y) = self.at(Series(number), run.cpus, run.throughput);
                // Beside the mean, so that both are seen.
                circle class={ "mark " (Series(number).class()) } cx=(px(x + 0.55 * self.beside)) cy=(px(y)) r="2.6" {}
            }
        }
    }

    fn means(&self, series: Series, configuration: &StoredScaling) -> Markup {
        html! {
            @for p in shown(configuration) {
                @let class = if p.source == FigureSource::Measured { "" } else { "hollow" };
                (mark(series, class, self.at(series, p.cpus, p.throughput), 5.0))
            }
        }
    }
}

fn point((x, y): (f64, f64)) -> String {
    format!("{},{}", px(x), px(y))
}

fn key(scale: &StoredScale) -> Markup {
    html! {
        @for (number, name) in scale.names.iter().enumerate() {
            @let (x, y) = (LEFT + (number % 3) as f64 * (KEY_WIDTH - 10.0), (number / 3) as f64 * KEY + 12.0);
            (mark(Series(number), "", (x, y - 4.5), 5.0))
            (text("", (x + 12.0, y), &short(name, KEY_LETTERS)))
        }
    }
}

fn description(configuration: &StoredScaling) -> String {
    let on = |cpus: u32| if cpus == 1 { "one CPU".to_owned() } else { format!("{cpus} CPUs") };
    let one = shown(configuration).find(|p| p.cpus == 1).map(|p| p.throughput).filter(|one| *one > 0.0);
    let points = shown(configuration).map(|p| match one {
        Some(_) if p.cpus == 1 => format!("{} on one CPU", significant(p.throughput)),
        Some(one) => format!("{} times that on {}", factor(p.throughput / one), on(p.cpus)),
        None => format!("{} on {}", significant(p.throughput), on(p.cpus)),
    });
    format!("{}: {}.", configuration.name, points.collect::<Vec<_>>().join(", "))
}
