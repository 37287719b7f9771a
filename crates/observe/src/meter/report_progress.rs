//! The progress of a report that takes long: on a terminal a line that changes, otherwise a line from time to time.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use unspin_launch::output::stderr;

/// Time before the first line: most reports are ready by then.
const FIRST: Duration = Duration::from_secs(2);
/// Time between two lines, on a terminal and otherwise.
const ON_TERMINAL: Duration = Duration::from_millis(500);
const ELSEWHERE: Duration = Duration::from_secs(10);

/// Shows the progress until it is dropped.
pub struct ReportProgress {
    counts: Arc<Counts>,
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    named: AtomicU64,
    /// 0 while the recording is being read.
    rows: AtomicU64,
}

impl ReportProgress {
    /// Begins now. `advice` ends each line.
    pub fn start(advice: &'static str) -> ReportProgress {
        let counts = Arc::new(Counts::default());
        let (over, wait) = mpsc::channel::<()>();
        let shown = Arc::clone(&counts);
        let show = move || {
            let terminal = std::io::stderr().is_terminal();
            let mut pause = FIRST;
            let mut width = 0;
            while wait.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let line = format!("unspin: {}{advice}", shown.line());
                match terminal {
                    true => stderr::draw(&format!("\r{line:<width$}")),
                    false => stderr::print(&format!("{line}\n")),
                }
                width = line.chars().count();
                pause = if terminal { ON_TERMINAL } else { ELSEWHERE };
            }
            if terminal && width > 0 {
                stderr::draw(&format!("\r{:width$}\r", ""));
            }
        };
        // Where no thread is permitted (ulimit -u), the report is made without a progress.
        let thread = Builder::new().spawn(show).ok();
        ReportProgress { counts, over: Some(over), thread }
    }

    /// The recording has been read, and has so many rows.
    pub fn read(&self, rows: usize) {
        // Relaxed: a number that is only shown.
        self.counts.rows.store(rows as u64, Ordering::Relaxed);
    }

    /// A row has got its name.
    pub fn count_named(&self) {
        // Relaxed: a number that is only shown.
        self.counts.named.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for ReportProgress {
    fn drop(&mut self) {
        self.over = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Counts {
    fn line(&self) -> String {
        // Relaxed (both): as they were stored.
        let [named, rows] = [&self.named, &self.rows].map(|count| count.load(Ordering::Relaxed));
        match rows {
            0 => "the recording is being read".into(),
            // Some rows are named twice: for the table, and for the list of locks that are held.
            _ => format!("report: {} of {rows} rows have their names", named.min(rows)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_says_how_many_rows_have_names() {
        let progress = ReportProgress::start("");
        assert_eq!(progress.counts.line(), "the recording is being read");
        progress.read(2);
        (0..3).for_each(|_| progress.count_named());
        assert_eq!(progress.counts.line(), "report: 2 of 2 rows have their names");
    }
}
