//! What the floor of a comparison is: why smaller differences are not ranked.

use unspin_report::figures::Percent;
use unspin_results::{Basis, ResultComparison, SessionSummary};
use unspin_stats::effect;
use unspin_stats::independent::IndependentTest;

/// What a difference below the floor may be due to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FloorCause {
    /// The control of a session differs as much from itself, or its runs show no smaller difference.
    Noise,
    /// The figures have so few digits.
    Digits,
    /// The second half of a session differs as much from its first.
    Drift,
    /// Other programs and the hypervisor took so much of the CPUs.
    Disturbance,
}

impl FloorCause {
    /// Of the floor of a comparison. `common` is that of all comparisons of this basis, none if it is unknown. A drift cancels in gains.
    pub fn of(
        result: &ResultComparison,
        test: &IndependentTest,
        (floor, common): (f64, Option<f64>),
        basis: Basis,
    ) -> FloorCause {
        let sessions = || result.before.iter().chain(&result.after);
        let has_several = result.before.len() > 1;
        let noise = |session: &SessionSummary| {
            session.noise_floor.map(|noise| noise.of_noise()).filter(|_| !has_several)
        };
        let drift = |session: &SessionSummary| session.drift?.factor(result.settings.alpha);
        if test.rounding.is_some_and(|rounding| rounding >= floor) {
            FloorCause::Digits
        } else if common.is_none() || sessions().filter_map(noise).any(|noise| noise >= floor) {
            FloorCause::Noise
        } else if basis == Basis::Figures && sessions().filter_map(drift).any(|drift| drift >= floor) {
            FloorCause::Drift
        } else {
            FloorCause::Disturbance
        }
    }

    /// "; differences below 5 % are within the noise of the sessions"
    pub fn in_certainty(self, floor: f64) -> String {
        let effect = effect(floor);
        match self {
            FloorCause::Noise => format!("; differences below {effect} are within the noise of the sessions"),
            FloorCause::Digits => {
                format!(
                    "; differences below {effect} may be due to rounding, because the figures have so few digits"
                )
            }
            FloorCause::Drift => format!("; differences below {effect} are within the drift of a session"),
            FloorCause::Disturbance => format!(
                "; differences below {effect} may be due to other programs and the hypervisor, which took up to {} of the CPUs",
                taken(floor)
            ),
        }
    }

    /// "it is within the noise of the sessions, 5 %"
    pub fn because(self, floor: f64) -> String {
        let effect = effect(floor);
        match self {
            FloorCause::Noise => format!("it is within the noise of the sessions, {effect}"),
            FloorCause::Digits => {
                format!("the figures have so few digits that rounding may explain {effect}")
            }
            FloorCause::Drift => format!("it is within the drift of a session, {effect}"),
            FloorCause::Disturbance => format!(
                "other programs and the hypervisor, which took up to {} of the CPUs, may explain {effect}",
                taken(floor)
            ),
        }
    }
}

/// The share of the CPUs without which the figures would have been better by this factor.
fn taken(floor: f64) -> String {
    Percent::TwoDigits.of(1.0 - 1.0 / floor)
}
