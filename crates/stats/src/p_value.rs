//! A p value that says how it was obtained and how small it could have become.

use serde::{Deserialize, Serialize};

/// How a permutation distribution was enumerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "method")]
pub enum Enumeration {
    /// Every permutation.
    Exact {
        /// How many there are.
        permutations: u64,
    },
    /// Randomly drawn permutations, and p = (hits + 1) / (draws + 1).
    MonteCarlo {
        /// How many were drawn.
        draws: u32,
    },
}

/// A two-sided p value of a permutation test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PValue {
    /// The probability, were there no difference, of a statistic at least as extreme.
    pub p: f64,
    /// The smallest p this test could have given at this number of runs. If it is not below the level of
    /// significance, nothing can be proven, however large the difference.
    pub smallest_attainable: f64,
    /// How it was obtained.
    #[serde(flatten)]
    pub enumeration: Enumeration,
}

/// Relative slack when statistics are compared: equal sums, taken in another order, must count as equal.
pub(crate) const TIE: f64 = 1e-9;
