//! CPU time that was taken from a program while it was metered.

use crate::figures::spoken_percent;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What took CPU time from the program, as shares of the CPU time of the machine.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Disturbance {
    /// Other programs, and the kernel for no process.
    pub others: f64,
    /// Steal time: the hypervisor ran other machines.
    pub stolen: f64,
}

/// The share from which on waits cannot be told from the disturbance. `prove` warns from the same share on.
const TOO_MUCH: f64 = 0.05;

/// Shares are stored as billionths.
const BILLION: f64 = 1e9;

impl Disturbance {
    /// Whether it is so large that the bound on the speed-up (CEIL) means nothing: while the holder of a lock cannot
    /// run, because another program runs, all waiters wait.
    pub fn is_too_much(&self) -> bool {
        self.others + self.stolen >= TOO_MUCH
    }

    /// As two words of a recording. A word of 0 would mean that nothing is known.
    pub(crate) fn to_words(self) -> [u64; 2] {
        [self.others, self.stolen].map(|share| 1 + (share.clamp(0.0, 1.0) * BILLION) as u64)
    }

    pub(crate) fn from_words(words: [u64; 2]) -> Option<Disturbance> {
        let share = |word: u64| (1..=1 + BILLION as u64).contains(&word).then(|| (word - 1) as f64 / BILLION);
        Some(Disturbance { others: share(words[0])?, stolen: share(words[1])? })
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Other programs used {} of the CPUs", spoken_percent(self.others))?;
        if self.stolen >= 0.001 {
            write!(f, ", the hypervisor took {}", spoken_percent(self.stolen))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbance_is_read_as_it_was_stored() {
        let disturbance = Disturbance { others: 0.25, stolen: 0.0 };
        assert_eq!(Disturbance::from_words(disturbance.to_words()), Some(disturbance));
        assert_eq!(Disturbance::from_words([0, 0]), None, "not measured");
        assert_eq!(Disturbance::from_words([u64::MAX, 1]), None, "a damaged file");
        assert_eq!(disturbance.to_string(), "Other programs used 25.0 % of the CPUs");
        assert!(disturbance.is_too_much() && !Disturbance { others: 0.01, stolen: 0.01 }.is_too_much());
    }
}
