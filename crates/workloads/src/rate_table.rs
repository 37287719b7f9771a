//! The rows in which a report of 2002 prints transactions per second.

use std::fmt;

/// The rows for the rates of some runs, at least two.
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
    fn worst_run_is_left_out_of_the_last_rows() {
        let expected = "\
Raw 3 runs             85.0 70.0 90.0 BT
Average over 3 runs    81.7 BT
Std Deviation 3 runs   10.4 BT
Average over 2 best    87.5 BT
Std Deviation 2 best   3.5 BT
";
        assert_eq!(RateTable(&[85.0, 70.0, 90.0]).to_string(), expected);
    }
}
