//! What the hosts prove together.

use super::FleetComparison;
use crate::interval::{Ratio, factor};
use serde::{Deserialize, Serialize};

/// What one host proves by itself, corrected for the number of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostSide {
    /// The candidate is better there.
    Faster,
    /// The candidate is worse there.
    Slower,
    /// Neither is proven there.
    Undecided,
}

/// What is proven about a candidate in the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FleetVerdict {
    /// Better than the control on average, and proven worse on no host.
    ProvenFaster {
        /// The mean ratio.
        ratio: Ratio,
    },
    /// Worse than the control on average, and proven better on no host.
    ProvenSlower {
        /// The mean ratio.
        ratio: Ratio,
    },
    /// Proven better on some hosts and worse on others; or worse on a host although better on average, or the reverse.
    DependsOnHost {
        /// The number of hosts on which it is proven better.
        faster: u32,
        /// The number of hosts on which it is proven worse.
        slower: u32,
    },
    /// No difference of the mean is proven.
    NothingProven {
        /// The largest mean effect, as a factor of at least 1, that is not ruled out; none with fewer than two hosts.
        could_hide: Option<f64>,
        /// The condition that was not met.
        doubt: FleetDoubt,
    },
}

/// Why no difference is proven in the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FleetDoubt {
    /// Fewer than two hosts have measured it.
    TooFewHosts,
    /// The hosts are compatible with no difference of the mean.
    NotSignificant,
    /// The difference is below the floor: the noise of the fleet, or what the rounding of the figures can cause.
    BelowFloor {
        /// The floor, a factor of at least 1.
        floor: f64,
    },
}

impl FleetVerdict {
    /// From the figures of a comparison with corrected p values. `floor` is the fleet's noise floor.
    pub(super) fn of(comparison: &FleetComparison, floor: Option<f64>, alpha: f64) -> FleetVerdict {
        let on = |side| comparison.hosts.iter().filter(|host| host.side == side).count() as u32;
        let (faster, slower) = (on(HostSide::Faster), on(HostSide::Slower));
        let mean = FleetVerdict::of_mean(comparison, floor, alpha);
        let contradicted = match mean {
            FleetVerdict::ProvenFaster { .. } => slower > 0,
            FleetVerdict::ProvenSlower { .. } => faster > 0,
            _ => faster > 0 && slower > 0,
        };
        if contradicted { FleetVerdict::DependsOnHost { faster, slower } } else { mean }
    }

    fn of_mean(comparison: &FleetComparison, floor: Option<f64>, alpha: f64) -> FleetVerdict {
        let none = |doubt, could_hide| FleetVerdict::NothingProven { could_hide, doubt };
        let Some(combined) = &comparison.combined else { return none(FleetDoubt::TooFewHosts, None) };
        let ratio = combined.ratio;
        let rounding = comparison.rounding.unwrap_or(1.0);
        let floor = floor.unwrap_or(combined.minimum_detectable_effect).max(rounding);
        let p_values = [comparison.p_corrected, comparison.anywhere_p_corrected];
        let is_significant = p_values.iter().all(|p| p.is_some_and(|p| p <= alpha));
        // Within the rounding the interval includes 1, whether or not the hosts agree.
        let is_rounding = rounding > 1.0 && factor(ratio.value) <= rounding;
        if !is_significant || ratio.includes_one() && !is_rounding {
            none(FleetDoubt::NotSignificant, Some(ratio.farthest_factor()))
        } else if factor(ratio.value) <= floor {
            none(FleetDoubt::BelowFloor { floor }, Some(ratio.farthest_factor().max(floor)))
        } else if ratio.value > 1.0 {
            FleetVerdict::ProvenFaster { ratio }
        } else {
            FleetVerdict::ProvenSlower { ratio }
        }
    }
}
