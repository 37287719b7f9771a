//! The order of the runs within the rounds: random, so that drift of the machine meets all of them alike.

use rand::seq::SliceRandom;
use unspin_stats::random::{Purpose, Random, stream};

/// Orders, one for each round. A seed determines them.
#[derive(Debug)]
pub struct RoundOrder(Random);

impl RoundOrder {
    /// The orders of one session.
    pub fn new(seed: u64) -> RoundOrder {
        RoundOrder(stream(seed, Purpose::Order))
    }

    /// The numbers below `count`, in the order of the next round.
    pub fn next(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        order.shuffle(&mut self.0);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_has_all_runs_in_another_order() {
        let mut orders = RoundOrder::new(3);
        let (first, second) = (orders.next(20), orders.next(20));
        assert_ne!(first, second);
        for mut order in [first, second] {
            order.sort_unstable();
            assert_eq!(order, (0..20).collect::<Vec<_>>());
        }
    }
}
