//! What hey and oha print:
//!
//! ```text
//! Latency distribution:                      Response time distribution:
//!   50% in 0.0006 secs                         50.00% in 0.0117 secs
//!   99% in 0.0049 secs                         99.90% in 0.0541 secs
//!
//! Status code distribution:
//!   [200]  5000 responses
//! ```

use super::Tool;
use super::table::{Lines, Row, Section, Table};
use crate::reading::seconds_of_part;

pub fn read(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let tool = heading(lines.get(at))?;
    let mut table = Table::of(tool);
    let mut next = at + 1;
    while let Some(row) = row(lines.get(next)) {
        // hey prints "0% in 0.0000 secs" for each percentile for which it has too few requests.
        match row.percent > 0.0 {
            true => table.rows.push(row),
            false => table.lacks_requests = true,
        }
        next += 1;
    }
    let own = || lines.from(next).take_while(|line| heading(line).is_none() && *line != "Summary:");
    let (statuses, errors): (Vec<_>, Vec<_>) =
        own().filter_map(answer).partition(|answer| matches!(answer, Answer::Status { .. }));
    let sum = |answers: &[Answer], is_counted: fn(&Answer) -> bool| -> u64 {
        answers.iter().filter(|answer| is_counted(answer)).map(Answer::count).sum()
    };
    let (responses, lost) = (sum(&statuses, |_| true), sum(&errors, |_| true));
    table.samples = Some(responses).filter(|responses| *responses > 0);
    table.failed = lost + sum(&statuses, |answer| matches!(answer, Answer::Status { code: 400.., .. }));
    Some(Section::of(table, next))
}

/// oha's tables of some responses only have other headings.
fn heading(line: &str) -> Option<Tool> {
    match line {
        "Latency distribution:" => Some(Tool::Hey),
        "Response time distribution:" => Some(Tool::Oha),
        _ => None,
    }
}

/// "99% in 0.0049 secs"; some versions of hey print "99%%".
fn row(line: &str) -> Option<Row> {
    let (percent, behind) = line.split_once('%')?;
    let (value, unit) = behind.trim_start_matches('%').strip_prefix(" in ")?.split_once(' ')?;
    Row::of(percent.parse().ok()?, value, seconds_of_part(unit)?)
}

/// A line of the distributions of status codes and errors.
enum Answer {
    /// "[200]  5000 responses".
    Status { code: u32, count: u64 },
    /// "[10]  Get: timeout".
    Error { count: u64 },
}

impl Answer {
    fn count(&self) -> u64 {
        match *self {
            Answer::Status { count, .. } | Answer::Error { count } => count,
        }
    }
}

fn answer(line: &str) -> Option<Answer> {
    let (number, behind) = line.strip_prefix('[')?.split_once(']')?;
    match behind.trim().strip_suffix(" responses") {
        Some(count) => Some(Answer::Status { code: number.parse().ok()?, count: count.parse().ok()? }),
        None => Some(Answer::Error { count: number.parse().ok()? }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Percentile, PercentileReading, Tool, read};

    const HEY: &str = "Summary:\n  Total:\t0.2184 secs\n\nResponse time histogram:\n  0.000 [1]\t|\n\n\nLatency distribution:\n\
        \x20 10% in 0.0001 secs\n  50% in 0.0006 secs\n  95% in 0.0025 secs\n  99% in 0.0049 secs\n\n\
        Details (average, fastest, slowest):\n  DNS+dialup:\t0.0000 secs, 0.0000 secs, 0.0086 secs\n\n\
        Status code distribution:\n  [200]\t5000 responses\n  [503]\t7 responses\n\nError distribution:\n  [10]\tGet: timeout\n";
    const OHA: &str = "Summary:\n  Success rate:\t100.00%\n\nResponse time distribution:\n  10.00% in 0.8013 ms\n  99.00% in 1.7956 ms\n\
        \x20 99.90% in 1.8919 ms\n  99.99% in 1.8919 ms\n\nResponse time distribution (4xx + 5xx only):\n  99.00% in 9.0000 ms\n\n\
        Status code distribution:\n  [200] 900000 responses\n";

    fn of(word: &str, output: &str) -> Result<PercentileReading, String> {
        read(Percentile::of_word(word).unwrap(), output).unwrap()
    }

    #[test]
    fn percentiles_and_responses_are_read() {
        let reading = of("p99", HEY).unwrap();
        assert_eq!((reading.value, reading.samples, reading.tool), (0.0049, Some(5007), Tool::Hey));
        assert_eq!(reading.step, 0.0001);
        assert_eq!(of("p99", &HEY.replace("% in", "%% in")).unwrap().value, 0.0049);
        let reading = of("p99.9", OHA).unwrap();
        assert!((reading.value - 1.8919e-3).abs() < 1e-12, "{reading:?}");
        assert_eq!((reading.samples, reading.tool, reading.tables), (Some(900_000), Tool::Oha, 1));
        let reading = of("p99", &format!("{OHA}{}", HEY.replace("0.0049", "0.0050"))).unwrap();
        assert_eq!((reading.value, reading.samples, reading.tables), (0.005, Some(5007), 2));
    }

    /// Issue 30: `hey -n 60` prints no p99.
    #[test]
    fn percentile_of_too_few_requests_is_refused_with_a_number_that_suffices() {
        let few = HEY.replace("99% in 0.0049 secs", "0% in 0.0000 secs");
        assert_eq!(
            of("p99", &few).unwrap_err(),
            "no p99: hey prints p10, p50 and p95 here, because it has too few requests for more: send 100 or more"
        );
        assert_eq!(of("p95", &few).unwrap().value, 0.0025);
    }

    #[test]
    fn missing_rows_are_refused() {
        let why = of("p99.9", HEY).unwrap_err();
        assert!(
            why.starts_with("no p99.9: hey prints p10, p50, p95 and p99 here: ") && why.contains("oha"),
            "{why}"
        );
        let cut = &HEY[..HEY.find("  99%").unwrap()];
        assert!(of("p99", cut).unwrap_err().contains("hey prints p10, p50 and p95 here"));
        assert_eq!(of("p95", cut).unwrap().samples, None);
        assert!(of("p99", "Latency distribution:\n").unwrap_err().contains("empty or cut off"));
    }
}
