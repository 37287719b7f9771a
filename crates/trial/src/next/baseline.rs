//! A control that differs from itself.

use unspin_stats::{NoiseFloor, effect, rounds_for_proof};

/// What it means for the verdicts that the same program seems to differ from itself; none if it does not, or if there are too
/// few rounds to say so.
pub fn warning(control: &str, floor: Option<NoiseFloor>) -> Option<String> {
    let floor = floor.filter(|floor| floor.differs && floor.rounds >= rounds_for_proof(1, ALPHA))?;
    let (ratio, [lower, upper]) = floor.ratio.shown();
    Some(format!(
        "Caution: {control} seems to differ from itself. Two sets of runs of the same configuration have a ratio of {ratio} \
         ({lower} to {upper}), which should be 1. So something else than the candidates changed the figures in this session. \
         Differences below {} are not ranked for that reason; do not rely on one that is just above it, and measure again \
         on a quiet machine (--wait-for-quiet).",
        effect(floor.factor)
    ))
}

/// The level at which a pair of two sets of the same runs is noticed: one session of twenty by chance.
const ALPHA: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use unspin_stats::Ratio;

    /// Issue 25: the report did not say that the control differed from itself.
    #[test]
    fn control_that_differs_from_itself_is_pointed_out() {
        let floor = |rounds, lower, upper| {
            NoiseFloor::new(rounds, Ratio { value: (lower + upper) / 2.0, lower, upper }, 1.03)
        };
        assert_eq!(warning("kernel", Some(floor(12, 0.97, 1.02))), None);
        assert_eq!(warning("kernel", Some(floor(3, 1.05, 1.25))), None, "three rounds say nothing");
        assert_eq!(warning("kernel", None), None);
        let warning = warning("kernel", Some(floor(12, 1.05, 1.25))).unwrap();
        assert!(warning.starts_with("Caution: kernel seems to differ from itself."), "{warning}");
        assert!(warning.contains("Differences below 25 % are not ranked for that reason"), "{warning}");
    }
}
