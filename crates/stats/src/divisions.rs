//! The ways to divide some runs into two groups, which a test that relabels them tries.

/// Up to this many divisions of the runs into two groups are enumerated: 16 runs into two of 8.
const EXACT_DIVISIONS: u64 = 12_870;

/// The number of ways to choose `chosen` of `count`, if few enough to try them all.
pub(crate) fn divisions(count: usize, chosen: usize) -> Option<u64> {
    let mut ways = 1u64;
    for i in 0..chosen as u64 {
        ways = ways * (count as u64 - i) / (i + 1);
        if ways > EXACT_DIVISIONS {
            return None;
        }
    }
    (count < 64).then_some(ways)
}

/// All masks of `count` bits with `chosen` set, in ascending order (Gosper's hack).
pub(crate) struct Divisions {
    mask: u64,
    end: u64,
}

impl Divisions {
    pub(crate) fn new(count: usize, chosen: usize) -> Divisions {
        Divisions { mask: (1 << chosen) - 1, end: 1 << count }
    }
}

impl Iterator for Divisions {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.mask >= self.end {
            return None;
        }
        let mask = self.mask;
        let lowest = mask & mask.wrapping_neg();
        let carried = mask + lowest;
        self.mask = carried | (((mask ^ carried) >> 2) / lowest);
        Some(mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisions_are_all_and_each_once() {
        let masks: Vec<u64> = Divisions::new(10, 5).collect();
        assert_eq!(masks.len() as u64, divisions(10, 5).unwrap());
        assert!(masks.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(masks.iter().all(|mask| mask.count_ones() == 5 && *mask < 1 << 10));
        assert_eq!(divisions(16, 8), Some(EXACT_DIVISIONS));
        assert_eq!(divisions(17, 8), None);
    }
}
