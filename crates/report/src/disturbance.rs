//! CPU time that other programs took, as a reader of the report needs it.

use crate::figures::Percent;
use unspin_wire::Disturbance;

/// The share from which on waits cannot be told from the disturbance. `prove` warns from the same share on.
const TOO_MUCH: f64 = 0.05;

/// Whether it is so large that the bound on the speed-up (CEIL) means nothing: while the holder of a lock cannot
/// run, because another program runs, all waiters wait.
pub(crate) fn is_too_much(disturbance: &Disturbance) -> bool {
    disturbance.others + disturbance.stolen >= TOO_MUCH
}

/// `Other programs used 25.0 % of the CPUs, the hypervisor took 1.00 %`.
pub fn describe_disturbance(disturbance: &Disturbance) -> String {
    let others = format!("Other programs used {} of the CPUs", Percent::ThreeDigits.of(disturbance.others));
    if disturbance.stolen < 0.001 {
        return others;
    }
    format!("{others}, the hypervisor took {}", Percent::ThreeDigits.of(disturbance.stolen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarter_of_the_cpus_is_too_much_and_is_described() {
        let disturbance = Disturbance { others: 0.25, stolen: 0.0 };
        assert_eq!(describe_disturbance(&disturbance), "Other programs used 25.0 % of the CPUs");
        assert!(is_too_much(&disturbance) && !is_too_much(&Disturbance { others: 0.01, stolen: 0.01 }));
        let stolen = Disturbance { others: 0.01, stolen: 0.002 };
        assert!(describe_disturbance(&stolen).ends_with(", the hypervisor took 0.20 %"));
    }
}
