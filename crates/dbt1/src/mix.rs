//! The three mixes of interactions (clause 5.2): which page follows which.

use crate::interaction::Interaction;
use crate::random::Random;

/// A mix of interactions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// 95 % of the interactions browse, 5 % order (WIPSb).
    Browsing,
    /// 80 % browse, 20 % order (WIPS).
    Shopping,
    /// Half browse, half order (WIPSo).
    Ordering,
}

/// Thresholds: from the interaction of the row a browser goes to the first interaction whose threshold is at least a number drawn
/// from 1 to 9999. 0: there is no such transition. Rows and columns are in the order of [`Interaction::ALL`].
type Thresholds = [[i64; 14]; 14];

/// The greatest threshold.
const GREATEST: i64 = 9999;

#[rustfmt::skip]
const BROWSING: Thresholds = [
    // ADMC  ADMR  BESS  BUYC  BUYR  CREG  HOME  NEWP  ORDD  ORDI  PROD  SREQ  SRES  SHOP
    [     0,    0,    0,    0,    0,    0, 9877,    0,    0,    0,    0, 9999,    0,    0],
    [  8999,    0,    0,    0,    0,    0, 9999,    0,    0,    0,    0,    0,    0,    0],
    [     0,    0,    0,    0,    0,    0, 4607,    0,    0,    0, 5259, 9942,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  342,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0,    0, 9199,    0,    0, 9595,    0,    0,    0,    0,    0,    0, 9999],
    [     0,    0,    0,    0, 9145,    0, 9619,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0, 3792,    0,    0,    0,    0, 7585,    0, 7688,    0, 9559,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  299,    0,    0,    0, 9867, 9941,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  802,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0,    0,    0,    0,    0,  523,    0, 8856,    0,    0, 9999,    0,    0],
    [     0,   47,    0,    0,    0,    0, 8346,    0,    0,    0, 9749, 9890,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  788,    0,    0,    0,    0,    0, 9955, 9999],
    [     0,    0,    0,    0,    0,    0, 3674,    0,    0,    0, 9868, 9942,    0, 9999],
    [     0,    0,    0,    0,    0, 4099, 8883,    0,    0,    0,    0,    0,    0, 9999],
];

#[rustfmt::skip]
const SHOPPING: Thresholds = [
    // ADMC  ADMR  BESS  BUYC  BUYR  CREG  HOME  NEWP  ORDD  ORDI  PROD  SREQ  SRES  SHOP
    [     0,    0,    0,    0,    0,    0, 9952,    0,    0,    0,    0, 9999,    0,    0],
    [  8999,    0,    0,    0,    0,    0, 9999,    0,    0,    0,    0,    0,    0,    0],
    [     0,    0,    0,    0,    0,    0,  167,    0,    0,    0,  472, 9927,    0, 9999],
    [     0,    0,    0,    0,    0,    0,   84,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0,    0, 4614,    0,    0, 6546,    0,    0,    0,    0,    0,    0, 9999],
    [     0,    0,    0,    0, 8666,    0, 8760,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0, 3124,    0,    0,    0,    0, 6249,    0, 6718,    0, 7026,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  156,    0,    0,    0, 9735, 9784,    0, 9999],
    [     0,    0,    0,    0,    0,    0,   69,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0,    0,    0,    0,    0,   72,    0, 8872,    0,    0, 9999,    0,    0],
    [     0,   58,    0,    0,    0,    0,  832,    0,    0,    0, 1288, 8603,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  635,    0,    0,    0,    0,    0, 9135, 9999],
    [     0,    0,    0,    0,    0,    0, 2657,    0,    0,    0, 9294, 9304,    0, 9999],
    [     0,    0,    0,    0,    0, 2585, 9552,    0,    0,    0,    0,    0,    0, 9999],
];

#[rustfmt::skip]
const ORDERING: Thresholds = [
    // ADMC  ADMR  BESS  BUYC  BUYR  CREG  HOME  NEWP  ORDD  ORDI  PROD  SREQ  SRES  SHOP
    [     0,    0,    0,    0,    0,    0, 8348,    0,    0,    0,    0, 9999,    0,    0],
    [  8999,    0,    0,    0,    0,    0, 9999,    0,    0,    0,    0,    0,    0,    0],
    [     0,    0,    0,    0,    0,    0,    1,    0,    0,    0,  333, 9998,    0, 9999],
    [     0,    0,    0,    0,    0,    0,    2,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0,    0, 7999,    0,    0, 9453,    0,    0,    0,    0,    0,    0, 9999],
    [     0,    0,    0,    0, 9899,    0, 9901,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0,  499,    0,    0,    0,    0,  999,    0, 1269,    0, 1295,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  504,    0,    0,    0, 9942, 9976,    0, 9999],
    [     0,    0,    0,    0,    0,    0, 9939,    0,    0,    0,    0, 9999,    0,    0],
    [     0,    0,    0,    0,    0,    0, 1168,    0, 9968,    0,    0, 9999,    0,    0],
    [     0,   99,    0,    0,    0,    0, 3750,    0,    0,    0, 5621, 6341,    0, 9999],
    [     0,    0,    0,    0,    0,    0,  815,    0,    0,    0,    0,    0, 9815, 9999],
    [     0,    0,    0,    0,    0,    0,  486,    0,    0,    0, 7817, 9998,    0, 9999],
    [     0,    0,    0,    0,    0, 9499, 9918,    0,    0,    0,    0,    0,    0, 9999],
];

impl Mix {
    /// All mixes.
    pub const ALL: [Mix; 3] = [Mix::Browsing, Mix::Shopping, Mix::Ordering];

    /// The mix's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mix::Browsing => "browsing",
            Mix::Shopping => "shopping",
            Mix::Ordering => "ordering",
        }
    }

    fn thresholds(self) -> &'static Thresholds {
        match self {
            Mix::Browsing => &BROWSING,
            Mix::Shopping => &SHOPPING,
            Mix::Ordering => &ORDERING,
        }
    }

    /// The interaction after `last`.
    pub fn next(self, last: Interaction, random: &mut Random) -> Interaction {
        let drawn = random.between(1, GREATEST);
        let thresholds = &self.thresholds()[last as usize];
        let index = thresholds.iter().position(|&threshold| threshold >= drawn);
        Interaction::ALL[index.expect("the last threshold of each row is the greatest number")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clause 5.2.1: per cent of all interactions in the browsing, shopping and ordering mix.
    const SPECIFIED: [(Interaction, [f64; 3]); 14] = [
        (Interaction::Home, [29.00, 16.00, 9.12]),
        (Interaction::NewProducts, [11.00, 5.00, 0.46]),
        (Interaction::BestSellers, [11.00, 5.00, 0.46]),
        (Interaction::ProductDetail, [21.00, 17.00, 12.35]),
        (Interaction::SearchRequest, [12.00, 20.00, 14.53]),
        (Interaction::SearchResults, [11.00, 17.00, 13.08]),
        (Interaction::ShoppingCart, [2.00, 11.60, 13.53]),
        (Interaction::CustomerRegistration, [0.82, 3.00, 12.86]),
        (Interaction::BuyRequest, [0.75, 2.60, 12.73]),
        (Interaction::BuyConfirm, [0.69, 1.20, 10.18]),
        (Interaction::OrderInquiry, [0.30, 0.75, 0.25]),
        (Interaction::OrderDisplay, [0.25, 0.66, 0.22]),
        (Interaction::AdminRequest, [0.10, 0.10, 0.12]),
        (Interaction::AdminConfirm, [0.09, 0.09, 0.11]),
    ];

    /// The share of each interaction in an endless walk.
    fn stationary(mix: Mix) -> [f64; 14] {
        let mut shares = [1.0 / 14.0; 14];
        for _ in 0..5000 {
            let mut next = [0.0; 14];
            for (row, share) in mix.thresholds().iter().zip(shares) {
                let mut last = 0;
                for (target, &threshold) in next.iter_mut().zip(row).filter(|(_, t)| **t > 0) {
                    *target += share * (threshold - last) as f64 / GREATEST as f64;
                    last = threshold;
                }
            }
            // The mean of two steps, so that a walk with a period converges too.
            shares = std::array::from_fn(|index| (shares[index] + next[index]) / 2.0);
        }
        shares
    }

    #[test]
    fn thresholds_rise_and_end_at_the_greatest_number() {
        for mix in Mix::ALL {
            for row in mix.thresholds() {
                let used: Vec<i64> = row.iter().copied().filter(|&t| t > 0).collect();
                assert!(used.is_sorted_by(|a, b| a < b), "{mix:?} {row:?}");
                assert_eq!(used.last(), Some(&GREATEST), "{mix:?} {row:?}");
            }
        }
    }

    /// One wrong digit in a table changes shares by more than what rounding explains.
    #[test]
    fn transition_tables_give_the_specified_percentages() {
        for (index, mix) in Mix::ALL.into_iter().enumerate() {
            let shares = stationary(mix);
            for (interaction, percent) in SPECIFIED {
                let share = 100.0 * shares[interaction as usize];
                assert!((share - percent[index]).abs() < 0.006, "{mix:?} {interaction}: {share:.4} %");
            }
        }
    }

    #[test]
    fn random_walk_follows_the_tables() {
        let (mut random, mut at) = (Random::new(1, 1), Interaction::Home);
        let mut counts = [0; 14];
        for _ in 0..200_000 {
            at = Mix::Shopping.next(at, &mut random);
            counts[at as usize] += 1;
        }
        for (count, share) in counts.into_iter().zip(stationary(Mix::Shopping)) {
            assert!((f64::from(count) / 200_000.0 - share).abs() < 0.005, "{count} {share}");
        }
    }
}
