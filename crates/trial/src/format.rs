//! Numbers and paragraphs as text.

pub use unspin_report::figures::{Percent, significant};

/// Maximum width of the output in columns.
pub const WIDTH: usize = 100;

/// The unit of the values in one column, so that they can be compared at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    factor: f64,
    /// Size of the unit.
    pub unit: String,
}

impl Scale {
    /// A unit for values about as large as `typical`. Short times are shown in ms, us or ns.
    pub fn new(typical: f64, unit: &str) -> Scale {
        const SECONDS: [(f64, f64, &str); 4] =
            [(1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (1e-6, 1e6, "us"), (0.0, 1e9, "ns")];
        if unit != "s" {
            return Scale { factor: 1.0, unit: unit.to_owned() };
        }
        let (_, factor, unit) =
            SECONDS.into_iter().find(|(least, ..)| typical >= *least).unwrap_or((1.0, 1.0, "s"));
        Scale { factor, unit: unit.to_owned() }
    }

    /// The number without its unit.
    pub fn show(&self, value: f64) -> String {
        significant(value * self.factor)
    }

    /// A mean and its standard deviation, with the same number of decimals.
    pub fn show_with_deviation(&self, mean: f64, deviation: f64) -> String {
        let mean = self.show(mean);
        let decimals = mean.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if mean.contains('e') {
            return format!("{mean} ± {}", self.show(deviation));
        }
        format!("{mean} ± {:.decimals$}", deviation * self.factor)
    }
}

/// A p value.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "<0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.3}"),
    }
}

/// A count; thousands as k, millions as M.
pub fn count(n: f64) -> String {
    match n {
        n if n < 1e4 => format!("{n:.0}"),
        n if n < 1e7 => format!("{:.0}k", n / 1e3),
        n => format!("{:.0}M", n / 1e6),
    }
}

/// A whole number with its thousands apart: 812,000.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A paragraph within [`WIDTH`]. Its lines are indented by `indent`, those after the first by two more.
pub fn paragraph(text: &str, indent: usize) -> String {
    unspin_report::paragraph(text, WIDTH, indent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_are_shown_in_small_units() {
        let scale = Scale::new(0.000_246, "s");
        assert_eq!((scale.show(0.000_246_13), scale.unit.as_str()), ("246.1".into(), "us"));
        assert_eq!(Scale::new(12.0, "s").show(12.3456), "12.35");
        assert_eq!(Scale::new(12.0, "s").show_with_deviation(12.3456, 1.0), "12.35 ± 1.00");
        assert_eq!(Scale::new(1e12, "").show_with_deviation(1e12, 1e10), "1.000e12 ± 1.000e10");
        assert_eq!(Scale::new(5e-9, "s").unit, "ns");
        assert_eq!(Scale::new(0.001, "TPS"), Scale { factor: 1.0, unit: "TPS".into() });
    }

    #[test]
    fn p_values_and_counts_are_short() {
        assert_eq!(p_value(0.000_01), "<0.0001");
        assert_eq!(p_value(0.031_25), "0.031");
        assert_eq!(
            (count(9_999.0), count(64_123.0), count(2e7)),
            ("9999".into(), "64k".into(), "20M".into())
        );
        assert_eq!([7, 812, 9_120, 1_234_567].map(grouped), ["7", "812", "9,120", "1,234,567"]);
    }
}
