//! The cost of a wake-up on this machine, for compiled plans: the maximum time of a poll.

use crate::error::Error;
use crate::machine::wakeup;

/// The cost in nanoseconds, rounded to two significant digits: compiled plans are cached by their contents, and not
/// every run shall create another one.
pub fn cost_ns() -> Result<u64, Error> {
    wakeup::cost().map(|cost| round(cost.ns()))
}

fn round(ns: u64) -> u64 {
    let unit = 10_u64.pow(ns.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (ns + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_has_two_significant_digits() {
        let cases = [
            (0, 0),
            (7, 7),
            (99, 99),
            (104, 100),
            (105, 110),
            (48_213, 48_000),
            (49_600, 50_000),
            (996, 1000),
        ];
        for (ns, expected) in cases {
            assert_eq!(round(ns), expected, "{ns}");
        }
    }
}
