//! Why a candidate was tried, or gains.

use serde::Serialize;

/// A sentence, and what it introduces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The sentence.
    pub sentence: String,
    /// The locks or call sites that it is about, if it names them one by one.
    pub places: Vec<String>,
}

impl From<String> for Reason {
    fn from(sentence: String) -> Reason {
        Reason { sentence, places: Vec::new() }
    }
}
