//! The filters for the rows of a printed report.

use crate::settings::ViewSettings;
use regex::Regex;

/// The filters for rows.
pub struct Filters<'a> {
    /// The least time of a row, in seconds.
    pub min_lost: f64,
    lock: &'a Option<Regex>,
    caller: &'a Option<Regex>,
}

impl Filters<'_> {
    /// The filters that the user names.
    pub fn new(view: &ViewSettings) -> Filters<'_> {
        let min_lost = view.min_lost.map_or(0.0, |time| time.as_secs_f64());
        Filters { min_lost, lock: &view.lock, caller: &view.caller }
    }

    /// Whether the name of a lock fits.
    pub fn lock(&self, text: &str) -> bool {
        self.lock.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }

    /// Whether a caller fits.
    pub fn caller(&self, text: &str) -> bool {
        self.caller.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}
