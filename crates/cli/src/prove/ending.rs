//! How a run ends, and by when it must.

use serde::Serialize;
use std::time::Duration;
use unspin_stats::RunLimit;
use unspin_sys::child::End;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "end")]
pub enum RunEnd {
    /// The program exited.
    Exited {
        /// Its exit code.
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
    /// Why a run that ended so has no figure; none if it ended well. What ended is the subject.
    pub fn failure(self) -> Option<String> {
        match self {
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
    /// What a longer run of a candidate shows, the statistics say.
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
}
