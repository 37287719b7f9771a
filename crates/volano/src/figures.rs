//! The figures of the runs.

use crate::options::Options;
use std::fmt;
use std::time::Duration;

/// A run in which every message was delivered.
#[derive(Clone, Copy, Debug)]
pub struct RunFigures {
    /// The number of the run, from 1.
    pub number: usize,
    /// Messages that the client sent.
    pub sent: u64,
    /// Messages that the client received.
    pub received: u64,
    /// From the first message until the last connection has ended.
    pub time: Duration,
    /// Whether the result includes it.
    pub is_counted: bool,
}

impl RunFigures {
    /// Of run `number`, from 1. The first of several runs is not counted.
    pub fn new(number: usize, options: &Options, time: Duration) -> RunFigures {
        let is_counted = number > 1 || options.runs == 1;
        RunFigures {
            number,
            sent: options.messages_sent(),
            received: options.messages_received(),
            time,
            is_counted,
        }
    }

    /// Messages sent and received for each second.
    pub fn messages_per_second(&self) -> f64 {
        (self.sent + self.received) as f64 / self.time.as_secs_f64()
    }
}

impl fmt::Display for RunFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RunFigures { number, sent, received, .. } = self;
        let (seconds, rate) = (self.time.as_secs_f64(), self.messages_per_second());
        let note = if self.is_counted { "" } else { " (not counted)" };
        writeln!(
            f,
            "run {number}: {sent} sent, {received} received in {seconds:.3} s, {rate:.0} messages per second{note}"
        )
    }
}

/// The result of all runs.
#[derive(Clone, Debug)]
pub struct Figures {
    /// All runs, in order. At least one is counted.
    pub runs: Vec<RunFigures>,
}

impl Figures {
    /// The rates of the runs that are counted.
    fn rates(&self) -> impl Iterator<Item = f64> {
        self.runs.iter().filter(|run| run.is_counted).map(RunFigures::messages_per_second)
    }

    /// The mean of the runs that are counted.
    pub fn messages_per_second(&self) -> f64 {
        self.rates().sum::<f64>() / self.rates().count() as f64
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, greatest) =
            self.rates().fold((f64::MAX, 0.0_f64), |(l, g), rate| (l.min(rate), g.max(rate)));
        write!(f, "messages per second: {:.0}", self.messages_per_second())?;
        match self.rates().count() {
            1 => writeln!(f, " (1 run)"),
            count => writeln!(f, " (mean of {count} runs, {least:.0} to {greatest:.0})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(runs: usize, seconds: &[u64]) -> Figures {
        let options = Options { rooms: 1, users: 2, messages: 50, runs, ..Options::default() };
        let run = |(index, &s): (usize, &u64)| RunFigures::new(index + 1, &options, Duration::from_secs(s));
        Figures { runs: seconds.iter().enumerate().map(run).collect() }
    }

    #[test]
    fn first_of_several_runs_is_not_counted() {
        let figures = figures(4, &[100, 1, 2, 4]);
        let shown: String = figures.runs.iter().map(RunFigures::to_string).collect();
        assert!(shown.starts_with(
            "run 1: 100 sent, 100 received in 100.000 s, 2 messages per second (not counted)\n"
        ));
        assert!(shown.ends_with("run 4: 100 sent, 100 received in 4.000 s, 50 messages per second\n"));
        assert_eq!(figures.to_string(), "messages per second: 117 (mean of 3 runs, 50 to 200)\n");
    }

    #[test]
    fn single_run_is_counted() {
        assert_eq!(figures(1, &[2]).to_string(), "messages per second: 100 (1 run)\n");
    }
}
