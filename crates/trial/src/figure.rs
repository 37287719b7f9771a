//! The figure that each run yields: a time, or a number in the program's output.

use super::percentile::{Percentile, PercentileEvidence, PercentileReading, PercentileSource};
use super::reading::{DecimalSign, Dimension, Expression, Reading, Unit, rate_expression};
use std::cell::{Cell, OnceCell};
use std::time::Duration;
use unspin_launch::error::Error;
use unspin_launch::output::trimmer;
use unspin_launch::program::workload::{Workload, WorkloadFigure};
use unspin_stats::{Direction, Metric};
use unspin_sys::child::Usage;
use unspin_sys::printable;

/// The source of a run's figure.
#[derive(Debug)]
pub struct Figure {
    source: Source,
    /// The figure's name, and which direction is better.
    pub metric: Metric,
    /// What a figure in the output must be known to be; anything if the direction was demanded, or is that of a workload's own
    /// figure.
    expected: Option<Dimension>,
    /// The base unit of the first figure in an output. All others must have it.
    unit: OnceCell<Unit>,
    /// What stands around the first figure. It must stand around all others.
    surroundings: OnceCell<Vec<String>>,
    /// The decimal sign that earlier figures have shown.
    sign: Cell<DecimalSign>,
    /// For the wall time: the value of `--metric` that would read a rate in the first output; none if there is none.
    rate_in_output: OnceCell<Option<String>>,
}

#[derive(Debug)]
enum Source {
    WallTime,
    CpuTime,
    Output {
        /// As `--metric` has it.
        expression: String,
        compiled: Expression,
        /// The percentile that the expression names, if it is nothing else. The expression is then used if an output has no latency
        /// table.
        percentile: Option<PercentileSource>,
    },
}

/// The figure of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunFigure {
    /// The value, in the base unit.
    pub value: f64,
    /// The distance between neighbouring values that could have been printed; none if it was not printed.
    pub step: Option<f64>,
    /// The unit with which it was printed, in base units; none of figures whose step does not depend on others.
    pub printed_unit: Option<f64>,
    /// For a percentile: the number of requests on which it rests, if the output has it.
    pub samples: Option<u64>,
}

/// Values of --metric that are not regular expressions.
const WALL_TIME: &str = "wall-time";
const CPU_TIME: &str = "cpu-time";

impl Figure {
    /// The figure that `--metric` names. By default a workload's own figure, and wall-clock time for other programs. Without a
    /// direction lower is better, and figures in the output that are no times are refused.
    pub fn new(
        wanted: Option<&str>,
        direction: Option<Direction>,
        workload: Option<&'static str>,
    ) -> Result<Figure, Error> {
        let expected = (direction.is_none() && wanted.is_some()).then_some(Dimension::Time);
        let direction = direction.unwrap_or(Direction::LowerIsBetter);
        let own = workload.and_then(Workload::named).map(|workload| workload.figure);
        let (source, metric) = match (wanted, own) {
            (Some(CPU_TIME), _) => (Source::CpuTime, Metric::cpu_time()),
            (Some(WALL_TIME), _) | (None, None) => (Source::WallTime, Metric::wall_time()),
            (Some(expression), _) => {
                // Sentences name the figure without the separator before its number.
                let name = expression.trim_end_matches([':', '=', ' ']);
                // They also leave out a group at its end: the name is "tps" for 'tps = ([0-9.]+)'.
                let name = match name.split_once('(') {
                    Some((before, _)) if is_plain(before) => before.trim_end_matches([':', '=', ' ']),
                    _ => name,
                };
                let name = if name.is_empty() { expression } else { name };
                // Without quotation marks an expression would read as a part of the sentence.
                let name = if is_plain(name) { name.to_owned() } else { format!("'{name}'") };
                (in_output(expression)?, Metric::custom(name, "", direction))
            }
            // For a time, sentences may say "as fast as".
            (None, Some(WorkloadFigure::Time(expression))) => {
                let metric = Metric { name: expression.into(), unit: "s".into(), ..Metric::wall_time() };
                (in_output(expression)?, metric)
            }
            (None, Some(WorkloadFigure::Rate(expression))) => {
                (in_output(expression)?, Metric::custom(expression, "", Direction::HigherIsBetter))
            }
        };
        if direction == Direction::HigherIsBetter && !matches!(source, Source::Output { .. }) {
            return Err(Error::Usage(
                "--higher-is-better requires a figure in the program's output: name it with --metric".into(),
            ));
        }
        Ok(Figure {
            source,
            metric,
            expected,
            unit: OnceCell::new(),
            surroundings: OnceCell::new(),
            sign: Cell::new(DecimalSign::Unknown),
            rate_in_output: OnceCell::new(),
        })
    }

    /// How many bytes at the end of the output are of interest.
    pub fn output_tail_bytes(&self) -> u64 {
        match &self.source {
            Source::WallTime if self.rate_in_output.get().is_none() => rate_expression::READ,
            Source::WallTime | Source::CpuTime => 0,
            Source::Output { .. } => trimmer::KEPT,
        }
    }

    /// The figure for the load of a server: what a load prints is mostly a rate, and must be known to be one unless a direction
    /// was demanded. A percentile stays one of latencies.
    pub fn of_load(mut self) -> Figure {
        if self.expected.is_some() && matches!(self.source, Source::Output { percentile: None, .. }) {
            self.expected = Some(Dimension::Rate);
            self.metric.direction = Direction::HigherIsBetter;
        }
        self
    }

    /// The figure of a successful run, or the reason why there is none, in one line.
    pub fn of(&self, elapsed: Duration, usage: &Usage, output: &str) -> Result<RunFigure, String> {
        match &self.source {
            Source::WallTime => {
                self.rate_in_output.get_or_init(|| rate_expression::rate_expression(output));
                Ok(RunFigure { value: elapsed.as_secs_f64(), step: None, printed_unit: None, samples: None })
            }
            Source::CpuTime => {
                Ok(RunFigure { value: usage.cpu_s(), step: None, printed_unit: None, samples: None })
            }
            Source::Output { expression, compiled, percentile: None } => {
                self.of_expression(expression, compiled, output)
            }
            Source::Output { expression, compiled, percentile: Some(percentile) } => {
                self.of_percentile(percentile, expression, compiled, output)
            }
        }
    }

    /// The figure that an expression finds.
    fn of_expression(
        &self,
        expression: &str,
        compiled: &Expression,
        output: &str,
    ) -> Result<RunFigure, String> {
        match compiled.last(output) {
            None => Err(format!("no number for --metric '{expression}' in its output")),
            Some(Ok(reading)) if self.expected.is_some_and(|expected| expected != reading.dimension) => {
                let what = match (reading.dimension, self.expected) {
                    (Dimension::Rate, _) => "is a rate",
                    (Dimension::Time, _) => "is a time",
                    (Dimension::Other, Some(Dimension::Rate)) => "is not known to be a rate",
                    (Dimension::Other, _) => "is not known to be a time",
                };
                Err(format!(
                    "the figure for --metric '{expression}' {what}; say --higher-is-better, or --lower-is-better; its line: {}",
                    reading.line
                ))
            }
            Some(Ok(reading)) => self.in_one_unit(expression, reading),
            Some(Err(why)) => Err(format!("no figure for --metric '{expression}' that can be read: {why}")),
        }
    }

    /// The percentile in a latency table of the output, or the number behind its name if there is no table.
    fn of_percentile(
        &self,
        source: &PercentileSource,
        expression: &str,
        compiled: &Expression,
        output: &str,
    ) -> Result<RunFigure, String> {
        let Some(PercentileReading { value, step, unit, samples, tool, .. }) = source.of(output)? else {
            let figure = self.of_expression(expression, compiled, output);
            let figure = figure.map_err(|why| match compiled.last(output) {
                None => source.explain(&why, output),
                Some(_) => why,
            })?;
            source.note_figure_without_table();
            return Ok(figure);
        };
        if self.metric.direction == Direction::HigherIsBetter {
            return Err(format!(
                "no {} of which more is better: that of {tool} is a latency; leave out --higher-is-better",
                source.percentile
            ));
        }
        self.unit.get_or_init(|| Unit::Base(unit.into()));
        Ok(RunFigure { value, step: Some(step), printed_unit: None, samples })
    }

    /// The percentile that is compared, if it is one.
    fn percentile(&self) -> Option<&PercentileSource> {
        match &self.source {
            Source::Output { percentile, .. } => percentile.as_ref(),
            Source::WallTime | Source::CpuTime => None,
        }
    }

    /// What a percentile rests on in some runs, given the number of requests of each; none for other figures.
    pub fn percentile_evidence(
        &self,
        samples: impl Iterator<Item = Option<u64>>,
    ) -> Option<PercentileEvidence> {
        self.percentile()?.evidence(samples)
    }

    /// What to do if a percentile rested on too few requests in a run until now.
    pub fn percentile_warning(&self) -> Option<String> {
        self.percentile()?.warning()
    }

    /// The metric with the unit that the figures had until now.
    pub fn measured_metric(&self) -> Metric {
        let unit = match self.unit.get() {
            Some(unit) if self.metric.unit.is_empty() => unit.name().to_owned(),
            _ => self.metric.unit.clone(),
        };
        Metric { unit, ..self.metric.clone() }
    }

    /// The value of `--metric` that reads a rate which the program prints, if the wall time was measured and there is one.
    pub fn rate_in_output(&self) -> Option<&str> {
        self.rate_in_output.get()?.as_deref()
    }

    /// The figure, if it has the unit of the earlier ones.
    fn in_one_unit(&self, expression: &str, reading: Reading) -> Result<RunFigure, String> {
        let known = self.unit.get_or_init(|| reading.unit.clone());
        if !known.compares_with(&reading.unit) {
            return Err(format!(
                "the figure for --metric '{expression}' has changed its unit: {} in this run, {known} in an earlier one; \
                 let the program print one unit; its line: {}",
                reading.unit, reading.line
            ));
        }
        let first = self.surroundings.get_or_init(|| reading.surroundings.clone());
        if *first != reading.surroundings {
            let (this, earlier) = difference(&reading.surroundings, first);
            return Err(format!(
                "what may be the unit of the figure for --metric '{expression}' has changed: {this} in this run, {earlier} in an \
                 earlier one; let the program print one unit, behind the number; its line: {}",
                reading.line
            ));
        }
        match (self.sign.get(), reading.sign) {
            (DecimalSign::Comma, DecimalSign::PointOrThousands)
            | (DecimalSign::PointOrThousands, DecimalSign::Comma) => {
                return Err(format!(
                    "the figures for --metric '{expression}' have a decimal comma in one run, and one point before three digits, \
                     which may separate thousands, in another; let the program print one form"
                ));
            }
            (_, DecimalSign::Unknown) => (),
            (_, sign) => self.sign.set(sign),
        }
        let Reading { value, step, printed_unit, .. } = reading;
        Ok(RunFigure { value, step: Some(step), printed_unit, samples: None })
    }
}

/// The first words that differ.
fn difference(this: &[String], earlier: &[String]) -> (String, String) {
    let equal = this.iter().zip(earlier).take_while(|(this, earlier)| this == earlier).count();
    let shown = |words: &[String]| match words.get(equal) {
        Some(word) if word == "#" => "a number".to_owned(),
        Some(word) => format!("\"{}\"", printable::line(word)),
        None => "nothing".to_owned(),
    };
    (shown(this), shown(earlier))
}

/// Whether a part of an expression stands for itself, and says something.
fn is_plain(text: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || " _:=,-/%".contains(character);
    text.chars().any(char::is_alphabetic) && text.chars().all(is_word)
}

fn in_output(expression: &str) -> Result<Source, Error> {
    let percentile = Percentile::of_word(expression).map(PercentileSource::new);
    let compiled = match &percentile {
        // "p99" is not the beginning of "p99.9".
        Some(_) => compile(&format!("{}[^0-9.\\n]", regex::escape(expression)))?,
        None => compile(expression)?,
    };
    Ok(Source::Output { expression: expression.into(), compiled, percentile })
}

fn compile(expression: &str) -> Result<Expression, Error> {
    Expression::compile(expression)
        .map_err(|error| Error::Usage(format!("--metric '{expression}': {}", last_line(&error))))
}

/// The last line of the parser's message; the lines above repeat the expression.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Figure {
        fn value(&self, output: &str) -> Result<f64, String> {
            self.of(Duration::ZERO, &Usage::default(), output).map(|figure| figure.value)
        }
    }

    fn figure(wanted: &str) -> Figure {
        Figure::new(Some(wanted), Some(Direction::HigherIsBetter), None).unwrap()
    }

    fn of(wanted: &str, output: &str) -> Result<f64, String> {
        figure(wanted).value(output)
    }

    #[test]
    fn no_more_of_the_output_is_read_than_is_searched() {
        let cpu_time = Figure::new(Some("cpu-time"), None, None).unwrap();
        assert_eq!((figure("tps").output_tail_bytes(), cpu_time.output_tail_bytes()), (trimmer::KEPT, 0));
        let wall_time = Figure::new(None, None, None).unwrap();
        assert_eq!(wall_time.output_tail_bytes(), rate_expression::READ);
        wall_time.value("12 tps").unwrap();
        assert_eq!(wall_time.output_tail_bytes(), 0, "the first output has been searched");
    }

    #[test]
    fn number_after_the_expression_is_found() {
        assert_eq!(of("tps", "1 tps: 7\n2 tps = 12.5 (best)\n"), Ok(12.5));
        assert_eq!(of("rate", "rate: 1,234,567.5/s"), Ok(1_234_567.5));
        assert_eq!(of("seconds per repetition", "seconds per repetition: 0.000011748"), Ok(0.000011748));
        assert_eq!(of("x", "x 1.5e-3"), Ok(0.0015));
        assert_eq!(of("x", "x -3"), Ok(-3.0));
        assert_eq!(of("a|b", "b: 4"), Ok(4.0));
        assert_eq!(of("x", "x: 7."), Ok(7.0));
        assert_eq!(of("x", "x: 10"), Ok(10.0));
        assert_eq!(of("x", "x = .5"), Ok(0.5));
    }

    #[test]
    fn step_of_a_figure_is_a_unit_of_its_last_digit() {
        let step =
            |output: &str| figure("x").of(Duration::ZERO, &Usage::default(), output).unwrap().step.unwrap();
        let cases = [("x: 12", 1.0), ("x 1.5e-3", 1e-4), ("x 1.50 ms", 1e-5), ("x: 2m30.5s", 0.1)];
        for (output, expected) in cases {
            assert!((step(output) - expected).abs() < 1e-15, "{output}");
        }
        let wall_time = Figure::new(None, None, None).unwrap();
        assert_eq!(wall_time.of(Duration::from_secs(1), &Usage::default(), "").unwrap().step, None);
    }

    #[test]
    fn group_marks_the_number() {
        assert_eq!(of(r"(\d+) of \d+ done", "3 of 9 done, 8 of 9 done"), Ok(8.0));
        assert_eq!(of(r"(?:a (\d+)|b (\d+))", "b 5"), Ok(5.0));
    }

    #[test]
    fn missing_number_is_reported() {
        let reason = of("tps", "nothing here").unwrap_err();
        assert!(reason.contains("--metric 'tps'"), "{reason}");
        let reason = of("tps = ([0-9.]+)", "tps: 7").unwrap_err();
        assert_eq!(reason, "no number for --metric 'tps = ([0-9.]+)' in its output");
        assert!(of("tps", "tps: none\n12").is_err(), "a number in another line is another number");
    }

    #[test]
    fn figures_of_one_session_have_one_unit() {
        let latency = figure("latency: ");
        let of = |output: &str| latency.value(output);
        assert_eq!(of("latency: 1.5ms"), Ok(0.0015));
        assert!((of("latency: 85us").unwrap() - 85e-6).abs() < 1e-15);
        assert_eq!(of("latency: 2m30s"), Ok(150.0));
        assert_eq!(latency.measured_metric().unit, "s");
        let why = of("latency: 5").unwrap_err();
        assert!(
            why.contains("--metric 'latency: ' has changed its unit: no unit in this run, s in an"),
            "{why}"
        );
        assert!(of("latency: 5 m").is_err(), "minutes, or something else");
        let traffic = figure("traffic");
        let of = |output: &str| traffic.value(output);
        assert_eq!((of("traffic 900 MB/s"), of("traffic 950 MB/s")), (Ok(900.0), Ok(950.0)));
        assert!(of("traffic 1.1 GB/s").unwrap_err().contains("GB/s in this run, MB/s in an earlier one"));
    }

    /// Issue 25: what the line says of the unit changed between runs.
    #[test]
    fn figures_of_one_session_have_one_form() {
        let session = |wanted: &str, outputs: [&str; 2]| {
            let figure = figure(wanted);
            outputs.map(|output| figure.value(output))
        };
        let [one, other] = session("done", ["done: 7 jobs per second", "done: 420 jobs per minute"]);
        assert_eq!(one, Ok(7.0));
        let why = other.unwrap_err();
        assert!(why.contains("\"minute\" in this run, \"second\" in an earlier one"), "{why}");
        let [one, other] = session("n=", ["lat (usec): x; n=7", "lat (msec): x; n=7"]);
        assert!(one.is_ok() && other.is_err());
        let [one, other] = session("avg=", ["lat (usec): min=1, avg=900", "lat (msec): min=1, avg=1"]);
        assert!((one.unwrap() - 900e-6).abs() < 1e-12 && (other.unwrap() - 1e-3).abs() < 1e-12);
        for outputs in [["t: 1.450,5", "t: 1.450"], ["t: 1.450", "t: 0,9"]] {
            let [one, other] = session("t: ", outputs);
            assert!(one.is_ok() && other.unwrap_err().contains("a decimal comma in one run"), "{outputs:?}");
        }
        let [one, other] = session("t: ", ["t: 12 мс", "t: 12 с"]);
        assert!(one.is_ok() && other.is_err());
    }

    /// Issue 25: an expression read as a part of its sentence.
    #[test]
    fn expression_is_quoted_and_a_name_is_not() {
        assert_eq!(figure("tps: ").metric.name, "tps");
        assert_eq!(figure("p99.*avg= ").metric.name, "'p99.*avg'");
        assert_eq!(figure("tps = ([0-9.]+)").metric.name, "tps");
    }

    #[test]
    fn number_that_is_read_by_half_is_no_figure() {
        let reason = of("time: ", "time: 1,234 s").unwrap_err();
        assert!(
            reason.starts_with("no figure for --metric 'time: ' that can be read: 1,234 is 1234 or 1.234"),
            "{reason}"
        );
        assert!(reason.ends_with("its line: \"time: 1,234 s\""), "{reason}");
    }

    #[test]
    fn invalid_expression_is_a_usage_error() {
        let error = Figure::new(Some("(a"), Some(Direction::LowerIsBetter), None).unwrap_err();
        assert!(
            matches!(&error, Error::Usage(text) if text.contains("--metric '(a'") && !text.contains('\n'))
        );
        assert!(Figure::new(None, Some(Direction::HigherIsBetter), None).is_err());
    }

    #[test]
    fn workloads_have_their_own_figures() {
        let default =
            |workload| Figure::new(None, Some(Direction::LowerIsBetter), workload).unwrap().metric.name;
        assert_eq!(default(Some("semopbench")), "seconds per repetition");
        assert_eq!(default(Some("hackbench")), "Time");
        assert_eq!(default(Some("volano")), "messages per second");
        assert_eq!(default(None), "wall time");
        let cpu = Figure::new(Some("cpu-time"), Some(Direction::LowerIsBetter), Some("semopbench")).unwrap();
        let usage = Usage { user_us: 1_000_000, system_us: 500_000, ..Usage::default() };
        assert_eq!(cpu.of(Duration::ZERO, &usage, "").unwrap().value, 1.5);
    }

    #[test]
    fn rate_of_volano_is_better_if_it_is_higher() {
        let figure = Figure::new(None, Some(Direction::LowerIsBetter), Some("volano")).unwrap();
        assert_eq!(figure.metric.direction, Direction::HigherIsBetter);
        let output = "run 4: 100 sent, 400 received in 0.005 s, 99000 messages per second\n\
                      messages per second: 98765 (mean of 3 runs, 97000 to 99500)\n";
        assert_eq!(figure.value(output), Ok(98765.0));
    }

    /// Issue 30.
    #[test]
    fn percentile_is_read_from_a_table_or_behind_its_name() {
        let p99 = || Figure::new(Some("p99"), None, None).unwrap();
        let wrk = "  Latency Distribution\n     50%  251.00us\n     99%    6.49ms\n  5000 requests in 2.10s, 1MB read\n";
        for figure in [p99(), p99().of_load()] {
            assert_eq!(figure.metric.direction, Direction::LowerIsBetter);
            let read = figure.of(Duration::ZERO, &Usage::default(), wrk).unwrap();
            assert!((read.step.unwrap() - 1e-5).abs() < 1e-15, "{read:?}");
            assert_eq!(read, RunFigure { value: 6.49e-3, samples: Some(5000), ..read });
            assert_eq!(
                (figure.measured_metric().name.as_str(), figure.measured_metric().unit.as_str()),
                ("p99", "s")
            );
            assert_eq!(figure.percentile_evidence([Some(7)].into_iter()).unwrap().samples_min, Some(7));
        }
        for figure in [p99(), p99().of_load()] {
            assert_eq!(figure.value("p99: 3.2 ms\np99.9: 9 ms, p999 7 ms"), Ok(3.2e-3), "not that of p99.9");
            assert_eq!(figure.value("lat_p99=4 ms"), Ok(4e-3));
            assert_eq!(figure.value("\"p99\": 0.005 s"), Ok(5e-3));
            assert_eq!(figure.percentile_evidence(std::iter::empty()).unwrap().tool, None);
        }
        assert_eq!(
            Figure::new(Some("p99.9"), None, None).unwrap().value("p9909: 1 ms\np99.9 2 ms"),
            Ok(2e-3)
        );
        let why = p99().value("p99: 500 ops/s").unwrap_err();
        assert!(why.contains("is a rate; say --higher-is-better"), "{why}");
        assert_eq!(figure("p99").value("p99: 500 ops/s"), Ok(500.0));
        let why = figure("p99").value(wrk).unwrap_err();
        assert!(why.starts_with("no p99 of which more is better: that of wrk is a latency"), "{why}");
        assert!(p99().value("nothing").unwrap_err().ends_with(", and no latency table of a known tool"));
        assert_eq!(p99().percentile_evidence(std::iter::empty()), None);
        assert_eq!(figure("p99: ").percentile_evidence(std::iter::empty()), None, "an expression");
    }

    /// Issue 25: twice as many requests were proven to be worse.
    #[test]
    fn figure_without_a_direction_is_a_time_or_refused() {
        let of = |wanted: &str, output: &str, direction: Option<Direction>| {
            Figure::new(Some(wanted), direction, None).unwrap().value(output)
        };
        for (wanted, output) in [
            ("Requests/sec:", "Requests/sec: 1000"),
            (": ", "Requests/sec: 1000"),
            ("tps = ", "tps = 12.5 (without initial connection time)"),
            ("TPS: ", "TPS: 12.5"),
            ("rate", "rate 10 ops/s"),
            ("x", "x 10 ops"),
            ("x", "x 5 MB/s"),
            ("x", "x 7 req/min"),
            ("GET: ([0-9.]+)", "GET: 1234.56 requests per second, p50=0.207 msec"),
            ("([0-9.]+) requests", "1234.56 requests/sec"),
            ("Throughput", "Throughput (MB): 5"),
            ("IOPS=", "read: IOPS=950, BW=3802KiB/s"),
            ("(?:ops)\": ", r#"{"ops": 5}"#),
            ("transactions:.*\\(([0-9.]+)", "transactions:   1000 (99.90 per sec.)"),
            // Issue 25: of these less was better without a word.
            ("x", "x 12 Mops"),
            ("x", "x 12 MFLOPS"),
            ("tpmC", "tpmC: 1200"),
            ("achieved", "achieved 1000 NOPM"),
            ("Message rate:", "Message rate: 5"),
            ("bandwidth", "bandwidth: 900 MB"),
            ("Score", "Score: 7"),
            ("speed", "speed: 7"),
            ("steps", "steps: 5"),
            (r"sec\): ", "done (99 sec): 5"),
            ("req_s", "req_s: 5"),
            ("tx_sec", "tx_sec: 5"),
            ("Jobs", "Jobs in wall time: 5"),
            ("speedup", "speedup over real time: 5"),
            ("efficiency", "time efficiency: 5"),
            ("nodes/time", "nodes/time: 5"),
            ("frames", "frames each ms: 5"),
            ("avg", "Requests handled in time\navg 5"),
            ("per_sec", "jobs_per_sec: 5"),
            ("GET\",\"([0-9.]+)", "\"test\",\"rps\",\"avg_latency_ms\"\n\"GET\",\"950.5\",\"1.3\""),
            ("Totals", "Type  Ops/sec  Avg. Latency\nTotals  950.5  1.2"),
            ("Copy:", "Function  Best Rate MB/s  Avg time\nCopy:  9500.5  0.01"),
            ("jobs:", "Work in time:\n  avg of jobs: 5"),
            ("md5", "The numbers are in 1000s of bytes per second processed.\nmd5  950.51k  1950.51k"),
            ("mutex", "stressor  bogo ops  real time\n            (secs)\nmutex  322788  1.00"),
        ] {
            let why = of(wanted, output, None).expect_err(output);
            assert!(why.contains("; say --higher-is-better, or --lower-is-better; its line: \""), "{why}");
            for direction in [Direction::HigherIsBetter, Direction::LowerIsBetter] {
                assert!(of(wanted, output, Some(direction)).is_ok(), "{output}");
            }
        }
        for (wanted, output) in [
            ("latency", "tps 5 latency 1.5 ms"),
            ("latency", "latency 1.5 ms, 7 ops/s"),
            ("latency", "latency 1.5, 7 ops/s"),
            ("p50=", "GET: 1234.56 requests per second, p50=0.207 msec"),
            ("op:", "seconds per op: 7"),
            ("ns", "ns 7 ns/op"),
            ("real", "real 1.50\nuser 0.10"),
            ("elapsed", "elapsed: 1.234 (user: 0.5)"),
            ("avg:", "Latency (ms):\n    min: 0.5\n    avg: 1.14"),
            ("p99:", "request latency\np99: 7"),
            ("real", "Run Time: real 0.123 user 0.1"),
            ("responseTimeMs", "responseTimeMs: 5"),
            ("used", "CPU time used: 5"),
            ("timeit", "timeit 212 nsec per loop"),
            ("time per 1000 ops:", "time per 1000 ops: 5 ms"),
        ] {
            assert!(of(wanted, output, None).is_ok(), "{output}: {:?}", of(wanted, output, None));
        }
        let of_load = |wanted: &str, output: &str| {
            let figure = Figure::new(Some(wanted), None, None).unwrap().of_load();
            assert_eq!(figure.metric.direction, Direction::HigherIsBetter);
            figure.value(output)
        };
        assert!(of_load("GET: ([0-9.]+)", "GET: 1234.56 requests per second, p50=0.207 msec").is_ok());
        assert!(of_load("p50=", "GET: 1234.56 requests per second, p50=0.207 msec").is_err());
        assert!(of_load("requests: ", "requests: 500").is_err());
    }
}
