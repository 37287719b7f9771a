//! Rates of some runs, as DBT-1's report of 2002 sums them up.

use std::fmt;

/// The rows that DBT-1's report of 2002 prints for the rates of some runs, at least two.
pub struct RateTable<'a>(pub &'a [f64]);

impl fmt::Display for RateTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rates = self.0;
        let raw: Vec<String> = rates.iter().map(|rate| format!("{rate:.1}")).collect();
        writeln!(f, "{:<22} {} BT", format!("Raw {} runs", rates.len()), raw.join(" "))?;
        report(f, &format!("over {} runs", rates.len()), &format!("{} runs", rates.len()), rates)?;
        let kept = without_worst(rates);
        match kept.len() {
            ..2 => Ok(()),
            count => report(f, &format!("over {count} best"), &format!("{count} best"), &kept),
        }
    }
}

/// The rows of the report of 2002 for some runs.
fn report(f: &mut fmt::Formatter<'_>, average: &str, deviation: &str, rates: &[f64]) -> fmt::Result {
    writeln!(f, "{:<22} {:.1} BT", format!("Average {average}"), mean(rates))?;
    writeln!(f, "{:<22} {:.1} BT", format!("Std Deviation {deviation}"), deviation_of(rates))
}

/// All rates but the lowest.
fn without_worst(rates: &[f64]) -> Vec<f64> {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.split_off(1)
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

/// Of the sample: with the number of rates less 1.
fn deviation_of(rates: &[f64]) -> f64 {
    let mean = mean(rates);
    let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
    (squares / (rates.len() - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worst_of_two_runs_is_kept_in_the_only_average() {
        let shown = RateTable(&[80.0, 90.0]).to_string();
        assert_eq!(
            shown,
            "Raw 2 runs             80.0 90.0 BT\nAverage over 2 runs    85.0 BT\nStd Deviation 2 runs   7.1 BT\n"
        );
    }
}
