//! The source of a percentile in all runs of a session: the same tables of the same tool.

use super::{Percentile, PercentileEvidence, PercentileReading, Tool, read, remedy};
use std::cell::{Cell, OnceCell};

/// A percentile as the figure of each run.
#[derive(Debug)]
pub struct PercentileSource {
    /// The percentile.
    pub percentile: Percentile,
    /// The tool and the number of its tables in the first output; none if that has no table.
    origin: OnceCell<Option<(Tool, usize)>>,
    /// The smallest number of requests until now.
    fewest_samples: Cell<Option<u64>>,
}

impl PercentileSource {
    /// Before the first run.
    pub fn new(percentile: Percentile) -> PercentileSource {
        PercentileSource { percentile, origin: OnceCell::new(), fewest_samples: Cell::new(None) }
    }

    /// The percentile in the last latency table of an output; none if it has no table, as the first one had none. Otherwise the
    /// output must have the tables that the first one had.
    pub fn of(&self, output: &str) -> Result<Option<PercentileReading>, String> {
        let percentile = self.percentile;
        let reading = read(percentile, output).transpose()?;
        let origin = reading.as_ref().map(|reading| (reading.tool, reading.tables));
        if let Some(earlier) = self.origin.get().filter(|earlier| **earlier != origin) {
            let [this, earlier] = [origin, *earlier].map(tables);
            return Err(format!(
                "no {percentile} as in the earlier runs: its output has {this}, and theirs {earlier}"
            ));
        }
        if let Some(reading) = &reading {
            self.origin.get_or_init(|| origin);
            self.fewest_samples.set(self.fewest_samples.get().into_iter().chain(reading.samples).min());
        }
        Ok(reading)
    }

    /// Notes that the first output has the figure without a table.
    pub fn note_figure_without_table(&self) {
        self.origin.get_or_init(|| None);
    }

    /// Why there is no figure, if an output has neither a table nor the percentile's name.
    pub fn explain(&self, why: &str, output: &str) -> String {
        match remedy(output) {
            Some(remedy) => format!("{why}: {remedy}"),
            None => format!("{why}, and no latency table of a known tool"),
        }
    }

    /// What the percentile rests on in some runs, given the number of requests of each; none if no output had it.
    pub fn evidence(&self, samples: impl Iterator<Item = Option<u64>>) -> Option<PercentileEvidence> {
        let origin = *self.origin.get()?;
        Some(PercentileEvidence::of(self.percentile, origin, samples))
    }

    /// What to do if it rested on too few requests in a run until now.
    pub fn warning(&self) -> Option<String> {
        self.evidence(std::iter::once(self.fewest_samples.get()))?.warning()
    }
}

/// "1 latency table, of wrk".
fn tables(origin: Option<(Tool, usize)>) -> String {
    match origin {
        None => "no latency table".to_owned(),
        Some((tool, 1)) => format!("1 latency table, of {tool}"),
        Some((tool, tables)) => format!("{tables} latency tables, the last of {tool}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrk(requests: u64) -> String {
        format!(
            "  Latency Distribution\n     50%  251.00us\n     99%    6.49ms\n  {requests} requests in 2.10s, 1MB read\n"
        )
    }

    fn p99() -> PercentileSource {
        PercentileSource::new(Percentile::of_word("p99").unwrap())
    }

    #[test]
    fn all_outputs_have_the_tables_of_the_first() {
        let source = p99();
        assert_eq!(source.of(&wrk(5000)).unwrap().unwrap().value, 6.49e-3);
        let why = source.of("p99: 7 ms").unwrap_err();
        assert_eq!(
            why,
            "no p99 as in the earlier runs: its output has no latency table, and theirs 1 latency table, of wrk"
        );
        let why = source.of(&wrk(5000).repeat(2)).unwrap_err();
        assert!(why.contains("its output has 2 latency tables, the last of wrk, and theirs 1"), "{why}");
        assert!(source.of(&wrk(400)).is_ok());
        let source = p99();
        assert_eq!(source.of("p99: 7 ms"), Ok(None));
        assert_eq!(source.evidence(std::iter::empty()), None, "no figure has been read");
        source.note_figure_without_table();
        assert!(source.of(&wrk(400)).is_err());
        assert_eq!(source.evidence(std::iter::empty()).unwrap().tool, None);
    }

    #[test]
    fn warning_is_about_the_run_with_the_fewest_requests() {
        let source = p99();
        for (requests, warns) in [(5000, false), (400, true), (6000, true)] {
            source.of(&wrk(requests)).unwrap();
            assert_eq!(source.warning().is_some(), warns, "{requests}");
        }
        assert!(source.warning().unwrap().starts_with("p99 rests on the 4 slowest requests of a run"));
    }

    #[test]
    fn missing_table_is_explained() {
        let explain = |output: &str| p99().explain("no number for --metric 'p99' in its output", output);
        assert!(
            explain("Thread Stats\n 5 requests in 1s")
                .ends_with(" in its output: wrk prints percentiles only with --latency")
        );
        assert!(explain("").ends_with(" in its output, and no latency table of a known tool"));
    }
}
