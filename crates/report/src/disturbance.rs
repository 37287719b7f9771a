//! CPU time that other programs took, as a reader of the report needs it.

use crate::figures::Percent;
use unspin_wire::Disturbance;

/// The share of the CPUs, or of the periods of a CPU quota, from which on a measurement counts as disturbed. An idle machine has less.
pub const DISTURBED: f64 = 0.05;

/// Minimum length of a measurement of the disturbance, in milliseconds. The kernel counts in ticks of 10 ms, which are a large share
/// of a shorter run.
pub const SHORTEST_MS: u64 = 200;

/// Whether it is so large that the bound on the speed-up (CEIL) means nothing: while the holder of a lock cannot
/// run, because another program runs, all waiters wait.
pub(crate) fn is_too_much(disturbance: &Disturbance) -> bool {
    disturbance.others + disturbance.stolen >= DISTURBED || is_throttled(disturbance)
}

/// Whether the program was stopped in so many periods of its CPU quota that waits cannot be told from the stops.
pub(crate) fn is_throttled(disturbance: &Disturbance) -> bool {
    disturbance.throttled.is_some_and(|share| share >= DISTURBED)
}

/// `Other programs used 25.0 % of the CPUs, the hypervisor took 1.00 %, the CPU quota stopped the program in 28.0 % of its periods`.
pub fn describe_disturbance(disturbance: &Disturbance) -> String {
    let mut said = format!("Other programs used {} of the CPUs", Percent::ThreeDigits.of(disturbance.others));
    if disturbance.stolen >= 0.001 {
        said += &format!(", the hypervisor took {}", Percent::ThreeDigits.of(disturbance.stolen));
    }
    if let Some(share) = disturbance.throttled.filter(|&share| share > 0.0) {
        said += &format!(
            ", the CPU quota stopped the program in {} of its periods",
            Percent::ThreeDigits.of(share)
        );
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarter_of_the_cpus_is_too_much_and_is_described() {
        let disturbance = Disturbance { others: 0.25, stolen: 0.0, throttled: None };
        assert_eq!(describe_disturbance(&disturbance), "Other programs used 25.0 % of the CPUs");
        assert!(
            is_too_much(&disturbance)
                && !is_too_much(&Disturbance { others: 0.01, stolen: 0.01, throttled: None })
        );
        let stolen = Disturbance { others: 0.01, stolen: 0.002, throttled: Some(0.0) };
        assert!(describe_disturbance(&stolen).ends_with(", the hypervisor took 0.20 %"));
        let throttled = Disturbance { throttled: Some(0.28), ..stolen };
        assert!(
            describe_disturbance(&throttled)
                .ends_with(", the CPU quota stopped the program in 28.0 % of its periods")
        );
        assert!(is_too_much(&throttled) && !is_too_much(&stolen));
    }
}
