//! What came out of a run.

use crate::World;
use std::fmt;
use std::process::ExitStatus;

/// Everything a run can be judged by.
#[derive(Debug)]
pub struct Outcome {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status, or the signal.
    pub status: ExitStatus,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n--- stdout\n{}--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}

/// Demands the kernel's lines and exit status, and an empty standard error.
///
/// # Panics
/// With every line that differs.
pub fn assert_same(name: &str, world: World, kernel: &Outcome, other: &Outcome) {
    let differences = differences(&kernel.stdout, &other.stdout);
    assert!(
        differences.is_empty() && kernel.status == other.status && kernel.stderr == other.stderr,
        "{name} under the preload with engine {world} differs from the kernel:\n{differences}\
         kernel: {}\n{world}: {}\n--- stderr of {world}\n{}",
        kernel.status,
        other.status,
        other.stderr
    );
}

/// The lines that differ, each with what the kernel had; lines are paired by what stands before the colon, so
/// that one missing line does not spoil the rest.
fn differences(kernel: &str, other: &str) -> String {
    let mut text = String::new();
    let mut say = |kernel: &str, other: &str| text += &format!("  kernel: {kernel}\n  here:   {other}\n");
    let mut rest = other.lines().peekable();
    for line in kernel.lines() {
        match rest.peek() {
            Some(&same) if same == line => {
                rest.next();
            }
            Some(&there) if row(there) == row(line) => {
                say(line, there);
                rest.next();
            }
            _ => say(line, "(missing)"),
        }
    }
    rest.for_each(|line| say("(missing)", line));
    text
}

fn row(line: &str) -> &str {
    line.split(':').next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_a_missing_and_an_extra_line_are_all_seen() {
        assert_eq!(differences("a: 1\nb: 2\n", "a: 1\nb: 2\n"), "");
        assert_eq!(differences("a: 1\nb: 2\n", "a: 0\nb: 2\n"), "  kernel: a: 1\n  here:   a: 0\n");
        assert_eq!(differences("a: 1\nb: 2\n", "b: 2\n"), "  kernel: a: 1\n  here:   (missing)\n");
        assert_eq!(differences("a: 1\n", "a: 1\nb: 2\n"), "  kernel: (missing)\n  here:   b: 2\n");
    }
}
