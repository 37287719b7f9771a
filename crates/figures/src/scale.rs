//! Values of one unit in a column, and p values.

use crate::significant;

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
    fn p_values_are_short() {
        assert_eq!(p_value(0.000_01), "<0.0001");
        assert_eq!(p_value(0.031_25), "0.031");
    }
}
