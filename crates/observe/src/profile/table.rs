//! The table of readprofile(8), sorted as the reports of 2002 did: `readprofile | sort -n +0 -r`.

use super::frames::{Frames, Function};
use super::samples::Samples;
use super::spin::SpinShare;
use std::collections::BTreeMap;
use std::fmt::Write;
use unspin_trace::KernelSymbols;

/// What is printed beside ticks, name and load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The ticks of each address (`readprofile -s`).
    pub counters: bool,
    /// The address of each function (`readprofile -v`).
    pub addresses: bool,
}

/// The rows, most ticks first.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    total: u64,
    /// Bytes of the kernel's code; 0 if unknown.
    code_bytes: u64,
}

#[derive(Clone, PartialEq, Debug)]
struct Row {
    name: String,
    ticks: u64,
    /// Start and length in bytes; none for functions of programs.
    extent: Option<(u64, u64)>,
    by_address: BTreeMap<u64, u64>,
}

impl Table {
    /// Of these samples.
    pub fn new(samples: &Samples, frames: &Frames<'_>, symbols: &KernelSymbols) -> Table {
        let mut rows = BTreeMap::<(Function, Option<u64>), Row>::new();
        for (place, count) in samples.counts() {
            let function = frames.function(place);
            // Several functions of the kernel can have one name.
            let symbol = if place.in_kernel { symbols.function(place.ip) } else { None };
            let extent = symbol.map(|symbol| (symbol.address, symbol.size));
            let name = shown(&function);
            let row = rows.entry((function, extent.map(|(start, _)| start))).or_insert_with(|| Row {
                name,
                ticks: 0,
                extent,
                by_address: BTreeMap::new(),
            });
            row.ticks += count;
            *row.by_address.entry(place.ip).or_insert(0) += count;
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        // As `sort -r`, which compares whole lines where the numbers are equal.
        rows.sort_by(|a, b| (b.ticks, &b.name).cmp(&(a.ticks, &a.name)));
        Table { rows, total: samples.ticks(), code_bytes: symbols.code_bytes() }
    }

    /// The share of the ticks in which CPUs spun for a lock.
    pub fn spin_share(&self) -> SpinShare {
        SpinShare::of(self.rows.iter().map(|row| (row.name.as_str(), row.ticks)))
    }

    /// The text. Its lines without options are in the order of `sort -n -r`.
    pub fn text(&self, layout: Layout) -> String {
        let mut text = String::new();
        let total = Row {
            name: "total".into(),
            ticks: self.total,
            extent: Some((0, self.code_bytes)),
            by_address: BTreeMap::new(),
        };
        for row in [&total].into_iter().chain(&self.rows) {
            if layout.counters && !row.by_address.is_empty() {
                let _ = writeln!(text, "{}:", row.name);
                for (address, ticks) in &row.by_address {
                    let _ = writeln!(text, "\t{address:x}\t{ticks}");
                }
            }
            let _ = writeln!(text, "{}", row.line(layout));
        }
        text
    }
}

impl Row {
    /// `%6u %-40s %8.4f` as readprofile prints it; with the address `%016x %-40s %6u %8.4f`.
    fn line(&self, layout: Layout) -> String {
        let Row { name, ticks, .. } = self;
        let load = match self.extent {
            Some((_, bytes)) if bytes > 0 => format!("{:8.4}", *ticks as f64 / bytes as f64),
            _ => format!("{:>8}", "-"),
        };
        match layout.addresses {
            true => format!("{:016x} {name:<40} {ticks:6} {load}", self.extent.map_or(0, |(start, _)| start)),
            false => format!("{ticks:6} {name:<40} {load}"),
        }
    }
}

/// A function as readprofile shows it; with its module, if it has one.
fn shown(function: &Function) -> String {
    match function.module.is_empty() || function.name.starts_with(&format!("{}+", function.module)) {
        true => function.name.clone(),
        false => format!("{} [{}]", function.name, function.module),
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::Spaces;
    use super::*;
    use unspin_trace::{Payload, Record, Sample, StackId, VALUES};

    const SYMBOLS: &str = "\
ffffffff81000000 T busy
ffffffff81000040 T idle
ffffffff81000060 T end
ffffffff81001000 D data
";

    fn table(ips: &[u64]) -> Table {
        let symbols = KernelSymbols::parse(SYMBOLS.as_bytes());
        let mut samples = Samples::new(Spaces::Shared);
        for &ip in ips {
            let sample =
                Sample { event: 0, cpu: 0, ip, in_kernel: true, values: [0; VALUES], stack: StackId::EMPTY };
            let record = Record { time: 0, pid: 1, tid: 1, payload: Payload::Sample(sample) };
            samples.note(&record);
        }
        Table::new(&samples, &Frames::new(&samples, &symbols), &symbols)
    }

    const BUSY: u64 = 0xffff_ffff_8100_0000;

    #[test]
    fn table_has_the_form_of_readprofile() {
        let table = table(&[BUSY, BUSY, BUSY + 8, BUSY + 0x41, 0xffff_ffff_f000_0000]);
        let text = table.text(Layout::default());
        assert_eq!(
            text,
            "     5 total                                      0.0012\n     \
             3 busy                                       0.0469\n     \
             1 idle                                       0.0312\n     \
             1 *unknown*                                       -\n"
        );
    }

    #[test]
    fn counters_and_addresses_are_shown_on_request() {
        let text = table(&[BUSY, BUSY, BUSY + 8]).text(Layout { counters: true, addresses: true });
        assert_eq!(
            text,
            "0000000000000000 total                                         3   0.0007\n\
             busy:\n\tffffffff81000000\t2\n\tffffffff81000008\t1\n\
             ffffffff81000000 busy                                          3   0.0469\n"
        );
    }
}
