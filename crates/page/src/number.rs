//! Numbers: what the reader sees, and the exact value for programs that read the page.

use maud::{Markup, html};

/// A number with its exact value, which the document has, in the attribute `value` of `<data>`.
pub fn data(value: f64, shown: impl AsRef<str>) -> Markup {
    html! { data value=(exact(value)) { (shown.as_ref()) } }
}

/// All digits of a number, as JSON has it.
pub fn exact(value: f64) -> String {
    format!("{value}")
}

/// A time in seconds: `18 ms`.
pub fn time(seconds: f64) -> String {
    with_space(&unspin_figures::time(seconds))
}

/// A value of a metric: times in seconds with their own units, others with the metric's.
pub fn of_metric(value: f64, unit: &str) -> String {
    match unit {
        "s" => time(value),
        "" => unspin_figures::significant(value),
        unit => format!("{} {}", unspin_figures::significant(value), crate::name::visible(unit)),
    }
}

/// A factor for axes and sentences: `0.25`, `1`, `4`, `1000`.
pub fn factor(value: f64) -> String {
    if !value.is_finite() {
        return "∞".into();
    }
    match value.abs() {
        v if v >= 1e6 || (v > 0.0 && v < 1e-4) => format!("{value:.1e}"),
        _ => unspin_figures::two_digits(value),
    }
}

/// A round value on an axis: `0`, `0.25`, `60`, `2e6`.
pub fn tick(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 || (v > 0.0 && v < 1e-4) => format!("{value:e}"),
        // Steps such as 0.1 are not exact.
        _ => format!("{}", (value * 1e9).round() / 1e9),
    }
}

/// A round time on an axis, with all its digits: `105 ms`, `1.005 s`.
pub fn tick_of_time(seconds: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    if seconds == 0.0 {
        return "0".into();
    }
    let fits = |(unit, _): &(f64, &str)| seconds.abs() >= unit * (1.0 - 1e-9);
    let (unit, name) = UNITS.into_iter().find(fits).unwrap_or((1e-9, "ns"));
    format!("{}\u{a0}{name}", tick(seconds / unit))
}

/// A round value of a metric on an axis.
pub fn tick_of_metric(value: f64, unit: &str) -> String {
    match unit {
        "s" => tick_of_time(value),
        "" => tick(value),
        unit => format!("{} {}", tick(value), crate::name::visible(unit)),
    }
}

/// A p value.
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.0001 => "< 0.0001".into(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.3}"),
    }
}

/// A share of 100: `37 %`.
pub fn percent(percent: f64) -> String {
    format!("{percent:.1}\u{a0}%")
}

/// `18ms` as `18 ms`, with a space at which no line is broken.
fn with_space(time: &str) -> String {
    match time.find(|c: char| c.is_alphabetic()) {
        Some(unit) if unit > 0 => format!("{}\u{a0}{}", &time[..unit], time[unit..].replace("us", "µs")),
        _ => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!([time(0.018), time(3e-6), time(0.0)], ["18\u{a0}ms", "3.0\u{a0}µs", "0"]);
        assert_eq!(of_metric(1234.0, "TPS"), "1234 TPS");
        assert_eq!([factor(1.0), factor(0.001), factor(f64::INFINITY)], ["1", "0.001", "∞"]);
    }

    #[test]
    fn ticks_have_no_needless_decimals() {
        let shown = [0.0, 60.0, 3.0 * 0.1, 0.25, 2e6, 5e-6, 999_000.0].map(tick);
        assert_eq!(shown, ["0", "60", "0.3", "0.25", "2e6", "5e-6", "999000"]);
        assert_eq!(
            [0.105, 1.005, 60.0, 3.0 * 0.1, 2e-6, 7200.0].map(tick_of_time),
            ["105\u{a0}ms", "1.005\u{a0}s", "60\u{a0}s", "300\u{a0}ms", "2\u{a0}µs", "7200\u{a0}s"]
        );
        assert_eq!([tick_of_metric(0.5, "s"), tick_of_metric(40.0, "TPS")], ["500\u{a0}ms", "40 TPS"]);
    }
}
