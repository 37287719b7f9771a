//! What would more CPUs show?
//!
//! A closed queueing network of a program's threads, its contended lock and the CPUs. Its parameters come from
//! measurements on 1..n CPUs. It predicts the throughput on more. There is no clock, no input and no output here, and a
//! seed determines every random decision.
//!
//! | module | contents |
//! |---|---|
//! | [`lock_chain`] | one lock: threads that think, wait, hand over and hold. An exact Markov chain |
//! | [`lock_set`] | several equal locks, by decomposition into chains; approximate |
//! | [`mva`] | mean value analysis of closed networks: exact, and Schweitzer's and Seidmann's approximations |
//! | [`usl`] | Gunther's universal scalability law, a curve without a lock: the cross-check |
//! | [`program`] | a program on P CPUs: its lock, its wake-ups on other CPUs, and its threads |
//! | [`fit`] | parameters from measurements, validation on what is left out, prediction with its interval |
//! | [`misses`] | what the runs show that the model does not have, in sentences |
//! | [`round_order`] | the order of the runs |
//! | [`published`] | the figures of the five historical reports, and what the models say about them |
//!
//! # Sources
//! - M. Reiser, S. S. Lavenberg: *Mean-value analysis of closed multichain queuing networks*, J. ACM 27(2), 1980.
//! - P. J. Schweitzer: *Approximate analysis of multiclass closed networks of queues*, Int. Conf. on Stochastic Control
//!   and Optimization, Amsterdam, 1979.
//! - A. Seidmann, P. J. Schweitzer, S. Shalev-Oren: *Computerized closed queueing network models of flexible
//!   manufacturing systems*, Large Scale Systems 12, 1987.
//! - S. Boyd-Wickizer, M. F. Kaashoek, R. Morris, N. Zeldovich: *Non-scalable locks are dangerous*, Linux Symposium, 2012.
//! - N. J. Gunther: *Guerrilla Capacity Planning*, Springer, 2007.
#![forbid(unsafe_code)]

pub mod fit;
pub mod lock_chain;
pub mod lock_set;
pub mod misses;
pub mod mva;
pub mod program;
pub mod published;
pub mod round_order;
pub mod usl;

pub use fit::{CpuMeasurement, FitError, Prediction, ScalingFit};
pub use lock_chain::{LockChain, LockState, WaitingCost};
pub use program::{MachineCost, ProgramModel};
