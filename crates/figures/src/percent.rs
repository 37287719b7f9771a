//! Shares in percent.

use crate::{number, two_digits};

/// How a share is rounded and shown in percent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Percent {
    /// As Lockmeter 2001 did, in 5 characters up to 9999 %: `76.3%`. As in Lockmeter, the value before rounding determines
    /// the number of digits.
    Lockmeter,
    /// For a column of 5 characters: as Lockmeter did, and from 10000 % on with the units k, M and G.
    Column,
    /// Three digits, as in the headline of Hartner 2001: `76.3 %`, `6.85 %`, `100 %`.
    ThreeDigits,
    /// Two digits, and at most two decimals: `37 %`, `3.0 %`, `0.05 %`.
    TwoDigits,
    /// Two significant digits, without zeros at the end: `37 %`, `3 %`, `0.031 %`.
    Short,
}

impl Percent {
    /// A share as text.
    pub fn of(self, share: f64) -> String {
        let percent = share * 100.0;
        match self {
            Percent::Lockmeter if percent > 99.9 || percent == 0.0 => format!("{percent:4.0}%"),
            Percent::Lockmeter if percent > 1.0 => format!("{percent:4.1}%"),
            Percent::Lockmeter => format!("{percent:4.2}%"),
            Percent::Column => match percent {
                percent if percent < 9999.5 => Percent::Lockmeter.of(share),
                percent if percent < 999.5e3 => format!("{:3.0}k%", percent / 1e3),
                percent if percent < 9.95e6 => format!("{:3.1}M%", percent / 1e6),
                percent if percent < 999.5e6 => format!("{:3.0}M%", percent / 1e6),
                _ => " >1G%".into(),
            },
            Percent::ThreeDigits => format!("{} %", number(percent).trim_end_matches(".00")),
            Percent::TwoDigits if percent >= 9.95 => format!("{percent:.0} %"),
            Percent::TwoDigits if percent >= 0.995 => format!("{percent:.1} %"),
            Percent::TwoDigits => format!("{percent:.2} %"),
            Percent::Short => format!("{} %", two_digits(percent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_rule_has_its_digits() {
        for (share, text) in [
            (0.0, "   0%"),
            (0.000_000_1, "0.00%"),
            (0.0022, "0.22%"),
            (0.01, "1.00%"),
            (0.0101, " 1.0%"),
            (0.763, "76.3%"),
            (0.999, "99.9%"),
            (0.99906, " 100%"),
            (1.0, " 100%"),
            (12.5, "1250%"),
        ] {
            assert_eq!(Percent::Column.of(share), text);
        }
        let shares =
            |rule: Percent| [0.763, 0.0684, 0.03, 0.0034, 0.000_312, 1.0, 0.0].map(|share| rule.of(share));
        assert_eq!(
            shares(Percent::ThreeDigits),
            ["76.3 %", "6.84 %", "3 %", "0.34 %", "0.03 %", "100 %", "0 %"]
        );
        assert_eq!(
            shares(Percent::TwoDigits),
            ["76 %", "6.8 %", "3.0 %", "0.34 %", "0.03 %", "100 %", "0.00 %"]
        );
        assert_eq!(shares(Percent::Short), ["76 %", "6.8 %", "3 %", "0.34 %", "0.031 %", "100 %", "0 %"]);
    }

    proptest! {
        #[test]
        fn each_share_takes_five_characters(share in 0.0f64..10.0, tens in 0i32..12) {
            let share = share * 10f64.powi(tens);
            let text = Percent::Column.of(share);
            prop_assert_eq!(text.chars().count(), 5, "{}", text);
            let shown = text.trim_end_matches('%').trim();
            let (shown, unit) = match (shown.strip_suffix('k'), shown.strip_suffix('M')) {
                (Some(thousands), _) => (thousands, 1e1),
                (_, Some(millions)) => (millions, 1e4),
                _ => (shown, 1e-2),
            };
            match shown.parse::<f64>() {
                Ok(shown) => prop_assert!((shown * unit - share).abs() <= 0.051 * share.max(1.0), "{text} {share}"),
                Err(_) => prop_assert!(share >= 9.99e6, "{text} {share}"),
            }
        }

        #[test]
        fn share_below_10000_percent_is_exact_to_its_digits(share in 0.0f64..99.99) {
            let text = Percent::Column.of(share);
            prop_assert_eq!(text.len(), 5);
            let shown = text.trim_end_matches('%').trim().parse::<f64>().unwrap() / 100.0;
            let unit = if share > 0.999 { 0.01 } else { 0.001 };
            prop_assert!((shown - share).abs() <= 0.501 * unit);
        }
    }
}
