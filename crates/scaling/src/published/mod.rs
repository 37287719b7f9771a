//! The figures of the five historical reports, as published, and what the models say about them.
//!
//! One module for each report (docs/background.md names them). Constants keep the units of the report.
//! [`checks()`] lists each figure that a model predicts from other figures of the same report.

pub mod hartner_2001;
pub mod hartner_2002;
pub mod mckenney_2003;
pub mod morton_2002;
pub mod rostedt_2008;

use serde::Serialize;

/// A published figure, and what a model makes of other figures of the same report.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Check {
    /// The report.
    pub report: &'static str,
    /// The figure, with its unit.
    pub figure: &'static str,
    /// What the model was given.
    pub given: &'static str,
    /// As published.
    pub published: f64,
    /// By the model.
    pub predicted: f64,
}

impl Check {
    /// Predicted/published − 1.
    pub fn error(&self) -> f64 {
        self.predicted / self.published - 1.0
    }
}

/// All checks, in the order of docs/scaling.md.
pub fn checks() -> Vec<Check> {
    [hartner_2001::checks(), hartner_2002::checks()].concat()
}
