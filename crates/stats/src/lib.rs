//! Is the difference real?
//!
//! The statistics of `unspin prove`, from the order of the runs to one sentence. Nothing here measures: the
//! caller runs the programs, tells [`Schedule`] how each run ended and how much time has passed, and gets an
//! [`Analysis`]. No input or output, no clock, no entropy: a seed fixes every random decision, so a stored
//! experiment gives its result again.
//!
//! 1. [`Plan`] says who takes part ([`Candidate`]), what is measured ([`Metric`]) and for how long at most.
//! 2. [`Schedule`] interleaves the runs: a warm-up, then rounds in which each candidate runs once, in random
//!    order, until every interval is narrow or the budget is spent. [`Advice`] says what more it would take.
//!    [`collapse`] says when a run need not be waited for.
//! 3. The rounds form [`Pairs`]: control and candidate, close together in time, so that drift cancels.
//! 4. [`bootstrap`] gives the ratio to the control with its interval; [`permutation`] tests whether there is a
//!    difference at all; [`holm()`] corrects for asking about several candidates; [`spread`] asks whether
//!    the runs scatter less.
//! 5. [`NoiseFloor`] is what the control, measured twice in the same sitting, seems to differ by from itself.
//!    Nothing is ranked below it. [`precision`] states the smallest effect that could have been found.
//! 6. [`CpuCost`] states the price of a gain in CPU time; a limit to it ([`Settings::cpu_limit`]) withholds the
//!    recommendation, not the verdict.
//! 7. [`Verdict`]: difference proven, or no difference proven and what could still hide.
//!
//! Ratios are always "times as good as the control", above 1 is better, whichever [`Direction`] the metric has.
//!
//! A proof needs [`rounds_for_proof`] rounds: with five, the smallest p of a paired permutation test is
//! 2/2⁵ = 0.0625, and no difference, however large, gets below 0.05. The spread of five runs can be judged,
//! because there the runs of both sides are relabelled, unpaired, in 70 ways.
//!
//! # Failed runs
//! A failed run is a result and is never dropped. A candidate with a failed run is never ranked; in the
//! permutation test a failed run is worse than any value. If a run of the control fails, or of its A/A twin,
//! nothing can be compared with it, and the sitting ends.
//!
//! # Sources
//! - B. Efron, R. J. Tibshirani: *An Introduction to the Bootstrap*, Chapman & Hall, 1993.
//! - T. C. Hesterberg: *What teachers should know about the bootstrap*, The American Statistician 69(4), 2015.
//! - B. Phipson, G. K. Smyth: *Permutation p-values should never be zero*, Stat. Appl. Genet. Mol. Biol. 9(1),
//!   2010.
//! - M. B. Brown, A. B. Forsythe: *Robust tests for the equality of variances*, J. Am. Stat. Assoc. 69, 1974.
//! - W. G. S. Hines, R. J. O'Hara Hines: *Increased power with modified forms of the Levene (Med) test for
//!   heterogeneity of variance*, Biometrics 56(2), 2000.
//! - S. Holm: *A simple sequentially rejective multiple test procedure*, Scand. J. Statist. 6, 1979.
//! - T. Kalibera, R. Jones: *Rigorous benchmarking in reasonable time*, ISMM 2013.
//! - H. S. Bloom: *Minimum detectable effects*, Evaluation Review 19(5), 1995.
//!
//! `tests/calibration.rs` checks by simulation what these methods promise: coverage, rate of false proofs,
//! power. Its long version runs with `cargo test --release -p unspin-stats -- --ignored`.
#![forbid(unsafe_code)]

mod advice;
mod analysis;
pub mod bootstrap;
mod candidate;
pub mod collapse;
mod comparison;
mod cpu;
pub mod distribution;
mod experiment;
mod floor;
mod holm;
mod interval;
mod judge;
mod metric;
mod p_value;
mod pairs;
pub mod permutation;
mod plan;
pub mod precision;
pub mod random;
mod run;
mod sample;
mod schedule;
pub mod screening;
mod settings;
pub mod spread;
mod verdict;
mod wording;

pub use advice::Advice;
pub use analysis::{Analysis, Conclusion};
pub use candidate::{Candidate, Role};
pub use comparison::{Comparison, Spread, SpreadVerdict};
pub use cpu::{CpuCost, Work};
pub use experiment::Experiment;
pub use floor::NoiseFloor;
pub use holm::holm;
pub use interval::{Ratio, three_digits};
pub use metric::{Direction, Metric, Quantity};
pub use p_value::{Enumeration, PValue};
pub use pairs::{Pair, Pairs};
pub use permutation::rounds_for_proof;
pub use plan::{Plan, PlanError, ROUNDS_AT_LEAST};
pub use precision::minimum_detectable_effect;
pub use run::{Outcome, Run};
pub use sample::{SampleSet, Summary};
pub use schedule::{Phase, Schedule, Step, StopReason};
pub use screening::Screening;
pub use settings::Settings;
pub use verdict::{Doubt, Verdict};
