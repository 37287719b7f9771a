//! One row of a lens with its callers, the longest stack of each, and those that woke its threads, for `unspin top`.

use super::futex::FutexEntry;
use super::kernel::KernelLock;
use super::next::{self, Next};
use super::off_cpu::{BlockedReason, OffCpuReport};
use super::reports::Reports;
use super::text::counted;
use std::fmt::Write;
use unspin_meter::figures::time;

impl Reports {
    /// The lines about the row with this name; none if the one report that there is has no such row.
    pub fn detail(&self, name: &str, width: usize) -> Option<Vec<String>> {
        let mut detail = Detail { text: format!("{name}\n"), width };
        if let Some(report) = &self.futex {
            detail.futex(report.futexes.iter().find(|futex| futex.label() == name)?);
        } else if let Some(report) = &self.kernel {
            detail.lock(report.locks.iter().find(|lock| lock.row.name == name)?);
        } else {
            let report = self.off_cpu.as_ref()?;
            match report.reasons.iter().find(|reason| reason.reason.name() == name) {
                Some(reason) => detail.reason(reason),
                None => detail.next(state_hint(report, name)?),
            }
        }
        Some(detail.text.lines().map(str::to_owned).collect())
    }
}

/// What to do next about a state of the threads.
fn state_hint<'r>(report: &'r OffCpuReport, name: &str) -> Option<&'r Next> {
    let states =
        [(OffCpuReport::ON_CPU, &report.on_cpu_next), (OffCpuReport::RUNNABLE, &report.runnable_next)];
    states.into_iter().find(|(state, _)| *state == name)?.1.as_ref()
}

/// The text as far as it is written.
struct Detail {
    text: String,
    width: usize,
}

impl Detail {
    fn futex(&mut self, futex: &FutexEntry) {
        let row = &futex.row;
        self.sums(row.waited, row.counts.waits, row.wait_max);
        self.title("Stacks that waited");
        for stack in futex.callers.iter().flat_map(|caller| &caller.stacks) {
            self.stack(&waits(stack.waited, stack.waits), &stack.frames);
        }
        self.title("Stacks that woke threads");
        for waker in &futex.wakers {
            self.stack(&waker.wakes.text(), &waker.frames);
        }
        self.next(&futex.next);
    }

    fn lock(&mut self, lock: &KernelLock) {
        self.sums(lock.row.lost, lock.row.waits, lock.row.wait_max);
        self.title("Stacks that waited");
        for one in &lock.uses {
            for stack in one.callers.iter().flat_map(|caller| &caller.stacks) {
                self.stack(&format!("{}, {}", waits(stack.lost, stack.waits), one.kind), &stack.frames);
            }
        }
        if let Some(next) = &lock.next {
            self.next(next);
        }
    }

    fn reason(&mut self, reason: &BlockedReason) {
        self.sums(reason.row.blocked, reason.row.count, reason.row.max);
        self.title("Stacks that were blocked");
        for caller in &reason.callers {
            let call = caller.system_call.as_ref().map_or(String::new(), |call| format!(", {call}"));
            self.stack(&format!("{}{call}", waits(caller.row.blocked, caller.row.count)), &caller.frames);
        }
        if let Some(next) = &reason.next {
            self.next(next);
        }
    }

    fn sums(&mut self, waited: f64, count: u64, longest: f64) {
        let _ = writeln!(self.text, "{}, the longest {}", waits(waited, count), time(longest));
    }

    fn title(&mut self, title: &str) {
        let _ = writeln!(self.text, "\n{title}");
    }

    fn stack(&mut self, sums: &str, frames: &[String]) {
        let _ = writeln!(self.text, "  {sums}");
        if frames.is_empty() {
            self.text += "      (no stack, or it waited already)\n";
        }
        for frame in frames {
            let _ = writeln!(self.text, "      {frame}");
        }
    }

    fn next(&mut self, next: &Next) {
        self.text += "\n";
        next::write(next, self.width, &mut self.text);
    }
}

fn waits(seconds: f64, count: u64) -> String {
    format!("{} in {}", time(seconds), counted(count, "wait", "waits"))
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

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
