//! The percentile distribution that HdrHistogram prints, in text and as CSV:
//!
//! ```text
//!        Value     Percentile TotalCount 1/(1-Percentile)
//!
//!        1.371 0.500000000000      49680           2.00
//!       12.927 1.000000000000      99299
//! #[Mean    =        1.442, StdDeviation   =        0.706]
//! #[Max     =       12.920, Total count    =        99299]
//! ```

use super::Tool;
use super::table::{Lines, Row, Section, Table};

const COLUMNS: [&str; 4] = ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"];

/// The unit of the values is not printed.
pub fn read(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let (histogram, end) = histogram(lines, at)?;
    let Histogram { rows, samples, bucket } = histogram;
    let table = Table { histogram: rows, samples, bucket, unit: "", ..Table::of(Tool::HdrHistogram) };
    Some(Section::of(table, end))
}

/// The rows, and the number of values.
pub struct Histogram {
    pub rows: Vec<Row>,
    pub samples: Option<u64>,
    /// The width of its buckets, as a share of the value; none if it is not printed.
    pub bucket: Option<f64>,
}

/// The histogram whose heading is in this line, and the index of the line behind it.
pub fn histogram(lines: &Lines<'_>, at: usize) -> Option<(Histogram, usize)> {
    if !words(lines.get(at)).eq(COLUMNS) {
        return None;
    }
    let (mut rows, mut counts) = (Vec::new(), Vec::new());
    let mut next = lines.next_filled(at + 1);
    while let Some((row, count)) = row(lines.get(next)) {
        rows.push(row);
        counts.push(count);
        next = lines.next_filled(next + 1);
    }
    let (mut total, mut bucket) = (None, None);
    while is_remark(lines.get(next)) {
        total = total.or_else(|| total_count(lines.get(next)));
        bucket = bucket.or_else(|| width(lines.get(next)));
        next = lines.next_filled(next + 1);
    }
    // Some programs print the count of the row alone in the third column.
    let is_cumulative = counts.is_sorted();
    let is_whole = rows.last().is_some_and(|row: &Row| row.percent >= 100.0);
    let samples = total.or_else(|| counts.last().copied().filter(|_| is_cumulative && is_whole));
    Some((Histogram { rows, samples, bucket }, next))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| c.is_whitespace() || c == ',');
    words.map(|word| word.trim_matches('"')).filter(|word| !word.is_empty())
}

fn row(line: &str) -> Option<(Row, u64)> {
    let mut words = words(line);
    let value = words.next()?;
    let share: f64 = words.next()?.parse().ok().filter(|share| (0.0..=1.0).contains(share))?;
    let count = words.next()?.parse().ok()?;
    // As decimals: 100 times 0.999 is not 99.9 in binary.
    let percent = (100.0 * share * 1e10_f64).round() / 1e10;
    words.nth(1).is_none().then_some((Row::of(percent, value, 1.0)?, count))
}

fn is_remark(line: &str) -> bool {
    ["#[", "[Mean ", "[Max ", "[Buckets "].iter().any(|begin| line.starts_with(begin))
}

/// "Total count    =        99299", also "TotalCount     =    99299.000".
fn total_count(line: &str) -> Option<u64> {
    let (_, behind) = line.split_once("Total count").or_else(|| line.split_once("TotalCount"))?;
    let number = behind.trim_start_matches([' ', '=']).trim_end_matches(']');
    number.trim().parse::<f64>().ok().filter(|count| *count >= 0.0).map(|count| count as u64)
}

/// "#[Buckets = 27, SubBuckets = 2048]": the upper half of the sub-buckets divides each power of 2. As a share of the value: 2 of 2048.
fn width(line: &str) -> Option<f64> {
    let (_, behind) = line.split_once("SubBuckets")?;
    let number = behind.trim_start_matches([' ', '=']).trim_end_matches(']');
    number.trim().parse::<f64>().ok().filter(|count| *count >= 2.0).map(|count| 2.0 / count)
}

#[cfg(test)]
mod tests {
    use super::super::{Percentile, PercentileReading, Tool, read};

    const ROWS: &str = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n\
        \x20      0.067 0.000000000000          1           1.00\n\
        \x20      1.371 0.500000000000      50680           2.00\n\
        \x20      2.663 0.950000000000      94417          20.00\n\
        \x20      2.911 0.987500000000      98201          80.00\n\
        \x20      3.023 0.990625000000      98412         106.67\n\
        \x20      5.719 0.999023437500      99202        1024.00\n\
        \x20     12.927 1.000000000000      99299\n";
    const TAIL: &str = "#[Mean    =        1.442, StdDeviation   =        0.706]\n\
        #[Max     =       12.920, Total count    =        99299]\n\
        #[Buckets =           27, SubBuckets     =         2048]\n";

    fn of(word: &str, output: &str) -> Result<PercentileReading, String> {
        read(Percentile::of_word(word).unwrap(), output).unwrap()
    }

    fn value(word: &str, output: &str) -> (f64, Option<u64>) {
        let reading = of(word, output).unwrap();
        assert_eq!((reading.tool, reading.unit), (Tool::HdrHistogram, ""));
        (reading.value, reading.samples)
    }

    #[test]
    fn percentile_and_total_count_are_read() {
        let whole = format!("{ROWS}{TAIL}");
        assert_eq!(value("p50", &whole), (1.371, Some(99_299)));
        assert_eq!(value("p99", &whole), (3.023, Some(99_299)));
        assert_eq!(value("p99.9", &whole), (5.719, Some(99_299)));
        assert_eq!(value("p100", &whole), (12.927, Some(99_299)));
        assert_eq!(
            value("p99", &format!("{whole}\n{}", whole.replace("3.023", "4.5"))).0,
            4.5,
            "the last counts"
        );
    }

    #[test]
    fn other_forms_are_read() {
        let python = TAIL.replace("Total count    =        99299]", "TotalCount     =    99299.000]");
        assert_eq!(value("p99", &format!("{ROWS}{python}")), (3.023, Some(99_299)));
        let c = ROWS.replace("99299\n", "99299          inf\n");
        assert_eq!(value("p99", &c), (3.023, Some(99_299)), "without a tail, the last row has the count");
        let csv = "\"Value\",\"Percentile\",\"TotalCount\",\"1/(1-Percentile)\"\n1.5,0.990000,990,100.00\n9.5,1.000000,1000,Infinity\n";
        assert_eq!(value("p99", csv), (1.5, Some(1000)));
        let single = csv.replace("1000,Inf", "10,Inf");
        assert_eq!(value("p99", &single), (1.5, None), "counts of single rows");
    }

    /// Issue 30: 50.175 and 50.431 are neighbours in a histogram of two digits.
    #[test]
    fn step_is_the_width_of_a_bucket_of_the_footer() {
        let step = |footer: &str| {
            let reading = of("p99", &format!("{ROWS}{footer}")).unwrap();
            reading.step / reading.value
        };
        assert!((step(TAIL) - 1.0 / 1024.0).abs() < 1e-12);
        let coarse = TAIL.replace("2048", "256");
        assert!((step(&coarse) - 1.0 / 128.0).abs() < 1e-12);
        assert!((step(&coarse.replace("256]", "256.000]")) - 1.0 / 128.0).abs() < 1e-12);
        // Without a footer three digits are assumed.
        assert!((step("") - 1.0 / 1024.0).abs() < 1e-12);
    }

    #[test]
    fn truncated_histogram_is_read_up_to_its_end() {
        let cut = ROWS.find("       5.719").unwrap();
        assert_eq!(value("p99", &ROWS[..cut]), (3.023, None));
        let why = of("p99.9", &ROWS[..cut]).unwrap_err();
        assert_eq!(why, "no p99.9: HdrHistogram's histogram ends at p99.0625: the output is cut off");
        assert!(of("p99", "Value Percentile TotalCount 1/(1-Percentile)\n").unwrap_err().contains("cut off"));
        // A row that is cut off is none.
        assert!(of("p99", &ROWS[..cut - 30]).is_err());
    }
}
