//! A row of a report's table: both sides, the ratio, and the runs.

use super::figure::{Figure, Improvement};
use super::published::Published;
use serde::Serialize;
use unspin_stats::{Direction, Moments, Summary, three_digits};
use unspin_trial::format::Scale;

/// A row. Its figures are in the unit that it names.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The source of the figures, and what they measure.
    pub label: String,
    /// The unit.
    pub unit: String,
    /// The first side.
    pub before: Figure,
    /// The second side.
    pub after: Figure,
    /// How many times as good the second side is.
    pub improvement: Option<Improvement>,
}

impl Row {
    /// The row of published figures.
    pub fn published(published: &Published) -> Row {
        Row {
            label: format!("published, {} CPUs: {}", published.cpus, published.what),
            unit: published.unit.to_owned(),
            before: published.before.figure.clone(),
            after: published.after.figure.clone(),
            improvement: published.improvement(),
        }
    }

    /// The row of figures that one run of each side yielded here.
    pub fn of_one_run(label: String, unit: &str, direction: Direction, [before, after]: [f64; 2]) -> Row {
        let [before, after] = [before, after].map(|figure| Figure::Runs(vec![figure]));
        let improvement = Improvement::of(&before, &after, direction);
        Row { label, unit: unit.to_owned(), before, after, improvement }
    }

    /// The unit in which the figures are shown.
    fn scale(&self) -> Scale {
        let typical = self.before.mean().or(self.after.mean()).unwrap_or(1.0);
        Scale::new(typical, &self.unit)
    }

    /// The cells of the table: both sides, the ratio, its interval, the numbers of runs.
    pub fn cells(&self) -> [String; 5] {
        let scale = self.scale();
        let runs = |figure: &Figure| figure.count().map_or("-".to_owned(), |count| count.to_string());
        let runs = match [runs(&self.before), runs(&self.after)] {
            [before, after] if before == after => before,
            [before, after] => format!("{before}, {after}"),
        };
        let (ratio, interval) = self.format_improvement();
        [side(&self.before, &scale), side(&self.after, &scale), ratio, interval, runs]
    }

    /// The ratio and its interval, for tables.
    pub fn format_improvement(&self) -> (String, String) {
        match self.improvement {
            None => ("-".into(), "-".into()),
            Some(Improvement { interval: Some(ratio), .. }) => {
                let (_, [lower, upper]) = ratio.shown();
                (three_digits(ratio.value, 2), format!("{lower} – {upper}"))
            }
            Some(Improvement { value, interval: None }) => (three_digits(value, 2), "-".into()),
        }
    }

    /// The unit, as the tables show it.
    pub fn format_unit(&self) -> String {
        self.scale().unit
    }

    /// "515.2 → 46.70 s".
    pub fn in_brief(&self) -> String {
        let scale = self.scale();
        let mean = |figure: &Figure| match (figure, figure.mean()) {
            (Figure::Words(words), _) => (*words).to_owned(),
            (_, mean) => mean.map_or("-".into(), |mean| scale.show(mean)),
        };
        format!("{} → {} {}", mean(&self.before), mean(&self.after), scale.unit).trim_end().to_owned()
    }
}

/// The figure of measured runs. Moments need two.
pub fn measured_figure(summary: &Summary) -> Figure {
    match summary.standard_deviation {
        Some(standard_deviation) => {
            Figure::Moments(Moments { count: summary.count, mean: summary.mean, standard_deviation })
        }
        None => Figure::Runs(vec![summary.mean]),
    }
}

fn side(figure: &Figure, scale: &Scale) -> String {
    match (figure, figure.moments()) {
        (_, Some(moments)) => scale.show_with_deviation(moments.mean, moments.standard_deviation),
        (Figure::Words(words), None) => (*words).to_owned(),
        (_, None) => figure.mean().map_or("-".into(), |mean| scale.show(mean)),
    }
}
