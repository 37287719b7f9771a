//! What wrk and wrk2 print with `--latency`. wrk2 adds HdrHistogram's distribution in milliseconds:
//!
//! ```text
//!   Latency Distribution                          Latency Distribution (HdrHistogram - Recorded Latency)
//!      50%  251.00us                             50.000%    1.37ms
//!      99%    6.49ms                            100.000%   12.93ms
//!   130015 requests in 2.10s, 120.89MB read
//!                                                Detailed Percentile spectrum:
//!                                                       Value   Percentile   TotalCount 1/(1-Percentile)
//! ```

use super::Tool;
use super::hdr;
use super::table::{Lines, Row, Section, Table};
use crate::reading::seconds_of_part;

pub fn read(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let kind = lines.get(at).strip_prefix("Latency Distribution")?;
    let is_wrk2 = kind.starts_with(" (HdrHistogram");
    if !kind.is_empty() && !is_wrk2 {
        return None;
    }
    let mut table = Table::of(if is_wrk2 { Tool::Wrk2 } else { Tool::Wrk });
    let mut next = lines.next_filled(at + 1);
    while let Some(row) = row(lines.get(next)) {
        table.rows.push(row);
        next = lines.next_filled(next + 1);
    }
    // wrk2 of other programs prints its rows in this form under wrk's heading, too.
    if table.rows.last().is_some_and(|row| row.percent >= 100.0) {
        table.tool = Tool::Wrk2;
    }
    if lines.get(next).starts_with("Detailed Percentile spectrum") {
        next = lines.next_filled(next + 1);
        if let Some((histogram, end)) = hdr::histogram(lines, next) {
            let in_seconds = |row: Row| Row { value: row.value / 1e3, step: row.step / 1e3, ..row };
            table.histogram = histogram.rows.into_iter().map(in_seconds).collect();
            (table.samples, table.bucket) = (histogram.samples, histogram.bucket);
            next = end;
        }
    }
    // Measured from the time at which a request was sent, not from the time at which it was due.
    if kind.contains("Uncorrected") {
        return Some(Section::skipped(next));
    }
    table.samples = table.samples.or_else(|| requests(lines, next));
    table.failed = failed(lines, next);
    Some(Section::of(table, next))
}

/// "50%  251.00us".
fn row(line: &str) -> Option<Row> {
    let (percent, time) = line.split_once('%')?;
    let time = time.trim();
    let unit = time.find(char::is_alphabetic)?;
    let (number, unit) = time.split_at(unit);
    Row::of(percent.parse().ok()?, number, seconds_of_part(unit)?)
}

/// "130015 requests in 2.10s", before the next run of the tool.
fn requests(lines: &Lines<'_>, from: usize) -> Option<u64> {
    let own = lines.from(from).take_while(|line| !line.starts_with("Running "));
    own.filter_map(|line| line.split_once(" requests in ")).find_map(|(count, _)| count.parse().ok())
}

/// "Socket errors: connect 0, read 5, write 0, timeout 2", and "Non-2xx or 3xx responses: 7".
fn failed(lines: &Lines<'_>, from: usize) -> u64 {
    let own = lines.from(from).take_while(|line| !line.starts_with("Running "));
    let counts = own.filter_map(|line| {
        let counts =
            line.strip_prefix("Socket errors:").or_else(|| line.strip_prefix("Non-2xx or 3xx responses:"))?;
        Some(counts.split([',', ' ']).filter_map(|word| word.parse::<u64>().ok()).sum::<u64>())
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::super::{Percentile, PercentileReading, Tool, read};

    const WRK: &str = "Running 2s test @ http://127.0.0.1:8080/\n\
        \x20 2 threads and 16 connections\n\
        \x20 Thread Stats   Avg      Stdev     Max   +/- Stdev\n\
        \x20   Latency   424.13us    1.09ms  12.20ms   95.71%\n\
        \x20   Req/Sec    31.86k     5.33k   63.04k    92.68%\n\
        \x20 Latency Distribution\n\
        \x20    50%  251.00us\n\
        \x20    75%  355.00us\n\
        \x20    90%  394.00us\n\
        \x20    99%    6.49ms\n\
        \x20 130015 requests in 2.10s, 120.89MB read\n\
        Requests/sec:  61913.88\n\
        Transfer/sec:     57.57MB\n";

    fn wrk2(kind: &str, factor: u32) -> String {
        let histogram = "  Detailed Percentile spectrum:\n       Value   Percentile   TotalCount 1/(1-Percentile)\n\n\
            \x20      1.000     0.500000        49680         2.00\n\
            \x20      2.000     0.950000        94417        20.00\n\
            \x20      8.000     0.999023        99202      1024.00\n\
            \x20      9.000     1.000000        99299          inf\n\
            #[Mean    =        1.442, StdDeviation   =        0.706]\n\
            #[Max     =       12.920, Total count    =        99299]\n\
            ----------------------------------------------------------\n";
        format!(
            "  Latency Distribution (HdrHistogram - {kind})\n 50.000%    {factor}.37ms\n 99.000%   {factor}01.50us\n100.000%    1.50m \n\n{histogram}"
        )
    }

    fn of(word: &str, output: &str) -> Result<PercentileReading, String> {
        read(Percentile::of_word(word).unwrap(), output).unwrap()
    }

    #[test]
    fn percentiles_of_wrk_are_read_in_seconds() {
        for (word, value) in [("p50", 251e-6), ("p75", 355e-6), ("p99", 6.49e-3)] {
            let reading = of(word, WRK).unwrap();
            assert!((reading.value - value).abs() < 1e-12, "{word}: {}", reading.value);
            assert_eq!((reading.samples, reading.tool, reading.unit), (Some(130_015), Tool::Wrk, "s"));
        }
        assert_eq!(of("p99", &WRK.replace("6.49ms", "1.50m ")).unwrap().value, 90.0, "m are minutes");
        assert_eq!(of("p99", &WRK.replace("6.49ms", "2.50s ")).unwrap().value, 2.5);
    }

    #[test]
    fn percentile_between_the_rows_of_wrk_is_refused() {
        let why = of("p95", WRK).unwrap_err();
        assert_eq!(
            why,
            "no p95: wrk prints p50, p75, p90 and p99 here: name one of these (wrk2 with --latency prints a whole histogram)"
        );
        assert!(of("p99.9", WRK).is_err());
    }

    #[test]
    fn cut_off_output_of_wrk_is_refused_or_has_no_requests() {
        let cut = |text: &str| &WRK[..WRK.find(text).unwrap()];
        assert!(of("p99", cut("    99%")).unwrap_err().contains("wrk prints p50, p75 and p90 here"));
        assert!(of("p99", cut("    50%")).unwrap_err().contains("wrk's table is empty or cut off"));
        assert_eq!(of("p99", cut(" 130015")).unwrap().samples, None);
        let next_run = format!("{}{WRK}", cut(" 130015"));
        let first = &next_run[..next_run.rfind("  Latency Distribution").unwrap()];
        assert_eq!(
            of("p99", &format!("{first}  9 requests in 1s\n")).unwrap().samples,
            None,
            "those of another run"
        );
    }

    #[test]
    fn percentiles_of_wrk2_are_read_with_its_histogram() {
        let output = format!("{}  119956 requests in 1.00m, 98.26MB read\n", wrk2("Recorded Latency", 1));
        let reading = of("p99", &output).unwrap();
        assert!((reading.value - 101.5e-6).abs() < 1e-12, "the row with this name");
        // Requests of the calibration are not among the recorded ones.
        assert_eq!((reading.samples, reading.tool, reading.tables), (Some(99_299), Tool::Wrk2, 1));
        assert_eq!(of("p95", &output).unwrap().value, 2e-3);
        assert_eq!(of("p99.9", &output).unwrap().value, 8e-3);
        assert_eq!(of("p100", &output).unwrap().value, 90.0);
    }

    #[test]
    fn corrected_latencies_of_wrk2_count() {
        let uncorrected = "Uncorrected Latency (measured without taking delayed starts into account)";
        let output = format!("{}{}", wrk2("Recorded Latency", 3), wrk2(uncorrected, 1));
        let reading = of("p50", &output).unwrap();
        assert!((reading.value - 3.37e-3).abs() < 1e-12 && reading.tables == 1, "{reading:?}");
    }
}
