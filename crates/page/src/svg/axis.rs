//! Axes: where a value lies, and which values are labelled.

/// An axis from one coordinate to another.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    values: (f64, f64),
    coordinates: (f64, f64),
    is_log: bool,
}

impl Axis {
    /// Equal distances are equal differences.
    pub fn linear(values: (f64, f64), coordinates: (f64, f64)) -> Axis {
        let values = if values.1 > values.0 { values } else { (values.0, values.0 + 1.0) };
        Axis { values, coordinates, is_log: false }
    }

    /// Equal distances are equal ratios. Both values are positive.
    pub fn log(values: (f64, f64), coordinates: (f64, f64)) -> Axis {
        let low = if values.0 > 0.0 && values.0.is_finite() { values.0 } else { f64::MIN_POSITIVE };
        let high = if values.1 > low && values.1.is_finite() { values.1 } else { 2.0 * low };
        Axis { values: (low, high), coordinates, is_log: true }
    }

    /// For positive values: with a margin, and logarithmic if they differ by a large factor.
    pub fn of_values(values: impl Iterator<Item = f64>, coordinates: (f64, f64)) -> Axis {
        /// Values that differ by more are drawn on a logarithmic axis.
        const WIDE: f64 = 6.0;
        let known = values.filter(|value| value.is_finite() && *value > 0.0);
        let (low, high) =
            known.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        match high {
            high if high <= 0.0 => Axis::linear((0.0, 1.0), coordinates),
            high if high > WIDE * low => Axis::log((low / 1.15, high * 1.15), coordinates),
            high => {
                let margin = if high > low { 0.08 * (high - low) } else { 0.05 * high };
                Axis::linear(((low - margin).max(0.0), high + margin), coordinates)
            }
        }
    }

    /// The coordinate of a value; one beyond an end lies at the end.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.is_log {
            false => (value - self.values.0) / (self.values.1 - self.values.0),
            true => (value / self.values.0).ln() / (self.values.1 / self.values.0).ln(),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.coordinates.0 + share * (self.coordinates.1 - self.coordinates.0)
    }

    /// The values at its ends.
    pub fn ends(&self) -> (f64, f64) {
        self.values
    }

    /// Round values to label: up to some `at_most`.
    pub fn ticks(&self, at_most: usize) -> Vec<f64> {
        match self.is_log {
            true => self.log_ticks(at_most),
            false => self.linear_ticks(at_most),
        }
    }

    fn linear_ticks(&self, at_most: usize) -> Vec<f64> {
        let (low, high) = self.values;
        let rough = (high - low) / at_most.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&step| step >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (low / step).ceil() as i64;
        let last = (high / step).floor() as i64;
        (first..=last.min(first + 50)).map(|i| i as f64 * step).collect()
    }

    /// Powers of ten with one, three or nine steps between two of them; within less than a power, as on a linear axis.
    fn log_ticks(&self, at_most: usize) -> Vec<f64> {
        let (low, high) = self.values;
        let within = |value: &f64| *value >= low * (1.0 - 1e-9) && *value <= high * (1.0 + 1e-9);
        let powers = || (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
        let steps = |steps: &[f64]| -> Vec<f64> {
            let all = powers().flat_map(|p| steps.iter().map(move |step| step * 10f64.powi(p)));
            all.filter(within).collect()
        };
        let fine = self.linear_ticks(at_most);
        if high / low < 4.0 {
            return fine;
        }
        [&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0][..], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]]
            .into_iter()
            .map(steps)
            .find(|ticks| ticks.len() <= at_most)
            .unwrap_or_else(|| {
                let every = powers().count().div_ceil(at_most.max(1));
                powers().step_by(every.max(1)).map(|p| 10f64.powi(p)).filter(within).collect()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_ends() {
        let axis = Axis::log((0.1, 10.0), (0.0, 100.0));
        assert_eq!([axis.at(0.1), axis.at(1.0), axis.at(10.0), axis.at(1e9)], [0.0, 50.0, 100.0, 100.0]);
        assert_eq!(axis.at(f64::INFINITY), 100.0);
        assert_eq!(Axis::linear((0.0, 4.0), (10.0, 50.0)).at(1.0), 20.0);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(Axis::log((1e-3, 1e3), (0.0, 1.0)).ticks(7), [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Axis::linear((0.0, 10.0), (0.0, 1.0)).ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        for (low, high) in [(0.5, 2.0), (0.98, 1.02), (1e-30, 1e30), (0.2, 7.0), (1.0, 1.0)] {
            for axis in [Axis::log((low, high), (0.0, 1.0)), Axis::linear((low, high), (0.0, 1.0))] {
                let ticks = axis.ticks(8);
                assert!(!ticks.is_empty() && ticks.len() <= 12, "{low} {high} {ticks:?}");
            }
        }
    }
}
