//! How figures are converted to text.

use crate::figures::{count, time};
use crate::report::MeterReport;
use unspin_wire::Level;

/// Whether sums are shown as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figures {
    /// As sums.
    Sums,
    /// As rates per second.
    Rates,
}

/// How figures are converted to text.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    /// Seconds of the interval for which sums are rates. None: sums are sums.
    rate_over: Option<f64>,
    /// Whether waits are timed.
    timed: bool,
    /// Whether short waits are known: waits are timed, and the cost of a wake-up is known.
    judges_waits: bool,
    /// Whether the bound on the speed-up is given: waits are timed, and the run was not disturbed.
    bounds: bool,
}

impl Units {
    /// For a report.
    pub fn of(report: &MeterReport) -> Units {
        let timed = report.level != Level::Counts;
        Units {
            rate_over: None,
            timed,
            judges_waits: timed && report.wake_up.is_some(),
            bounds: timed && !report.is_disturbed(),
        }
    }

    /// For rows of which all figures are known.
    pub fn all_known() -> Units {
        Units { rate_over: None, timed: true, judges_waits: true, bounds: true }
    }

    /// For locks that were recorded at this level, bounds included.
    pub(crate) fn of_level(level: Level) -> Units {
        let timed = level != Level::Counts;
        Units { rate_over: None, timed, judges_waits: timed, bounds: timed }
    }

    /// Sums become rates over as many seconds, if they are more than 0.
    #[must_use]
    pub fn per_second_of(self, seconds: f64) -> Units {
        Units { rate_over: (seconds > 0.0).then_some(seconds), ..self }
    }

    /// A sum of seconds, or its rate.
    pub fn sum(&self, seconds: f64) -> String {
        self.time(seconds / self.rate_over.unwrap_or(1.0))
    }

    /// A time.
    pub fn time(&self, seconds: f64) -> String {
        self.timed(|| time(seconds))
    }

    /// A number, or its rate.
    pub fn count(&self, n: u64) -> String {
        count(self.rate_over.map_or(n, |seconds| (n as f64 / seconds).round() as u64))
    }

    /// A figure that needs waits to be timed; a dash if they are not.
    pub(crate) fn timed(&self, text: impl FnOnce() -> String) -> String {
        known(self.timed, text)
    }

    /// A figure that needs the cost of a wake-up.
    pub(crate) fn judged(&self, text: impl FnOnce() -> String) -> String {
        known(self.judges_waits, text)
    }

    /// A bound on the speed-up.
    pub(crate) fn bound(&self, text: impl FnOnce() -> String) -> String {
        known(self.bounds, text)
    }
}

/// A dash for a figure that was not measured.
pub(crate) fn known(is_known: bool, text: impl FnOnce() -> String) -> String {
    if is_known { text() } else { "-".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_sums_by_seconds() {
        let units = Units::all_known();
        assert_eq!([units.sum(3.0), units.count(30)], ["3.00s", "30"].map(str::to_owned));
        let rates = units.per_second_of(2.0);
        assert_eq!([rates.sum(3.0), rates.count(30)], ["1.50s", "15"].map(str::to_owned));
        assert_eq!(
            units.per_second_of(0.0).count(u64::MAX),
            units.count(u64::MAX),
            "an interval without time"
        );
    }
}
