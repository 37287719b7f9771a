//! Whether a gain is worth a next step.

/// The minimum ceiling of a lock with a finding: smaller gains are lost in the noise of a proof.
pub const WORTH_IT: f64 = 1.05;

/// Whether the program would be faster by enough if these seconds were not spent: the bound on the speed-up is at least
/// [`WORTH_IT`]. While one of several threads waits the others go on, so the program's time is the elapsed time, as for
/// `CEIL` of the pthread lens.
pub fn is_worth_it(lost: f64, elapsed: f64) -> bool {
    elapsed > 0.0 && 1.0 + lost / elapsed >= WORTH_IT
}

/// Whether a part of the time of all threads is worth a next step.
pub fn is_worth_share(part: f64, all: f64) -> bool {
    part > 0.0 && (all - part) * WORTH_IT <= all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_gains_are_not_worth_a_sentence() {
        assert!(is_worth_it(0.051, 1.0) && !is_worth_it(0.049, 1.0) && !is_worth_it(0.0, 0.0));
        assert!(is_worth_share(0.05, 1.0) && !is_worth_share(0.04, 1.0) && !is_worth_share(0.0, 0.0));
    }
}
