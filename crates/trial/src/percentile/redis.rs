//! redis-benchmark's report of one test, in milliseconds, and its CSV:
//!
//! ```text
//! ====== GET ======
//!   20000 requests completed in 0.50 seconds
//! Latency by percentile distribution:
//! 99.219% <= 6.303 milliseconds (cumulative count 19846)
//! Summary:
//!   latency summary (msec):
//!           avg       min       p50       p95       p99       max
//!         0.832     0.104     0.543     3.135     6.111    11.231
//! ```

use super::table::{Lines, Row, Section, Table};
use super::{Percentile, Tool};

pub fn read(lines: &Lines<'_>, at: usize) -> Option<Section> {
    read_csv(lines, at).or_else(|| read_report(lines, at))
}

fn read_report(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let requests = requests(lines.get(at))?;
    let mut table = Table { samples: Some(requests), ..Table::of(Tool::RedisBenchmark) };
    table.damage =
        Some("has no latency summary: the output is cut off, or use redis-benchmark 6.2 or later".into());
    let (mut next, mut is_histogram) = (at + 1, false);
    while next < lines.len() && !begins_test(lines.get(next)) {
        let line = lines.get(next);
        match line {
            "Latency by percentile distribution:" => is_histogram = true,
            "" | "Cumulative distribution of latencies:" => is_histogram = false,
            _ if is_histogram => table.histogram.extend(row(line)),
            _ if line.starts_with("latency summary (msec)") => {
                table.rows = summary(lines.get(next + 1), lines.get(next + 2));
                if !table.rows.is_empty() {
                    table.damage = None;
                }
                return Some(Section::of(table, next + 3));
            }
            _ => (),
        }
        next += 1;
    }
    Some(Section::of(table, next))
}

/// "20000 requests completed in 0.50 seconds".
fn requests(line: &str) -> Option<u64> {
    line.split_once(" requests completed in ")?.0.parse().ok()
}

fn begins_test(line: &str) -> bool {
    requests(line).is_some() || line.starts_with("====== ")
}

/// "99.219% <= 6.303 milliseconds (cumulative count 19846)".
fn row(line: &str) -> Option<Row> {
    let (percent, behind) = line.split_once("% <= ")?;
    let (value, _) = behind.split_once(" milliseconds")?;
    Row::of(percent.parse().ok()?, value, 1e-3)
}

/// The percentiles of a line with names above a line with milliseconds; none if the second line is shorter.
fn summary(names: &str, values: &str) -> Vec<Row> {
    let (names, values): (Vec<_>, Vec<_>) =
        (names.split_whitespace().collect(), values.split_whitespace().collect());
    if names.len() != values.len() {
        return Vec::new();
    }
    let rows =
        names.into_iter().zip(values).filter_map(|(name, value)| in_milliseconds(percentile(name)?, value));
    rows.collect()
}

fn percentile(name: &str) -> Option<Percentile> {
    Percentile::of_word(if name == "max" { "p100" } else { name })
}

fn in_milliseconds(percentile: Percentile, value: &str) -> Option<Row> {
    Row::of(percentile.percent(), value, 1e-3)
}

/// `"test","rps","avg_latency_ms",…,"p99_latency_ms","max_latency_ms"`, and a line for each test.
fn read_csv(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let columns: Vec<&str> = cells(lines.get(at)).collect();
    if columns.get(..2)? != ["test", "rps"] {
        return None;
    }
    let mut table = Table::of(Tool::RedisBenchmarkCsv);
    table.damage = Some("has no line of values: the output is cut off".into());
    let (mut next, mut tables) = (at + 1, 0);
    loop {
        let values: Vec<&str> = cells(lines.get(next)).collect();
        if values.len() != columns.len() {
            break;
        }
        let named = columns.iter().filter_map(|column| column.strip_suffix("_latency_ms"));
        let named =
            named.zip(columns.iter().zip(&values).filter(|(column, _)| column.ends_with("_latency_ms")));
        table.rows =
            named.filter_map(|(name, (_, value))| in_milliseconds(percentile(name)?, value)).collect();
        table.damage = None;
        (next, tables) = (next + 1, tables + 1);
    }
    Some(Section { table: Some(table), tables: tables.max(1), end: next })
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|cell| cell.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::super::{Percentile, PercentileReading, Tool, read};

    fn report(test: &str, p99: &str) -> String {
        format!(
            "{test}: rps=0.0 (overall: 0.0) avg_msec=-nan (overall: -nan)\r          \r====== {test} ======\n\
             \x20 20000 requests completed in 0.50 seconds\n  50 parallel clients\n  multi-thread: no\n\n\
             Latency by percentile distribution:\n\
             0.000% <= 0.111 milliseconds (cumulative count 1)\n\
             87.500% <= 0.831 milliseconds (cumulative count 17505)\n\
             93.750% <= 2.607 milliseconds (cumulative count 18752)\n\
             99.902% <= 10.951 milliseconds (cumulative count 19981)\n\
             100.000% <= 11.231 milliseconds (cumulative count 20000)\n\n\
             Cumulative distribution of latencies:\n\
             99.955% <= 11.103 milliseconds (cumulative count 19991)\n\
             100.000% <= 12.103 milliseconds (cumulative count 20000)\n\n\
             Summary:\n  throughput summary: 40322.58 requests per second\n  latency summary (msec):\n\
             \x20         avg       min       p50       p95       p99       max\n\
             \x20       0.832     0.104     0.543     3.135     {p99}    11.231\n"
        )
    }

    fn of(word: &str, output: &str) -> Result<PercentileReading, String> {
        read(Percentile::of_word(word).unwrap(), output).unwrap()
    }

    fn is_about(reading: &PercentileReading, value: f64) -> bool {
        (reading.value - value).abs() < 1e-12
    }

    #[test]
    fn percentiles_of_the_last_test_are_read() {
        let output = format!("{}{}", report("SET", "5.000"), report("GET", "6.111"));
        let reading = of("p99", &output).unwrap();
        assert!(is_about(&reading, 6.111e-3), "{reading:?}");
        assert_eq!((reading.samples, reading.tool, reading.tables), (Some(20_000), Tool::RedisBenchmark, 2));
        assert!(is_about(&of("p100", &output).unwrap(), 11.231e-3));
        assert!(is_about(&of("p99.9", &output).unwrap(), 10.951e-3), "from the histogram");
    }

    #[test]
    fn percentile_far_from_the_rows_of_the_histogram_is_refused() {
        let why = of("p90", &report("GET", "6.111")).unwrap_err();
        assert!(
            why.contains(
                "next to it are p87.5 and p93.75, and nothing is interpolated; more requests (-n) give"
            ),
            "{why}"
        );
    }

    #[test]
    fn cut_off_report_is_refused() {
        let whole = report("GET", "6.111");
        for end in ["Latency by", "Summary:", "          avg", "   11.231\n"] {
            let cut = &whole[..whole.rfind(end).unwrap()];
            let why = of("p99", &format!("{}{cut}", report("SET", "5.0"))).unwrap_err();
            assert!(
                why.starts_with("no p99: redis-benchmark's table has no latency summary: "),
                "{end}: {why}"
            );
        }
    }

    #[test]
    fn csv_is_read_without_requests() {
        let csv = "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\
            \"SET\",\"50125.32\",\"0.677\",\"0.072\",\"0.543\",\"0.887\",\"5.511\",\"8.895\"\n\
            \"GET\",\"49382.71\",\"0.660\",\"0.168\",\"0.559\",\"1.295\",\"3.551\",\"8.671\"\n";
        let reading = of("p99", csv).unwrap();
        assert!(is_about(&reading, 3.551e-3), "{reading:?}");
        assert_eq!((reading.samples, reading.tool, reading.tables), (None, Tool::RedisBenchmarkCsv, 2));
        let why = of("p99.9", csv).unwrap_err();
        assert!(why.contains("prints p50, p95, p99 and p100 here") && why.contains("without --csv"), "{why}");
        assert!(of("p99", csv.lines().next().unwrap()).unwrap_err().contains("has no line of values"));
    }
}
