//! CPU time that was taken from a program while it was metered.

/// What took CPU time from the program, as shares of the CPU time of the machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Disturbance {
    /// Other programs, and the kernel for no process.
    pub others: f64,
    /// Steal time: the hypervisor ran other machines.
    pub stolen: f64,
}

/// Shares are stored as billionths.
const BILLION: f64 = 1e9;

impl Disturbance {
    /// As two words of a recording. A word of 0 would mean that nothing is known.
    pub(crate) fn to_words(self) -> [u64; 2] {
        [self.others, self.stolen].map(|share| 1 + (share.clamp(0.0, 1.0) * BILLION) as u64)
    }

    pub(crate) fn from_words(words: [u64; 2]) -> Option<Disturbance> {
        let share = |word: u64| (1..=1 + BILLION as u64).contains(&word).then(|| (word - 1) as f64 / BILLION);
        Some(Disturbance { others: share(words[0])?, stolen: share(words[1])? })
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
    }
}
