//! Percentiles of latencies, read out of the tables that load generators print.
//!
//! Each tool's table has a reader. A reader converts times to seconds, so that runs in which the tool prints another unit
//! compare. If an output has several tables, the last one counts. Nothing is interpolated: a table that has no row for a
//! percentile yields a refusal that names the rows that it has.
//!
//! ```text
//! output ─► tables of all tools, in their order ─► the last table ─► the row of the percentile, and the number of requests
//! ```

mod ab;
mod evidence;
mod fio;
mod hdr;
mod hey;
mod memtier;
mod redis;
mod source;
mod table;
mod tool;
mod wrk;

use crate::reading::without_escape_sequences;
pub use evidence::PercentileEvidence;
pub use source::PercentileSource;
use std::fmt;
pub use table::PercentileReading;
use table::{Lines, Section};
pub use tool::Tool;

/// A percentile in percent: 99.9 for p99.9.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile(f64);

impl Percentile {
    /// The percentile that a whole word such as "p99.9" names. "p100" is the maximum. None for other words, such as "p999".
    pub fn of_word(word: &str) -> Option<Percentile> {
        let digits = word.strip_prefix('p')?;
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, "0"));
        let percent = digits.parse().ok().filter(|_| is_digits(whole) && is_digits(decimals))?;
        (0.0 < percent && percent <= 100.0).then_some(Percentile(percent))
    }

    /// The percentile in percent.
    pub fn percent(self) -> f64 {
        self.0
    }

    /// How many of so many requests are slower than the percentile.
    pub fn above(self, requests: u64) -> f64 {
        requests as f64 * self.share_above()
    }

    /// The share of the requests that are slower.
    fn share_above(self) -> f64 {
        // As decimals: 100 - 99.9 is not 0.1 in binary.
        ((100.0 - self.0) * 1e9).round() / 1e11
    }
}

impl fmt::Display for Percentile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// The percentile in the last table of an output, or the reason why the table has none. None if there is no table.
pub fn read(percentile: Percentile, output: &str) -> Option<Result<PercentileReading, String>> {
    let output = without_escape_sequences(output);
    let lines = Lines::of(&output);
    let (mut last, mut tables, mut at) = (None, 0, 0);
    while at < lines.len() {
        match section(&lines, at) {
            Some(section) => {
                tables += section.tables;
                last = section.table.or(last);
                at = section.end.max(at + 1);
            }
            None => at += 1,
        }
    }
    let table = last?;
    let row = table.row_of(percentile).map_err(|why| format!("no {percentile}: {why}"));
    Some(row.map(|row| PercentileReading {
        value: row.value,
        step: row.step,
        unit: table.unit,
        samples: table.samples,
        tool: table.tool,
        tables,
    }))
}

/// The section of any tool that begins in this line.
fn section(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let readers: [fn(&Lines<'_>, usize) -> Option<Section>; 7] =
        [wrk::read, hdr::read, memtier::read, redis::read, hey::read, fio::read, ab::read];
    readers.into_iter().find_map(|read| read(lines, at))
}

/// What a tool whose output has no table needs to print one; nothing if no tool is recognised.
pub fn remedy(output: &str) -> Option<&'static str> {
    let has = |text: &str| output.contains(text);
    if has("Thread Stats") && has(" requests in ") {
        return Some("wrk prints percentiles only with --latency");
    }
    if has(" requests per second, p50=") {
        return Some("redis-benchmark prints only p50 with -q: leave out -q, or use --csv");
    }
    if has("clat (") && has(" IOPS=") {
        return Some("fio prints percentiles only with --clat_percentiles=1");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value, the requests and the number of tables.
    type Read = (f64, Option<u64>, usize);

    fn of(word: &str, output: &str) -> Option<Result<Read, String>> {
        let read = read(Percentile::of_word(word).unwrap(), output)?;
        Some(read.map(|reading| (reading.value, reading.samples, reading.tables)))
    }

    #[test]
    fn only_whole_words_are_percentiles() {
        for (word, percent) in [("p50", 50.0), ("p99.9", 99.9), ("p99.990", 99.99), ("p100", 100.0)] {
            assert_eq!(Percentile::of_word(word).map(Percentile::percent), Some(percent), "{word}");
        }
        for word in [
            "p", "99", "p0", "p999", "p99:", "p99 ", "P99", "p99.", "p.5", "p1e1", "p-5", "p99%", "max",
            "pinf",
        ] {
            assert_eq!(Percentile::of_word(word), None, "{word}");
        }
        assert_eq!(Percentile::of_word("p99.990").unwrap().to_string(), "p99.99");
    }

    #[test]
    fn requests_above_a_percentile_are_exact() {
        let above = |word: &str, requests| Percentile::of_word(word).unwrap().above(requests);
        assert_eq!((above("p99.9", 10_000), above("p99", 1000), above("p100", 5)), (10.0, 10.0, 0.0));
    }

    #[test]
    fn last_table_of_several_tools_counts() {
        let wrk = "  Latency Distribution\n     50%  100.00us\n     99%    2.00ms\n  500 requests in 1.00s, 1MB read\n";
        let hey = "Latency distribution:\n  50% in 0.0010 secs\n  99% in 0.0040 secs\n\nStatus code distribution:\n  [200]\t70 responses\n";
        assert_eq!(of("p99", &format!("{wrk}{hey}")), Some(Ok((0.004, Some(70), 2))));
        assert_eq!(of("p99", &format!("{hey}\r\n{wrk}")), Some(Ok((0.002, Some(500), 2))));
        // A last table without the row is not passed over for an earlier one.
        let why =
            of("p99", &format!("{wrk}  Latency Distribution\n     50%  100.00us\n")).unwrap().unwrap_err();
        assert!(why.starts_with("no p99: wrk prints p50 here"), "{why}");
    }

    #[test]
    fn run_with_failed_requests_has_no_percentile() {
        let wrk = |behind: &str| {
            let table = "  Latency Distribution\n     99%    2.00ms\n  500 requests in 1.00s, 1MB read\n";
            of("p99", &format!("{table}{behind}")).unwrap()
        };
        let hey = |behind: &str| {
            let table = "Latency distribution:\n  99% in 0.0040 secs\n\nStatus code distribution:\n";
            of("p99", &format!("{table}{behind}")).unwrap()
        };
        let ab = |before: &str| {
            let table = "Percentage of the requests served within a certain time (ms)\n  99%     12\n";
            of("p99", &format!("Complete requests:      3000\n{before}{table}")).unwrap()
        };
        for good in [
            wrk("  Socket errors: connect 0, read 2, write 0, timeout 3\n"),
            hey("  [200]\t4990 responses\n  [301]\t90 responses\n  [503]\t7 responses\n"),
            ab("Failed requests:        2999\n   (Connect: 0, Receive: 0, Length: 2999, Exceptions: 0)\n"),
        ] {
            assert!(good.is_ok(), "{good:?}");
        }
        for bad in [
            wrk("  Socket errors: connect 0, read 2, write 0, timeout 4\n"),
            wrk("  Non-2xx or 3xx responses: 499\n"),
            hey("  [200]\t5 responses\n  [503]\t4995 responses\n"),
            hey("  [200]\t500 responses\n\nError distribution:\n  [10]\tGet: timeout\n"),
            ab("   (Connect: 0, Receive: 30, Length: 0, Exceptions: 1)\n"),
            ab("Non-2xx responses:      3000\n"),
        ] {
            assert!(bad.as_ref().is_err_and(|why| why.contains(" requests failed (")), "{bad:?}");
        }
    }

    #[test]
    fn output_without_a_table_has_no_percentile() {
        for output in ["", "p99: 3.2 ms", "Latency Distribution of cats", "99% in time", "Value Percentile"] {
            assert_eq!(of("p99", output), None, "{output}");
        }
        let plain = "  Thread Stats   Avg      Stdev\n  60876 requests in 1.00s, 56.61MB read\n";
        assert_eq!(
            (of("p99", plain), remedy(plain)),
            (None, Some("wrk prints percentiles only with --latency"))
        );
        assert!(remedy("GET: 57471.27 requests per second, p50=0.543 msec").unwrap().contains("-q"));
        assert_eq!(remedy("p99: 3.2 ms"), None);
    }

    #[test]
    fn colours_and_carriage_returns_do_not_hide_a_table() {
        let output =
            "\x1b[1m\x1b[4mResponse time distribution:\x1b[0m\r\n\x1b[32m  99.00% in 0.0461 secs\x1b[39m\r\n";
        assert_eq!(of("p99", output), Some(Ok((0.0461, None, 1))));
    }
}
