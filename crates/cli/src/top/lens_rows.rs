//! The rows of a lens's tab: the total, and below it the rows with their callers, most time first.

use super::columns;
use super::reading::Period;
use unspin_observe::lens::reports::Reports;
use unspin_observe::lens::{FutexRow, KernelRow, OffCpuReport};
use unspin_report::figures::{percent, spoken_percent};
use unspin_report::table::Column;

/// Callers shown of each row.
const CALLERS: usize = 3;

/// The table of one lens and period.
#[derive(Clone, PartialEq, Debug)]
pub struct LensTable {
    rows: Rows,
    seconds: f64,
    period: Period,
}

#[derive(Clone, PartialEq, Debug)]
enum Rows {
    Futex(Vec<(LensLine, FutexRow)>),
    Kernel(Vec<(LensLine, KernelRow)>),
    OffCpu(Vec<(LensLine, OffCpuRow)>),
}

/// The part of a line that is no figure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LensLine {
    /// The name, indented for a caller.
    pub label: String,
    /// The name of the row that the line belongs to: filters compare it.
    pub name: String,
}

/// A state of the threads, a reason, or a caller.
#[derive(Clone, Copy, PartialEq, Debug)]
struct OffCpuRow {
    seconds: f64,
    /// Of the time of all threads.
    share: f64,
    count: Option<u64>,
    max: Option<f64>,
}

fn share(part: u64, of: u64) -> String {
    percent(part as f64 / of.max(1) as f64)
}

#[rustfmt::skip]
const FUTEX: [Column<FutexRow>; 9] = [
    Column::on_screen(["WAITED", "WAIT/s"], 6, 0, |row, s| s.sum(row.waited)),
    Column::on_screen(["MEAN", "MEAN"], 6, 2, |row, s| s.time(row.wait_mean)),
    Column::on_screen(["MAX", "MAX"], 5, 3, |row, s| s.time(row.wait_max)),
    Column::on_screen(["WAITS", "WAITS/s"], 10, 1, |row, s| s.count(row.counts.waits)),
    Column::on_screen(["WOKEN", "WOKEN"], 6, 4, |row, _| share(row.counts.woken, row.counts.waits)),
    Column::on_screen(["AGAIN", "AGAIN"], 6, 5, |row, _| share(row.counts.waited_again, row.counts.woken)),
    Column::on_screen(["EAGAIN", "EAGAIN"], 6, 6, |row, _| share(row.counts.value_changed, row.counts.waits)),
    Column::on_screen(["EINTR", "EINTR"], 6, 8, |row, _| share(row.counts.interrupted, row.counts.waits)),
    Column::on_screen(["TMOUT", "TMOUT"], 6, 7, |row, _| share(row.counts.timed_out, row.counts.waits)),
];

#[rustfmt::skip]
const KERNEL: [Column<KernelRow>; 8] = [
    Column::on_screen(["LOST", "LOST/s"], 6, 0, |row, s| s.sum(row.lost)),
    Column::on_screen(["WAIT", "WAIT"], 6, 2, |row, s| s.time(row.wait_mean)),
    Column::on_screen(["MAX", "MAX"], 5, 4, |row, s| s.time(row.wait_max)),
    Column::on_screen(["%CPU", "%CPU"], 5, 3, |row, _| percent(row.spin_cpu)),
    Column::on_screen(["WAITS", "WAITS/s"], 10, 1, |row, s| s.count(row.waits)),
    Column::on_screen(["SPIN", "SPIN"], 5, 5, |row, _| share(row.spun, row.waits)),
    Column::on_screen(["SLEPT", "SLEPT"], 5, 6, |row, _| share(row.slept, row.waits)),
    Column::on_screen(["RJECT", "RJECT"], 5, 7, |row, _| share(row.rejected, row.waits)),
];

#[rustfmt::skip]
const OFF_CPU: [Column<OffCpuRow>; 4] = [
    Column::on_screen(["TIME", "TIME/s"], 6, 0, |row, s| s.sum(row.seconds)),
    Column::on_screen(["SHARE", "SHARE"], 8, 1, |row, _| spoken_percent(row.share)),
    Column::on_screen(["COUNT", "COUNT/s"], 10, 3, |row, s| row.count.map_or(String::new(), |count| s.count(count))),
    Column::on_screen(["MAX", "MAX"], 5, 2, |row, s| row.max.map_or(String::new(), |max| s.time(max))),
];

impl LensTable {
    /// Of the one report that there is.
    pub fn of(reports: &Reports, period: Period) -> Option<LensTable> {
        let (rows, seconds) = if let Some(report) = &reports.futex {
            let mut rows = vec![(line(0, "*TOTAL*", "*TOTAL*"), report.total.clone())];
            for futex in &report.futexes {
                let name = futex.label();
                rows.push((line(0, &name, &name), futex.row.clone()));
                let callers = futex.callers.iter().take(CALLERS);
                rows.extend(callers.map(|one| (line(2, &one.row.name, &name), one.row.clone())));
            }
            (Rows::Futex(rows), report.seconds)
        } else if let Some(report) = &reports.kernel {
            let mut rows = vec![(line(0, "*TOTAL*", "*TOTAL*"), report.total.clone())];
            for lock in &report.locks {
                let name = &lock.row.name;
                let many = if lock.locks > 1 { format!(" ({})", lock.locks) } else { String::new() };
                rows.push((line(0, &format!("{name}{many}, {}", lock.kind), name), lock.row.clone()));
                let callers = lock.uses.iter().flat_map(|one| &one.callers).take(CALLERS);
                rows.extend(callers.map(|one| (line(2, &one.row.name, name), one.row.clone())));
            }
            (Rows::Kernel(rows), report.seconds)
        } else {
            let report = reports.off_cpu.as_ref()?;
            let all = report.thread_seconds;
            let row = |seconds: f64, count, max| OffCpuRow {
                seconds,
                share: if all > 0.0 { seconds / all } else { 0.0 },
                count,
                max,
            };
            let state = |name: &str, seconds| (line(0, name, name), row(seconds, None, None));
            let mut rows = vec![
                state("*TOTAL*", all),
                state(OffCpuReport::ON_CPU, report.on_cpu),
                state(OffCpuReport::RUNNABLE, report.runnable),
                state("blocked", report.blocked),
            ];
            for reason in &report.reasons {
                let (name, sums) = (reason.reason.name(), &reason.row);
                rows.push((line(2, name, name), row(sums.blocked, Some(sums.count), Some(sums.max))));
                for caller in reason.callers.iter().take(CALLERS) {
                    let call = caller.system_call.as_ref().map_or(String::new(), |call| format!("{call}: "));
                    let sums = &caller.row;
                    let label = line(4, &format!("{call}{}", caller.name), name);
                    rows.push((label, row(sums.blocked, Some(sums.count), Some(sums.max))));
                }
            }
            (Rows::OffCpu(rows), report.seconds)
        };
        Some(LensTable { rows, seconds, period })
    }

    /// Keeps the lines that fit, and the total.
    pub fn retain(&mut self, fits: impl Fn(&LensLine) -> bool) {
        let keep = |line: &LensLine| line.name == "*TOTAL*" || fits(line);
        match &mut self.rows {
            Rows::Futex(rows) => rows.retain(|(line, _)| keep(line)),
            Rows::Kernel(rows) => rows.retain(|(line, _)| keep(line)),
            Rows::OffCpu(rows) => rows.retain(|(line, _)| keep(line)),
        }
    }

    /// The line at a position.
    pub fn line(&self, at: usize) -> Option<&LensLine> {
        match &self.rows {
            Rows::Futex(rows) => rows.get(at).map(|(line, _)| line),
            Rows::Kernel(rows) => rows.get(at).map(|(line, _)| line),
            Rows::OffCpu(rows) => rows.get(at).map(|(line, _)| line),
        }
    }

    /// Seconds that it covers.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Number of lines.
    pub fn len(&self) -> usize {
        match &self.rows {
            Rows::Futex(rows) => rows.len(),
            Rows::Kernel(rows) => rows.len(),
            Rows::OffCpu(rows) => rows.len(),
        }
    }

    /// The line of titles, and all others, with the columns that fit into this width.
    pub fn lines(&self, width: u16) -> (String, Vec<String>) {
        match &self.rows {
            Rows::Futex(rows) => self.format_rows(&FUTEX, rows, width),
            Rows::Kernel(rows) => self.format_rows(&KERNEL, rows, width),
            Rows::OffCpu(rows) => self.format_rows(&OFF_CPU, rows, width),
        }
    }

    fn format_rows<R>(
        &self,
        all: &'static [Column<R>],
        rows: &[(LensLine, R)],
        width: u16,
    ) -> (String, Vec<String>) {
        let columns = columns::that_fit(all, width);
        let units = columns::units_of_known(self.seconds, self.period);
        let mut titles = String::new();
        for column in columns.columns() {
            titles += &columns::title(column, self.period);
            titles.push(' ');
        }
        titles += " NAME";
        let text = |(line, row): &(LensLine, R)| columns::line(&columns, row, &line.label, &units);
        (titles, rows.iter().map(text).collect())
    }
}

fn line(indent: usize, label: &str, name: &str) -> LensLine {
    LensLine { label: format!("{:indent$}{label}", ""), name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_observe::lens::testing;

    fn lines(reports: &Reports, width: u16) -> Vec<String> {
        let (titles, lines) = LensTable::of(reports, Period::Lately).unwrap().lines(width);
        [vec![titles], lines].concat()
    }

    #[test]
    fn kernel_locks_are_rates_with_callers() {
        let lines = lines(&testing::kernel(), 100);
        assert_eq!(lines[0], "LOST/s   WAIT   MAX  %CPU    WAITS/s  SPIN SLEPT RJECT  NAME");
        assert!(lines[1].ends_with(" *TOTAL*"), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("  run-queue lock (2), spinlock")), "{lines:?}");
        assert!(lines.iter().any(|line| line.ends_with("    __schedule+0x10")), "{lines:?}");
    }

    #[test]
    fn narrow_windows_keep_the_time_and_the_count() {
        assert!(lines(&testing::kernel(), 48)[0].starts_with("LOST/s    WAITS/s  NAME"));
        assert!(lines(&testing::futex(), 48)[0].starts_with("WAIT/s    WAITS/s  NAME"));
        assert!(lines(&testing::off_cpu(), 45)[0].starts_with("TIME/s    SHARE  NAME"));
        assert!(lines(&testing::off_cpu(), 0)[0].starts_with(" NAME"));
    }

    #[test]
    fn filter_keeps_the_total_and_the_callers() {
        let mut table = LensTable::of(&testing::kernel(), Period::SinceStart).unwrap();
        let all = table.len();
        table.retain(|line| line.name.contains("run-queue"));
        let (_, lines) = table.lines(100);
        assert!(lines.len() < all && lines.len() == 4, "total, lock, two callers: {lines:?}");
    }
}
