//! The outcome of one candidate, in the few words that CI systems know.

use unspin_stats::{Comparison, Verdict};

/// What the runs say about a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Proven better.
    Better,
    /// Proven better, for more CPU time than is allowed.
    OverCpuLimit,
    /// Proven worse, or it collapsed or hangs.
    Worse,
    /// Nothing is proven.
    NotProven,
    /// It failed, or what it is compared with did.
    Failed,
}

impl Outcome {
    /// The outcome of a comparison.
    pub fn of(comparison: &Comparison) -> Outcome {
        match &comparison.verdict {
            Verdict::ProvenFaster { .. } if comparison.over_cpu_limit => Outcome::OverCpuLimit,
            Verdict::ProvenFaster { .. } => Outcome::Better,
            Verdict::Failed { .. } => Outcome::Failed,
            verdict if verdict.is_slower() => Outcome::Worse,
            _ => Outcome::NotProven,
        }
    }

    /// The outcome of a session in which no candidate was compared, by its exit code.
    pub fn of_code(code: u8) -> Outcome {
        match code {
            0 => Outcome::Better,
            1 => Outcome::Worse,
            3 => Outcome::NotProven,
            5 => Outcome::OverCpuLimit,
            _ => Outcome::Failed,
        }
    }

    /// In a table.
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Better => "proven better",
            Outcome::OverCpuLimit => "better, but over the CPU limit",
            Outcome::Worse => "proven worse",
            Outcome::NotProven => "not proven",
            Outcome::Failed => "failed",
        }
    }
}
