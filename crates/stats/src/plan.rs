//! What to measure, and for how long at most.

use crate::candidate::{Candidate, Role};
use crate::metric::Metric;
use crate::permutation::rounds_for_proof;
use crate::settings::Settings;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The smallest number of rounds that may be requested; the reports used five. A proof needs more, see
/// [`SessionPlan::rounds_min_effective`].
pub const ROUNDS_AT_LEAST: u32 = 5;

/// The plan of a session. [`SessionPlan::new`] sets defaults; the fields may be changed before use.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPlan {
    /// The control first, then the others in the order of the results.
    pub candidates: Vec<Candidate>,
    /// The metric of the runs.
    pub metric: Metric,
    /// Seed of every random decision.
    pub seed: u64,
    /// The significance settings.
    pub settings: Settings,
    /// Number of rounds to run even if the time budget is spent.
    pub rounds_min: u32,
    /// Number of rounds after which the session ends in any case.
    pub rounds_max: u32,
    /// Time after which no new round begins once there are enough rounds for a proof.
    pub budget: Duration,
    /// Time after which no run begins, even if the rounds are too few for a proof. A session exceeds it by one run at
    /// most.
    pub deadline: Duration,
    /// The candidates (by index) that are compared with the control but not judged. Each is a family of its own for the
    /// correction of p. They do not count when it is decided how many rounds are needed or whether a candidate is left.
    pub unjudged: Vec<usize>,
    /// Relative half width at which an interval is narrow enough, for example 0.025.
    pub half_width_target: f64,
}

/// The relative half width at which an interval is narrow enough, if the user names no other.
pub(crate) const HALF_WIDTH_TARGET: f64 = 0.025;

impl SessionPlan {
    /// A plan with the default limits: six to a hundred rounds, one minute, 2.5 %.
    pub fn new(candidates: Vec<Candidate>, metric: Metric, seed: u64) -> SessionPlan {
        SessionPlan {
            candidates,
            metric,
            seed,
            settings: Settings::default(),
            rounds_min: 6,
            rounds_max: 100,
            budget: Duration::from_secs(60),
            deadline: Duration::MAX,
            unjudged: Vec::new(),
            half_width_target: HALF_WIDTH_TARGET,
        }
    }

    /// The number of rounds to run before the session may end: at least enough to prove a difference at all
    /// ([`rounds_for_proof`]), unless `rounds_max` is smaller.
    pub fn rounds_min_effective(&self) -> u32 {
        let needed = rounds_for_proof(self.judged().count(), self.settings.alpha);
        self.rounds_min.max(needed).min(self.rounds_max)
    }

    /// The indices of the judged candidates.
    pub fn judged(&self) -> impl Iterator<Item = usize> {
        (0..self.candidates.len()).filter(|&index| self.is_judged(index))
    }

    pub(crate) fn is_judged(&self, index: usize) -> bool {
        self.candidates[index].role == Role::Candidate && !self.unjudged.contains(&index)
    }

    /// Checks that the plan can be carried out.
    ///
    /// # Errors
    /// The first [`SessionPlanError`] that is found.
    pub fn check(&self) -> Result<(), SessionPlanError> {
        let count = |role| self.candidates.iter().filter(|c| c.role == role).count();
        let control_first = self.candidates.first().is_some_and(|c| c.role == Role::Control);
        if !control_first || count(Role::Control) != 1 {
            return Err(SessionPlanError::Control);
        }
        if count(Role::AaControl) > 1 {
            return Err(SessionPlanError::AaControl);
        }
        if self.candidates.len() < 2 {
            return Err(SessionPlanError::NothingToCompare);
        }
        let names: Vec<&str> = self.candidates.iter().map(|c| c.name.as_str()).collect();
        if let Some(i) = (1..names.len()).find(|&i| names[..i].contains(&names[i])) {
            return Err(SessionPlanError::NameTwice(names[i].into()));
        }
        if self.rounds_min < ROUNDS_AT_LEAST || self.rounds_max < self.rounds_min {
            return Err(SessionPlanError::Rounds { min: self.rounds_min, max: self.rounds_max });
        }
        if !(self.half_width_target > 0.0 && self.half_width_target.is_finite()) {
            return Err(SessionPlanError::Target(self.half_width_target));
        }
        Ok(())
    }
}

/// Why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionPlanError {
    /// There is no control, there are several, or it is not the first.
    Control,
    /// The control has more than one A/A configuration.
    AaControl,
    /// There is only the control.
    NothingToCompare,
    /// Two candidates have this name.
    NameTwice(String),
    /// Too few rounds, or a maximum below the minimum.
    Rounds {
        /// The requested minimum.
        min: u32,
        /// The requested maximum.
        max: u32,
    },
    /// The relative half width is not usable.
    Target(f64),
}

impl fmt::Display for SessionPlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionPlanError::Control => write!(f, "exactly one control is needed, and it must come first"),
            SessionPlanError::AaControl => write!(f, "the control can be repeated only once"),
            SessionPlanError::NothingToCompare => {
                write!(f, "nothing to compare the control with: name a candidate")
            }
            SessionPlanError::NameTwice(name) => write!(f, "candidate '{name}' is named twice: name it once"),
            SessionPlanError::Rounds { min, max } => write!(
                f,
                "{min} to {max} rounds cannot be run: at least {ROUNDS_AT_LEAST} are needed, \
                 and the maximum must not be below the minimum"
            ),
            SessionPlanError::Target(target) => {
                write!(f, "{target} is no relative half width: give a positive number such as 0.025")
            }
        }
    }
}

impl Error for SessionPlanError {}
