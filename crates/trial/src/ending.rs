//! How a run ends, and by when it must.

use serde::Serialize;
use std::time::Duration;
use unspin_stats::{RunLimit, collapse};
use unspin_sys::child::End;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum RunEnd {
    /// The program was not started: what it should run under could not be made ready.
    NotStarted,
    /// The program exited.
    Exited {
        /// The program's exit code.
        code: i32,
    },
    /// A signal killed it.
    Killed {
        /// The signal.
        signal: i32,
    },
    /// It was ended at its time limit.
    TimedOut {
        /// The limit, in seconds.
        limit_s: f64,
        /// Whether none of its threads ran in the second half of that time.
        hung: bool,
    },
}

impl RunEnd {
    /// Why a run with this end has no figure, as the predicate of a sentence about the program; none if it ended well.
    pub fn failure(self) -> Option<String> {
        match self {
            RunEnd::NotStarted => Some("was not started".into()),
            RunEnd::Exited { code: 0 } => None,
            RunEnd::Exited { code } => Some(format!("ended with exit code {code}")),
            RunEnd::Killed { signal } => Some(format!("was killed by signal {signal}")),
            RunEnd::TimedOut { limit_s, hung: false } => {
                Some(format!("was still running after {limit_s:.1} s"))
            }
            RunEnd::TimedOut { limit_s, hung: true } => Some(format!(
                "was still running after {limit_s:.1} s, and hangs: none of its threads ran in the second half of that time"
            )),
        }
    }
}

impl From<End> for RunEnd {
    fn from(end: End) -> RunEnd {
        match end {
            End::Exited(code) => RunEnd::Exited { code },
            End::Killed(signal) => RunEnd::Killed { signal },
        }
    }
}

/// The limit of a run, and the meaning of exceeding it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A limit of the statistics, which say what a longer run of a candidate shows.
    Candidate(RunLimit),
    /// A run that takes longer has failed.
    Timeout(Duration),
}

impl Limit {
    /// The time after which the run is ended.
    pub fn after(self) -> Duration {
        match self {
            Limit::Candidate(limit) => limit.after(),
            Limit::Timeout(limit) => limit,
        }
    }

    /// Whether a run that exceeds the limit may hang. A run that the end of the time budget stops, or that seems too
    /// slow to be chosen, was not observed for long enough to tell.
    pub fn shows_hang(self) -> bool {
        match self {
            Limit::Candidate(RunLimit::Collapse(limit)) => limit >= collapse::LIMIT_AT_LEAST,
            Limit::Candidate(RunLimit::Stop(_)) => false,
            Limit::Timeout(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_that_is_stopped_for_the_budget_shows_no_hang() {
        let seconds = Duration::from_secs;
        assert!(Limit::Candidate(RunLimit::Collapse(seconds(5))).shows_hang());
        assert!(!Limit::Candidate(RunLimit::Collapse(seconds(1))).shows_hang(), "a short run of the search");
        assert!(!Limit::Candidate(RunLimit::Stop(seconds(9))).shows_hang());
        assert!(Limit::Timeout(seconds(1)).shows_hang(), "the user's limit");
    }
}
