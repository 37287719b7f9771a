//! The steps of the figures of a session, from all of its runs.
//!
//! Many programs drop the zeros at a figure's end: C++ streams, `%g`, awk, Python and JavaScript print 2 beside 1.99 and 2.01, and 1e+06
//! beside 1.00012e+06. So a single figure does not show the step, and the finest of a session does, because one format prints
//! them all. Units that change with the size (950.00us, 1.90ms) have a format each.

use std::collections::HashMap;

/// A printed figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The value, in base units.
    pub value: f64,
    /// A unit of its last digit.
    pub step: f64,
    /// The unit behind the number, in base units.
    pub unit: f64,
}

/// What the figures with one unit show of their format.
#[derive(Clone, Copy, Debug)]
struct Format {
    /// A unit of the last decimal place.
    step: f64,
    /// The number of significant digits.
    digits: i32,
}

/// The step of each figure, in view of all others. It has the decimal places of the finest one, or its significant digits: no format
/// tells which, and the coarser is certain.
pub fn steps(figures: &[Option<Printed>]) -> Vec<Option<f64>> {
    let mut formats: HashMap<u64, Format> = HashMap::new();
    for figure in figures.iter().flatten() {
        let own = Format { step: figure.step, digits: digits(figure) };
        let format = formats.entry(figure.unit.to_bits()).or_insert(own);
        format.step = format.step.min(own.step);
        format.digits = format.digits.max(own.digits);
    }
    let step = |figure: &Printed| {
        let format = formats[&figure.unit.to_bits()];
        let dropped = format.digits - digits(figure);
        (figure.step / 10f64.powi(dropped)).max(format.step)
    };
    figures.iter().map(|figure| figure.as_ref().map(step)).collect()
}

/// The number of digits from the first that is not 0.
fn digits(figure: &Printed) -> i32 {
    let units = (figure.value.abs() / figure.step).round() as u128;
    units.checked_ilog10().map_or(0, |log| log as i32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::step_of;

    fn of(numbers: &[&str]) -> Vec<f64> {
        let printed = |number: &&str| {
            let value = number.parse().unwrap();
            Some(Printed { value, step: step_of(number), unit: 1.0 })
        };
        steps(&numbers.iter().map(printed).collect::<Vec<_>>()).into_iter().flatten().collect()
    }

    #[test]
    fn dropped_zeros_do_not_coarsen_a_figure() {
        assert_eq!(of(&["1.99", "2.01", "2", "2.02"]), [0.01; 4]);
        assert_eq!(of(&["1.5", "12.25", "0.75"]), [0.01; 3]);
        // %g with six digits.
        assert_eq!(of(&["999871", "1.00012e+06", "1e+06"]), [1.0, 10.0, 10.0]);
        assert_eq!(of(&["1e+06", "1.1e+06"]), [1e5; 2]);
        // 3 * 0.1 in Python.
        assert_eq!(of(&["0.2", "0.30000000000000004"]), [0.1; 2]);
        assert_eq!(of(&["0.25", "0.12345678901234566"]), [1e-15; 2]);
    }

    #[test]
    fn figures_that_end_alike_keep_their_steps() {
        assert_eq!(of(&["12", "9", "8"]), [1.0; 3]);
        assert_eq!(of(&["9.50", "10.25"]), [0.01; 2]);
        assert_eq!(of(&["0", "2"]), [1.0; 2]);
    }

    #[test]
    fn each_unit_has_its_format() {
        let us = Printed { value: 950e-6, step: 1e-8, unit: 1e-6 };
        let ms = Printed { value: 1.9e-3, step: 1e-5, unit: 1e-3 };
        assert_eq!(steps(&[Some(us), None, Some(ms)]), [Some(1e-8), None, Some(1e-5)]);
    }
}
