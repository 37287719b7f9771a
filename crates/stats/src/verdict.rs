//! What was proven about a candidate.

use crate::collapse::CutOff;
use crate::interval::Ratio;
use serde::{Deserialize, Serialize};

/// The outcome of one comparison with the control.
///
/// A difference is proven only if all of this holds: neither the candidate nor the control failed; the p value,
/// corrected for the number of candidates, is at most alpha; the interval excludes 1 on the same side; and the ratio
/// lies beyond the noise floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Verdict {
    /// Better than the control.
    ProvenFaster {
        /// How many times as good, above 1.
        ratio: Ratio,
    },
    /// Worse than the control.
    ProvenSlower {
        /// How many times as good, below 1.
        ratio: Ratio,
    },
    /// No difference is proven, which does not prove that there is none.
    NothingProven {
        /// The largest effect, as a factor of at least 1 in either direction, that these runs cannot rule out: the far
        /// end of the interval; if the noise floor is the reason, that floor if it is larger. `None` with too few rounds
        /// for an interval: these runs do not bound the effect.
        could_hide: Option<f64>,
        /// The first condition that was not met.
        doubt: NotProvenReason,
    },
    /// Several of its runs were stopped because they took many times as long as the control, and no others were.
    Collapsed(CutOff),
    /// The candidate's runs were stopped, and no thread ran any more in those runs.
    Hangs(CutOff),
    /// A run was stopped because it took many times as long as the control. That is too little to tell whether the candidate
    /// or the machine is the cause; so it is not ranked.
    Withheld(CutOff),
    /// It was not run to the end, because its runs took too long for the time budget. It is never recommended.
    GivenUp {
        /// The candidate's runs, or those that were stopped if `stopped` says so, took at least this many times as
        /// long as the control's slowest run.
        times: f64,
        /// Number of its runs, including the warm-up.
        runs: u32,
        /// Number of its runs that were stopped. If some runs were neither stopped nor much slower, the stopped ones
        /// are the reason.
        stopped: u32,
        /// Whether all its runs were much slower, and enough of them to prove that it is slower. See
        /// [`crate::much_slower`].
        proven: bool,
        /// The p value of that test, corrected for the number of candidates; absent if some runs were not much slower.
        p: Option<f64>,
    },
    /// Runs of the candidate failed, or runs of the control, so that nothing can be compared with it.
    Failed {
        /// The name of the configuration that failed.
        name: String,
        /// Number of its failed runs, including the warm-up.
        failed: u32,
        /// Number of its runs, including the warm-up.
        runs: u32,
        /// The reason of the first failure.
        reason: String,
    },
}

impl Verdict {
    /// Whether the candidate is proven slower, has collapsed, or hangs.
    pub fn is_slower(&self) -> bool {
        match self {
            Verdict::ProvenSlower { .. } | Verdict::Collapsed(_) | Verdict::Hangs(_) => true,
            Verdict::GivenUp { proven, .. } => *proven,
            Verdict::ProvenFaster { .. }
            | Verdict::NothingProven { .. }
            | Verdict::Withheld(_)
            | Verdict::Failed { .. } => false,
        }
    }
}

/// Why no difference is proven.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum NotProvenReason {
    /// With so few rounds no p value can reach the level, however large the difference.
    TooFewRounds {
        /// The minimum number of rounds.
        needed: u32,
    },
    /// The runs are compatible with no difference: p is too large or the interval includes 1.
    NotSignificant,
    /// The difference is below the noise floor, so it is not ranked.
    BelowFloor {
        /// The floor, a factor of at least 1.
        floor: f64,
    },
}
