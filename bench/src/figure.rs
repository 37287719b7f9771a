//! What the runs say about a row.

use crate::measurement::Measurement;
use crate::plan::{Row, Wanted};
use crate::session::{BenchSession, Validity};
use serde::Serialize;
use unspin_stats::random::{Purpose, stream};
use unspin_stats::{Direction, Ratio, bootstrap};

/// A row with its figures.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What is measured.
    pub name: &'static str,
    /// The row's unit.
    pub unit: &'static str,
    /// Which is better.
    pub direction: Direction,
    /// The figures, or why there are none.
    #[serde(flatten)]
    pub outcome: RowOutcome,
}

/// The figures of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowOutcome {
    /// They were measured.
    Measured(Measured),
    /// They were not, because of this.
    Skipped(String),
}

/// Both sides, and their ratio.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// unspin.
    pub ours: Runs,
    /// The other side.
    pub against: Runs,
    /// For comparison.
    pub others: Vec<Runs>,
    /// How many times as good as the other side: median over the repetitions, with a 95 % interval.
    pub ratio: Ratio,
    /// Coefficient of variation of the repetitions' ratios.
    pub spread: f64,
    /// What was wanted, and whether it is reached.
    pub wanted: Vec<(Wanted, Reached)>,
}

/// All runs of one measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Runs {
    /// The measurement's name in the table.
    pub name: &'static str,
    /// Median of the runs.
    pub median: f64,
    /// The runs, by repetition.
    pub values: Vec<f64>,
}

/// Whether a ratio is as wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// The whole interval is.
    Yes,
    /// None of it is.
    No,
    /// The interval holds both.
    Undecided,
    /// Too little was measured to say.
    Unclaimed,
}

/// Resamples of the bootstrap: enough for the third figure of an interval's ends.
const RESAMPLES: u32 = 9_999;
const SEED: u64 = 2;

/// All rows.
pub fn evaluate(rows: &[Row], session: &BenchSession) -> Vec<Figure> {
    let figure = |row: &Row| Figure {
        name: row.name,
        unit: row.unit,
        direction: row.direction,
        outcome: match &row.missing {
            Some(reason) => RowOutcome::Skipped(reason.clone()),
            None => RowOutcome::Measured(summarise(row, session)),
        },
    };
    rows.iter().map(figure).collect()
}

fn summarise(row: &Row, session: &BenchSession) -> Measured {
    let runs = |name, measurement: &Measurement| {
        let values = session.values(measurement, 0);
        Runs { name, median: median(&values), values }
    };
    let (ours, against) = (runs("rcu", &row.ours), runs(row.against.0, &row.against.1));
    let pairs: Vec<(f64, f64)> = against.values.iter().copied().zip(ours.values.iter().copied()).collect();
    let random = &mut stream(SEED, Purpose::Bootstrap);
    let ratio = bootstrap::median_of_ratios(&pairs, row.direction, 0.95, RESAMPLES, random);
    let ratio = ratio.expect("there are at least two repetitions");
    let ratios: Vec<f64> = pairs.iter().map(|&(a, b)| row.direction.times_as_good(b, a)).collect();
    Measured {
        spread: coefficient_of_variation(&ratios),
        wanted: row.wanted.iter().map(|&wanted| (wanted, judge(wanted, &ratio, session.claims))).collect(),
        others: row.others.iter().map(|(name, measurement)| runs(name, measurement)).collect(),
        ours,
        against,
        ratio,
    }
}

fn judge(wanted: Wanted, ratio: &Ratio, claims: Validity) -> Reached {
    match (claims, wanted) {
        (Validity::TooShort, _) => Reached::Unclaimed,
        (Validity::Valid, Wanted::NotWorse) if ratio.upper >= 1.0 => Reached::Yes,
        (Validity::Valid, Wanted::NotWorse) => Reached::No,
        (Validity::Valid, Wanted::AtLeast(times) | Wanted::Aim(times)) => match times {
            times if ratio.lower >= times => Reached::Yes,
            times if ratio.upper < times => Reached::No,
            _ => Reached::Undecided,
        },
    }
}

/// The middle one, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

fn coefficient_of_variation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_inside_the_interval_is_undecided() {
        let ratio = Ratio { value: 3.0, lower: 2.9, upper: 3.1 };
        let reached = |times| judge(Wanted::AtLeast(times), &ratio, Validity::Valid);
        assert_eq!([2.9, 3.0, 3.2].map(reached), [Reached::Yes, Reached::Undecided, Reached::No]);
    }

    #[test]
    fn not_worse_if_the_interval_reaches_one() {
        let reached = |lower, upper| {
            super::judge(Wanted::NotWorse, &Ratio { value: lower, lower, upper }, Validity::Valid)
        };
        assert_eq!((reached(0.9, 1.0), reached(0.9, 0.99)), (Reached::Yes, Reached::No));
    }

    #[test]
    fn medians_and_spreads() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
        assert!((coefficient_of_variation(&[1.0, 2.0, 3.0]) - 0.5).abs() < 1e-12);
    }
}
