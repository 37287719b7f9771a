//! What the compared configurations are, with the marks that the pages of their sessions have.

use crate::palette::Series;
use crate::part::Part;
use unspin_results::ResultComparison;

/// A configuration by its name.
pub struct Configuration {
    /// What it is measured for.
    pub part: Part,
    /// Its mark: that of the page of `unspin prove`, where the control comes first, then the candidates, the control once more, and
    /// the program without the library.
    pub series: Series,
}

impl Configuration {
    /// What it is, for readers who do not know unspin; empty for a candidate.
    pub fn explanation(&self) -> &'static str {
        match self.part {
            Part::Control => "the program as it is: gains are over it",
            other => other.explanation(),
        }
    }

    /// The configuration of this name.
    pub fn of(comparison: &ResultComparison, name: &str) -> Configuration {
        let candidates = comparison.gains.len();
        let candidate = comparison.gains.iter().position(|compared| compared.name == name);
        match candidate {
            _ if name == comparison.control => Configuration { part: Part::Control, series: Series(0) },
            Some(place) => Configuration { part: Part::Candidate, series: Series(1 + place) },
            None => Configuration { part: Part::NoPreload, series: Series(1 + candidates + 1) },
        }
    }
}
