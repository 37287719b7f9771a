//! Is the difference real?
//!
//! The statistics of `unspin prove`, from the order of the runs to one sentence. Nothing here measures. The caller runs
//! the programs, reports to [`Schedule`] how each run ended and how much time has passed, and gets an [`Analysis`].
//! There is no input or output, no clock and no entropy: a seed determines every random decision, so a stored
//! experiment reproduces its result.
//!
//! A *session* is one measurement with all its runs. Its *A/A configuration* is the control once more, under another
//! name.
//!
//! 1. [`SessionPlan`] lists the configurations ([`Candidate`]), what is measured ([`Metric`]) and the maximum duration.
//! 2. [`Schedule`] interleaves the runs: a warm-up, then rounds in which each candidate runs once, in random order,
//!    until every interval is narrow or the budget is spent. [`Advice`] estimates how many more rounds are needed.
//!    [`collapse`] tells when a run need not be waited for, [`much_slower`] when a candidate need not be run again.
//! 3. The rounds form [`Pairs`]: control and candidate, close together in time, so that drift cancels.
//! 4. [`bootstrap`] gives the ratio to the control with its interval; [`permutation`] tests whether there is a
//!    difference at all; [`holm()`] corrects for several candidates; [`spread`] tests whether the runs scatter less.
//! 5. [`NoiseFloor`] is the apparent difference between two sets of runs of the control in the same session, of the means
//!    and of the spreads, or what the digits of printed figures hide. Nothing is proven below it. [`precision`] states the
//!    smallest effect that could have been found.
//! 6. [`CpuCost`] states the price of a gain in CPU time. A limit on it ([`Settings::cpu_limit`]) withholds the
//!    recommendation, not the verdict.
//! 7. [`Verdict`]: difference proven, or no difference proven and the largest effect that could be hidden.
//!
//! Two sessions have no common rounds: [`independent`] compares their figures, and the gains that they found.
//! [`fleet`] combines the results of one comparison from several hosts.
//!
//! Published tables have no rounds, and often only moments: [`welch()`] and [`variance_ratio()`] judge [`Moments`].
//!
//! Ratios always mean "times as good as the control": above 1 is better, for either [`Direction`] of the metric.
//!
//! A proof needs [`rounds_for_proof`] rounds. With five rounds, the smallest p of a paired permutation test is 2/2⁵ =
//! 0.0625, so no difference, however large, gets below 0.05. The spread of five runs can be judged, because that test
//! relabels the runs of both sides unpaired, in 70 ways.
//!
//! # Failed runs
//! A failed run is a result and is never dropped. A candidate with a failed run is never ranked; in the permutation
//! test a failed run is worse than any value. If a run of the control or of its A/A configuration fails, nothing can be
//! compared with it, and the session ends.
//!
//! # Sources
//! - B. Efron, R. J. Tibshirani: *An Introduction to the Bootstrap*, Chapman & Hall, 1993.
//! - T. C. Hesterberg: *What teachers should know about the bootstrap*, The American Statistician 69(4), 2015.
//! - B. Phipson, G. K. Smyth: *Permutation p-values should never be zero*, Stat. Appl. Genet. Mol. Biol. 9(1),
//!   2010.
//! - M. B. Brown, A. B. Forsythe: *Robust tests for the equality of variances*, J. Am. Stat. Assoc. 69, 1974.
//! - W. G. S. Hines, R. J. O'Hara Hines: *Increased power with modified forms of the Levene (Med) test for
//!   heterogeneity of variance*, Biometrics 56(2), 2000.
//! - B. L. Welch: *The generalization of "Student's" problem when several different population variances are involved*,
//!   Biometrika 34, 1947.
//! - S. Holm: *A simple sequentially rejective multiple test procedure*, Scand. J. Statist. 6, 1979.
//! - T. Kalibera, R. Jones: *Rigorous benchmarking in reasonable time*, ISMM 2013.
//! - H. S. Bloom: *Minimum detectable effects*, Evaluation Review 19(5), 1995.
//!
//! `tests/suite/calibration.rs` checks by simulation what these methods promise: coverage, rate of false proofs, power. Its
//! long version runs with `cargo test --release -p unspin-stats -- --ignored`.
#![forbid(unsafe_code)]

mod advice;
mod analysis;
pub mod bootstrap;
mod candidate;
pub mod collapse;
mod comparison;
mod cpu;
mod decision;
pub mod distribution;
mod divisions;
mod experiment;
pub mod fleet;
mod floor;
mod holm;
pub mod independent;
mod interval;
mod metric;
mod moments;
pub mod much_slower;
mod p_value;
mod pairs;
pub mod permutation;
mod plan;
pub mod precision;
pub mod random;
mod rate_table;
mod rounding;
mod run;
mod sample;
mod schedule;
pub mod screening;
mod settings;
pub mod spread;
mod variance_ratio;
mod verdict;
mod welch;
mod wording;

pub use advice::Advice;
pub use analysis::{Analysis, Conclusion};
pub use candidate::{Candidate, Role};
pub use collapse::CutOff;
pub use comparison::{Comparison, NEGLIGIBLE_ROUNDING, Spread, SpreadVerdict};
pub use cpu::{CpuCost, CpuCostUnit};
pub use experiment::Experiment;
pub use floor::NoiseFloor;
pub use holm::holm;
pub use interval::{Ratio, three_digits};
pub use metric::{Direction, Metric, Quantity};
pub use moments::Moments;
pub use much_slower::MuchSlower;
pub use p_value::{Enumeration, PValue};
pub use pairs::{Pair, Pairs};
pub use permutation::rounds_for_proof;
pub use plan::{ROUNDS_AT_LEAST, SessionPlan, SessionPlanError};
pub use precision::minimum_detectable_effect;
pub use rate_table::RateTable;
pub use rounding::{RoundedMean, RoundingBounds};
pub use run::{Run, RunOutcome, comparable};
pub use sample::{SampleSet, Summary};
pub use schedule::{NextStep, RunLimit, Schedule, SessionPhase, StopReason};
pub use screening::Screening;
pub use settings::Settings;
pub use variance_ratio::{VarianceRatio, variance_ratio};
pub use verdict::{NotProvenReason, Verdict};
pub use welch::{WelchTest, welch, welch_ratio};
pub use wording::{INTERVALS_OF_DIGITS, TOO_FEW_DIGITS, UNBOUNDED, effect, format_unbounded, quantity};
