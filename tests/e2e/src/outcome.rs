//! The outcome of a run.

use std::fmt;
use std::process::ExitStatus;

/// Everything that can be checked of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status, or the signal.
    pub status: ExitStatus,
}

impl Outcome {
    /// Whether the run succeeded, and the library under test printed nothing.
    pub fn is_clean(&self) -> bool {
        let complains = |text: &str| text.lines().any(|line| line.starts_with("unspin: "));
        self.status.success() && !complains(&self.stdout) && !complains(&self.stderr)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n--- stdout\n{}--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}

/// Demands the lines and the exit status of the bare run, and no more on standard error. `world` names the other run.
///
/// # Panics
/// With every line that differs.
pub fn assert_same(name: &str, world: impl fmt::Display, kernel: &Outcome, other: &Outcome) {
    let differences = differences(&kernel.stdout, &other.stdout);
    assert!(
        differences.is_empty() && kernel.status == other.status && kernel.stderr == other.stderr,
        "{name} in world {world} differs from the bare run:\n{differences}\
         bare: {}\n{world}: {}\n--- stderr of {world}\n{}",
        kernel.status,
        other.status,
        other.stderr
    );
}

/// The lines that only one of the two has, by their longest common subsequence. A replaced line stands beside its
/// replacement. At most [`SHOWN`] lines, because all behind the first may be consequences.
fn differences(kernel: &str, other: &str) -> String {
    let (kernel, other): (Vec<_>, Vec<_>) = (kernel.lines().collect(), other.lines().collect());
    let common = common_tails(&kernel, &other);
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < kernel.len() || j < other.len() {
        if i < kernel.len() && j < other.len() && kernel[i] == other[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == other.len() || i < kernel.len() && common[i + 1][j] >= common[i][j + 1] {
            found.push(format!("  kernel: {}\n", kernel[i]));
            i += 1;
        } else {
            found.push(format!("  here:   {}\n", other[j]));
            j += 1;
        }
    }
    if found.len() > SHOWN {
        let more = found.len() - SHOWN;
        found.truncate(SHOWN);
        found.push(format!("  and {more} more\n"));
    }
    found.concat()
}

/// Lines of a difference that are shown.
const SHOWN: usize = 24;

/// How many lines the two have in common, in order, from line i and line j on.
fn common_tails(a: &[&str], b: &[&str]) -> Vec<Vec<u32>> {
    let mut common = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            common[i][j] =
                if a[i] == b[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_a_missing_and_an_extra_line_are_all_seen() {
        assert_eq!(differences("a: 1\nb: 2\n", "a: 1\nb: 2\n"), "");
        assert_eq!(differences("a: 1\nb: 2\n", "a: 0\nb: 2\n"), "  kernel: a: 1\n  here:   a: 0\n");
        assert_eq!(differences("a: 1\nb: 2\n", "b: 2\n"), "  kernel: a: 1\n");
        assert_eq!(differences("a: 1\n", "a: 1\nb: 2\n"), "  here:   b: 2\n");
        assert_eq!(differences("", &"x\n".repeat(30)).lines().last(), Some("  and 6 more"));
    }
}
