//! Numbers and paragraphs as text.

pub use unspin_report::figures::{Percent, Scale, p_value, significant};

/// Maximum width of the output in columns.
pub const WIDTH: usize = 100;

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
    fn counts_are_short() {
        assert_eq!(
            (count(9_999.0), count(64_123.0), count(2e7)),
            ("9999".into(), "64k".into(), "20M".into())
        );
        assert_eq!([7, 812, 9_120, 1_234_567].map(grouped), ["7", "812", "9,120", "1,234,567"]);
    }
}
