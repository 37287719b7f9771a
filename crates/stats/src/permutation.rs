//! Paired permutation test: is the candidate different from the control?
//!
//! If the two do not differ, each round's difference could equally well have had the other sign. The test flips the
//! signs of the rounds in all 2ⁿ ways (Fisher's randomisation test) and counts how often the mean is at least as far
//! from zero as observed. Up to [`EXACT_ROUNDS`] rounds every flip is tried. Beyond that flips are drawn at random, and
//! the observed one is counted among them: p = (hits + 1) / (draws + 1). Without the + 1, p can be zero, and small
//! levels are exceeded many times too often (Phipson & Smyth, *Permutation p-values should never be zero*, 2010).
//!
//! The smallest p that n rounds can give is 2 / 2ⁿ: 0.0625 with five, 0.031 with six. See [`rounds_for_proof`].

use crate::p_value::{Enumeration, PValue, TIE};
use crate::random::Random;
use rand::RngExt;

/// Up to this many rounds all sign flips are enumerated: 2¹⁶ of them.
pub const EXACT_ROUNDS: usize = 16;

/// Two-sided sign-flip test of the differences, one per round, in any unit. `None` if there are no rounds. Rounds with
/// difference zero count as rounds but favour neither side.
pub fn sign_flip(differences: &[f64], draws: u32, random: &mut Random) -> Option<PValue> {
    match differences.len() {
        0 => None,
        n if n <= EXACT_ROUNDS => Some(exact(differences)),
        _ => Some(monte_carlo(differences, draws, random)),
    }
}

/// The smallest number of rounds with which `comparisons` candidates can be proven different at level `alpha`: under
/// Holm's correction the smallest p, multiplied by their number, must still be at most alpha.
///
/// ```
/// use unspin_stats::rounds_for_proof;
/// assert_eq!(rounds_for_proof(1, 0.05), 6); // 2/2⁶ = 0.031; five rounds cannot go below 0.0625
/// assert_eq!(rounds_for_proof(2, 0.05), 7);
/// ```
pub fn rounds_for_proof(comparisons: usize, alpha: f64) -> u32 {
    let flips = 2.0 * comparisons.max(1) as f64 / alpha;
    flips.log2().ceil() as u32
}

fn exact(differences: &[f64]) -> PValue {
    // The statistic is |sum|, which is unchanged if all signs are flipped. So the last sign can stay as it is, and half
    // of the flips represent all.
    let (threshold, flips) = (threshold(differences), 1u32 << (differences.len() - 1));
    let sum_under = |flip: u32| -> f64 {
        let signed = differences.iter().enumerate();
        signed.map(|(i, d)| if flip >> i & 1 == 1 { -d } else { *d }).sum()
    };
    let hits = (0..flips).filter(|&flip| sum_under(flip).abs() >= threshold).count();
    PValue {
        p: hits as f64 / f64::from(flips),
        smallest_attainable: 1.0 / f64::from(flips),
        enumeration: Enumeration::Exact { permutations: 2 * u64::from(flips) },
    }
}

fn monte_carlo(differences: &[f64], draws: u32, random: &mut Random) -> PValue {
    let threshold = threshold(differences);
    let mut flipped_sum = || -> f64 {
        // 64 signs per drawn word.
        let mut signs = 0u64;
        let signed = differences.iter().enumerate().map(|(i, d)| {
            if i % 64 == 0 {
                signs = random.random();
            }
            if signs >> (i % 64) & 1 == 1 { -d } else { *d }
        });
        signed.sum()
    };
    let hits = (0..draws).filter(|_| flipped_sum().abs() >= threshold).count();
    PValue {
        p: (hits as f64 + 1.0) / (f64::from(draws) + 1.0),
        smallest_attainable: 1.0 / (f64::from(draws) + 1.0),
        enumeration: Enumeration::MonteCarlo { draws },
    }
}

/// The observed |sum|, minus a tolerance proportional to the sum of magnitudes.
fn threshold(differences: &[f64]) -> f64 {
    let magnitude: f64 = differences.iter().map(|d| d.abs()).sum();
    differences.iter().sum::<f64>().abs() - TIE * magnitude
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    fn p(differences: &[f64]) -> f64 {
        sign_flip(differences, 9_999, &mut stream(1, Purpose::SignFlip)).unwrap().p
    }

    #[test]
    fn p_of_darwins_maize_data_is_as_published() {
        // Cross- minus self-fertilised, 15 pairs, eighths of an inch (Fisher, The Design of Experiments,
        // 1935, §21): 863 of 32768 sign flips give a sum at least as large as observed, 1726 two-sided.
        let differences =
            [49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0, -48.0];
        assert_eq!(p(&differences), 1726.0 / 32768.0);
    }

    #[test]
    fn the_smallest_attainable_p_is_attained_and_stated() {
        for n in 1..=10 {
            let all_alike = vec![1.0; n];
            let value = sign_flip(&all_alike, 99, &mut stream(1, Purpose::SignFlip)).unwrap();
            assert_eq!(value.p, 2.0 / f64::powi(2.0, n as i32));
            assert_eq!(value.p, value.smallest_attainable);
        }
    }

    #[test]
    fn equal_pairs_have_p_one() {
        assert_eq!(p(&[0.0; 8]), 1.0);
        assert_eq!(p(&[0.0; 40]), 1.0);
        assert!(sign_flip(&[], 99, &mut stream(1, Purpose::SignFlip)).is_none());
    }

    #[test]
    fn monte_carlo_agrees_with_exact() {
        let differences = [0.3, -0.1, 0.25, 0.05, 0.4, -0.2, 0.11, 0.17, -0.05, 0.31];
        let drawn = monte_carlo(&differences, 99_999, &mut stream(3, Purpose::SignFlip)).p;
        // Four standard errors of a proportion near 0.05 from 1e5 draws are 0.003.
        assert!((drawn - exact(&differences).p).abs() < 0.003, "{drawn} against {}", exact(&differences).p);
    }

    #[test]
    fn rounds_for_proof_is_the_fewest() {
        for comparisons in 1..=12 {
            for alpha in [0.1, 0.05, 0.01] {
                let n = rounds_for_proof(comparisons, alpha);
                let smallest = |n: u32| comparisons as f64 * 2.0 / f64::powi(2.0, n as i32);
                assert!(smallest(n) <= alpha && smallest(n - 1) > alpha);
            }
        }
    }
}
