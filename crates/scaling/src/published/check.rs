//! A published figure beside a model's.

use serde::Serialize;

/// A published figure, and the value that a model computes for it from other figures of the same report.
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
