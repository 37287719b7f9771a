//! What the runs measured, and the table in which the report of 2002 prints it.

use crate::histogram::Histogram;
use crate::interaction::Interaction;
use std::fmt;
use std::time::Duration;
use unspin_stats::RateTable;

/// A run after which all checks held.
#[derive(Clone, Debug)]
pub struct RunFigures {
    /// The number of the run, from 1.
    pub number: usize,
    /// The measured time.
    pub time: Duration,
    /// Response times, in the order of [`Interaction::ALL`].
    pub times: [Histogram; 14],
    /// Transactions that had to be tried again.
    pub conflicts: u64,
}

impl RunFigures {
    /// Measured interactions.
    pub fn interactions(&self) -> u64 {
        self.times.iter().map(Histogram::count).sum()
    }

    /// Bogotransactions a second: interactions of all kinds.
    pub fn rate(&self) -> f64 {
        self.interactions() as f64 / self.time.as_secs_f64()
    }
}

/// The times of several histograms together.
fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    histograms.fold(Histogram::default(), |mut all, histogram| {
        all.merge(histogram);
        all
    })
}

impl fmt::Display for RunFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = merged(self.times.iter());
        write!(
            f,
            "run {}: {} interactions in {:.1} s, {:.1} BT/s, response times {}",
            self.number,
            self.interactions(),
            self.time.as_secs_f64(),
            self.rate(),
            Percentiles(&all),
        )?;
        match self.conflicts {
            0 => writeln!(f),
            count => writeln!(f, ", {count} transactions tried again"),
        }
    }
}

/// "50 % 1.2 ms, 90 % …".
struct Percentiles<'a>(&'a Histogram);

impl fmt::Display for Percentiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, ninety, ninety_nine] = [0.5, 0.9, 0.99].map(|share| ms(self.0.quantile(share)));
        write!(f, "50 % {median:.1}, 90 % {ninety:.1}, 99 % {ninety_nine:.1} ms")
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The result of all runs.
#[derive(Clone, Debug)]
pub struct Figures {
    /// All runs, in order; at least one.
    pub runs: Vec<RunFigures>,
}

impl Figures {
    /// The rates of all runs.
    pub fn rates(&self) -> Vec<f64> {
        self.runs.iter().map(RunFigures::rate).collect()
    }

    /// The table of response times.
    fn interactions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = merged(self.runs.iter().flat_map(|run| &run.times));
        writeln!(
            f,
            "{:<22} {:>8} {:>7} {:>8} {:>8} {:>8} {:>8}",
            "response times in ms", "count", "share", "50 %", "90 %", "99 %", "max"
        )?;
        for interaction in Interaction::LISTED {
            let times = merged(self.runs.iter().map(|run| &run.times[interaction as usize]));
            row(f, interaction.name(), &times, all.count())?;
        }
        row(f, "all", &all, all.count())
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, times: &Histogram, all: u64) -> fmt::Result {
    let share = 100.0 * times.count() as f64 / all.max(1) as f64;
    write!(f, "{name:<22} {:>8} {share:>5.2} %", times.count())?;
    for time in [times.quantile(0.5), times.quantile(0.9), times.quantile(0.99), times.greatest()] {
        write!(f, " {:>8.2}", ms(time))?;
    }
    writeln!(f)
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.interactions(f)?;
        let rates = self.rates();
        let (least, greatest) = (best(&rates, false), best(&rates, true));
        write!(f, "\nbogotransactions per second: {:.1}", mean(&rates))?;
        match rates.len() {
            1 => writeln!(f, " (1 run)"),
            count => writeln!(f, " (mean of {count} runs, {least:.1} to {greatest:.1})"),
        }?;
        match self.runs.iter().map(|run| run.conflicts).sum::<u64>() {
            0 => {}
            count => writeln!(f, "transactions tried again: {count}")?,
        }
        if rates.len() < 2 {
            return Ok(());
        }
        write!(f, "{}", RateTable(&rates))
    }
}

fn best(rates: &[f64], is_greatest: bool) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[if is_greatest { sorted.len() - 1 } else { 0 }]
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: usize, interactions: u64) -> RunFigures {
        let mut times: [Histogram; 14] = Default::default();
        (0..interactions).for_each(|_| times[Interaction::Home as usize].add(Duration::from_millis(2)));
        RunFigures { number, time: Duration::from_secs(10), times, conflicts: 0 }
    }

    #[test]
    fn table_is_that_of_the_report() {
        let runs = [850, 900, 700, 880, 870];
        let runs = runs.iter().enumerate().map(|(index, &count)| run(index + 1, count)).collect();
        let shown = Figures { runs }.to_string();
        let (_, result) = shown.split_once("\n\n").unwrap();
        let expected = "\
bogotransactions per second: 84.0 (mean of 5 runs, 70.0 to 90.0)
Raw 5 runs             85.0 90.0 70.0 88.0 87.0 BT
Average over 5 runs    84.0 BT
Std Deviation 5 runs   8.0 BT
Average over 4 best    87.5 BT
Std Deviation 4 best   2.1 BT
";
        assert_eq!(result, expected);
        assert!(shown.contains("Home                       4200 100.00 %"), "{shown}");
    }

    #[test]
    fn transactions_tried_again_are_in_the_result() {
        let runs = [3, 0, 4].map(|conflicts| RunFigures { conflicts, ..run(1, 500) });
        let shown = Figures { runs: runs.into() }.to_string();
        assert!(shown.contains(" to 50.0)\ntransactions tried again: 7\nRaw 3 runs "), "{shown}");
    }

    #[test]
    fn single_run_has_no_deviation() {
        let shown = Figures { runs: vec![run(1, 500)] }.to_string();
        assert!(shown.ends_with("\nbogotransactions per second: 50.0 (1 run)\n"), "{shown}");
        assert!(run(1, 500).to_string().starts_with("run 1: 500 interactions in 10.0 s, 50.0 BT/s, "));
    }
}
