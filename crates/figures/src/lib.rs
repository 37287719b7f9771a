//! Numbers and names as text: the formats that tables, reports and verdicts share.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod percent;
mod scale;
mod words;

pub use self::percent::Percent;
pub use self::scale::{Scale, p_value};
pub use self::words::{capital, list};

/// Units of [`time`]: the length in seconds, and the name.
const UNITS: [(f64, &str); 3] = [(1e-9, "ns"), (1e-6, "us"), (1e-3, "ms")];

/// Formats a time from nanoseconds to years in at most 5 characters, with two or three digits.
pub fn time(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0".into();
    }
    if seconds > 0.0 && seconds <= 0.5e-9 {
        return "<1ns".into();
    }
    for (unit, name) in UNITS {
        let value = seconds / unit;
        // At these limits, rounding would add a digit.
        if value < 9.95 && name != "ns" {
            return format!("{value:.1}{name}");
        }
        if value < 999.5 {
            return format!("{value:.0}{name}");
        }
    }
    let (hours, days) = (seconds / 3600.0, seconds / 86400.0);
    match seconds {
        s if s < 9.995 => format!("{s:.2}s"),
        s if s < 99.95 => format!("{s:.1}s"),
        s if s < 9999.5 => format!("{s:.0}s"),
        _ if hours < 99.95 => format!("{hours:.1}h"),
        _ if days < 99.95 => format!("{days:.1}d"),
        _ if days < 9999.5 => format!("{days:.0}d"),
        _ => ">27y".into(),
    }
}

/// Formats a number with three significant digits, in at most 5 characters up to 99999.
pub fn number(n: f64) -> String {
    match n {
        n if n < 9.995 => format!("{n:.2}"),
        n if n < 99.95 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

/// Formats a count in at most 10 characters.
pub fn count(n: u64) -> String {
    match n {
        0..10_000_000_000 => n.to_string(),
        10_000_000_000..10_000_000_000_000 => format!("{:.2}e9", n as f64 / 1e9),
        _ => format!("{:.2e}", n as f64),
    }
}

/// A number with four significant digits; all digits before the decimal point; an exponent if that takes too many.
pub fn significant(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let exponent = x.abs().log10().floor();
    if !(-4.0..9.0).contains(&exponent) {
        return format!("{x:.3e}");
    }
    let decimals = (3.0 - exponent).clamp(0.0, 7.0) as usize;
    format!("{x:.decimals$}")
}

/// A number with two significant digits, without zeros at the end; all digits before the decimal point.
pub fn two_digits(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    let decimals = (1 - x.abs().log10().floor() as i32).clamp(0, 12) as usize;
    let shown = format!("{x:.decimals$}");
    if shown.contains('.') { shown.trim_end_matches('0').trim_end_matches('.').into() } else { shown }
}

/// Formats a time as Lockmeter 2001 did: 6 characters up to 10 s. Lockmeter computed times in single precision.
pub fn lockmeter_time(seconds: f64) -> String {
    let us = f64::from((seconds * 1e6) as f32);
    if us < 10.0 {
        format!("{us:4.1}us")
    } else if us < 10_000.0 {
        format!("{us:4.0}us")
    } else {
        format!("{:4.0}ms", us / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_two_or_four_digits() {
        let numbers = [85.0, 123_456.7, 0.001_234_5, 1.5e-9, 0.0].map(significant);
        assert_eq!(numbers, ["85.00", "123457", "0.001234", "1.500e-9", "0"]);
        let numbers = [0.03125, 0.05, 123.4, 7.5, 0.0].map(two_digits);
        assert_eq!(numbers, ["0.031", "0.05", "123", "7.5", "0"]);
    }

    #[test]
    fn our_formats() {
        for (seconds, text) in [
            (0.0, "0"),
            (3e-10, "<1ns"),
            (0.6e-9, "1ns"),
            (40e-9, "40ns"),
            (999.6e-9, "1.0us"),
            (9.96e-6, "10us"),
            (183e-6, "183us"),
            (0.018, "18ms"),
            (1.0, "1.00s"),
            (37.5, "37.5s"),
            (515.1, "515s"),
            (20_000.0, "5.6h"),
            (1e6, "11.6d"),
            (1e7, "116d"),
            (1e9, ">27y"),
        ] {
            assert_eq!(time(seconds), text);
        }
        assert_eq!((count(9_999_999_999), count(12_345_678_901)), ("9999999999".into(), "12.35e9".into()));
        assert_eq!(count(u64::MAX), "1.84e19");
    }

    /// Parses a text that [`time`] has printed.
    fn parse(text: &str) -> f64 {
        let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
        let unit =
            [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("h", 3600.0), ("d", 86400.0), ("", 1.0)]
                .into_iter()
                .find(|(name, _)| *name == &text[digits.len()..])
                .unwrap();
        digits.parse::<f64>().unwrap() * unit.1
    }

    proptest! {
        #[test]
        fn each_time_fits_and_is_exact_to_its_digits(exponent in -9.0f64..8.5) {
            let seconds = 10f64.powf(exponent);
            let text = time(seconds);
            prop_assert!(text.len() <= 5, "{text}");
            // At least two digits, except below 10 ns.
            let off = (parse(&text) - seconds).abs();
            prop_assert!(off <= 0.051 * seconds || off <= 0.5e-9, "{seconds} {text}");
        }

        #[test]
        fn each_count_fits(n: u64, shift in 0u32..64) {
            let text = count(n >> shift);
            prop_assert!(text.len() <= 10, "{text}");
            let off = (text.parse::<f64>().unwrap() - (n >> shift) as f64).abs();
            prop_assert!(off <= 0.01 * (n >> shift) as f64);
        }
    }

    #[test]
    fn times_print_as_in_2001() {
        for (us, text) in [
            (0.0, " 0.0us"),
            (8.8, " 8.8us"),
            (9.96, "10.0us"),
            (10.0, "  10us"),
            (9999.0, "9999us"),
            (10_000.0, "  10ms"),
            (2_809_000.0, "2809ms"),
        ] {
            assert_eq!(lockmeter_time(us / 1e6), text);
        }
    }
}
