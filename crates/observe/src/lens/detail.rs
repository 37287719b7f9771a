//! What `unspin top` shows of one row of a lens: its callers, the longest stack of each, and the callers that woke its threads.

use super::text::format_count;
use std::fmt::Write;
use unspin_report::figures::time;
use unspin_report::next::Next;

/// The text as far as it is written.
pub struct Detail {
    text: String,
    width: usize,
}

impl Detail {
    /// About the row with this name.
    pub fn new(name: &str, width: usize) -> Detail {
        Detail { text: format!("{name}\n"), width }
    }

    /// The lines that were written.
    pub fn lines(&self) -> Vec<String> {
        self.text.lines().map(str::to_owned).collect()
    }

    /// Writes how long and how often threads waited.
    pub fn sums(&mut self, waited: f64, count: u64, longest: f64) {
        let _ = writeln!(self.text, "{}, the longest {}", waits(waited, count), time(longest));
    }

    /// Writes the title of the stacks that follow.
    pub fn title(&mut self, title: &str) {
        let _ = writeln!(self.text, "\n{title}");
    }

    /// Writes a stack behind its sums.
    pub fn stack(&mut self, sums: &str, frames: &[String]) {
        let _ = writeln!(self.text, "  {sums}");
        if frames.is_empty() {
            self.text += "      (no stack, or it waited already)\n";
        }
        for frame in frames {
            let _ = writeln!(self.text, "      {frame}");
        }
    }

    /// Writes what to do next.
    pub fn next(&mut self, next: &Next) {
        self.text += "\n";
        next.write_under_row(self.width, &mut self.text);
    }
}

/// So much time in so many waits.
pub fn waits(seconds: f64, count: u64) -> String {
    format!("{} in {}", time(seconds), format_count(count, "wait", "waits"))
}

#[cfg(test)]
mod tests {
    use crate::lens::reports::Reports;
    use crate::lens::testing;

    fn detail(reports: &Reports, name: &str) -> String {
        reports.detail(name, 80).unwrap_or_default().join("\n")
    }

    #[test]
    fn row_has_its_stacks_wakers_and_next_step() {
        let futex = testing::futex();
        let name = futex.futex.as_ref().unwrap().futexes[0].label();
        let text = detail(&futex, &name);
        for expected in ["3.0ms in 2 waits, the longest 2.0ms", "2 wakes: woke 2 threads", "-> many woken"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let text = detail(&testing::kernel(), "run-queue lock");
        for expected in
            ["6.0us in 2 waits, spinlock\n      __schedule+0x10\n      schedule+0x10", "1.0us in 1 wait"]
        {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        let text = detail(&testing::off_cpu(), "futex");
        for expected in ["2.0ms in 2 waits, futex", "unspin meter --lens futex ./server"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert_eq!(testing::kernel().detail("no such lock", 80), None);
    }
}
