//! Results of one comparison from several hosts as one verdict.
//!
//! Each host is a *stratum*: control and candidate are compared within the host only, and the hosts' ratios are combined.
//! Runs of different hosts are never pooled, because hosts differ in speed and in their numbers of rounds: pooled means can
//! show the opposite of what every host shows (Simpson's paradox).
//!
//! 1. [`Stratum`]: a host's mean log ratio from paired rounds, its variance, and its interval by Student's t.
//! 2. [`Combined`]: a random-effects meta-analysis. The effect may differ between hosts with the standard deviation tau
//!    (Paule and Mandel). The interval of the mean rests on how much the hosts scatter around it (the robust variance of Sidik
//!    and Jonkman), with Student's t of at most hosts − 1 degrees of freedom (Tipton), and is never narrower than the hosts'
//!    own noise permits (Röver et al.): with few hosts it is wide. Hartung and Knapp's interval, which is equal to it for
//!    hosts of equal weight, finds a difference in up to 7 % of equal fleets if the hosts' weights are unequal. The
//!    prediction interval says what a further host would show.
//! 3. [`Heterogeneity`]: does the effect differ between hosts? Cochran's Q, judged by Welch's F, because the variances of few
//!    rounds are estimates: the textbook's χ² would find differences between equal hosts.
//! 4. `no_difference_anywhere`: a sign-flip test within the hosts, which needs no distribution.
//! 5. [`FleetAnalysis`]: the verdicts, with Holm's correction over the candidates and the fleet's noise floor.
//! 6. [`Moderator`]: which property of the hosts (the processor, the kernel) explains the differences.
//!
//! # Sources
//! - R. C. Paule, J. Mandel: *Consensus values and weighting factors*, J. Res. Natl. Bur. Stand. 87, 1982.
//! - J. Hartung, G. Knapp: *A refined method for the meta-analysis of controlled clinical trials with binary outcome*,
//!   Statistics in Medicine 20, 2001.
//! - K. Sidik, J. N. Jonkman: *Robust variance estimation for random effects meta-analysis*, Comput. Stat. Data Anal. 50,
//!   2006.
//! - E. Tipton: *Small sample adjustments for robust variance estimation with meta-regression*, Psychological Methods 20,
//!   2015.
//! - C. Röver, G. Knapp, T. Friede: *Hartung-Knapp-Sidik-Jonkman approach and its modification for random-effects
//!   meta-analysis with few studies*, BMC Med. Res. Methodol. 15, 2015.
//! - J. P. T. Higgins, S. G. Thompson, D. J. Spiegelhalter: *A re-evaluation of random-effects meta-analysis*, J. R. Stat.
//!   Soc. A 172, 2009 (prediction interval).
//! - B. L. Welch: *On the comparison of several mean values*, Biometrika 38, 1951.

mod analysis;
mod combined;
mod heterogeneity;
mod moderator;
mod stratum;
mod verdict;

pub use analysis::{FleetAnalysis, FleetCandidate, FleetComparison, HostComparison, HostRounds};
pub use combined::Combined;
pub use heterogeneity::Heterogeneity;
pub use moderator::{Moderator, ModeratorGroup};
pub use stratum::{Stratum, no_difference_anywhere};
pub use verdict::{FleetDoubt, FleetVerdict, HostSide};

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The fewest rounds of a host that are combined: the variance of fewer is too uncertain for a weight.
pub const HOST_ROUNDS_AT_LEAST: u32 = crate::plan::ROUNDS_AT_LEAST;

/// The two-sided p value of a t statistic. An effect without any scatter has the p value 0.
fn student_p(t: f64, freedom: f64) -> f64 {
    if t.is_nan() {
        return 1.0;
    }
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| (2.0 * student.sf(t.abs())).min(1.0))
}
