//! What ab (ApacheBench) prints, in whole milliseconds:
//!
//! ```text
//! Complete requests:      3000
//! Percentage of the requests served within a certain time (ms)
//!   50%      1
//!  100%      2 (longest request)
//! ```

use super::Tool;
use super::table::{Lines, Row, Section, Table};

pub fn read(lines: &Lines<'_>, at: usize) -> Option<Section> {
    if lines.get(at) != "Percentage of the requests served within a certain time (ms)" {
        return None;
    }
    let mut table = Table::of(Tool::Ab);
    let mut next = at + 1;
    while let Some(row) = row(lines.get(next)) {
        table.rows.push(row);
        next += 1;
    }
    let complete = lines.before(at).find_map(|line| line.strip_prefix("Complete requests:"));
    table.samples = complete.and_then(|count| count.trim().parse().ok());
    table.failed = failed(lines, at);
    Some(Section::of(table, next))
}

fn row(line: &str) -> Option<Row> {
    let (percent, value) = line.split_once('%')?;
    Row::of(percent.parse().ok()?, value.split_whitespace().next()?, 1e-3)
}

/// "(Connect: 0, Receive: 0, Length: 2999, Exceptions: 0)", without answers of another length than the first, which a page may
/// have; and "Non-2xx responses: 7". Those before are of an earlier run.
fn failed(lines: &Lines<'_>, at: usize) -> u64 {
    let own = lines.before(at).take_while(|line| !line.starts_with("Complete requests:"));
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let counts = own.filter_map(|line| {
        if let Some(count) = line.strip_prefix("Non-2xx responses:") {
            return number(count);
        }
        let parts = line.strip_prefix("(Connect:")?.strip_suffix(')')?;
        let is_length = |part: &&str| !part.trim().starts_with("Length:");
        Some(parts.split(',').filter(is_length).filter_map(|part| number(part.rsplit(':').next()?)).sum())
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::super::{Percentile, read};

    #[test]
    fn percentiles_and_requests_are_read() {
        let output = "Complete requests:      3000\nFailed requests:        0\n\n\
            Percentage of the requests served within a certain time (ms)\n\
            \x20 50%      1\n  99%     12\n 100%     20 (longest request)\n";
        let of = |word, output| read(Percentile::of_word(word).unwrap(), output).unwrap();
        let reading = of("p99", output).unwrap();
        assert_eq!((reading.value, reading.step, reading.samples), (0.012, 0.001, Some(3000)));
        // Issue 30: a server that became three times better (3 ms, 1 ms) failed.
        let reading = of("p50", output).unwrap();
        assert_eq!((reading.value, reading.step), (0.001, 0.001));
        let zero = output.replace("50%      1", "50%      0");
        let why = of("p50", &zero).unwrap_err();
        assert!(
            why.starts_with("no p50: ab prints 0, in steps of 1 ms, so that rounding decides; use"),
            "{why}"
        );
        assert_eq!(of("p100", output).unwrap().value, 0.02);
        assert!(of("p99.9", output).unwrap_err().contains("ab prints p50, p99 and p100 here"));
        let cut = &output[..output.find(" 100%").unwrap()];
        assert_eq!(of("p99", cut).unwrap().value, 0.012);
        assert!(
            of("p99", &output[..output.find("  50%").unwrap()]).unwrap_err().contains("empty or cut off")
        );
    }
}
