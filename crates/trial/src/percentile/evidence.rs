//! What the percentiles of a session rest on.

use super::{Percentile, Tool};
use crate::format::grouped;
use serde::Serialize;

/// The number of requests behind the percentile of each run, and the table that it was read from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PercentileEvidence {
    /// The percentile in percent.
    #[serde(serialize_with = "percent")]
    pub percent: Percentile,
    /// The tool that printed it; none if it was found by the word alone.
    pub tool: Option<Tool>,
    /// Number of tables in the output of a run, of which the last one counts.
    pub tables: usize,
    /// The smallest number of requests of a run; none if the tool does not print it.
    pub samples_min: Option<u64>,
    /// The largest one.
    pub samples_max: Option<u64>,
    /// How many of the smallest number of requests are slower than the percentile.
    pub samples_above: Option<f64>,
}

/// The number of requests above a fixed time has a standard deviation of its square root: with ten, a third of it. With fewer,
/// a percentile is a matter of chance.
const ABOVE_MIN: f64 = 10.0;

impl PercentileEvidence {
    /// Sums up the runs, each with its number of requests.
    pub fn of(
        percent: Percentile,
        origin: Option<(Tool, usize)>,
        samples: impl Iterator<Item = Option<u64>>,
    ) -> PercentileEvidence {
        let known: Vec<u64> = samples.flatten().collect();
        let samples_min = known.iter().copied().min();
        PercentileEvidence {
            percent,
            tool: origin.map(|(tool, _)| tool),
            tables: origin.map_or(0, |(_, tables)| tables),
            samples_min,
            samples_max: known.iter().copied().max(),
            samples_above: samples_min.map(|samples| percent.above(samples)),
        }
    }

    /// The sentence of a report, with the warning.
    pub fn text(&self) -> String {
        match self.warning() {
            Some(warning) => format!("{} {warning}.", self.sentence()),
            None => self.sentence(),
        }
    }

    /// "p99 of each run rests on 812,000 to 905,000 requests (wrk)."
    pub fn sentence(&self) -> String {
        let percentile = self.percent;
        let Some(tool) = self.tool else {
            return format!(
                "{percentile} of each run is the number behind this word in its output, which has no latency table of a known tool; \
                 how many requests it rests on is unknown."
            );
        };
        let which = match self.tables {
            0 | 1 => String::new(),
            tables => format!(", the last of {tables} latency tables in its output"),
        };
        match (self.samples_min, self.samples_max) {
            (Some(least), Some(most)) if least == most => {
                format!("{percentile} of each run rests on {} requests ({tool}{which}).", grouped(least))
            }
            (Some(least), Some(most)) => {
                let (least, most) = (grouped(least), grouped(most));
                format!("{percentile} of each run rests on {least} to {most} requests ({tool}{which}).")
            }
            _ => format!(
                "{percentile} of each run is that of {tool}{which}; the output does not say of how many requests."
            ),
        }
    }

    /// What to do if the percentile rests on too few requests.
    pub fn warning(&self) -> Option<String> {
        let above = self.samples_above.filter(|above| *above < ABOVE_MIN)?;
        let slowest = match above.floor() {
            above if above < 2.0 => "is the slowest request of a run".to_owned(),
            above => format!("rests on the {above:.0} slowest requests of a run"),
        };
        let percentile = self.percent;
        Some(format!(
            "{percentile} {slowest}, so that chance decides it: use a longer load, or a lower percentile"
        ))
    }
}

fn percent<S: serde::Serializer>(percentile: &Percentile, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(percentile.percent())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(word: &str, origin: Option<(Tool, usize)>, samples: &[Option<u64>]) -> PercentileEvidence {
        PercentileEvidence::of(Percentile::of_word(word).unwrap(), origin, samples.iter().copied())
    }

    #[test]
    fn requests_of_the_runs_are_stated() {
        let wrk = evidence("p99", Some((Tool::Wrk, 1)), &[Some(905_000), Some(812_000), None]);
        assert_eq!(wrk.sentence(), "p99 of each run rests on 812,000 to 905,000 requests (wrk).");
        assert_eq!(wrk.warning(), None);
        let redis = evidence("p99", Some((Tool::RedisBenchmark, 2)), &[Some(20_000); 3]);
        let said = "p99 of each run rests on 20,000 requests (redis-benchmark, the last of 2 latency tables in its output).";
        assert_eq!(redis.sentence(), said);
        let csv = evidence("p99", Some((Tool::RedisBenchmarkCsv, 1)), &[None]);
        assert!(csv.sentence().ends_with("does not say of how many requests."));
        assert!(evidence("p99", None, &[None]).sentence().contains("no latency table of a known tool"));
    }

    #[test]
    fn few_requests_above_the_percentile_are_warned_of() {
        let warning =
            |word, samples| evidence(word, Some((Tool::Wrk, 1)), &[Some(9_000_000), Some(samples)]).warning();
        let said = "p99.9 rests on the 4 slowest requests of a run, so that chance decides it: use a longer load, or a lower percentile";
        assert_eq!(warning("p99.9", 4_200).as_deref(), Some(said));
        assert_eq!((warning("p99.9", 10_000), warning("p99", 1000)), (None, None));
        assert!(warning("p99.9", 9_999).is_some());
        assert!(warning("p99.9", 1_200).unwrap().starts_with("p99.9 is the slowest request of a run, "));
        assert!(warning("p100", 5_000_000).unwrap().starts_with("p100 is the slowest request of a run, "));
        assert_eq!(evidence("p99.9", Some((Tool::Wrk, 1)), &[None]).warning(), None);
    }
}
