//! The tools whose tables are read.

use serde::{Serialize, Serializer};
use std::fmt;

/// A load generator, or the library that printed a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// wrk, with `--latency`.
    Wrk,
    /// wrk2, with `--latency`.
    Wrk2,
    /// HdrHistogram's percentile distribution, as in `.hgrm` files.
    HdrHistogram,
    /// memtier_benchmark.
    Memtier,
    /// redis-benchmark, or valkey-benchmark.
    RedisBenchmark,
    /// redis-benchmark with `--csv`.
    RedisBenchmarkCsv,
    /// hey.
    Hey,
    /// oha.
    Oha,
    /// fio.
    Fio,
    /// ApacheBench.
    Ab,
}

impl Tool {
    /// The name in sentences and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Wrk => "wrk",
            Tool::Wrk2 => "wrk2",
            Tool::HdrHistogram => "HdrHistogram",
            Tool::Memtier => "memtier_benchmark",
            Tool::RedisBenchmark => "redis-benchmark",
            Tool::RedisBenchmarkCsv => "redis-benchmark --csv",
            Tool::Hey => "hey",
            Tool::Oha => "oha",
            Tool::Fio => "fio",
            Tool::Ab => "ab",
        }
    }

    /// Where other percentiles come from.
    pub fn more(self) -> &'static str {
        match self {
            Tool::Wrk => "wrk2 with --latency prints a whole histogram",
            Tool::Wrk2 | Tool::HdrHistogram => "a histogram with more ticks per half distance has more rows",
            Tool::Memtier => "its option --print-percentiles 50,95,99,99.9 prints others",
            Tool::RedisBenchmark | Tool::Oha => "memtier_benchmark, wrk2 and fio print others",
            Tool::RedisBenchmarkCsv => "without --csv it prints a histogram",
            Tool::Hey | Tool::Ab => "oha prints p99.9 and p99.99, too, and wrk2 a whole histogram",
            Tool::Fio => "its option --percentile_list=50:95:99:99.9 prints others",
        }
    }

    /// How its histogram gets a row nearer to a percentile.
    pub fn more_rows(self) -> &'static str {
        match self {
            Tool::RedisBenchmark => {
                "more requests (-n) give the histogram more rows, and memtier_benchmark, wrk2 and fio print other percentiles"
            }
            tool => tool.more(),
        }
    }

    /// The width of the buckets in which the tool counts latencies of this size, in seconds (of HdrHistogram, in the table's unit): at
    /// most 1/64 in fio (`FIO_IO_U_PLAT_BITS` is 6), 1/1024 in HdrHistogram with its usual three digits. wrk and wrk2 count whole
    /// microseconds, and print hundredths. 0 if it keeps each latency.
    pub fn bucket(self, latency: f64) -> f64 {
        /// HdrHistogram counts in the largest power of 2 that is not above the smallest latency for which it was made: 10 us in
        /// redis-benchmark (`CONFIG_LATENCY_HISTOGRAM_MIN_VALUE`) and memtier_benchmark (`LATENCY_HDR_MIN_VALUE`).
        const UNIT_BELOW_10_US: f64 = 8e-6;
        const MICROSECOND: f64 = 1e-6;
        match self {
            Tool::Fio => latency / 64.0,
            Tool::Wrk => MICROSECOND,
            Tool::Wrk2 => (latency / 1024.0).max(MICROSECOND),
            Tool::HdrHistogram => latency / 1024.0,
            Tool::Memtier | Tool::RedisBenchmark | Tool::RedisBenchmarkCsv => {
                (latency / 1024.0).max(UNIT_BELOW_10_US)
            }
            Tool::Hey | Tool::Oha | Tool::Ab => 0.0,
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Tool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
