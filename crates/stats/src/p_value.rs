//! A p value with the way it was obtained and the smallest value that was attainable.

use serde::{Deserialize, Serialize};

/// How a permutation distribution was enumerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "method")]
pub enum Enumeration {
    /// Every permutation.
    Exact {
        /// Number of permutations.
        permutations: u64,
    },
    /// Randomly drawn permutations, and p = (hits + 1) / (draws + 1).
    MonteCarlo {
        /// Number of draws.
        draws: u32,
    },
}

/// A two-sided p value of a permutation test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PValue {
    /// The probability of a statistic at least as extreme if there were no difference.
    pub p: f64,
    /// The smallest p that this test could have given with this number of runs. If it exceeds the significance level,
    /// nothing can be proven, however large the difference.
    pub smallest_attainable: f64,
    /// How it was obtained.
    #[serde(flatten)]
    pub enumeration: Enumeration,
}

/// Relative tolerance when statistics are compared: equal sums, added in another order, must count as equal.
pub(crate) const TIE: f64 = 1e-9;
