//! What the model of `unspin scale` predicts for the report's number of CPUs, from the runs here.
//!
//! It applies to the lock of the engine `global`, for which processes spin, under a load that never sleeps. The
//! hand-over of the lock is fitted to the runs here. The prediction assumes that the hand-over takes as long with more
//! waiters, that the throughput under RCU grows with the CPUs, and that the error of a published check applies to each
//! doubling of the CPUs.

use super::measured::Measured;
use unspin_scaling::published;
use unspin_scaling::{LockChain, WaitingCost};
use unspin_stats::{Ratio, three_digits};

/// The lock in the meter's table.
const GLOBAL_LOCK: &str = "sysv global lock";
/// The check in the published figures: the model predicts the seconds before the patch from those with it.
const CHECK: &str = "seconds before";

/// What the runs on this machine tell.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Given {
    /// CPUs here.
    cpus: u32,
    /// Processes that can run at the same time.
    threads: u32,
    /// CPU time of one acquisition, its hold, and the time until the next one, in seconds, without contention.
    between_s: f64,
    /// Mean hold, in seconds.
    hold_s: f64,
    /// Acquisitions a second.
    throughput: f64,
}

/// The prediction for the experiment with the lock alone, as a paragraph; none if the model does not apply, or predicts nothing
/// beyond the CPUs here.
pub fn of_lock_alone(measured: &Measured, cpus: u32) -> Option<String> {
    let report = &measured.report;
    let option = |name: &str| -> Option<f64> {
        let words = &measured.experiment.command.command;
        words.get(words.iter().position(|word| word == name)? + 1)?.parse().ok()
    };
    let metered = report.locks.metered.iter().find(|metered| metered.candidate == "global")?;
    let lock = metered.report.lock(GLOBAL_LOCK)?;
    let acquisitions = lock.row.attempts as f64 / option("-n")?;
    let [global_s, rcu_s] = ["global", "rcu"].map(|name| report.summary(name).map(|summary| summary.mean));
    let here = report.machine.cpus as u32;
    let given = Given {
        cpus: here,
        threads: option("-g")? as u32,
        between_s: f64::from(here) * rcu_s? / acquisitions,
        hold_s: lock.row.hold_mean,
        throughput: acquisitions / global_s?,
    };
    let pair = measured.pairs.iter().find(|pair| pair.pair.before == "global")?;
    let ratio =
        pair.comparison.ratio.filter(|_| pair.row.improvement.is_some_and(|i| i.interval.is_some()))?;
    let error = published::checks().into_iter().find(|check| check.figure == CHECK)?.error();
    let predicted = given.predict(ratio, cpus, error)?;
    let shown = |x: f64| three_digits(x, 1);
    Some(format!(
        "Prediction for {cpus} CPUs, not a measurement: RCU would be {} times as fast as one lock ({} to {}) where the lock alone costs \
         time. It comes from the runs and the hold here, and assumes that RCU grows with the CPUs, and that the hand-over of the \
         lock stays the same. The range has the interval of the runs here, and for each doubling of the CPUs the error that \
         the model has on 8 CPUs of the report ({:+.0} % of the seconds before the patch); it can be wrong by more. Next: unspin \
         reproduce semopbench on a machine with {cpus} CPUs checks it.",
        shown(predicted.value),
        shown(predicted.lower),
        shown(predicted.upper),
        100.0 * error
    ))
}

impl Given {
    /// The ratio on more CPUs, if it is `ratio` here, and the model is off by `error`.
    fn predict(&self, ratio: Ratio, cpus: u32, error: f64) -> Option<Ratio> {
        let is_usable =
            [self.between_s, self.hold_s, self.throughput].iter().all(|x| x.is_finite() && *x > 0.0);
        // One CPU shows no hand-over.
        if !is_usable || self.cpus < 2 || cpus <= self.cpus || self.threads < cpus {
            return None;
        }
        let hand_over_s = self.hand_over_s();
        let lock_grows =
            self.model_throughput(cpus, hand_over_s) / self.model_throughput(self.cpus, hand_over_s);
        let grows = f64::from(cpus) / f64::from(self.cpus) / lock_grows;
        let doublings = (f64::from(cpus) / f64::from(self.cpus)).log2();
        let model = doublings * (1.0 + error).ln();
        let margin = |end: f64| (end / ratio.value).ln().hypot(model);
        let value = grows * ratio.value;
        Some(Ratio {
            value,
            lower: value * (-margin(ratio.lower)).exp(),
            upper: value * margin(ratio.upper).exp(),
        })
    }

    /// Acquisitions a second by the model.
    fn model_throughput(&self, cpus: u32, hand_over_s: f64) -> f64 {
        /// The least share of the time outside the lock: the hold is measured with its clock readings.
        const THINK_MIN: f64 = 0.02;
        let hold_s = self.hold_s.min((1.0 - THINK_MIN) * self.between_s);
        let waiting = WaitingCost::Spin { hand_over_s, per_waiter_s: 0.0 };
        let think_s = self.between_s - hold_s;
        LockChain { threads: self.threads, cpus, think_s, hold_s, waiting }.state().throughput
    }

    /// The hand-over that makes the model's throughput the measured one, by bisection; 0 if the lock is faster than the model.
    fn hand_over_s(&self) -> f64 {
        let (mut low, mut high) = (0.0, 1e-3);
        if self.model_throughput(self.cpus, low) <= self.throughput {
            return low;
        }
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if self.model_throughput(self.cpus, middle) > self.throughput {
                low = middle
            } else {
                high = middle
            }
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lock with a known hand-over, on two CPUs.
    fn given(hand_over_s: f64) -> Given {
        let given = Given { cpus: 2, threads: 8, between_s: 1e-6, hold_s: 0.4e-6, throughput: 1.0 };
        Given { throughput: given.model_throughput(2, hand_over_s), ..given }
    }

    #[test]
    fn fit_finds_the_hand_over() {
        for hand_over_s in [0.0, 0.1e-6, 2e-6] {
            assert!((given(hand_over_s).hand_over_s() - hand_over_s).abs() < 1e-12);
        }
    }

    #[test]
    fn saturated_lock_leaves_the_gain_to_the_cpus() {
        let ratio = Ratio { value: 5.0, lower: 4.0, upper: 6.0 };
        // With a hand-over of 50 us the lock is saturated on two CPUs: eight are four times as many.
        let predicted = given(50e-6).predict(ratio, 8, -0.27).unwrap();
        assert!((predicted.value - 20.0).abs() < 0.5, "{predicted:?}");
        let least = 2.0 * (-0.27_f64).ln_1p().abs();
        assert!(
            (predicted.value / predicted.lower).ln() > least,
            "the model's error is in it: {predicted:?}"
        );
        assert!((predicted.upper / predicted.value).ln() > least, "{predicted:?}");
        // A lock that is hardly contended here grows somewhat with the CPUs.
        let predicted = given(0.0).predict(ratio, 8, 0.0).unwrap();
        assert!((5.0..20.0).contains(&predicted.value), "{predicted:?}");
    }

    #[test]
    fn nothing_is_predicted_where_the_model_does_not_apply() {
        let ratio = Ratio { value: 5.0, lower: 4.0, upper: 6.0 };
        let known = given(1e-6);
        assert_eq!(known.predict(ratio, 2, 0.1), None, "that is measured");
        assert_eq!(Given { cpus: 1, ..known }.predict(ratio, 8, 0.1), None);
        assert_eq!(
            Given { threads: 4, ..known }.predict(ratio, 8, 0.1),
            None,
            "four processes use four CPUs"
        );
        assert_eq!(Given { hold_s: 0.0, ..known }.predict(ratio, 8, 0.1), None);
    }
}
