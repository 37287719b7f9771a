//! Reproducible randomness: one seed, and one independent stream per purpose.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

/// The generator of all random decisions in this crate.
pub type Random = ChaCha8Rng;

/// The purpose of a random stream. Separate streams keep results independent: one more interval never changes the order
/// of the runs, and a p value does not depend on whether an interval was computed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The order of the candidates within the rounds.
    Order,
    /// Resampling of rounds for an interval.
    Bootstrap,
    /// Sign flips of the test of a difference.
    SignFlip,
    /// Relabelling of runs in the test of spread.
    Spread,
    /// The order of the candidates within the rounds of a screening.
    Screening,
    /// Resampling of rounds for the interval of the CPU time.
    CpuTime,
    /// Resampling of two samples that were measured apart.
    Independent,
    /// Relabelling of two samples that were measured apart.
    Relabel,
}

/// The generator for one purpose under one seed. ChaCha streams with different numbers do not overlap, and the
/// algorithm fixes the sequence, so a stored seed reproduces a stored result.
pub fn stream(seed: u64, purpose: Purpose) -> Random {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(match purpose {
        Purpose::Order => 0,
        Purpose::Bootstrap => 1,
        Purpose::SignFlip => 2,
        Purpose::Spread => 3,
        Purpose::Screening => 4,
        Purpose::CpuTime => 5,
        Purpose::Independent => 6,
        Purpose::Relabel => 7,
    });
    random
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn the_same_seed_and_purpose_give_the_same_numbers_and_others_do_not() {
        let draw = |seed, purpose| stream(seed, purpose).next_u64();
        assert_eq!(draw(7, Purpose::Order), draw(7, Purpose::Order));
        assert_ne!(draw(7, Purpose::Order), draw(8, Purpose::Order));
        assert_ne!(draw(7, Purpose::Order), draw(7, Purpose::Bootstrap));
    }
}
