//! The figures of the five historical reports, as published, and what the models say about them.
//!
//! One module for each report (docs/background.md names them). Constants keep the units of the report.
//! [`checks()`] lists each figure that a model predicts from other figures of the same report.

mod check;
pub mod hartner_2001;
pub mod hartner_2002;
pub mod mckenney_2003;
pub mod morton_2002;
pub mod rostedt_2008;

pub use check::Check;

/// All checks, in the order of docs/scaling.md.
pub fn checks() -> Vec<Check> {
    [hartner_2001::checks(), hartner_2002::checks()].concat()
}
