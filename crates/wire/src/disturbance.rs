//! CPU time that was taken from a program while it was metered.

/// What took CPU time from the program, as shares of the CPU time of the machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Disturbance {
    /// Other programs, and the kernel for no process.
    pub others: f64,
    /// Steal time: the hypervisor ran other machines.
    pub stolen: f64,
    /// The share of the periods of the program's CPU quota in which it was used up and the program stopped (cgroups(7)); none if
    /// there is no quota. No share of the CPU time.
    pub throttled: Option<f64>,
}

/// Shares are stored as billionths.
const BILLION: f64 = 1e9;

impl Disturbance {
    /// As three words of a recording. A word of 0 means that nothing is known.
    pub(crate) fn to_words(self) -> [u64; 3] {
        let word = |share: f64| 1 + (share.clamp(0.0, 1.0) * BILLION) as u64;
        [word(self.others), word(self.stolen), self.throttled.map_or(0, word)]
    }

    pub(crate) fn from_words(words: [u64; 3]) -> Option<Disturbance> {
        let share = |word: u64| (1..=1 + BILLION as u64).contains(&word).then(|| (word - 1) as f64 / BILLION);
        Some(Disturbance { others: share(words[0])?, stolen: share(words[1])?, throttled: share(words[2]) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbance_is_read_as_it_was_stored() {
        for throttled in [None, Some(0.0), Some(0.5)] {
            let disturbance = Disturbance { others: 0.25, stolen: 0.0, throttled };
            assert_eq!(Disturbance::from_words(disturbance.to_words()), Some(disturbance));
        }
        assert_eq!(Disturbance::from_words([0, 0, 0]), None, "not measured");
        assert_eq!(Disturbance::from_words([u64::MAX, 1, 1]), None, "a damaged file");
    }
}
