//! What is compared, in the order in which all parts of the page show it.

use crate::palette::Series;
use crate::part::Part;
use unspin_results::{StoredConfiguration, StoredProof};
use unspin_stats::{Comparison, Ratio, Role, Summary, Verdict};

/// A configuration.
#[derive(Clone, Copy)]
pub struct Contestant<'a> {
    /// Its index in the document.
    pub index: usize,
    /// Its colour and shape.
    pub series: Series,
    /// What it is compared for.
    pub part: Part,
    /// What the document says about it.
    pub configuration: &'a StoredConfiguration,
    /// Its comparison with the control; none for the control.
    pub comparison: Option<&'a Comparison>,
    /// The summary of its runs.
    pub summary: Option<&'a Summary>,
}

/// All configurations: the control, the candidates, and then those that are measured beside them.
pub struct Contestants<'a>(pub Vec<Contestant<'a>>);

impl<'a> Contestants<'a> {
    /// Of a result.
    pub fn of(proof: &'a StoredProof) -> Contestants<'a> {
        let found = proof.candidates.iter().enumerate().map(|(index, configuration)| {
            let (part, comparison) = comparison(proof, index);
            let summary = match comparison {
                Some(comparison) => comparison.summary.as_ref(),
                None if part == Part::Control => proof.analysis.control_summary.as_ref(),
                None => None,
            };
            Contestant { index, series: Series(0), part, configuration, comparison, summary }
        });
        let mut all: Vec<Contestant<'a>> = found.collect();
        all.sort_by_key(|contestant| (contestant.part as usize, contestant.index));
        for (place, contestant) in all.iter_mut().enumerate() {
            contestant.series = Series(place);
        }
        Contestants(all)
    }
}

fn comparison(proof: &StoredProof, index: usize) -> (Part, Option<&Comparison>) {
    if index == 0 {
        return (Part::Control, None);
    }
    let name = &proof.candidates[index].name;
    if let Some(comparison) = proof.no_preload.as_ref().filter(|comparison| comparison.name == *name) {
        return (Part::NoPreload, Some(comparison));
    }
    match proof.analysis.comparisons.iter().find(|comparison| comparison.name == *name) {
        Some(comparison) if comparison.role == Role::AaControl => (Part::Again, Some(comparison)),
        found => (Part::Candidate, found),
    }
}

impl Contestant<'_> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.configuration.name
    }

    /// How many times as good as the control it is, if it is known.
    pub fn ratio(&self) -> Option<Ratio> {
        self.comparison?.ratio
    }

    /// What it is, for readers who do not know unspin; empty if the document does not say it.
    pub fn explanation(&self) -> &str {
        match self.part {
            Part::Candidate => self.configuration.summary.as_deref().unwrap_or_default(),
            other => other.explanation(),
        }
    }

    /// What is proven about it, in a few words.
    pub fn outcome(&self) -> String {
        let Some(comparison) = self.comparison else {
            return if self.part == Part::Control { "the control".into() } else { "not compared".into() };
        };
        let proven = outcome(comparison);
        match (&comparison.verdict, self.part) {
            (Verdict::Failed { .. }, _) | (_, Part::Control | Part::Candidate) => proven.into(),
            (_, Part::Again) => "the noise".into(),
            (_, Part::NoPreload) => format!("{proven}; no candidate"),
        }
    }
}

fn outcome(comparison: &Comparison) -> &'static str {
    match &comparison.verdict {
        Verdict::Failed { .. } if comparison.failed_runs > 0 => "failed",
        Verdict::Failed { .. } => "not comparable",
        Verdict::ProvenFaster { .. } if comparison.over_cpu_limit => "better, over CPU limit",
        Verdict::ProvenFaster { .. } => "proven better",
        Verdict::ProvenSlower { .. } => "proven worse",
        Verdict::NothingProven { .. } => "nothing proven",
        Verdict::Collapsed(_) => "collapsed, stopped",
        Verdict::Hangs(_) => "hangs, stopped",
        Verdict::Withheld(_) => "stopped, not ranked",
        Verdict::GivenUp { proven: true, .. } => "proven worse, given up",
        Verdict::GivenUp { .. } => "too slow, given up",
    }
}
