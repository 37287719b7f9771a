//! What the runs say about a row.

use super::row::{Bound, Note, QuantityRow};
use crate::figure::{Reached, median};
use crate::session::{BenchSession, Validity};
use serde::Serialize;

/// A row with its figures.
#[derive(Clone, Debug, Serialize)]
pub struct QuantityFigure {
    /// What is measured.
    pub name: String,
    /// The figure's unit.
    pub unit: &'static str,
    /// The figures, or why there are none.
    #[serde(flatten)]
    pub outcome: QuantityOutcome,
}

/// The figures of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuantityOutcome {
    /// They were measured.
    Measured(MeasuredQuantity),
    /// They were not, because of this.
    Skipped(String),
}

/// The figure, and what is shown with it.
#[derive(Clone, Debug, Serialize)]
pub struct MeasuredQuantity {
    /// By repetition.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// The interval that holds the median of all such repetitions in at least 95 of 100 such tables; none where there are too
    /// few of them.
    pub interval: Option<(f64, f64)>,
    /// What was wanted, and whether it is reached.
    pub wanted: Option<(Bound, Reached)>,
    /// What else is shown.
    pub notes: Vec<Remark>,
}

/// Another figure: the median of the repetitions.
#[derive(Clone, Debug, Serialize)]
pub struct Remark {
    /// What it is.
    pub name: String,
    /// The figure.
    pub median: f64,
    /// The figure's unit, with a space before it.
    pub unit: &'static str,
}

/// All rows.
pub fn evaluate(rows: &[QuantityRow], session: &BenchSession) -> Vec<QuantityFigure> {
    let figure = |row: &QuantityRow| QuantityFigure {
        name: row.name.clone(),
        unit: row.unit,
        outcome: match &row.missing {
            Some(reason) => QuantityOutcome::Skipped(reason.clone()),
            None => QuantityOutcome::Measured(summarise(row, session)),
        },
    };
    rows.iter().map(figure).collect()
}

fn summarise(row: &QuantityRow, session: &BenchSession) -> MeasuredQuantity {
    let values = row.quantity.values(session);
    let interval = interval_of_median(&values);
    let once = values.len() == 1;
    let ends = interval.or(once.then(|| (values[0], values[0])));
    let remark = |note: &Note| Remark {
        name: note.name.clone(),
        median: median(&note.quantity.values(session)),
        unit: note.unit,
    };
    MeasuredQuantity {
        median: median(&values),
        interval,
        wanted: row.bound.map(|bound| (bound, judge(bound, ends, session.claims))),
        notes: row.notes.iter().map(remark).collect(),
        values,
    }
}

/// Between two order statistics: the true median lies below the k-th smallest of n values, or above the k-th largest, only
/// if fewer than k of n tosses of a coin show heads, or tails (David & Nagaraja, *Order Statistics*, 2003, 7.1).
fn interval_of_median(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let mut tail = 0.0;
    let mut chance = 0.5f64.powi(n as i32);
    let mut outside = 0;
    // After each step, `tail` is the chance of at most `outside - 1` heads.
    while tail + chance <= 0.025 {
        tail += chance;
        outside += 1;
        chance *= (n + 1 - outside) as f64 / outside as f64;
    }
    (outside > 0).then(|| (sorted[outside - 1], sorted[n - outside]))
}

fn judge(bound: Bound, ends: Option<(f64, f64)>, claims: Validity) -> Reached {
    let (Validity::Valid, Some((lower, upper))) = (claims, ends) else { return Reached::Unclaimed };
    let (all, none) = match bound {
        Bound::AtMost(most) => (upper <= most, lower > most),
        Bound::AtLeast(least) => (lower >= least, upper < least),
    };
    match (all, none) {
        (true, _) => Reached::Yes,
        (_, true) => Reached::No,
        _ => Reached::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ranks in the tables of any textbook: 15 values, 4th and 12th; 25, 8th and 18th.
    #[test]
    fn median_interval_equals_the_published_table() {
        let values = |n: u32| (1..=n).map(f64::from).collect::<Vec<f64>>();
        assert_eq!(interval_of_median(&values(15)), Some((4.0, 12.0)));
        assert_eq!(interval_of_median(&values(25)), Some((8.0, 18.0)));
        assert_eq!(interval_of_median(&values(6)), Some((1.0, 6.0)));
        assert_eq!(interval_of_median(&values(5)), None);
    }

    #[test]
    fn limit_inside_the_interval_is_undecided() {
        let reached = |bound| judge(bound, Some((18.0, 19.0)), Validity::Valid);
        let most = [19.0, 18.5, 17.0].map(|n| reached(Bound::AtMost(n)));
        let least = [18.0, 18.5, 20.0].map(|n| reached(Bound::AtLeast(n)));
        assert_eq!((most, least), ([Reached::Yes, Reached::Undecided, Reached::No], most));
    }
}
