//! memtier_benchmark's table, in milliseconds. Its progress on standard error has the number of requests:
//!
//! ```text
//! [RUN #1 100%, 862 secs]  0 threads:   250000000 ops,  312906 (avg:  289952) ops/sec, …
//! Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency       KB/sec
//! --------------------------------------------------------------------------------------------------------------
//! Sets         7127.38          ---          ---         1.03856         0.82300         5.75900       486.42
//! Totals      78391.78         0.00     71264.40         1.01259         0.80700         5.56700      2288.08
//! ```

use super::table::{Lines, Row, Section, Table};
use super::{Percentile, Tool};

pub fn read(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let heading = lines.get(at);
    if !(heading.starts_with("Type ") && heading.contains(" Ops/sec ")) {
        return None;
    }
    let mut table = Table::of(Tool::Memtier);
    let mut next = at + 1;
    while !lines.get(next).is_empty() && !lines.get(next).starts_with("Totals") {
        next += 1;
    }
    // "Avg. Latency" and "p50 Latency" are the names of one column each.
    let columns = heading.split_whitespace().filter(|word| *word != "Latency").enumerate();
    let percentiles: Vec<(usize, Percentile)> =
        columns.filter_map(|(column, word)| Some((column, Percentile::of_word(word)?))).collect();
    let totals: Vec<&str> = lines.get(next).split_whitespace().collect();
    if totals.is_empty() {
        table.damage = Some("has no row of totals: the output is cut off".into());
    } else if percentiles.is_empty() {
        table.damage = Some("has no percentiles: use memtier_benchmark 1.3 or later".into());
    }
    for (column, percentile) in percentiles {
        let row = totals.get(column).and_then(|word| Row::of(percentile.percent(), word, 1e-3));
        table.rows.extend(row);
    }
    table.samples = lines.before(at).find_map(requests);
    Some(Section::of(table, next + 1))
}

/// "0 threads:   250000000 ops, …".
fn requests(line: &str) -> Option<u64> {
    let (_, behind) = line.split_once(" threads:")?;
    let (count, _) = behind.trim_start().split_once(" ops")?;
    count.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Percentile, PercentileReading, Tool, read};

    const PROGRESS: &str = "[RUN #1] Launching threads now...\n\
        \r[RUN #1 50%,   1 secs]  4 threads:      600000 ops,  600000 (avg:  600000) ops/sec\
        \r[RUN #1 100%,   2 secs]  0 threads:     1200000 ops,  600000 (avg:  600000) ops/sec\n";
    const TABLE: &str = "ALL STATS\n\
        ============================================================================================================================\n\
        Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency       KB/sec\n\
        ----------------------------------------------------------------------------------------------------------------------------\n\
        Sets         7127.38          ---          ---         1.03856         0.82300         5.75900        13.31100       486.42\n\
        Gets        71264.40         0.00     71264.40         1.00999         0.80700         5.53500        12.67100      1801.66\n\
        Waits           0.00          ---          ---             ---             ---             ---             ---          ---\n\
        Totals      78391.78         0.00     71264.40         1.01259         0.80700         5.56700        12.67100      2288.08\n\n\
        Request Latency Distribution\n\
        Type     <= msec         Percent\n\
        ------------------------------------------------------------------------\n\
        SET       0.823       50.000\n\
        GET       5.535       99.000\n";

    fn of(word: &str, output: &str) -> Result<PercentileReading, String> {
        read(Percentile::of_word(word).unwrap(), output).unwrap()
    }

    #[test]
    fn percentiles_of_all_requests_are_read() {
        let output = format!("{PROGRESS}{TABLE}");
        for (word, value) in [("p50", 0.807e-3), ("p99", 5.567e-3), ("p99.9", 12.671e-3)] {
            let reading = of(word, &output).unwrap();
            assert!((reading.value - value).abs() < 1e-12, "{word}");
            assert_eq!((reading.samples, reading.tool, reading.tables), (Some(1_200_000), Tool::Memtier, 1));
        }
        assert_eq!(of("p99", TABLE).unwrap().samples, None, "without progress");
        let wide = TABLE.replace("p99.9 Latency", "p99.990 Latency");
        assert!((of("p99.99", &wide).unwrap().value - 12.671e-3).abs() < 1e-12);
        let aggregated =
            TABLE.replace("ALL STATS", "AGGREGATED AVERAGE RESULTS (3 runs)").replace("5.567", "4.0");
        let reading = of("p99", &format!("{output}{aggregated}")).unwrap();
        assert_eq!((reading.value, reading.tables), (4e-3, 2));
    }

    #[test]
    fn other_percentiles_are_refused_with_the_option_that_prints_them() {
        let why = of("p95", TABLE).unwrap_err();
        assert_eq!(
            why,
            "no p95: memtier_benchmark prints p50, p99 and p99.9 here: name one of these (its option --print-percentiles \
             50,95,99,99.9 prints others)"
        );
    }

    #[test]
    fn damaged_tables_are_refused() {
        let cut = &TABLE[..TABLE.find("Totals").unwrap()];
        assert!(of("p99", cut).unwrap_err().contains("memtier_benchmark's table has no row of totals"));
        let old = "Type        Ops/sec     Hits/sec   Misses/sec      Latency       KB/sec\n----\nTotals     21536.09         0.00         0.00      0.23100     22561.95\n";
        assert!(of("p99", old).unwrap_err().contains("use memtier_benchmark 1.3 or later"));
    }
}
