//! fio's percentiles of the completion latency, or of the whole latency with `--lat_percentiles=1`:
//!
//! ```text
//!   read: IOPS=15.3k, BW=59.7MiB/s (62.6MB/s)(119MiB/2001msec)
//!     clat percentiles (nsec):
//!      |  1.00th=[    740],  5.00th=[    932], 10.00th=[   1020],
//!      | 99.00th=[ 130560], 99.99th=[8454144]
//!      issued rwts: total=30565,30610,0,0 short=0,0,0,0 dropped=0,0,0,0
//! ```

use super::Tool;
use super::table::{Lines, Row, Section, Table};
use crate::reading::seconds_of_part;

pub fn read(lines: &Lines<'_>, at: usize) -> Option<Section> {
    let (latency, unit) = lines.get(at).strip_suffix("):")?.split_once(" percentiles (")?;
    let seconds = seconds_of_part(unit)?;
    let mut table = Table::of(Tool::Fio);
    let mut next = at + 1;
    while let Some(line) = lines.get(next).strip_prefix('|') {
        table.rows.extend(line.split(',').filter_map(|cell| row(cell, seconds)));
        next += 1;
    }
    if !matches!(latency, "clat" | "lat") {
        return Some(Section::skipped(next));
    }
    let direction = lines.before(at).find_map(direction);
    let issued = lines.from(next).find_map(|line| line.strip_prefix("issued rwts: total="));
    let count = |direction| issued?.split([',', ' ']).nth(direction)?.parse().ok();
    table.samples = direction.and_then(count);
    Some(Section::of(table, next))
}

/// " 99.00th=[ 130560]".
fn row(cell: &str, seconds: f64) -> Option<Row> {
    let (percent, behind) = cell.trim().split_once("th=[")?;
    Row::of(percent.parse().ok()?, behind.strip_suffix(']')?, seconds)
}

/// The place of a direction among the issued requests.
fn direction(line: &str) -> Option<usize> {
    ["read:", "write:", "trim:"].iter().position(|name| line.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::super::{Percentile, PercentileReading, Tool, read};

    const FIO: &str = "j: (groupid=0, jobs=1): err= 0: pid=30920: Fri Nov 27 10:10:21 2026\n\
        \x20 read: IOPS=15.3k, BW=59.7MiB/s (62.6MB/s)(119MiB/2001msec)\n\
        \x20   clat (nsec): min=580, max=12612k, avg=40277.53, stdev=245826.76\n\
        \x20   clat percentiles (nsec):\n\
        \x20    |  1.00th=[    740],  5.00th=[    932], 10.00th=[   1020],\n\
        \x20    | 99.00th=[ 130560], 99.50th=[ 232448], 99.90th=[4177920],\n\
        \x20    | 99.95th=[6193152], 99.99th=[8454144]\n\
        \x20 write: IOPS=15.3k, BW=59.8MiB/s (62.7MB/s)(120MiB/2001msec); 0 zone resets\n\
        \x20   clat percentiles (usec):\n\
        \x20    |  1.00th=[    3],  5.00th=[    4],\n\
        \x20    | 99.00th=[   13], 99.90th=[   88]\n\
        \x20 lat (nsec)   : 750=0.58%, 1000=3.62%\n\
        \x20    issued rwts: total=30565,30610,0,0 short=0,0,0,0 dropped=0,0,0,0\n\
        \x20    latency   : target=0, window=0, percentile=100.00%, depth=1\n";

    fn of(word: &str, output: &str) -> Result<PercentileReading, String> {
        read(Percentile::of_word(word).unwrap(), output).unwrap()
    }

    #[test]
    fn percentiles_of_the_last_direction_are_read() {
        let reading = of("p99", FIO).unwrap();
        assert!((reading.value - 13e-6).abs() < 1e-12, "{reading:?}");
        assert_eq!((reading.samples, reading.tool, reading.tables), (Some(30_610), Tool::Fio, 2));
        let only_reads =
            format!("{}{}", &FIO[..FIO.find("  write:").unwrap()], &FIO[FIO.find("     issued").unwrap()..]);
        let reading = of("p99.99", &only_reads).unwrap();
        assert!((reading.value - 8_454_144e-9).abs() < 1e-12, "{reading:?}");
        assert_eq!((reading.samples, reading.tables), (Some(30_565), 1));
        let submission = format!("{only_reads}    slat percentiles (nsec):\n     | 99.00th=[ 5]\n");
        assert_eq!(of("p99", &submission).unwrap().tables, 1);
    }

    #[test]
    fn missing_rows_are_refused() {
        let why = of("p95", FIO).unwrap_err();
        assert!(why.starts_with("no p95: fio prints p1, p5, p99 and p99.9 here: "), "{why}");
        assert!(why.contains("--percentile_list"), "{why}");
        let cut = &FIO[..FIO.rfind("     | 99.00th").unwrap()];
        assert!(of("p99", cut).unwrap_err().contains("fio prints p1 and p5 here"));
        assert_eq!(of("p5", cut).unwrap().samples, None);
    }
}
